//! What retries may cost a host. Five calls earn one: over any stretch from the start on, the load they add is at most a
//! fifth of what clients asked for, and after a long calm no more than a handful comes at once.

use std::sync::atomic::{AtomicU32, Ordering};

/// Calls that earn one retry.
const CALLS: u32 = 5;
/// Retries saved up at most, for the moment a healthy host begins to stumble.
const SAVED: u32 = 10;

/// What may be spent on retries, in fifths.
#[derive(Debug, Default)]
pub(crate) struct Budget(AtomicU32);

impl Budget {
    /// The host was called on a client's behalf.
    pub(crate) fn earn(&self) {
        let more = |saved| (saved < SAVED * CALLS).then_some(saved + 1);
        // At the limit nothing more is saved.
        let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
    }

    /// Whether a retry may be made; it is paid for then.
    pub(crate) fn spend(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |saved| saved.checked_sub(CALLS)).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r31_a_fifth_more_is_spent_at_most_whenever_it_is_counted() {
        let budget = Budget::default();
        assert!(!budget.spend(), "nothing was earned yet");
        let (mut calls, mut retries) = (0, 0);
        // Calm, trouble, calm, trouble.
        for (stretch, troubled) in [(7, false), (40, true), (1000, false), (200, true)] {
            for _ in 0..stretch {
                budget.earn();
                calls += 1;
                while troubled && budget.spend() {
                    retries += 1;
                }
                assert!(retries * CALLS <= calls, "{retries} retries after {calls} calls");
            }
        }
        // Of the calm stretch no more than what may be saved came back, and the next call had no room to earn.
        assert_eq!(retries, (7 + 40) / CALLS + SAVED + (200 - 1) / CALLS);
    }
}
