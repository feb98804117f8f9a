//! A circuit breaker that always recovers.

pub mod clock;
pub mod event;
pub mod outcome;
pub mod policy;
