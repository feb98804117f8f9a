//! The last 60 s in slices of 5 s.

use std::time::{Duration, Instant};

use fuseboard_breaker::{event::ProbeOutcome, outcome::Outcome};

use super::{CallStats, histogram::Histogram};

const SLICE: Duration = Duration::from_secs(5);
const SLICES: usize = 12;
const LENGTH: Duration = Duration::from_secs(60);

/// Counts of 5 s.
#[derive(Default)]
pub(super) struct Slice {
    number: u64,
    calls: u64,
    refused: u64,
    failures: u64,
    judged: u64,
    latency: Histogram,
}

impl Slice {
    pub(super) fn settle(&mut self, outcome: ProbeOutcome, head_latency: Option<Duration>) {
        self.calls += 1;
        match outcome {
            ProbeOutcome::Settled(Outcome::Failure) => {
                self.failures += 1;
                self.judged += 1;
            }
            ProbeOutcome::Settled(Outcome::Success | Outcome::Alive) => self.judged += 1,
            _ => {}
        }
        if let Some(latency) = head_latency {
            self.latency.add(latency);
        }
    }

    pub(super) fn refuse(&mut self) {
        self.calls += 1;
        self.refused += 1;
    }
}

/// The slices, as a ring by number.
pub(super) struct Window {
    began: Instant,
    newest: Instant,
    slices: [Slice; SLICES],
}

impl Window {
    pub(super) fn new(now: Instant) -> Self {
        Self { began: now, newest: now, slices: Default::default() }
    }

    fn number(&self, now: Instant) -> u64 {
        // Slices count from 1, so that an untouched one (0) is never current.
        now.saturating_duration_since(self.began).as_secs() / SLICE.as_secs() + 1
    }

    /// The slice to count in.
    pub(super) fn at(&mut self, now: Instant) -> &mut Slice {
        let number = self.number(now);
        self.newest = now;
        let slice = &mut self.slices[number as usize % SLICES];
        if slice.number != number {
            *slice = Slice { number, ..Slice::default() };
        }
        slice
    }

    /// Nothing in it is young enough to be shown.
    pub(super) fn is_quiet(&self, now: Instant) -> bool {
        now.saturating_duration_since(self.newest) >= LENGTH + SLICE
    }

    /// The slice being filled and the eleven before it: the last 55 to 60 s.
    pub(super) fn stats(&self, now: Instant) -> CallStats {
        let current = self.number(now);
        let oldest = (current + 1).saturating_sub(SLICES as u64).max(1);
        let mut sum = Slice::default();
        for slice in self.slices.iter().filter(|slice| (oldest..=current).contains(&slice.number)) {
            sum.calls += slice.calls;
            sum.refused += slice.refused;
            sum.failures += slice.failures;
            sum.judged += slice.judged;
            sum.latency.merge(&slice.latency);
        }
        CallStats {
            calls_per_min: sum.calls,
            refused_per_min: sum.refused,
            failure_rate: (sum.judged > 0).then(|| sum.failures as f64 / sum.judged as f64),
            p50_ms: sum.latency.quantile_ms(0.50),
            p95_ms: sum.latency.quantile_ms(0.95),
        }
    }
}
