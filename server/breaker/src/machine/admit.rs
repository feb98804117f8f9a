//! Who may call. In this order: forced open, forced closed, open or half-open, cool-down, closed.

use std::{sync::Arc, time::Duration};

use super::{At, Automatic, Machine, Moment, ProbeMark};
use crate::{
    event::{Cause, Mode, State},
    refusal::RefusedReason,
};

/// When it is worth asking again while every probe permit is out: they come back at any moment.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// A call.
    Call,
    /// An operator: before the wait is over one request outside it.
    ProbeNow,
}

/// What an admitted call is to the machine.
#[derive(Debug)]
pub(crate) enum Grant {
    /// Its verdict counts while the generation stands.
    Counted,
    /// Let through by forced closed alone; the machine takes no notice of what it proves.
    Unseen,
    /// Its verdict decides the round.
    Probe(Arc<ProbeMark>),
}

/// Why a call is not admitted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refusal {
    pub(crate) reason: RefusedReason,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) state: State,
    pub(crate) mode: Option<Mode>,
}

impl Machine {
    /// Decides and reserves in one step. The generation goes into the permit.
    pub(crate) fn admit(&mut self, moment: Moment, ask: Ask) -> Result<(u64, Grant), Refusal> {
        let at = self.enter(moment);
        let decided = match self.mode() {
            Some(Mode::ForcedOpen) => Err((RefusedReason::ForcedOpen, self.held_for(at))),
            Some(Mode::ForcedClosed) => Ok(self.admit_by_state(at, ask).unwrap_or(Grant::Unseen)),
            None => self.admit_by_state(at, ask),
        };
        decided.map(|grant| (self.generation, grant)).map_err(|(reason, retry_after)| Refusal {
            reason,
            retry_after,
            state: self.state(),
            mode: self.mode(),
        })
    }

    fn admit_by_state(&mut self, at: At, ask: Ask) -> Result<Grant, (RefusedReason, Option<Duration>)> {
        match &self.state {
            Automatic::Closed => match &self.cooldown {
                Some(cooldown) => {
                    Err((RefusedReason::CoolingDown, Some(cooldown.ends.saturating_duration_since(at.now))))
                }
                None => Ok(Grant::Counted),
            },
            Automatic::Open(waiting) if at.now < waiting.until => match ask {
                Ask::ProbeNow => self.admit_outside(at),
                Ask::Call => Err((RefusedReason::Open, Some(waiting.until.saturating_duration_since(at.now)))),
            },
            Automatic::Open(_) => {
                self.half_open(at, 0, Cause::WaitElapsed);
                self.admit_probe(at)
            }
            Automatic::HalfOpen(_) => self.admit_probe(at),
        }
    }

    /// One of the round's permits; in half-open exactly as many exist as the policy says.
    fn admit_probe(&mut self, at: At) -> Result<Grant, (RefusedReason, Option<Duration>)> {
        let permits = self.policy.settings().half_open.probes as usize;
        let mark = self.mark(at);
        match &mut self.state {
            Automatic::HalfOpen(round) if round.out.len() < permits => {
                round.out.push(mark.clone());
                Ok(Grant::Probe(mark))
            }
            _ => Err((RefusedReason::ProbesTaken, Some(ASK_AGAIN))),
        }
    }

    /// An operator's probe while open: one at a time, and the wait stays as it is.
    fn admit_outside(&mut self, at: At) -> Result<Grant, (RefusedReason, Option<Duration>)> {
        let mark = self.mark(at);
        match &mut self.state {
            Automatic::Open(waiting) if waiting.outside.is_none() => {
                waiting.outside = Some(mark.clone());
                Ok(Grant::Probe(mark))
            }
            _ => Err((RefusedReason::ProbesTaken, Some(ASK_AGAIN))),
        }
    }

    fn mark(&self, at: At) -> Arc<ProbeMark> {
        let lease = self.policy.settings().half_open.lease;
        Arc::new(ProbeMark::new(at.now, at.wall, self.generation, lease))
    }

    /// How long an override still refuses: to its end, or to the end of the wait behind it if that is later.
    fn held_for(&self, at: At) -> Option<Duration> {
        let ends = self.held.as_ref()?.ends?;
        let until = match &self.state {
            Automatic::Open(waiting) => ends.max(waiting.until),
            Automatic::Closed | Automatic::HalfOpen(_) => ends,
        };
        Some(until.saturating_duration_since(at.now))
    }
}
