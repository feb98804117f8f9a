//! Reading: takes no permit, draws nothing, moves nothing.

use std::time::Instant;

use super::{Automatic, Machine};
use crate::{
    event::{Mode, State},
    policy::Policy,
    snapshot::{Counts, HalfOpenSnapshot, Snapshot},
};

/// In which order a full panel lets breakers go: the idle, then those with memory, then the open ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Standing {
    /// Closed with nothing to remember, and when it was last seen in use.
    Idle(Instant),
    /// Closed with memory or a cool-down.
    Remembering(Instant),
    /// Open, and when its wait ends.
    Open(Instant),
}

impl Machine {
    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Permits that ended under the lock.
    pub(crate) fn ended(&self) -> u64 {
        self.ended
    }

    /// Closed and without override: nothing comes due and nothing is refused, save by a cool-down.
    pub(crate) fn flows(&self) -> bool {
        matches!(self.state, Automatic::Closed) && self.held.is_none()
    }

    pub(crate) fn cools_down(&self) -> bool {
        self.cooldown.is_some()
    }

    /// Whether a success changes nothing but a count.
    pub(crate) fn ignores_successes(&self) -> bool {
        !self.policy.counts_successes() && !self.memory.run_pending()
    }

    /// Until when every call is refused, with nothing that could come due before.
    pub(crate) fn refuses_until(&self) -> Option<Instant> {
        match &self.state {
            Automatic::Open(waiting) if self.held.is_none() && self.cooldown.is_none() && waiting.outside.is_none() => {
                Some(waiting.until)
            }
            _ => None,
        }
    }

    /// `None`: it must stay.
    pub(crate) fn standing(&mut self, now: Instant, seen: Instant) -> Option<Standing> {
        if self.held.is_some() {
            return None;
        }
        match &self.state {
            Automatic::HalfOpen(_) => None,
            Automatic::Open(waiting) => Some(Standing::Open(waiting.until)),
            Automatic::Closed if self.memory.prune(&self.policy, now) && self.cooldown.is_none() => {
                Some(Standing::Idle(seen))
            }
            Automatic::Closed => Some(Standing::Remembering(seen)),
        }
    }

    /// Whether refusals count towards `refused_since_down`.
    pub(crate) fn is_down(&self) -> bool {
        !matches!(self.state, Automatic::Closed) || self.mode() == Some(Mode::ForcedOpen)
    }

    /// Everything but what the cell counts: `in_flight`, `refused_since_down`, `called`, refusals, and successes that
    /// took no lock.
    pub(crate) fn snapshot(&self, now: Instant) -> Snapshot {
        let now = now.max(self.last);
        let half_open = self.policy.settings().half_open;
        let (next_probe_at, next_probe_in) = match &self.state {
            Automatic::Open(waiting) => {
                (Some(waiting.next_probe_at), Some(waiting.until.saturating_duration_since(now)))
            }
            Automatic::Closed | Automatic::HalfOpen(_) => (None, None),
        };
        let (in_flight, good) = match &self.state {
            Automatic::HalfOpen(round) => (u32::try_from(round.out.len()).unwrap_or(u32::MAX), round.good),
            Automatic::Closed | Automatic::Open(_) => (0, 0),
        };
        Snapshot {
            id: self.id.clone(),
            policy: self.policy.clone(),
            state: self.state(),
            held: self.held.as_ref().map(|held| held.shown.clone()),
            held_for: self.held.as_ref().and_then(|held| held.ends).map(|ends| ends.saturating_duration_since(now)),
            since: self.since,
            generation: self.generation,
            attempt: self.attempt,
            next_probe_at,
            next_probe_in,
            probe_due: next_probe_in.is_some_and(|left| left.is_zero()),
            lease_over_for: self.earliest_lease().and_then(|mark| now.checked_duration_since(mark.due())),
            cooldown_until: self.cooldown.map(|cooldown| cooldown.until),
            in_flight: 0,
            down_since: self.down_since,
            refused_since_down: 0,
            opens: self.opens,
            wait: self.wait(),
            half_open: HalfOpenSnapshot { permits: half_open.probes, in_flight, good, needed: half_open.successes },
            counts: Counts { ..self.counts },
            rules: self.memory.snapshot(&self.policy, now),
            called: self.opens > 0 || self.state() != State::Closed,
        }
    }
}
