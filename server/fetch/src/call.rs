//! One admitted call: its permit, and what is known of it so far. Whatever way the call ends, its permit is settled here
//! and once. The ends nobody writes down, a future or a body dropped at any await, are judged in `Drop`: our client
//! left, which proves nothing, unless the host had been silent for `abandoned_after`; a panic in a poll is a failure; a
//! permit dropped by somebody else's panic is cancelled.

use std::{sync::Arc, time::Duration};

use fuseboard_breaker::{Evidence, Outcome, OwnedPermit, Phase, ProbeOutcome, RetryAfter, Settled, Verdict, Why};
use http::{Method, StatusCode, uri::PathAndQuery};
use tokio::time::Instant;

use crate::{
    classify,
    observe::{CallRecord, Desk},
    origin::redact_path,
    queue::Place,
    upload::{Turn, Upload},
    upstream::{Protocol, Upstream},
};

pub(crate) struct Call {
    permit: Option<OwnedPermit>,
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
        Self {
            probe: permit.is_probe(),
            breaker: Arc::clone(permit.breaker()),
            permit: Some(permit),
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
            polling: false,
        }
    }

    pub(crate) fn breaker(&self) -> &Arc<str> {
        &self.breaker
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
    pub(crate) fn answered(&mut self, status: StatusCode, headers: &http::HeaderMap) {
        let rules = &self.upstream.classify;
        let outcome = classify::status(rules, status);
        let wish = outcome == Outcome::Failure || status == StatusCode::TOO_MANY_REQUESTS;
        let retry_after = if wish { classify::retry_after(headers, self.desk.clock.wall()) } else { None };
        self.head = Some(Head { latency: self.started.elapsed(), status, retry_after });
        if outcome == Outcome::Failure {
            self.settle(Outcome::Failure, None, None, None);
        }
    }

    /// The response is complete.
    pub(crate) fn complete(&mut self) {
        if self.permit.is_none() {
            return;
        }
        let outcome =
            self.head.as_ref().map_or(Outcome::Success, |head| classify::status(&self.upstream.classify, head.status));
        self.settle(outcome, None, None, None);
    }

    /// The host failed.
    pub(crate) fn fail(&mut self, phase: Phase, error: &str) {
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
        self.tell(outcome, phase);
    }

    fn evidence(&self, phase: Option<Phase>, why: Option<Why>, error: Option<&str>) -> Evidence {
        Evidence {
            status: self.head.as_ref().map(|head| head.status.as_u16()),
            phase,
            why,
            error: error.map(Into::into),
            method: Some(self.method.as_str().into()),
            path: Some(redact_path(&self.path).into()),
            synthetic: self.synthetic,
        }
    }

    fn tell(&self, outcome: ProbeOutcome, phase: Option<Phase>) {
        if let Some(observer) = &self.desk.observer {
            observer.settled(&CallRecord {
                breaker: Arc::clone(&self.breaker),
                outcome,
                head_latency: self.head.as_ref().map(|head| head.latency),
                status: self.head.as_ref().map(|head| head.status.as_u16()),
                phase,
                at: self.desk.clock.wall(),
            });
        }
    }

    /// Our client left.
    fn left(&mut self) {
        let silent = match (self.head.is_some(), self.sent, self.turn()) {
            (false, Some(_), Turn::Done(since)) => since.elapsed(),
            // Not even a connection: the host is as silent as one that has the request.
            (false, None, _) => self.started.elapsed(),
            _ => Duration::ZERO,
        };
        let patience = self.upstream.classify.abandoned_after;
        if self.upstream.protocol == Protocol::Http && !silent.is_zero() && silent >= patience {
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
                self.tell(ProbeOutcome::Cancelled, None);
            } else {
                self.left();
            }
        }
        if let Some(upload) = &self.upload {
            upload.over();
        }
    }
}
