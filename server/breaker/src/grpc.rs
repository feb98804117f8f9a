//! gRPC: what its calls prove.
//!
//! A call is judged by the status in its trailers, or in a response that is nothing but trailers, never by the HTTP 200
//! in front of it. [`Code`] has the seventeen statuses, [`Codes`] says what each of them proves, and [`Codes::judge`]
//! what the end of a call proves, whoever ended it: the server, the caller, its deadline, or a proxy in between.
//!
//! Whose deadline was it? A call's budget is its `grpc-timeout` ([`timeout`]). An end by a deadline or by cancellation
//! from nine tenths of it on is the caller's deadline: the server had its time and did not answer, which is a failure,
//! unless the budget was too short to tell. So a server that hangs trips its breaker also when every caller brings a
//! deadline.

mod code;
mod deadline;

pub use code::{Code, Codes};
pub use deadline::{Budget, End, Judged, timeout};
