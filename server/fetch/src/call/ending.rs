//! Whatever way a call ends, its permit is settled here and once. The ends nobody writes down, a future or a body dropped
//! at any await, are judged in `Drop`: our client left, which proves nothing, unless the host had been silent for
//! `abandoned_after`; a panic in a poll is a failure; a permit dropped by somebody else's panic is cancelled.

use std::{sync::Arc, time::Duration};

use fuseboard_breaker::{
    Evidence, Outcome, Phase, ProbeOutcome, Settled, Verdict, Why,
    grpc::{Budget, Code, End},
};
use http::StatusCode;
use tokio::time::Instant;

use super::Call;
use crate::{classify, observe::CallRecord, origin::redact_path, upload::Turn};

impl Call {
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

    pub(super) fn settle(&mut self, outcome: Outcome, phase: Option<Phase>, why: Option<Why>, error: Option<&str>) {
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
    pub(super) fn describe(&self) {
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
