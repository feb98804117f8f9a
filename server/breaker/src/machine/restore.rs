//! The restart. What was saved goes on as if time had passed while nobody watched: a wait or an override goes on with
//! what the wall clock leaves of it, never more than it had; half-open becomes probe due, since its probes are gone.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use super::{At, Automatic, Cooldown, Machine, Round, Standstill, Waiting};
use crate::{
    event::{Cause, Saved, State},
    policy::Policy,
};

impl Machine {
    /// The machine an earlier run left behind. It writes a row only where the restart changed something.
    pub(crate) fn restore(
        id: Arc<str>,
        policy: Policy,
        now: Instant,
        wall: SystemTime,
        dice: u64,
        saved: Saved,
    ) -> Self {
        let mut machine = Self::new(id, policy, now, wall, dice);
        let at = At { now, wall };
        machine.since = saved.since;
        machine.opens = saved.opens;
        let changed_wait = machine.resume_state(at, &saved);
        let changed_cooldown = machine.resume_cooldown(at, saved.cooldown_until);
        let changed_override = machine.resume_override(at, &saved);
        let from = saved.state;
        let half_open = from == State::HalfOpen;
        if half_open {
            let wait = saved.wait.min(machine.policy.settings().wait.max);
            machine.change(at, Automatic::Open(Waiting { wait, until: now, next_probe_at: wall, outside: None }));
        }
        if half_open || changed_wait || changed_cooldown || changed_override {
            machine.emit(wall, from, Cause::Restored, None, None);
        }
        machine
    }

    /// True when the wait is not what was written.
    fn resume_state(&mut self, at: At, saved: &Saved) -> bool {
        if saved.state == State::Closed {
            return false;
        }
        self.attempt = saved.attempt;
        self.down_since = Some(saved.down_since.unwrap_or(saved.since));
        if saved.state == State::HalfOpen {
            self.state = Automatic::HalfOpen(Round { wait: saved.wait, good: 0, out: Vec::new() });
            return false;
        }
        let max = self.policy.settings().wait.max;
        let wait = if saved.wait.is_zero() { max } else { saved.wait.min(max) };
        let written = saved.next_probe_at.unwrap_or(at.wall);
        let (left, next_probe_at) = left(at, written, wait);
        self.state = Automatic::Open(Waiting { wait, until: at.now + left, next_probe_at, outside: None });
        next_probe_at != written || wait != saved.wait
    }

    /// True when its end is not what was written.
    fn resume_override(&mut self, at: At, saved: &Saved) -> bool {
        let Some(held) = &saved.held else { return false };
        let mut shown = held.clone();
        let Some(written) = held.until else {
            self.held = Some(Box::new(Standstill { shown, ends: None }));
            return false;
        };
        let length = held.length.unwrap_or(Duration::MAX);
        let (left, until) = left(at, written, length);
        shown.until = Some(until);
        let ends = at.now.checked_add(left);
        self.held = Some(Box::new(Standstill { shown, ends }));
        if left.is_zero() {
            // It ended while nobody watched.
            let then = At { now: at.now, wall: written };
            self.end_override(then, Cause::OverrideExpired, None, None);
        }
        until != written
    }

    fn resume_cooldown(&mut self, at: At, until: Option<SystemTime>) -> bool {
        let Some(written) = until else { return false };
        let (left, until) = left(at, written, self.policy.settings().wait.max);
        self.cooldown = Some(Cooldown { ends: at.now + left, until });
        if left.is_zero() {
            self.end_cooldown(At { now: at.now, wall: written });
        }
        until != written
    }
}

/// What is left until `written`, at most `longest`, and when that is over by the wall clock.
fn left(at: At, written: SystemTime, longest: Duration) -> (Duration, SystemTime) {
    let left = written.duration_since(at.wall).unwrap_or_default();
    if left <= longest { (left, written) } else { (longest, at.wall.checked_add(longest).unwrap_or(written)) }
}
