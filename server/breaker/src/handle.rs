//! [`Breaker`]: what callers, upkeep and operators hold.

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use crate::{
    clock::Clock,
    command::{Applied, NotOverridden, OverrideEnd, WouldEndOverride},
    event::{By, EventSink, Mode, Override, Saved, State},
    outcome::{Outcome, Verdict},
    permit::{OwnedPermit, Permit},
    policy::Policy,
    refusal::Refused,
    snapshot::{Counts, HalfOpenSnapshot, Snapshot},
};

/// The guard of one origin. Cloning shares it.
#[derive(Clone)]
pub struct Breaker(Arc<Cell>);

struct Cell {
    id: Arc<str>,
    policy: Policy,
    clock: Arc<dyn Clock>,
    counts: Mutex<Counts>,
    held: Mutex<Option<Override>>,
}

impl Breaker {
    /// A closed breaker.
    pub fn new(id: impl Into<Arc<str>>, policy: Policy, clock: Arc<dyn Clock>, _sink: Arc<dyn EventSink>) -> Self {
        Self(Arc::new(Cell { id: id.into(), policy, clock, counts: Mutex::default(), held: Mutex::default() }))
    }

    /// A breaker as it was left by an earlier run.
    pub fn restore(
        id: impl Into<Arc<str>>,
        policy: Policy,
        clock: Arc<dyn Clock>,
        sink: Arc<dyn EventSink>,
        _saved: Saved,
    ) -> Self {
        Self::new(id, policy, clock, sink)
    }

    /// Its id.
    pub fn id(&self) -> &Arc<str> {
        &self.0.id
    }

    /// The policy in force.
    pub fn policy(&self) -> Policy {
        self.0.policy.clone()
    }

    /// Decides and reserves in one step.
    ///
    /// # Errors
    /// The call is refused; nothing may be sent.
    pub fn try_acquire(&self) -> Result<Permit<'_>, Refused> {
        Ok(Permit::new(self))
    }

    /// As [`Breaker::try_acquire`], for a call that leaves the caller's stack.
    ///
    /// # Errors
    /// The call is refused; nothing may be sent.
    pub fn try_acquire_owned(&self) -> Result<OwnedPermit, Refused> {
        Ok(OwnedPermit::new(self.clone()))
    }

    /// An operator's probe: while open one request outside the wait.
    ///
    /// # Errors
    /// Forced open, or half-open with every permit taken, or cooling down.
    pub fn acquire_probe(&self) -> Result<OwnedPermit, Refused> {
        self.try_acquire_owned()
    }

    /// Does what is due and says when to come again.
    pub fn tick(&self) -> Option<Instant> {
        None
    }

    /// The breaker as it stands; takes no permit and moves nothing.
    pub fn snapshot(&self) -> Snapshot {
        let half_open = self.0.policy.settings().half_open;
        let counts = *self.0.counts.lock();
        Snapshot {
            id: self.0.id.clone(),
            policy: self.0.policy.clone(),
            state: State::Closed,
            held: self.0.held.lock().clone(),
            since: self.0.clock.wall(),
            generation: 0,
            attempt: 0,
            next_probe_at: None,
            next_probe_in: None,
            probe_due: false,
            cooldown_until: None,
            in_flight: 0,
            down_since: None,
            refused_since_down: 0,
            opens: 0,
            wait: None,
            half_open: HalfOpenSnapshot {
                permits: half_open.probes,
                in_flight: 0,
                good: 0,
                needed: half_open.successes,
            },
            counts,
            rules: Vec::new(),
            called: counts != Counts::default(),
        }
    }

    /// Closes and forgets.
    ///
    /// # Errors
    /// An override stands and `end_override` does not say to end it.
    pub fn reset(&self, _by: By, _reason: &str, end_override: bool) -> Result<Applied, WouldEndOverride> {
        let mut held = self.0.held.lock();
        match held.take() {
            Some(standing) if !end_override => {
                *held = Some(standing.clone());
                Err(WouldEndOverride(standing))
            }
            Some(_) => Ok(Applied::Changed),
            None => Ok(Applied::Quiet),
        }
    }

    /// Sets an override, or changes the end and reason of the same one.
    pub fn set_override(&self, mode: Mode, until: OverrideEnd, by: By, reason: &str) -> Applied {
        let since = self.0.clock.wall();
        let length = match until {
            OverrideEnd::Never => None,
            OverrideEnd::After(length) => Some(length),
        };
        let until = length.and_then(|length: Duration| since.checked_add(length));
        *self.0.held.lock() = Some(Override { mode, reason: reason.into(), by, since, length, until });
        Applied::Changed
    }

    /// Ends the override.
    ///
    /// # Errors
    /// None is in force.
    pub fn release(&self, _by: By, _reason: &str) -> Result<Applied, NotOverridden> {
        self.0.held.lock().take().map(|_| Applied::Changed).ok_or(NotOverridden)
    }

    /// Replaces the policy; unchanged rules keep what they have counted.
    pub fn set_policy(&self, _policy: Policy) {}

    pub(crate) fn count(&self, verdict: &Verdict) {
        let mut counts = self.0.counts.lock();
        match verdict.outcome {
            Outcome::Success => counts.success += 1,
            Outcome::Failure => counts.failure += 1,
            Outcome::Alive => counts.alive += 1,
            Outcome::Ignored => counts.ignored += 1,
        }
    }
}

impl fmt::Debug for Breaker {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Breaker").field(&self.0.id).finish()
    }
}
