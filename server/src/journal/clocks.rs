//! Whether the wall clock goes with time. Where it jumps, set by hand or because the machine slept, the record says so:
//! lengths are of time that passed, and time that was jumped over is not watched.

use std::time::Instant;

use fuseboard_breaker::clock::Clock;

use crate::stamp::micros;

/// Less is drift, or two clocks read one after the other on a busy machine.
const JUMP: i64 = 1_000_000;

/// Both clocks as they were last read together.
pub(super) struct Clocks {
    now: Instant,
    wall: i64,
}

/// The wall clock jumped from here to there, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Jump {
    pub(super) from: i64,
    pub(super) to: i64,
}

impl Clocks {
    pub(super) fn new(clock: &dyn Clock) -> Self {
        Self { now: clock.now(), wall: micros(clock.wall()) }
    }

    /// Looks again; the wall clock goes on from a jump's far end.
    pub(super) fn look(&mut self, clock: &dyn Clock) -> Option<Jump> {
        let before = std::mem::replace(self, Self::new(clock));
        let passed = self.now.saturating_duration_since(before.now).as_micros();
        let from = before.wall.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX));
        (self.wall.abs_diff(from) >= JUMP.unsigned_abs()).then_some(Jump { from, to: self.wall })
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use fuseboard_breaker::ManualClock;

    use super::*;

    #[test]
    fn r15_a_jump_is_what_the_wall_clock_did_beside_the_time_that_passed() {
        let clock = ManualClock::new(UNIX_EPOCH + Duration::from_secs(1_000));
        let mut clocks = Clocks::new(&clock);
        clock.advance(Duration::from_secs(86_400));
        assert_eq!(clocks.look(&clock), None);
        clock.set_wall(clock.wall() + Duration::from_micros(999_999));
        assert_eq!(clocks.look(&clock), None, "drift");
        let here = micros(clock.wall());
        for to in [here + 3_600_000_000, here + 1_000_000, here - 3_600_000_000] {
            let from = micros(clock.wall()) + 5_000_000;
            clock.advance(Duration::from_secs(5));
            clock.set_wall(UNIX_EPOCH + Duration::from_micros(to.unsigned_abs()));
            assert_eq!(clocks.look(&clock), Some(Jump { from, to }));
            assert_eq!(clocks.look(&clock), None, "once");
        }
    }
}
