//! One file a route.

pub mod breaker;
pub mod panel;
