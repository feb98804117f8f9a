//! What a caller gets instead of a permit.

use std::{fmt, sync::Arc, time::Duration};

use crate::event::{Mode, State};

/// Why a call was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RefusedReason {
    /// The breaker is open and its wait is not over.
    Open,
    /// Half-open, and every probe permit is out.
    ProbesTaken,
    /// An operator holds it open.
    ForcedOpen,
    /// The host asked for quiet.
    CoolingDown,
}

impl RefusedReason {
    /// The fixed word used in API, store and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::ProbesTaken => "probes_taken",
            Self::ForcedOpen => "forced_open",
            Self::CoolingDown => "cooling_down",
        }
    }
}

/// A call that was failed fast; the host receives nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The breaker that refused.
    pub breaker: Arc<str>,
    /// Why.
    pub reason: RefusedReason,
    /// When it is worth asking again; `None` when held open without an end.
    pub retry_after: Option<Duration>,
    /// The automatic state.
    pub state: State,
    /// The override in force.
    pub mode: Option<Mode>,
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let breaker = &self.breaker;
        match self.reason {
            RefusedReason::Open => write!(out, "{breaker} is open after repeated failures, nothing was sent")?,
            RefusedReason::ProbesTaken => {
                write!(out, "{breaker} is being probed and every probe permit is taken, nothing was sent")?;
            }
            RefusedReason::ForcedOpen => write!(out, "{breaker} is held open by an operator, nothing was sent")?,
            RefusedReason::CoolingDown => write!(out, "{breaker} asked to be left alone, nothing was sent")?,
        }
        match self.retry_after {
            Some(wait) => write!(out, "; try again in {:.1} s", wait.as_secs_f64()),
            None => out.write_str("; it stays so until an operator releases it"),
        }
    }
}

impl std::error::Error for Refused {}
