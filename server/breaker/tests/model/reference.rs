//! The reference: what a breaker does, in milliseconds and without anything that makes it fast or safe to share.

use super::*;

/// A call that is out. `lease` is when a probe's ends, `NEVER` for other calls; `moved` is when its last byte moved.
pub(crate) struct Out {
    pub(crate) generation: u64,
    pub(crate) lease: u64,
    pub(crate) moved: u64,
}
/// `counted` is what calls proved in this generation: when, and whether it was good.
pub(crate) struct Model {
    pub(crate) now: u64,
    pub(crate) state: State,
    pub(crate) generation: u64,
    pub(crate) attempt: u32,
    pub(crate) next: u64,
    pub(crate) counted: Vec<(u64, bool)>,
    pub(crate) mode: Option<Mode>,
    pub(crate) end: u64,
    pub(crate) out: Vec<Out>,
}
impl Model {
    pub(crate) fn turn(&mut self, state: State, attempt: u32) {
        (self.state, self.attempt, self.generation, self.counted) = (state, attempt, self.generation + 1, Vec::new());
    }
    fn open(&mut self, attempt: u32, at: u64) {
        self.next = at + (FIRST << attempt.min(9)).min(MAX);
        self.turn(State::Open, attempt);
    }
    /// How many failed within the window, and how many in a row.
    pub(crate) fn failed(&self) -> (usize, usize) {
        let run = self.counted.iter().rev().take_while(|(_, good)| !good).count();
        (self.counted.iter().filter(|(at, good)| !good && self.now - at < WITHIN).count(), run)
    }
    /// The probes whose verdict is awaited, the oldest first.
    pub(crate) fn probes(&self) -> Vec<usize> {
        let awaited = |out: &Out| out.generation == self.generation && out.lease != NEVER;
        (0..self.out.len()).filter(|n| awaited(&self.out[*n])).collect()
    }
    /// The verdict on a call of this generation. One that forced closed alone let through proves nothing.
    pub(crate) fn judge(&mut self, probe: bool, good: bool, at: u64) {
        if self.state == State::Open && probe && good {
            self.turn(State::HalfOpen, self.attempt);
        }
        self.counted.extend((probe || self.state == State::Closed).then_some((at, good)));
        match (self.state, self.failed()) {
            (State::Closed, (failed, run)) if failed >= FAILURES || run >= RUN => self.open(0, at),
            (State::HalfOpen, _) if probe && !good => self.open(self.attempt + 1, at),
            (State::HalfOpen, _) if self.counted.len() == SUCCESSES => self.turn(State::Closed, 0),
            _ => {}
        }
    }
    /// What became due by now, in its order: leases, then the end of the override, after which no probe is left.
    pub(crate) fn due(&mut self) {
        while let Some(n) = self.probes().into_iter().find(|n| self.out[*n].lease <= self.end.min(self.now)) {
            self.judge(true, self.out[n].moved >= self.out[n].lease - LEASE / 4, self.out[n].lease);
            self.out[n].generation = NEVER;
        }
        if self.end <= self.now {
            (self.mode, self.end) = (None, NEVER);
            self.turn(self.state, self.attempt);
        }
    }
    pub(crate) fn acquire(&mut self, asked: bool) -> Result<bool, RefusedReason> {
        if self.state == State::Open && self.now >= self.next && self.mode != Some(Mode::ForcedOpen) {
            self.turn(State::HalfOpen, self.attempt);
        }
        let lease = match (self.mode, self.state) {
            (Some(Mode::ForcedOpen), _) => return Err(RefusedReason::ForcedOpen),
            (_, State::Open) if asked && self.probes().is_empty() => self.now + LEASE,
            (_, State::HalfOpen) if self.probes().len() < PROBES => self.now + LEASE,
            (None, State::Open) => return Err(RefusedReason::Open),
            (None, State::HalfOpen) => return Err(RefusedReason::ProbesTaken),
            _ => NEVER,
        };
        self.out.push(Out { generation: self.generation, lease, moved: self.now });
        Ok(lease != NEVER)
    }
}
