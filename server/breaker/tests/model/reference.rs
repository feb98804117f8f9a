//! The reference: what a breaker does, in milliseconds and without anything that makes it fast or safe to share.

use fuseboard_breaker::{Mode, Outcome, RefusedReason, State};

use crate::{FAILURES, FIRST, LEASE, MAX, PROBES, RUN, SUCCESSES, WITHIN};

/// A call that is out, as the reference sees it.
#[derive(Clone, Copy)]
pub(crate) struct Out {
    pub(crate) generation: u64,
    pub(crate) probe: bool,
    pub(crate) at: u64,
    pub(crate) moved: Option<u64>,
}

/// The reference. `None` in `out` is a call that is back; a judged probe stays out with generation `JUDGED`.
pub(crate) struct Model {
    pub(crate) now: u64,
    pub(crate) state: State,
    pub(crate) generation: u64,
    pub(crate) attempt: u32,
    pub(crate) next: u64,
    pub(crate) failed: Vec<u64>,
    pub(crate) run: u32,
    pub(crate) good: u32,
    pub(crate) held: Option<(Mode, Option<u64>)>,
    pub(crate) out: Vec<Option<Out>>,
}

const JUDGED: u64 = u64::MAX;

impl Model {
    pub(crate) fn turn(&mut self, state: State) {
        (self.state, self.good, self.run) = (state, 0, 0);
        self.failed.clear();
        self.generation += 1;
    }
    pub(crate) fn open(&mut self, at: u64) {
        self.next = at + (FIRST << self.attempt.min(9)).min(MAX);
        self.turn(State::Open);
    }
    pub(crate) fn probing(&self) -> usize {
        self.out.iter().flatten().filter(|out| out.probe && out.generation == self.generation).count()
    }
    /// The verdict on a call of this generation.
    pub(crate) fn judge(&mut self, probe: bool, outcome: Outcome, at: u64) {
        let good = matches!(outcome, Outcome::Success | Outcome::Alive);
        match self.state {
            State::Closed if good => self.run = 0,
            State::Closed if outcome == Outcome::Failure => {
                self.failed.retain(|failed| at - failed < WITHIN);
                self.failed.push(at);
                self.run += 1;
                if self.failed.len() >= FAILURES || self.run >= RUN {
                    self.open(at);
                }
            }
            State::Open | State::HalfOpen if probe && good => {
                if self.state == State::Open {
                    self.turn(State::HalfOpen);
                }
                self.good += 1;
                if self.good == SUCCESSES {
                    self.attempt = 0;
                    self.turn(State::Closed);
                }
            }
            State::HalfOpen if probe && outcome == Outcome::Failure => {
                self.attempt += 1;
                self.open(at);
            }
            _ => {}
        }
    }
    /// What became due by now, in its order: leases and the override's end.
    pub(crate) fn due(&mut self) {
        loop {
            let end = self.held.and_then(|(_, end)| end).map(|end| (end, usize::MAX));
            let forced_open = matches!(self.held, Some((Mode::ForcedOpen, _)));
            let live = |out: &Out| out.probe && out.generation == self.generation && !forced_open;
            let lapse = |(n, out): (usize, &Option<Out>)| out.filter(live).map(|out| (out.at + LEASE, n));
            let next = self.out.iter().enumerate().filter_map(lapse).chain(end).min();
            let Some((at, n)) = next.filter(|(at, _)| *at <= self.now) else { return };
            if n == usize::MAX {
                self.held = None;
                self.turn(self.state);
            } else if let Some(out) = &mut self.out[n] {
                out.generation = JUDGED;
                let moved = out.moved.is_some_and(|moved| moved >= at - LEASE / 4);
                self.judge(true, if moved { Outcome::Success } else { Outcome::Failure }, at);
            }
        }
    }
    pub(crate) fn acquire(&mut self, asked: bool) -> Result<bool, RefusedReason> {
        let mode = self.held.map(|(mode, _)| mode);
        if mode == Some(Mode::ForcedOpen) {
            return Err(RefusedReason::ForcedOpen);
        }
        if self.state == State::Open && self.now >= self.next {
            self.turn(State::HalfOpen);
        }
        let (probe, reason) = match self.state {
            State::Closed => (false, None),
            State::Open => (asked && self.probing() == 0, Some(RefusedReason::Open)),
            State::HalfOpen => (self.probing() < PROBES, Some(RefusedReason::ProbesTaken)),
        };
        if let Some(reason) = reason.filter(|_| !probe && mode.is_none()) {
            return Err(reason);
        }
        self.out.push(Some(Out { generation: self.generation, probe, at: self.now, moved: None }));
        Ok(probe)
    }
}
