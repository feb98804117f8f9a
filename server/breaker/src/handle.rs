//! [`Breaker`]: what callers, upkeep and operators hold.

use std::{
    fmt,
    sync::Arc,
    time::{Instant, SystemTime},
};

use crate::{
    cell::{Cell, Pass},
    clock::Clock,
    command::{Applied, NotOverridden, OverrideEnd, WouldEndOverride},
    event::{By, EventSink, Mode, Override, Saved},
    machine::{Ask, Machine},
    permit::{OwnedPermit, Permit},
    policy::Policy,
    refusal::Refused,
    snapshot::Snapshot,
};

/// The guard of one origin. Cloning shares it.
///
/// Commands ([`Breaker::reset`], [`Breaker::set_override`], [`Breaker::release`], [`Breaker::set_policy`]) return after
/// every event they caused has been handed to the sink; a sink must therefore never call them on the breaker it hears.
#[derive(Clone)]
pub struct Breaker(Arc<Cell>);

impl Breaker {
    /// A closed breaker.
    pub fn new(id: impl Into<Arc<str>>, policy: Policy, clock: Arc<dyn Clock>, sink: Arc<dyn EventSink>) -> Self {
        Self::seeded(id, policy, clock, sink, rand::random())
    }

    /// A closed breaker whose jitter is drawn from this seed, so that a simulation can be repeated.
    pub fn seeded(
        id: impl Into<Arc<str>>,
        policy: Policy,
        clock: Arc<dyn Clock>,
        sink: Arc<dyn EventSink>,
        seed: u64,
    ) -> Self {
        let id = id.into();
        Self::make(id.clone(), clock, sink, |now, wall| Machine::new(id, policy, now, wall, seed))
    }

    /// A breaker as it was left by an earlier run. A [`Cause::Restored`](crate::Cause::Restored) row is written only
    /// where the restart changed something, and rows for overrides and cool-downs that ended meanwhile.
    pub fn restore(
        id: impl Into<Arc<str>>,
        policy: Policy,
        clock: Arc<dyn Clock>,
        sink: Arc<dyn EventSink>,
        saved: Saved,
    ) -> Self {
        let (id, seed) = (id.into(), rand::random());
        Self::make(id.clone(), clock, sink, |now, wall| Machine::restore(id, policy, now, wall, seed, saved))
    }

    fn make(
        id: Arc<str>,
        clock: Arc<dyn Clock>,
        sink: Arc<dyn EventSink>,
        machine: impl FnOnce(Instant, SystemTime) -> Machine,
    ) -> Self {
        Self(Arc::new(Cell::new(id, clock, sink, machine)))
    }

    /// Inlined for certain, as is [`Breaker::try_acquire`]: a permit that passes need not go through memory then.
    #[inline(always)]
    fn admit<P>(&self, ask: Ask, permit: impl FnOnce(Pass) -> P) -> Result<P, Refused> {
        if ask == Ask::Call {
            if let Some(pass) = self.0.pass() {
                return Ok(permit(pass));
            }
            if let Some(left) = self.0.refuses_for() {
                return Err(self.0.refused_for(left));
            }
        }
        match self.0.admit(ask) {
            Ok(pass) => Ok(permit(pass)),
            Err(refused) => Err(refused),
        }
    }

    #[inline]
    pub(crate) fn cell(&self) -> &Cell {
        &self.0
    }

    /// Its id.
    pub fn id(&self) -> &Arc<str> {
        self.0.id()
    }

    /// The policy in force.
    pub fn policy(&self) -> Policy {
        self.0.read(|machine| machine.policy().clone())
    }

    /// Decides and reserves in one step; the only way in.
    ///
    /// # Errors
    /// The call is refused; nothing may be sent.
    #[inline(always)]
    pub fn try_acquire(&self) -> Result<Permit<'_>, Refused> {
        self.admit(Ask::Call, |pass| Permit::new(self, pass))
    }

    /// As [`Breaker::try_acquire`], for a call that leaves the caller's stack.
    ///
    /// # Errors
    /// The call is refused; nothing may be sent.
    #[inline]
    pub fn try_acquire_owned(&self) -> Result<OwnedPermit, Refused> {
        self.admit(Ask::Call, |pass| OwnedPermit::new(self.clone(), pass))
    }

    /// An operator's "probe now". While the breaker waits: one request outside the wait; good, it begins the half-open
    /// round as its first good probe; bad, nothing changes. Once a probe is due, and while half-open, it takes one of the
    /// permits; while closed it is an ordinary call.
    ///
    /// # Errors
    /// Held open by an operator, every permit taken, or cooling down.
    pub fn acquire_probe(&self) -> Result<OwnedPermit, Refused> {
        self.admit(Ask::ProbeNow, |pass| OwnedPermit::new(self.clone(), pass))
    }

    /// Does what is due (leases, ends of overrides and cool-downs) and says when the next of it is. Every input does the
    /// same first, so a missed tick delays a row but changes none.
    pub fn tick(&self) -> Option<Instant> {
        self.0.tick()
    }

    /// The breaker as it stands; takes no permit and moves nothing.
    pub fn snapshot(&self) -> Snapshot {
        self.0.snapshot()
    }

    /// Closes, and forgets rule memory, attempt, cool-down and override; calls in flight no longer count.
    ///
    /// # Errors
    /// An override stands and `end_override` does not say to end it.
    pub fn reset(&self, by: By, reason: &str, end_override: bool) -> Result<Applied, WouldEndOverride> {
        self.0.command(|machine, moment| machine.reset(moment, by, reason, end_override))
    }

    /// Sets an override; of the same one only the end and the reason change.
    pub fn set_override(&self, mode: Mode, until: OverrideEnd, by: By, reason: &str) -> Applied {
        self.0.command(|machine, moment| machine.set_override(moment, mode, until, by, reason))
    }

    /// Puts an override back that another one replaced or a release ended: mode, reason, owner and beginning as they
    /// were, `end` for what is left of it. The row is `by`'s.
    pub fn put_back(&self, held: Override, end: OverrideEnd, by: By, reason: &str) -> Applied {
        self.0.command(|machine, moment| machine.put_back(moment, held, end, by, reason))
    }

    /// Ends the override; the automatic state takes over as it stands.
    ///
    /// # Errors
    /// None is in force.
    pub fn release(&self, by: By, reason: &str) -> Result<Applied, NotOverridden> {
        self.0.command(|machine, moment| machine.release(moment, by, reason))
    }

    /// Replaces the policy: unchanged rules keep what they have counted, a drawn wait is cut to the new `max`.
    pub fn set_policy(&self, policy: Policy) {
        self.0.command(|machine, moment| machine.set_policy(moment, policy));
    }
}

impl fmt::Debug for Breaker {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Breaker").field(self.id()).finish()
    }
}
