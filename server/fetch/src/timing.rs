//! Deadlines, and whose they are.

use std::time::Duration;

use tokio::time::Instant;

/// Whose patience runs out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    /// The host did not begin to answer.
    FirstByte,
    /// The host paused.
    Between,
    /// The host took too long over all.
    Total,
    /// Our own client paused.
    Client,
    /// The caller's own deadline passed.
    Deadline,
}

/// A moment later; a length nobody lives to see counts as thirty years.
pub(crate) fn after(at: Instant, wait: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(30 * 366 * 24 * 3600);
    at + wait.min(FAR)
}

pub(crate) fn earlier(one: (Instant, Due), other: (Instant, Due)) -> (Instant, Due) {
    if other.0 < one.0 { other } else { one }
}
