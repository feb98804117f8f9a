//! One admitted call: its permit, and what is known of it so far. Whatever way the call ends, its permit is settled here
//! and once. The ends nobody writes down, a future or a body dropped at any await, are judged in `Drop`: our client
//! left, which proves nothing, unless the host had been silent for `abandoned_after`; a panic in a poll is a failure; a
//! permit dropped by somebody else's panic is cancelled.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use fuseboard_breaker::{
    Breaker, Evidence, Outcome, OwnedPermit, Phase, ProbeOutcome, Refused, RetryAfter, Settled, Verdict, Why,
    grpc::{Budget, Code, End},
    tower::HeldOpen,
};
use http::{HeaderMap, Method, StatusCode, uri::PathAndQuery};
use http_body::Frame;
use tokio::time::Instant;

use crate::{
    classify,
    error::BodyError,
    grpc::{Exchange, Status},
    observe::{CallRecord, Desk},
    origin::redact_path,
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

    /// The response is complete.
    pub(crate) fn complete(&mut self) {
        if self.permit.is_none() {
            return;
        }
        if let Some(exchange) = &mut self.exchange {
            let (end, words) = exchange.end();
            if let (true, Some(head)) = (exchange.is_unary(), &mut self.head) {
                head.latency = self.started.elapsed();
            }
            return self.judge(end, words.as_deref());
        }
        let outcome =
            self.head.as_ref().map_or(Outcome::Success, |head| classify::status(&self.upstream.classify, head.status));
        self.settle(outcome, None, None, None);
    }

    /// A gRPC call ended; its deadline is taken into account.
    fn judge(&mut self, end: End, error: Option<&str>) {
        let Some(exchange) = &mut self.exchange else { return };
        let budget = Budget { given: exchange.budget.map(|(given, _)| given), elapsed: self.started.elapsed() };
        let judged = self.upstream.classify.codes.judge(end, budget);
        exchange.code = (end != End::NoStatus).then_some(judged.code);
        self.settle(judged.outcome, judged.phase, judged.why, error);
    }

    /// The deadline of a gRPC call passed.
    pub(crate) fn outlived_deadline(&mut self) {
        self.judge(End::TimedOut, Some("the caller's deadline passed"));
    }

    /// The host failed.
    pub(crate) fn fail(&mut self, phase: Phase, error: &str) {
        if self.exchange.is_some() {
            return self.judge(End::Broken(phase), Some(error));
        }
        self.settle(Outcome::Failure, Some(phase), None, Some(error));
    }

    /// Nothing was proved.
    pub(crate) fn ignore(&mut self, why: Why, error: Option<&str>) {
        self.settle(Outcome::Ignored, None, Some(why), error);
    }

    fn settle(&mut self, outcome: Outcome, phase: Option<Phase>, why: Option<Why>, error: Option<&str>) {
        let Some(permit) = self.permit.take() else { return };
        let mut verdict = Verdict::new(outcome);
        if let Some(head) = &mut self.head {
            verdict.latency = Some(head.latency);
            verdict.retry_after = head.retry_after.take();
            verdict.cooldown = self.upstream.classify.cooldown
                && head.status == StatusCode::TOO_MANY_REQUESTS
                && verdict.retry_after.as_ref().is_some_and(|wish| !wish.wait.is_zero());
        }
        // Nobody reads the story of an ordinary success.
        if self.probe || !matches!(outcome, Outcome::Success | Outcome::Ignored) {
            verdict.evidence = Some(Box::new(self.evidence(phase, why, error)));
        }
        let outcome = match permit.settle(verdict) {
            Settled::Counted => ProbeOutcome::Settled(outcome),
            Settled::Late => ProbeOutcome::Late,
        };
        self.tell(outcome, phase, error);
    }

    /// Tells a probe's permit what there is to tell: its lease may end first. How many messages there were changes later.
    fn describe(&self) {
        if let Some(permit) = &self.permit {
            permit.describe(|| Evidence { sent: None, received: None, ..self.evidence(None, None, None) });
        }
    }

    fn evidence(&self, phase: Option<Phase>, why: Option<Why>, error: Option<&str>) -> Evidence {
        let (sent, received) = self.exchange.as_ref().map(|exchange| exchange.messages()).unzip();
        Evidence {
            status: self.status(),
            code: self.code().map(Code::as_str),
            sent,
            received,
            phase,
            why,
            error: error.map(Into::into),
            method: Some(self.method.as_str().into()),
            path: Some(redact_path(&self.path).into()),
            synthetic: self.synthetic,
        }
    }

    fn code(&self) -> Option<Code> {
        self.exchange.as_ref().and_then(|exchange| exchange.code)
    }

    fn status(&self) -> Option<u16> {
        match &self.exchange {
            Some(_) => self.code().map(Code::number),
            None => self.head.as_ref().map(|head| head.status.as_u16()),
        }
    }

    fn tell(&self, outcome: ProbeOutcome, phase: Option<Phase>, error: Option<&str>) {
        if let Some(observer) = &self.desk.observer {
            observer.settled(&CallRecord {
                breaker: Arc::clone(&self.breaker),
                outcome,
                head_latency: self.head.as_ref().map(|head| head.latency),
                status: self.status(),
                code: self.code().map(Code::as_str),
                phase,
                error: error.map(Into::into),
                at: self.desk.clock.wall(),
            });
        }
    }

    /// Our client left in the midst of its request.
    pub(crate) fn broken_off(&mut self, error: &str) {
        match self.exchange {
            Some(_) => self.judge(End::Cancelled, Some(error)),
            None => self.ignore(Why::ClientGone, Some(error)),
        }
    }

    /// The response is let go of while our client has not taken what there is of it: whatever else there was to come, it
    /// did not wait for it.
    pub(crate) fn unread(&mut self) {
        if self.exchange.is_some() {
            self.ignore(Why::ClientGone, Some("the client had stopped reading"));
        }
    }

    /// Our client left.
    fn left(&mut self) {
        if let Some(exchange) = &self.exchange {
            let over = exchange.budget.is_some_and(|(_, deadline)| deadline <= Instant::now());
            return self.judge(End::Cancelled, over.then_some("the caller's deadline passed"));
        }
        let silent = match (self.head.is_some(), self.sent, self.turn()) {
            (false, Some(_), Turn::Done(since)) => since.elapsed(),
            // Not even a connection: the host is as silent as one that has the request.
            (false, None, _) => self.started.elapsed(),
            _ => Duration::ZERO,
        };
        let patience = self.upstream.classify.abandoned_after;
        if !silent.is_zero() && silent >= patience {
            let error = format!("the client left after {silent:.1?} without one byte from the host");
            self.fail(Phase::Abandoned, &error);
        } else {
            self.ignore(Why::ClientGone, None);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if self.permit.is_some() {
            if self.polling {
                self.fail(Phase::Panic, "the call panicked");
            } else if std::thread::panicking() {
                self.permit = None;
                self.tell(ProbeOutcome::Cancelled, None, None);
            } else {
                self.left();
            }
        }
        if let Some(upload) = &self.upload {
            upload.over();
        }
    }
}
