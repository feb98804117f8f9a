//! One admitted call: its permit, and what is known of it so far. How it ends is [`ending`]'s.

mod ending;

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use fuseboard_breaker::{Breaker, Outcome, OwnedPermit, Refused, RetryAfter, tower::HeldOpen};
use http::{HeaderMap, Method, StatusCode, uri::PathAndQuery};
use http_body::Frame;
use tokio::time::Instant;

use crate::{
    classify,
    error::BodyError,
    grpc::{Exchange, Status},
    observe::Desk,
    queue::Place,
    upload::{Turn, Upload},
    upstream::Upstream,
};

pub(crate) struct Call {
    permit: Option<OwnedPermit>,
    /// For a call without a permit: an operator ends it.
    hold: Option<HeldOpen>,
    breaker: Arc<str>,
    /// Whether it is a probe: only then does the breaker care about each byte.
    pub(crate) probe: bool,
    pub(crate) upstream: Arc<Upstream>,
    desk: Arc<Desk>,
    place: Option<Place>,
    method: Method,
    path: PathAndQuery,
    synthetic: bool,
    started: Instant,
    sent: Option<Instant>,
    upload: Option<Arc<Upload>>,
    head: Option<Head>,
    /// Set for a gRPC call, which is judged by its end and its deadline.
    exchange: Option<Box<Exchange>>,
    /// Set while something of the call is polled: still set at a drop, that poll panicked.
    pub(crate) polling: bool,
}

struct Head {
    latency: Duration,
    status: StatusCode,
    retry_after: Option<Box<RetryAfter>>,
}

/// What a call is made with.
pub(crate) struct Intent {
    pub(crate) method: Method,
    pub(crate) path: PathAndQuery,
    pub(crate) synthetic: bool,
}

impl Call {
    pub(crate) fn new(permit: OwnedPermit, upstream: &Arc<Upstream>, desk: &Arc<Desk>, intent: Intent) -> Self {
        let (probe, breaker) = (permit.is_probe(), Arc::clone(permit.breaker()));
        let mut call = Self::unjudged(breaker, upstream, desk, intent);
        (call.probe, call.permit) = (probe, Some(permit));
        call.describe();
        call
    }

    /// One that no breaker admitted and that proves nothing; it ends when an operator holds the breaker open.
    pub(crate) fn uncounted(breaker: &Breaker, upstream: &Arc<Upstream>, desk: &Arc<Desk>, intent: Intent) -> Self {
        let mut call = Self::unjudged(Arc::clone(breaker.id()), upstream, desk, intent);
        call.hold = Some(HeldOpen::new(breaker));
        call
    }

    fn unjudged(breaker: Arc<str>, upstream: &Arc<Upstream>, desk: &Arc<Desk>, intent: Intent) -> Self {
        Self {
            probe: false,
            breaker,
            permit: None,
            hold: None,
            upstream: Arc::clone(upstream),
            desk: Arc::clone(desk),
            place: None,
            method: intent.method,
            path: intent.path,
            synthetic: intent.synthetic,
            started: Instant::now(),
            sent: None,
            upload: None,
            head: None,
            exchange: None,
            polling: false,
        }
    }

    pub(crate) fn breaker(&self) -> &Arc<str> {
        &self.breaker
    }

    /// Ready when an operator holds the breaker open and no permit lets the call go on.
    pub(crate) fn poll_hold(&mut self, cx: &mut Context<'_>) -> Poll<Refused> {
        self.hold.as_mut().map_or(Poll::Pending, |hold| Pin::new(hold).poll(cx))
    }

    /// It is a gRPC call.
    pub(crate) fn speaks(&mut self, exchange: Exchange) {
        self.exchange = Some(Box::new(exchange));
    }

    /// What it is judged by if it is a gRPC call.
    pub(crate) fn exchange(&self) -> Option<&Exchange> {
        self.exchange.as_deref()
    }

    /// Its place among those in flight travels with it.
    pub(crate) fn keep(&mut self, place: Option<Place>) {
        self.place = place;
    }

    /// Gives the place up again, for the next hop of the same request.
    pub(crate) fn take_place(&mut self) -> Option<Place> {
        self.place.take()
    }

    pub(crate) fn method(&self) -> &Method {
        &self.method
    }

    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// The request is handed to a connection.
    pub(crate) fn sends(&mut self, now: Instant, upload: Option<&Arc<Upload>>) {
        self.sent = Some(now);
        self.upload = upload.cloned();
        if let Some(upload) = &self.upload {
            upload.begin();
        }
    }

    pub(crate) fn upload(&self) -> Option<&Arc<Upload>> {
        self.upload.as_ref()
    }

    /// Who is waited for.
    pub(crate) fn turn(&self) -> Turn {
        match (&self.upload, self.sent) {
            (Some(upload), _) => upload.turn(),
            (None, Some(sent)) => Turn::Done(sent),
            (None, None) => Turn::Host(self.started),
        }
    }

    /// A byte moved, and who is waited for now; both count for a probe's lease.
    pub(crate) fn moved(&self, waiting_for_client: bool) {
        if let Some(permit) = &self.permit {
            permit.progress();
            permit.waiting_for_client(waiting_for_client);
        }
    }

    /// Tells a probe's permit who is waited for.
    pub(crate) fn waits(&self, for_client: bool) {
        if let Some(permit) = &self.permit {
            permit.waiting_for_client(for_client);
        }
    }

    /// The response's head is there. A failing status settles now; anything else is only as good as its body.
    pub(crate) fn answered(&mut self, status: StatusCode, headers: &HeaderMap) {
        if let Some(exchange) = &mut self.exchange {
            exchange.head(status, headers);
            if let Some(permit) = &self.permit {
                permit.answered();
            }
            let wish = exchange.is_http_error().then(|| classify::retry_after(headers, self.desk.clock.wall()));
            self.head = Some(Head { latency: self.started.elapsed(), status, retry_after: wish.flatten() });
            self.describe();
            return;
        }
        let rules = &self.upstream.classify;
        let outcome = classify::status(rules, status);
        let wish = outcome == Outcome::Failure || status == StatusCode::TOO_MANY_REQUESTS;
        let retry_after = if wish { classify::retry_after(headers, self.desk.clock.wall()) } else { None };
        self.head = Some(Head { latency: self.started.elapsed(), status, retry_after });
        self.describe();
        if outcome == Outcome::Failure {
            self.settle(Outcome::Failure, None, None, None);
        }
    }

    /// A piece of the response's body, or its trailers, on their way to our client.
    pub(crate) fn passes(&mut self, frame: &Frame<Bytes>) {
        let Some(exchange) = &mut self.exchange else { return };
        match (frame.data_ref(), frame.trailers_ref()) {
            (Some(data), _) => exchange.data(data),
            (None, Some(trailers)) => exchange.trailers(trailers),
            (None, None) => {}
        }
    }

    /// What our client is told in the trailers when the response broke off; an HTTP client sees it cut.
    pub(crate) fn last_words(&self, error: &BodyError) -> Option<HeaderMap> {
        self.exchange.as_ref().map(|_| Status::from(error).headers())
    }
}
