//! How long an open breaker waits.
//!
//! `wait = min(max, max(retry_after, min(first · factor^attempt, max) · (1 − jitter · u)))`. The growth is capped before
//! it can overflow, the host's wish is a floor, and neither it nor the jitter ever leads above `max`.

use std::time::Duration;

use crate::{event::DrawnWait, outcome::RetryAfter, policy::Wait};

/// The next number of a splitmix64 sequence, as a share in [0, 1).
pub(crate) fn roll(dice: &mut u64) -> f64 {
    *dice = dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *dice;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Draws the wait that begins now. `share` is the jitter's roll in [0, 1).
pub(crate) fn draw(wait: &Wait, attempt: u32, retry_after: Option<&RetryAfter>, share: f64) -> DrawnWait {
    let grown = grown(wait, attempt);
    let jittered = grown.saturating_sub(grown.mul_f64((wait.jitter * share).clamp(0.0, 1.0)));
    let floor = retry_after.map_or(Duration::ZERO, |asked| asked.wait);
    let drawn = wait.max.min(floor.max(jittered));
    DrawnWait { wait: drawn, jitter: grown.saturating_sub(drawn), retry_after: retry_after.cloned() }
}

fn grown(wait: &Wait, attempt: u32) -> Duration {
    let nanos = wait.first.as_nanos() as f64 * wait.factor.powi(attempt.min(i32::MAX as u32) as i32);
    // Also catches infinity, which is where a growing wait ends up after enough attempts.
    if nanos < wait.max.as_nanos() as f64 { Duration::from_nanos(nanos.round() as u64) } else { wait.max }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Wait = Wait { first: Duration::from_secs(30), factor: 2.0, max: Duration::from_secs(300), jitter: 0.1 };

    fn asked(wait: Duration) -> RetryAfter {
        RetryAfter { raw: "x".into(), wait }
    }

    #[test]
    fn grows_and_stops_at_max_for_any_attempt() {
        let still = Wait { jitter: 0.0, ..WAIT };
        let waits: Vec<u64> = (0..6).map(|attempt| draw(&still, attempt, None, 0.5).wait.as_secs()).collect();
        assert_eq!(waits, [30, 60, 120, 240, 300, 300]);
        for attempt in [63, 64, 1_000, 1_000_000, u32::MAX] {
            assert_eq!(draw(&still, attempt, None, 0.5).wait, still.max, "attempt {attempt}");
        }
        let flat = Wait { factor: 1.0, ..still };
        assert_eq!(draw(&flat, u32::MAX, None, 0.0).wait, flat.first);
    }

    #[test]
    fn jitter_only_shortens_and_by_its_share_at_most() {
        assert_eq!(draw(&WAIT, 0, None, 0.0).wait, WAIT.first);
        let short = draw(&WAIT, 4, None, 0.999_999);
        assert!(short.wait >= Duration::from_secs(270) && short.wait < WAIT.max, "{short:?}");
        assert_eq!(short.wait + short.jitter, WAIT.max);
    }

    #[test]
    fn the_hosts_wish_is_a_floor_under_max() {
        assert_eq!(draw(&WAIT, 0, Some(&asked(Duration::from_secs(90))), 0.9).wait, Duration::from_secs(90));
        assert_eq!(draw(&WAIT, 0, Some(&asked(Duration::from_secs(9_000))), 0.9).wait, WAIT.max);
        assert_eq!(draw(&WAIT, 0, Some(&asked(Duration::MAX)), 0.9).wait, WAIT.max);
        assert_eq!(draw(&WAIT, 0, Some(&asked(Duration::ZERO)), 0.0).wait, WAIT.first);
        assert_eq!(draw(&WAIT, 0, Some(&asked(Duration::from_secs(90))), 0.9).jitter, Duration::ZERO);
    }

    #[test]
    fn rolls_stay_below_one_and_differ() {
        let mut dice = 7;
        let rolls: Vec<f64> = (0..1_000).map(|_| roll(&mut dice)).collect();
        assert!(rolls.iter().all(|roll| (0.0..1.0).contains(roll)));
        assert!(rolls.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
