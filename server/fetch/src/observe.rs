//! What the fetcher tells whoever counts calls.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use fuseboard_breaker::{Clock, Phase, ProbeOutcome};

/// Counts calls. Called in the middle of a call, so it must not block.
pub trait CallObserver: Send + Sync {
    /// A call that was admitted has its outcome; told once for each permit.
    fn settled(&self, call: &CallRecord);
    /// A call was refused and nothing was sent. The path is redacted.
    fn refused(&self, breaker: &Arc<str>, reason: &str, path: &str, agent: Option<&str>);
}

/// One admitted call, when it is settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord {
    /// Which breaker admitted it.
    pub breaker: Arc<str>,
    /// What became of it.
    pub outcome: ProbeOutcome,
    /// Time from the permit to the response's head, if there was one.
    pub head_latency: Option<Duration>,
    /// The status, if there was one; of a gRPC call its code.
    pub status: Option<u16>,
    /// The gRPC code by its name.
    pub code: Option<&'static str>,
    /// Where a failed call ended.
    pub phase: Option<Phase>,
    /// What went wrong, in words.
    pub error: Option<Box<str>>,
    /// When it was settled.
    pub at: SystemTime,
}

/// What every call needs to be recorded with.
pub(crate) struct Desk {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) observer: Option<Arc<dyn CallObserver>>,
}
