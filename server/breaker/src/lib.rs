//! A circuit breaker that always recovers.

#![deny(missing_docs)]

pub mod clock;
pub mod command;
pub mod event;
pub mod handle;
pub mod outcome;
pub mod panel;
pub mod permit;
pub mod policy;
pub mod refusal;
pub mod snapshot;

pub use clock::{Clock, ManualClock, SystemClock};
pub use command::{Applied, NotOverridden, OverrideEnd, WouldEndOverride};
pub use event::{
    By, Cause, DecidingCall, DrawnWait, Event, EventSink, Mode, NoSink, Override, Probe, ProbeOutcome, Saved, State,
    Transition,
};
pub use handle::Breaker;
pub use outcome::{Evidence, Outcome, Phase, RetryAfter, Settled, Verdict, Why};
pub use panel::{Panel, PanelFull};
pub use permit::{OwnedPermit, Permit};
pub use policy::{HalfOpen, Policy, PolicyError, PolicySettings, TripRule, Wait};
pub use refusal::{Refused, RefusedReason};
pub use snapshot::{Counts, HalfOpenSnapshot, RuleSnapshot, Snapshot};
