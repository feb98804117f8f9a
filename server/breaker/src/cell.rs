//! The machine where many threads meet: one lock around it, one word beside it.
//!
//! The word says in one load what most calls need to know: the generation, and whether a call may pass, a success may
//! be counted or a call must be refused without asking the machine. It is written under the lock alone, after each input.
//! A call that goes by the word counts in [`Column`] and is as if it had come at the moment it read the word.
//!
//! Events gather in the machine's outbox under the lock and leave after it: one thread at a time hands them to the sink,
//! in the order they were made. A call that finds another thread at it goes on; a command waits for its own.

mod pass;
#[cfg(feature = "tower")]
mod watch;

use std::{
    collections::VecDeque,
    mem::{discriminant, take},
    num::NonZeroU64,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

pub(crate) use pass::Pass;
#[cfg(feature = "tower")]
pub(crate) use watch::Watch;

#[cfg(feature = "tower")]
use self::watch::Watchers;
use crate::{
    clock::Clock,
    event::{Event, EventSink, State},
    machine::{Ask, Ending, Grant, Held, Machine, Moment, ProbeMark, Refusal, Standing},
    outcome::{Evidence, Outcome, Settled, Verdict},
    refusal::{Refused, RefusedReason},
    snapshot::Snapshot,
    stripes::Column,
    sync::{AtomicU64, Mutex, MutexGuard, Ordering},
};

/// Closed, nothing comes due: a call passes.
const PASS: u64 = 1;
/// A rule asks when a call began.
const TIMED: u64 = 1 << 1;
/// A success changes nothing but a count.
const COUNT: u64 = 1 << 2;
/// Open, nothing comes due: refused until `refuses_until`.
const REFUSE: u64 = 1 << 3;
/// In a permit alone: forced closed let it through, the machine takes no notice.
const UNSEEN: u64 = 1 << 4;
/// The generation stands above the flags.
const FLAGS: u32 = 8;

/// Aligned so that a handle's reference count shares no line with the word.
#[repr(align(64))]
pub(crate) struct Cell {
    word: AtomicU64,
    /// Nanoseconds after `start`; means something while the word says `REFUSE`.
    refuses_until: AtomicU64,
    column: Column,
    id: Arc<str>,
    clock: Arc<dyn Clock>,
    sink: Arc<dyn EventSink>,
    start: Instant,
    locked: Mutex<Locked>,
    /// Held by the thread that hands events on.
    draining: Mutex<()>,
    /// Who waits for a service behind it to become ready.
    #[cfg(feature = "tower")]
    watchers: Watchers,
    /// Who must end when an operator holds it open.
    #[cfg(feature = "tower")]
    ending: Watchers,
}

#[derive(Debug)]
struct Locked {
    machine: Machine,
    /// Refusals counted before it went down.
    refused_before: u64,
    /// Admissions at the last tick, and when they last grew.
    seen: (u64, Instant),
}

impl Cell {
    pub(crate) fn new(
        id: Arc<str>,
        clock: Arc<dyn Clock>,
        sink: Arc<dyn EventSink>,
        make: impl FnOnce(Instant, SystemTime) -> Machine,
    ) -> Self {
        let start = clock.now();
        let machine = make(start, clock.wall());
        let cell = Self {
            word: AtomicU64::new(0),
            refuses_until: AtomicU64::new(0),
            column: Column::new(),
            id,
            clock,
            sink,
            start,
            locked: Mutex::new(Locked { machine, refused_before: 0, seen: (0, start) }),
            draining: Mutex::new(()),
            #[cfg(feature = "tower")]
            watchers: Watchers::new(),
            #[cfg(feature = "tower")]
            ending: Watchers::new(),
        };
        cell.leave(cell.locked.lock(), true);
        cell
    }

    pub(crate) fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The short way in, for calls that need no lock and no clock. Apart from [`Cell::admit`], whose result would
    /// otherwise have to be built in memory for every call that passes.
    #[inline]
    pub(crate) fn pass(&self) -> Option<Pass> {
        let word = self.word.load(Ordering::Acquire);
        if word & (PASS | TIMED) != PASS {
            return None;
        }
        self.column.admit();
        Some(Pass::quick(word))
    }

    /// The short way out: for how many nanoseconds it refuses, where that needs no lock. One clock read. A number fits in
    /// a register, so that a refusal is built where it is wanted.
    #[inline(never)]
    pub(crate) fn refuses_for(&self) -> Option<NonZeroU64> {
        let left = self.open_for()?;
        self.column.refuse();
        Some(left)
    }

    #[inline]
    fn open_for(&self) -> Option<NonZeroU64> {
        if self.word.load(Ordering::Acquire) & REFUSE == 0 {
            return None;
        }
        let now = self.nanos(self.clock.now());
        NonZeroU64::new(self.refuses_until.load(Ordering::Acquire).saturating_sub(now))
    }

    #[inline]
    pub(crate) fn refused_for(&self, left: NonZeroU64) -> Refused {
        let retry_after = Some(Duration::from_nanos(left.get()));
        Refused { breaker: self.id.clone(), reason: RefusedReason::Open, retry_after, state: State::Open, mode: None }
    }

    /// The whole way in.
    #[inline(never)]
    pub(crate) fn admit(&self, ask: Ask) -> Result<Pass, Refused> {
        let word = self.word.load(Ordering::Acquire);
        let now = self.clock.now();
        if word & PASS != 0 {
            self.column.admit();
            return Ok(Pass::with(word, now, None));
        }
        let moment = Moment { now, wall: Some(self.clock.wall()) };
        let mut locked = self.locked.lock();
        let admitted = locked.machine.admit(moment, ask);
        if admitted.is_ok() {
            self.column.admit();
        }
        self.leave(locked, false);
        match admitted {
            Ok((generation, grant)) => {
                let word = generation << FLAGS | if matches!(grant, Grant::Unseen) { UNSEEN } else { 0 };
                let probe = if let Grant::Probe(mark) = grant { Some(mark) } else { None };
                Ok(Pass::with(word, now, probe))
            }
            Err(refusal) => {
                self.column.refuse();
                Err(self.refused(refusal))
            }
        }
    }

    fn refused(&self, Refusal { reason, retry_after, state, mode }: Refusal) -> Refused {
        Refused { breaker: self.id.clone(), reason, retry_after, state, mode }
    }

    /// How long ago a call was admitted, if a rule asks.
    #[cfg(feature = "grpc")]
    pub(crate) fn elapsed(&self, pass: &Pass) -> Option<Duration> {
        Some(self.clock.now().saturating_duration_since(pass.started()?))
    }

    #[inline]
    pub(crate) fn settle(&self, pass: Pass, verdict: Verdict) -> Settled {
        if verdict.outcome == Outcome::Success && !verdict.cooldown {
            let word = self.word.load(Ordering::Acquire);
            if word & COUNT != 0 && word >> FLAGS == pass.generation() {
                self.column.succeed();
                return Settled::Counted;
            }
        }
        self.end(pass, Ending::Verdict(verdict))
    }

    #[cold]
    pub(crate) fn cancel(&self, pass: Pass) {
        self.end(pass, Ending::Cancelled);
    }

    #[inline(never)]
    fn end(&self, pass: Pass, ending: Ending) -> Settled {
        let now = self.clock.now();
        // The wall is read where an event may come of it.
        let word = self.word.load(Ordering::Acquire);
        let eventless = match &ending {
            Ending::Cancelled => true,
            Ending::Verdict(verdict) => verdict.outcome != Outcome::Failure && !verdict.cooldown,
        };
        let wall = if word & (PASS | TIMED) == PASS && eventless { None } else { Some(self.clock.wall()) };
        let (generation, unseen) = (pass.generation(), pass.word() & UNSEEN != 0);
        let (started, probe) = pass.into_parts();
        let held = Held { generation, unseen, started, probe };
        let mut locked = self.locked.lock();
        let settled = locked.machine.settle(Moment { now, wall }, held, ending);
        self.leave(locked, false);
        settled
    }

    /// A probe's byte or message moved. What comes after its lease finds it judged by what came before.
    pub(crate) fn progress(&self, pass: &Pass) {
        if let Some((mark, now)) = self.in_lease(pass) {
            mark.stamp_progress(now);
        }
    }

    /// A probe's host answered with more to come.
    pub(crate) fn answered(&self, pass: &Pass) {
        if let Some((mark, _)) = self.in_lease(pass) {
            mark.stamp_answered();
        }
    }

    pub(crate) fn describe(&self, pass: &Pass, so_far: Evidence) {
        if let Some((mark, _)) = self.in_lease(pass) {
            mark.describe(so_far);
        }
    }

    pub(crate) fn waiting_for_client(&self, pass: &Pass, waiting: bool) {
        if let Some((mark, _)) = self.in_lease(pass) {
            mark.stamp_waiting(waiting);
        }
    }

    fn in_lease<'a>(&self, pass: &'a Pass) -> Option<(&'a ProbeMark, Instant)> {
        let mark = pass.probe()?;
        if mark.is_judged() {
            return None;
        }
        let now = self.clock.now();
        if now >= mark.due() {
            self.tick();
            return None;
        }
        Some((mark, now))
    }

    pub(crate) fn tick(&self) -> Option<Instant> {
        let moment = self.moment();
        let mut locked = self.locked.lock();
        let due = locked.machine.tick(moment);
        let admitted = self.column.admitted();
        if locked.seen.0 != admitted {
            locked.seen = (admitted, moment.now);
        }
        self.leave(locked, false);
        due
    }

    /// Runs an operator's command; returns after every event it caused has been handed to the sink.
    pub(crate) fn command<T>(&self, run: impl FnOnce(&mut Machine, Moment) -> T) -> T {
        let moment = self.moment();
        let mut locked = self.locked.lock();
        let done = run(&mut locked.machine, moment);
        self.leave(locked, true);
        done
    }

    pub(crate) fn read<T>(&self, read: impl FnOnce(&Machine) -> T) -> T {
        read(&self.locked.lock().machine)
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let now = self.clock.now();
        let locked = self.locked.lock();
        let mut snapshot = locked.machine.snapshot(now);
        // Ended before admitted: no call is then seen ended but not admitted.
        let succeeded = self.column.succeeded();
        let ended = succeeded.wrapping_add(locked.machine.ended());
        let admitted = self.column.admitted();
        let refused = self.column.refused();
        if locked.machine.is_down() {
            snapshot.refused_since_down = refused.wrapping_sub(locked.refused_before);
        }
        drop(locked);
        snapshot.in_flight = admitted.wrapping_sub(ended);
        snapshot.counts.success = snapshot.counts.success.wrapping_add(succeeded);
        snapshot.counts.refused = refused;
        snapshot.called |= admitted > 0 || refused > 0;
        snapshot
    }

    /// Where it stands in the order a full panel lets breakers go; `None`: it must stay.
    pub(crate) fn standing(&self) -> Option<Standing> {
        let now = self.clock.now();
        let mut locked = self.locked.lock();
        if self.in_flight(&locked) > 0 {
            return None;
        }
        let seen = locked.seen.1;
        let standing = locked.machine.standing(now, seen);
        self.leave(locked, false);
        standing
    }

    /// Sends it away for good, unless it must stay or no longer stands `as_chosen`.
    pub(crate) fn retire(&self, as_chosen: Option<Standing>) -> bool {
        let moment = self.moment();
        let mut locked = self.locked.lock();
        let now = locked.machine.standing(moment.now, moment.now);
        let may = now.is_some_and(|now| as_chosen.is_none_or(|chosen| discriminant(&now) == discriminant(&chosen)));
        let goes = may && self.in_flight(&locked) == 0;
        if goes {
            locked.machine.retire(moment);
        }
        self.leave(locked, true);
        goes
    }

    fn in_flight(&self, locked: &Locked) -> u64 {
        let ended = self.column.succeeded().wrapping_add(locked.machine.ended());
        self.column.admitted().wrapping_sub(ended)
    }

    fn moment(&self) -> Moment {
        Moment { now: self.clock.now(), wall: Some(self.clock.wall()) }
    }

    #[inline]
    fn nanos(&self, at: Instant) -> u64 {
        let since = at.saturating_duration_since(self.start);
        since.as_secs().saturating_mul(1_000_000_000).saturating_add(u64::from(since.subsec_nanos()))
    }

    /// Ends an input: writes the word, lets go of the lock, hands events on.
    fn leave(&self, mut locked: MutexGuard<'_, Locked>, wait: bool) {
        if locked.machine.take_went_down() {
            locked.refused_before = self.column.refused();
        }
        let machine = &locked.machine;
        let mut word = machine.generation() << FLAGS;
        if machine.flows() {
            word |= if machine.cools_down() { 0 } else { PASS };
            word |= if machine.policy().times_calls() { TIMED } else { 0 };
            word |= if machine.ignores_successes() { COUNT } else { 0 };
        }
        if let Some(until) = machine.refuses_until() {
            word |= REFUSE;
            self.refuses_until.store(self.nanos(until), Ordering::Release);
        }
        self.word.store(word, Ordering::Release);
        let pending = !locked.machine.outbox().is_empty();
        #[cfg(feature = "tower")]
        let hear = self.who_hears(&locked.machine);
        drop(locked);
        #[cfg(feature = "tower")]
        hear.into_iter().flatten().for_each(Watchers::wake);
        if pending || wait {
            self.drain(wait);
        }
    }

    /// Hands events on. Who finds another thread at it leaves its own to that thread, which looks once more after it has
    /// let go; only a command waits.
    fn drain(&self, mut wait: bool) {
        loop {
            let draining = if wait { Some(self.draining.lock()) } else { self.draining.try_lock() };
            let Some(draining) = draining else { return };
            loop {
                let batch = take(self.locked.lock().machine.outbox());
                if batch.is_empty() {
                    break;
                }
                self.hand_on(batch);
            }
            drop(draining);
            if self.locked.lock().machine.outbox().is_empty() {
                return;
            }
            wait = false;
        }
    }

    /// A sink that panics loses that one event; the breaker and the caller go on.
    fn hand_on(&self, batch: VecDeque<Event>) {
        for event in batch {
            let _ = catch_unwind(AssertUnwindSafe(|| self.sink.record(event)));
        }
    }
}
