//! A fetcher with a circuit breaker in front of every host.

#![deny(missing_docs)]

mod body;
mod budget;
mod call;
mod classify;
mod client;
mod coalesce;
mod error;
mod fetcher;
mod forward;
pub mod grpc;
mod guard;
mod headers;
mod hop;
mod observe;
mod origin;
mod probe;
#[cfg(test)]
mod properties;
mod queue;
mod redirect;
mod retry;
mod rpc;
mod timing;
mod upload;
mod upstream;

pub use body::Body;
pub use client::{Resolve, Resolving};
pub use error::{BodyError, CallError, FetchError, Guard, Trouble, TurnedAway};
pub use fetcher::{Fetcher, FetcherBuilder};
pub use forward::Landed;
pub use guard::says_prohibited;
pub use headers::is_coded;
pub use observe::{CallObserver, CallRecord};
pub use origin::{breaker_id, redact, redact_path};
pub use probe::ProbeAnswer;
pub use redirect::may_lead_to;
pub use upstream::{
    ActiveProbe, Classify, Key, Protocol, Queue, Redirects, Retry, Statuses, Timeouts, Upstream, UpstreamError,
};
