//! Time as the breaker is told it. Decisions use [`Clock::now`]; [`Clock::wall`] is for the record alone.

use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;

/// The two times a breaker asks for.
pub trait Clock: Send + Sync + 'static {
    /// Monotonic time: every decision is made by it.
    fn now(&self) -> Instant;
    /// Wall-clock time: written into the record, never compared.
    fn wall(&self) -> SystemTime;
}

/// The machine's own clocks.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the monotonic clock")]
    fn now(&self) -> Instant {
        Instant::now()
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that reads the wall clock")]
    fn wall(&self) -> SystemTime {
        SystemTime::now()
    }
}

/// A clock that moves only when told to, for tests and simulations.
#[derive(Debug)]
pub struct ManualClock {
    times: Mutex<(Instant, SystemTime)>,
}

impl ManualClock {
    /// Starts at the given wall-clock time.
    pub fn new(wall: SystemTime) -> Self {
        Self { times: Mutex::new((SystemClock.now(), wall)) }
    }

    /// Moves both clocks forward.
    pub fn advance(&self, by: Duration) {
        let mut times = self.times.lock();
        times.0 += by;
        times.1 += by;
    }

    /// Sets the wall clock alone, as an administrator or a time service may.
    pub fn set_wall(&self, wall: SystemTime) {
        self.times.lock().1 = wall;
    }
}

impl Default for ManualClock {
    /// Starts at 2026-01-01 00:00:00 UTC.
    fn default() -> Self {
        Self::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600))
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        self.times.lock().0
    }

    fn wall(&self) -> SystemTime {
        self.times.lock().1
    }
}
