//! What calls proved. A verdict counts in the generation its permit was admitted in and in no other.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use super::{At, Automatic, Cooldown, Machine, Moment, ProbeMark};
use crate::{
    event::{Cause, DecidingCall, DrawnWait, Event, Probe, ProbeOutcome, State},
    outcome::{Evidence, Outcome, Phase, RetryAfter, Settled, Verdict},
    window::{Call, Trip},
};

/// What a permit says of itself when it ends.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) generation: u64,
    /// Admitted by forced closed alone.
    pub(crate) unseen: bool,
    /// When it was admitted, if a rule asks.
    pub(crate) started: Option<Instant>,
    pub(crate) probe: Option<Arc<ProbeMark>>,
}

/// How a permit ends.
#[derive(Debug)]
pub(crate) enum Ending {
    /// With what the call proved.
    Verdict(Verdict),
    /// Dropped.
    Cancelled,
}

impl Machine {
    /// A permit ended. It is given back whatever it says.
    pub(crate) fn settle(&mut self, moment: Moment, held: Held, ending: Ending) -> Settled {
        let at = self.enter(moment);
        self.ended = self.ended.wrapping_add(1);
        if let Some(mark) = &held.probe {
            return self.end_probe(at, mark, ending);
        }
        let Ending::Verdict(verdict) = ending else {
            self.counts.cancelled += 1;
            return if held.generation == self.generation { Settled::Counted } else { Settled::Late };
        };
        if held.generation != self.generation {
            self.counts.late += 1;
            return Settled::Late;
        }
        self.tally(verdict.outcome);
        if !held.unseen {
            let latency = verdict.latency.or_else(|| Some(at.now.saturating_duration_since(held.started?)));
            self.observe(at, verdict, latency);
        }
        Settled::Counted
    }

    /// A counted call of a closed breaker.
    fn observe(&mut self, at: At, verdict: Verdict, latency: Option<Duration>) {
        let Verdict { outcome, retry_after, cooldown, evidence, .. } = verdict;
        let retry_after = retry_after.as_deref();
        if outcome != Outcome::Ignored && matches!(self.state, Automatic::Closed) {
            let call = Call { at: at.now, outcome, latency, evidence };
            if let Some(trip) = self.memory.count(&self.policy, call) {
                self.trip(at, trip, retry_after);
            }
        }
        self.cool_down(at, cooldown, retry_after);
    }

    fn trip(&mut self, at: At, trip: Trip, retry_after: Option<&RetryAfter>) {
        let from = self.state();
        self.attempt = 0;
        let wait = self.open(at, retry_after);
        let Trip { rule, have, calls, evidence } = trip;
        let evidence = evidence.into_iter().map(|call| deciding(at, call)).collect();
        self.emit(at.wall, from, Cause::Tripped { rule, have, calls, evidence, wait }, None, None);
    }

    /// The host asked for quiet. While it has it, calls from before do not prolong it.
    fn cool_down(&mut self, at: At, wanted: bool, retry_after: Option<&RetryAfter>) {
        let Some(retry_after) = retry_after.filter(|asked| wanted && !asked.wait.is_zero()) else { return };
        if self.cooldown.is_some() {
            return;
        }
        let applied = retry_after.wait.min(self.policy.settings().wait.max);
        let until = at.wall.checked_add(applied).unwrap_or(at.wall);
        self.cooldown = Some(Cooldown { ends: at.now + applied, until });
        let cause = Cause::CooldownStarted { retry_after: retry_after.clone(), applied };
        self.emit(at.wall, self.state(), cause, None, None);
    }

    fn end_probe(&mut self, at: At, mark: &Arc<ProbeMark>, ending: Ending) -> Settled {
        if mark.is_judged() {
            // Its row was written when its lease was over.
            self.counts.late += 1;
            return Settled::Late;
        }
        mark.judge();
        let current = self.take_back(mark);
        let verdict = match ending {
            Ending::Cancelled => {
                self.counts.cancelled += 1;
                self.write_probe(at, mark, ProbeOutcome::Cancelled, None, None);
                return if current { Settled::Counted } else { Settled::Late };
            }
            Ending::Verdict(verdict) => Verdict { evidence: mark.complete(verdict.evidence), ..verdict },
        };
        if !current {
            self.counts.late += 1;
            self.write_probe(at, mark, ProbeOutcome::Late, None, verdict.evidence);
            return Settled::Late;
        }
        self.tally(verdict.outcome);
        let Verdict { outcome, latency, retry_after, cooldown, evidence } = verdict;
        self.write_probe(at, mark, ProbeOutcome::Settled(outcome), None, evidence.clone());
        match outcome {
            Outcome::Success | Outcome::Alive => self.good_probe(at),
            Outcome::Failure => {
                let latency = latency.or(Some(at.now.saturating_duration_since(mark.admitted)));
                let call = deciding(at, Call { at: at.now, outcome, latency, evidence });
                self.bad_probe(at, retry_after.as_deref(), |wait| Cause::ProbeFailed {
                    evidence: Some(Box::new(call)),
                    wait,
                });
            }
            Outcome::Ignored => {}
        }
        self.cool_down(at, cooldown, retry_after.as_deref());
        Settled::Counted
    }

    /// A probe reached the end of its lease.
    pub(super) fn judge_lease(&mut self, at: At, mark: &Arc<ProbeMark>) {
        mark.judge();
        self.take_back(mark);
        if mark.proved_good() {
            self.counts.success += 1;
            self.write_probe(at, mark, ProbeOutcome::Settled(Outcome::Success), Some(Phase::Lease), None);
            self.good_probe(at);
        } else if mark.waits_for_client() {
            self.counts.ignored += 1;
            self.write_probe(at, mark, ProbeOutcome::Settled(Outcome::Ignored), Some(Phase::Lease), None);
        } else {
            self.counts.failure += 1;
            self.write_probe(at, mark, ProbeOutcome::Lost, Some(Phase::Lease), None);
            self.bad_probe(at, None, |wait| Cause::ProbeLost { wait });
        }
    }

    /// Gives the probe's permit back; false when the breaker has moved on since it was admitted.
    fn take_back(&mut self, mark: &Arc<ProbeMark>) -> bool {
        if mark.generation != self.generation {
            return false;
        }
        match &mut self.state {
            Automatic::Closed => false,
            Automatic::Open(waiting) => waiting.outside.take_if(|out| Arc::ptr_eq(out, mark)).is_some(),
            Automatic::HalfOpen(round) => match round.out.iter().position(|out| Arc::ptr_eq(out, mark)) {
                Some(place) => {
                    round.out.swap_remove(place);
                    true
                }
                None => false,
            },
        }
    }

    fn good_probe(&mut self, at: At) {
        match &mut self.state {
            Automatic::Closed => return,
            // An operator's probe, outside the wait.
            Automatic::Open(_) => self.half_open(at, 1, Cause::ProbeRequested),
            Automatic::HalfOpen(round) => round.good = round.good.saturating_add(1),
        }
        if let Automatic::HalfOpen(round) = &self.state
            && round.good >= self.policy.settings().half_open.successes
        {
            let good = round.good;
            self.close(at);
            self.emit(at.wall, State::HalfOpen, Cause::ProbesSucceeded { good }, None, None);
        }
    }

    /// The first bad probe ends the round; an operator's probe while open changes nothing.
    fn bad_probe(&mut self, at: At, retry_after: Option<&RetryAfter>, cause: impl FnOnce(DrawnWait) -> Cause) {
        if matches!(self.state, Automatic::HalfOpen(_)) {
            self.attempt = self.attempt.saturating_add(1);
            let wait = self.open(at, retry_after);
            self.emit(at.wall, State::HalfOpen, cause(wait), None, None);
        }
    }

    fn write_probe(
        &mut self,
        at: At,
        mark: &ProbeMark,
        outcome: ProbeOutcome,
        phase: Option<Phase>,
        evidence: Option<Box<Evidence>>,
    ) {
        self.push(Event::Probe(Probe {
            breaker: self.id.clone(),
            at: mark.at,
            duration: at.now.saturating_duration_since(mark.admitted),
            generation: mark.generation,
            outcome,
            phase: phase.or_else(|| evidence.as_ref()?.phase),
            evidence: mark.complete(evidence),
        }));
    }

    fn tally(&mut self, outcome: Outcome) {
        let counts = &mut self.counts;
        let count = match outcome {
            Outcome::Success => &mut counts.success,
            Outcome::Failure => &mut counts.failure,
            Outcome::Alive => &mut counts.alive,
            Outcome::Ignored => &mut counts.ignored,
        };
        *count += 1;
    }
}

fn deciding(at: At, call: Call) -> DecidingCall {
    DecidingCall {
        at: at.back_to(call.at).wall,
        outcome: call.outcome,
        latency: call.latency,
        evidence: call.evidence.map(|evidence| *evidence).unwrap_or_default(),
    }
}
