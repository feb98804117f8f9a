//! gRPC: a layer for clients, and what calls prove.
//!
//! A call is judged by the status in its trailers, or in a response that is nothing but trailers, never by the HTTP 200
//! in front of it: so a server that accepts every stream and then fails it trips its breaker, whichever of the four
//! kinds of call it is. [`Code`] has the seventeen statuses, [`Codes`] says what each of them proves, and
//! [`Codes::judge`] what the end of a call proves, whoever ended it: the server, the caller, its deadline, or a proxy in
//! between.
//!
//! Whose deadline was it? A call's budget is its `grpc-timeout` ([`timeout`]). An end by a deadline or by cancellation
//! from nine tenths of it on is the caller's deadline: the server had its time and did not answer, which is a failure,
//! unless the budget was too short to tell. So a server that hangs trips its breaker also when every caller brings a
//! deadline. The layer keeps the deadline itself, to the end of the stream: the call ends with `DEADLINE_EXCEEDED`.
//!
//! A refused call is answered at once, without the server hearing of it, with `UNAVAILABLE`, a message that names the
//! breaker and the time left, and that time as `grpc-retry-pushback-ms`.
//!
//! # For a tonic client
//!
//! One line around the channel; the generated client takes the rest.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use fuseboard_breaker::{State, tower::BreakerLayer};
//! use http::uri::PathAndQuery;
//! use tonic::{Code, client::Grpc, transport::Endpoint};
//! use tonic_prost::ProstCodec;
//! use tower::ServiceBuilder;
//!
//! // Nobody listens there.
//! let channel = Endpoint::from_static("http://127.0.0.1:1").connect_lazy();
//! let layer = BreakerLayer::grpc("accounts");
//! let breaker = layer.breaker().clone();
//! let channel = ServiceBuilder::new().layer(layer).service(channel);
//!
//! // `AccountsClient::new(channel)`, had this example one; it is made of this:
//! let mut client = Grpc::new(channel);
//! let get = PathAndQuery::from_static("/accounts.v1.Accounts/Get");
//! for _ in 0..6 {
//!     client.ready().await?;
//!     let codec = ProstCodec::<(), ()>::default();
//!     let status = client.unary(tonic::Request::new(()), get.clone(), codec).await.unwrap_err();
//!     assert_eq!(status.code(), Code::Unavailable);
//! }
//! assert_eq!(breaker.snapshot().state, State::Open);
//! assert_eq!(breaker.snapshot().counts.refused, 1, "the sixth was not even tried");
//! # Ok::<(), fuseboard_breaker::tower::BoxError>(())
//! # }).unwrap();
//! ```
//!
//! The breaker has the policy [`Policy::grpc`](crate::Policy::grpc): five consecutive failures within 30 s open it for
//! 15 s, then ten calls at a time probe, and ten good ones close it. Another policy, an observer of one's own or a breaker
//! that is in a [`Panel`](crate::Panel) goes in by [`BreakerLayer::new`](crate::tower::BreakerLayer::new):
//!
//! ```
//! use std::sync::Arc;
//! use fuseboard_breaker::{Breaker, Event, EventSink, Outcome, Policy, SystemClock, tower::BreakerLayer};
//! use fuseboard_breaker::grpc::{ByTrailers, Code, Codes, Logged};
//!
//! struct Pager;
//!
//! impl EventSink for Pager {
//!     fn record(&self, event: Event) {
//!         if let Event::Transition(transition) = event {
//!             println!("{} is {} now", transition.breaker, transition.to.as_str());
//!         }
//!     }
//! }
//!
//! let breaker = Breaker::new("accounts", Policy::grpc(), Arc::new(SystemClock), Arc::new(Logged::and(Pager)));
//! let codes = Codes::default().with([Code::Aborted], Outcome::Alive);
//! let layer = BreakerLayer::new(breaker, ByTrailers::new(codes));
//! # drop(layer);
//! ```
//!
//! It is tokio's timer that keeps a call's deadline, so a call that brings one must be made within a tokio runtime.
//! A stream of requests is not looked into: a probe that only sends for longer than the policy's lease, to a server that
//! answers nothing before the end, is lost; give clients with such calls a longer `lease`.

mod broken;
mod call;
mod client;
mod code;
mod deadline;
mod log;
mod messages;
mod refusal;

pub use call::ClientCall;
pub use client::ByTrailers;
pub use code::{Code, Codes};
pub use deadline::{Budget, End, Judged, timeout};
pub use log::Logged;
pub use messages::Messages;
