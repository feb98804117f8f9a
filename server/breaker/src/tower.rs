//! A breaker in front of a tower service.
//!
//! [`BreakerLayer`] puts a [`BreakerService`] around a service. What its calls prove, and what a refused caller gets,
//! is a [`Classify`]'s business: [`judge_by`] makes one of a function, [`crate::grpc`] has the one for gRPC.
//!
//! The breaker is asked twice. Readiness comes after it: while calls are refused the service is ready at once, without
//! asking the one behind it, so that one that is stuck cannot keep callers waiting for a refusal; the next call is then
//! refused, even if the wait has just ended. Nothing is reserved by becoming ready, so nothing is lost by a caller who
//! never calls. The permit is taken by the call itself, which may still be refused. Whatever the service behind holds
//! for a call that is refused (a place in a queue, say) is given back with it.
//!
//! A caller that waits for the service behind is woken when calls become refused meanwhile.
//!
//! The permit is held by the call ([`Call`]) and, where the answer has a body, travels on with it ([`ResponseBody`]). A
//! panic in either is a failure; what is let go of before it was judged is its [`Call`]'s to judge, or cancelled.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! use std::{io, sync::Arc};
//! use fuseboard_breaker::{Breaker, NoSink, Policy, Refused, SystemClock, Verdict};
//! use fuseboard_breaker::tower::{BreakerLayer, judge_by};
//! use tower::{Layer, Service, ServiceExt, service_fn};
//!
//! async fn lookup(name: &'static str) -> Result<usize, io::Error> {
//!     if name.is_empty() { Err(io::ErrorKind::ConnectionRefused.into()) } else { Ok(name.len()) }
//! }
//!
//! let breaker = Breaker::new("directory", Policy::registry(), Arc::new(SystemClock), Arc::new(NoSink));
//! let judge = judge_by(|answer: &Result<usize, io::Error>| match answer {
//!     Ok(_) => Verdict::success(),
//!     Err(_) => Verdict::failure(),
//! });
//! let mut directory = BreakerLayer::new(breaker, judge).layer(service_fn(lookup));
//!
//! assert_eq!(directory.ready().await?.call("ana").await?, 3);
//! for _ in 0..5 {
//!     assert!(directory.ready().await?.call("").await.unwrap_err().is::<io::Error>());
//! }
//! let error = directory.ready().await?.call("ana").await.unwrap_err();
//! assert_eq!(&*error.downcast::<Refused>()?.breaker, "directory");
//! # Ok::<(), fuseboard_breaker::tower::BoxError>(())
//! # }).unwrap();
//! ```

mod body;
mod classify;
mod future;
mod held;
mod layer;
mod service;

pub use body::{JudgeBody, ResponseBody};
pub use classify::{BoxError, Call, Classify, JudgeBy, JudgeByCall, judge_by};
pub use future::ResponseFuture;
pub use held::HeldOpen;
pub use layer::BreakerLayer;
pub use service::BreakerService;
