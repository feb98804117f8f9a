//! What an operator asks of a breaker and what comes of it.

use std::{
    fmt,
    time::{Duration, SystemTime},
};

use crate::event::Override;

/// When an override ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverrideEnd {
    /// Only an operator ends it.
    Never,
    /// After this long, counted on the monotonic clock.
    After(Duration),
    /// At this moment of the wall clock as it stands now, counted on the monotonic clock from there; at once if it is
    /// past.
    At(SystemTime),
}

/// What a command did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// Something changed; its events have been handed to the sink.
    Changed,
    /// There was nothing to do: no event was made.
    Quiet,
}

/// A reset was refused because it would end somebody's override; say `end_override` to mean it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WouldEndOverride(pub Override);

impl fmt::Display for WouldEndOverride {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(held) = self;
        write!(
            out,
            "a reset would end the override {} set by {} (\"{}\"); release it first or say end_override",
            held.mode.as_str(),
            held.by.name,
            held.reason
        )
    }
}

impl std::error::Error for WouldEndOverride {}

/// A release found no override to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotOverridden;

impl fmt::Display for NotOverridden {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("no override is in force, there is nothing to release")
    }
}

impl std::error::Error for NotOverridden {}
