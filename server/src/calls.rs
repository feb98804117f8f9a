//! What calls did, per breaker: the last 60 s for the board, totals per minute for the store.
//!
//! Nothing here is a fact with a number; it is counted, and the writer fetches what changed with its next commit. Room
//! is taken on a breaker's first call and given back after its minute is written and 60 s are quiet, so a breaker
//! nobody calls costs a map entry.

pub mod histogram;
mod window;

use std::{
    collections::HashMap,
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use fuseboard_breaker::{clock::Clock, event::ProbeOutcome, outcome::Outcome};
use fuseboard_fetch::{CallObserver, CallRecord};
use parking_lot::Mutex;

use self::{histogram::Histogram, window::Window};
use crate::stamp::micros;

/// Locks are spread over this many parts, so that calls to different hosts rarely meet.
const SHARDS: usize = 16;
/// One minute, in the store's unit.
pub const MINUTE: i64 = 60_000_000;
/// Minutes kept for a store that refuses to take them; older ones are added to the next.
const MINUTES_KEPT: usize = 60;

/// Outcomes of one stretch of time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// The host did its work.
    pub success: u64,
    /// The host failed.
    pub failure: u64,
    /// The host answered, the client or a limit is at fault.
    pub alive: u64,
    /// No evidence either way.
    pub ignored: u64,
    /// Dropped before they were settled.
    pub cancelled: u64,
    /// Failed fast.
    pub refused: u64,
    /// Verdicts from before the last change, and lost probes.
    pub late: u64,
    /// Times to the response's head.
    pub latency: Histogram,
}

impl Totals {
    fn count(&mut self, outcome: ProbeOutcome) {
        *match outcome {
            ProbeOutcome::Settled(Outcome::Success) => &mut self.success,
            ProbeOutcome::Settled(Outcome::Failure) => &mut self.failure,
            ProbeOutcome::Settled(Outcome::Alive) => &mut self.alive,
            ProbeOutcome::Settled(Outcome::Ignored) => &mut self.ignored,
            ProbeOutcome::Cancelled => &mut self.cancelled,
            ProbeOutcome::Lost | ProbeOutcome::Late => &mut self.late,
        } += 1;
    }

    /// Adds everything another stretch counted.
    pub fn merge(&mut self, other: &Self) {
        self.success += other.success;
        self.failure += other.failure;
        self.alive += other.alive;
        self.ignored += other.ignored;
        self.cancelled += other.cancelled;
        self.refused += other.refused;
        self.late += other.late;
        self.latency.merge(&other.latency);
    }
}

/// One breaker's totals of one minute of this run so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MinuteRow {
    /// Which breaker.
    pub breaker: Arc<str>,
    /// Start of the minute, microseconds since 1970.
    pub at: i64,
    /// The whole minute's totals, not a difference: writing them twice is harmless.
    pub totals: Totals,
}

/// The last 60 s of one breaker.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CallStats {
    /// Calls settled or refused.
    pub calls_per_min: u64,
    /// Calls refused.
    pub refused_per_min: u64,
    /// Share of failures among success, failure and alive; `None` without data.
    pub failure_rate: Option<f64>,
    /// Median time to the head; `None` without data.
    pub p50_ms: Option<f64>,
    /// 95th percentile of it.
    pub p95_ms: Option<f64>,
}

#[derive(Default)]
struct Minute {
    at: i64,
    totals: Totals,
    dirty: bool,
}

/// What a breaker that is being called takes.
struct Active {
    window: Window,
    /// Oldest first; the last one is still being counted.
    minutes: Vec<Minute>,
}

type Shard = HashMap<Arc<str>, Box<Active>>;

/// The counters of every breaker. See the module.
pub struct Calls {
    clock: Arc<dyn Clock>,
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
    /// The newest minute anything was counted in. Minutes never go back, whatever the wall clock does: one that was
    /// handed out must not begin again from zero.
    minute: AtomicI64,
}

impl fmt::Debug for Calls {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Calls").finish_non_exhaustive()
    }
}

impl Calls {
    /// Counters on this clock.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, hasher: RandomState::new(), shards: Default::default(), minute: AtomicI64::new(i64::MIN) }
    }

    /// Counts one admitted call.
    pub fn settle(&self, breaker: &Arc<str>, outcome: ProbeOutcome, head_latency: Option<Duration>) {
        self.with(breaker, |active, now, minute| {
            active.window.at(now).settle(outcome, head_latency);
            let minute = active.minute(minute);
            minute.totals.count(outcome);
            if let Some(latency) = head_latency {
                minute.totals.latency.add(latency);
            }
        });
    }

    /// Counts one refused call.
    pub fn refuse(&self, breaker: &Arc<str>) {
        self.with(breaker, |active, now, minute| {
            active.window.at(now).refuse();
            active.minute(minute).totals.refused += 1;
        });
    }

    /// The last 60 s of this breaker.
    pub fn stats(&self, breaker: &str) -> CallStats {
        let now = self.clock.now();
        let mut shard = self.shard(breaker).lock();
        shard.get_mut(breaker).map_or_else(CallStats::default, |active| active.window.stats(now))
    }

    /// Every minute that changed since the last time, and the chance to give room back.
    pub fn take_dirty(&self) -> Vec<MinuteRow> {
        let now = self.clock.now();
        let minute = self.minute();
        let mut rows = Vec::new();
        for shard in &self.shards {
            shard.lock().retain(|breaker, active| {
                let last = active.minutes.len().saturating_sub(1);
                let mut index = 0;
                active.minutes.retain_mut(|one| {
                    if std::mem::take(&mut one.dirty) {
                        rows.push(MinuteRow { breaker: breaker.clone(), at: one.at, totals: one.totals.clone() });
                    }
                    // The newest stays while it can still grow.
                    let keep = index == last && one.at >= minute;
                    index += 1;
                    keep
                });
                !(active.minutes.is_empty() && active.window.is_quiet(now))
            });
        }
        rows
    }

    fn minute(&self) -> i64 {
        let minute = micros(self.clock.wall()).div_euclid(MINUTE) * MINUTE;
        let newest = self.minute.load(Ordering::Relaxed);
        if newest >= minute { newest } else { self.minute.fetch_max(minute, Ordering::Relaxed).max(minute) }
    }

    fn shard(&self, breaker: &str) -> &Mutex<Shard> {
        &self.shards[self.hasher.hash_one(breaker) as usize % SHARDS]
    }

    fn with(&self, breaker: &Arc<str>, count: impl FnOnce(&mut Active, Instant, i64)) {
        let (now, minute) = (self.clock.now(), self.minute());
        let mut shard = self.shard(breaker).lock();
        let active = match shard.get_mut(breaker) {
            Some(active) => active,
            None => shard
                .entry(breaker.clone())
                .or_insert_with(|| Box::new(Active { window: Window::new(now), minutes: Vec::new() })),
        };
        count(active, now, minute);
    }
}

impl CallObserver for Calls {
    fn settled(&self, call: &CallRecord) {
        self.settle(&call.breaker, call.outcome, call.head_latency);
    }

    fn refused(&self, breaker: &Arc<str>, _reason: &str, _path: &str, _agent: Option<&str>) {
        self.refuse(breaker);
    }
}

impl Active {
    /// The minute to count in.
    fn minute(&mut self, at: i64) -> &mut Minute {
        if self.minutes.last().is_none_or(|newest| newest.at < at) {
            if self.minutes.len() >= MINUTES_KEPT {
                let oldest = self.minutes.remove(0);
                self.minutes[0].totals.merge(&oldest.totals);
                self.minutes[0].dirty = true;
            }
            self.minutes.push(Minute { at, ..Minute::default() });
        }
        let newest = self.minutes.len() - 1;
        let minute = &mut self.minutes[newest];
        minute.dirty = true;
        minute
    }
}

#[cfg(test)]
mod tests;
