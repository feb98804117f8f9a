//! A circuit breaker that always recovers.
//!
//! # The model
//!
//! A [`Breaker`] stands in front of one host. Closed, calls pass and what they prove is counted; when a rule of its
//! [`Policy`] is met it opens. Open, calls are refused without the host hearing of them, until a wait is over. Then it is
//! half-open: a few calls pass as probes, enough good ones close it, the first bad one opens it again with a longer wait.
//! The wait has a longest value and there is no last attempt, so a host that comes back is found within one `max`, however
//! long it was away.
//!
//! Admission is a value. [`Breaker::try_acquire`] decides and reserves in one step and hands out a [`Permit`] or a
//! [`Refused`]; the permit is settled once, with a [`Verdict`], or by being dropped, which is a cancelled call and
//! proves nothing. So a call that is aborted, times out around the breaker or panics can never keep a probe's place. An
//! [`OwnedPermit`] travels with a response's body, so that a host is judged by the whole answer. A verdict counts only in
//! the generation its permit was admitted in: a straggler from before a change is [`Settled::Late`] and changes nothing.
//! A probe that neither ends nor moves is judged when its lease is over.
//!
//! An operator's override is a second, independent field: forced open nothing passes, forced closed everything does, and
//! the automatic state goes on in its shadow. Only its own end, an operator or a reset ends it.
//!
//! The breaker is told the time by a [`Clock`] and tells every change to one [`EventSink`], in order and outside its
//! locks. Nothing in it runs by itself: what comes due (leases, ends of overrides and cool-downs) is done by the next
//! input or by [`Breaker::tick`], stamped with the moment it was due. [`Breaker::snapshot`] reads and moves nothing.
//!
//! A healthy call under a policy without rates takes no lock and reads no clock.
//!
//! # Features
//!
//! None is on by default: the core knows no async runtime. `tower` adds the module `tower`, a layer for any tower
//! service with an example of one; `grpc` adds the module `grpc`, the layer for tonic channels and other gRPC clients,
//! with an example of a tonic client. They bring what they need and nothing more; tonic is not among it.
//!
//! # For a plain function
//!
//! ```
//! use std::sync::Arc;
//! use fuseboard_breaker::{Breaker, NoSink, Policy, Refused, State, SystemClock, Verdict};
//!
//! fn lookup(name: &str) -> Result<u32, std::io::Error> {
//!     if name.is_empty() { Err(std::io::ErrorKind::ConnectionRefused.into()) } else { Ok(name.len() as u32) }
//! }
//!
//! /// `Err` when the breaker refused, and the function was never called.
//! fn guarded(breaker: &Breaker, name: &str) -> Result<Result<u32, std::io::Error>, Refused> {
//!     let permit = breaker.try_acquire()?;
//!     let answer = lookup(name);
//!     permit.settle(if answer.is_ok() { Verdict::success() } else { Verdict::failure() });
//!     Ok(answer)
//! }
//!
//! let breaker = Breaker::new("directory", Policy::registry(), Arc::new(SystemClock), Arc::new(NoSink));
//! assert_eq!(guarded(&breaker, "ana").expect("closed").expect("healthy"), 3);
//! for _ in 0..5 {
//!     assert!(guarded(&breaker, "").expect("still closed").is_err());
//! }
//! let refused = guarded(&breaker, "ana").expect_err("five failures within ten seconds open it");
//! assert_eq!(refused.state, State::Open);
//! assert!(refused.retry_after.is_some());
//! ```

#![deny(missing_docs)]

/// The examples of the readme are tests.
#[cfg(all(doctest, feature = "grpc"))]
#[doc = include_str!("../README.md")]
mod readme {}

mod backoff;
mod cell;
pub mod clock;
pub mod command;
pub mod event;
#[cfg(feature = "grpc")]
pub mod grpc;
pub mod handle;
mod machine;
pub mod outcome;
pub mod panel;
pub mod permit;
pub mod policy;
pub mod refusal;
pub mod snapshot;
mod stripes;
mod sync;
#[cfg(feature = "tower")]
pub mod tower;
mod window;

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
