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

/// What a client has to send or take to count as moving. One that does less within `client_idle`, the time it keeps us
/// waiting alone counted, is as good as idle: a byte now and then holds no place for ever.
const PROGRESS: usize = 4096;

/// How long a client has kept us waiting since it last made progress.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    moved: usize,
    waited: Duration,
}

impl Progress {
    pub(crate) fn waited(&mut self, time: Duration) {
        self.waited += time;
    }

    pub(crate) fn moved(&mut self, bytes: usize) {
        self.moved = self.moved.saturating_add(bytes);
        if self.moved >= PROGRESS {
            *self = Self::default();
        }
    }

    /// What is left of its patience for a wait that begins now.
    pub(crate) fn left(&self, patience: Duration) -> Duration {
        patience.saturating_sub(self.waited)
    }
}

/// A moment later; a length nobody lives to see counts as thirty years.
pub(crate) fn after(at: Instant, wait: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(30 * 366 * 24 * 3600);
    at + wait.min(FAR)
}

pub(crate) fn earlier(one: (Instant, Due), other: (Instant, Due)) -> (Instant, Due) {
    if other.0 < one.0 { other } else { one }
}
