//! One call of a gRPC client, from its request to its trailers.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Buf;
use http::{HeaderMap, Request, Response, StatusCode, header::CONTENT_TYPE, uri::PathAndQuery};
use http_body::{Body, Frame};
use percent_encoding::percent_decode;
use tokio::time::{Instant, Sleep, sleep};

use super::{Budget, Code, Codes, End, Messages, broken, refusal, timeout};
use crate::{
    outcome::{Evidence, Outcome, Phase, Verdict},
    permit::OwnedPermit,
    tower::{BoxError, Call, JudgeBody, ResponseBody},
};

/// No more of a server's message is kept, in characters.
const MESSAGE: usize = 200;

/// An admitted call of a gRPC client. It is judged once: at its head if that says how it ended, else at its trailers, its
/// end, its deadline, or when it is let go of.
#[derive(Debug)]
pub struct ClientCall {
    codes: Arc<Codes>,
    permit: Option<OwnedPermit>,
    path: Option<PathAndQuery>,
    deadline: Option<Deadline>,
    /// How long the response's head took, where a rule asks.
    head: Option<Duration>,
    /// Of the response, counted where that duration is asked for.
    received: Messages,
}

/// Kept from the moment the call was made. Tokio's clock, since tokio's timer ends it.
#[derive(Debug)]
struct Deadline {
    given: Duration,
    since: Instant,
    timer: Pin<Box<Sleep>>,
}

impl ClientCall {
    pub(super) fn new<B>(codes: Arc<Codes>, request: &Request<B>, permit: OwnedPermit) -> Self {
        let deadline = timeout(request.headers()).map(|given| Deadline {
            given,
            since: Instant::now(),
            timer: Box::pin(sleep(given)),
        });
        let path = request.uri().path_and_query().cloned();
        permit.describe(|| asked(path.as_ref()));
        Self { codes, permit: Some(permit), path, deadline, head: None, received: Messages::default() }
    }

    /// A deadline that is over before anything was sent: the answer in the server's place.
    pub(super) fn is_too_late<B, J>(&mut self) -> Option<Response<ResponseBody<B, J>>> {
        let over = self.deadline.as_ref().is_some_and(|deadline| deadline.given.is_zero());
        over.then(|| refusal::alone(self.time_out()))
    }

    /// The deadline is over: how the call ends for its caller.
    fn time_out(&mut self) -> HeaderMap {
        let breaker = self.permit.as_ref().map(|permit| permit.breaker().clone()).unwrap_or_default();
        let given = self.deadline.as_ref().map_or(Duration::ZERO, |deadline| deadline.given);
        self.settle(End::TimedOut, None);
        refusal::status(Code::DeadlineExceeded, &format!("{breaker} did not answer within the {given:?} the call had"))
    }

    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        // Once judged it goes on as it may.
        match &mut self.deadline {
            Some(deadline) if self.permit.is_some() => deadline.timer.as_mut().poll(cx),
            _ => Poll::Pending,
        }
    }

    fn settle(&mut self, end: End, error: Option<Box<str>>) {
        let Some(permit) = self.permit.take() else { return };
        let (given, elapsed) = match &self.deadline {
            Some(deadline) => (Some(deadline.given), deadline.since.elapsed()),
            None => (None, Duration::ZERO),
        };
        let judged = self.codes.judge(end, Budget { given, elapsed });
        let mut verdict = if judged.outcome == Outcome::Success && !permit.is_probe() {
            Verdict::success()
        } else {
            judged.verdict(Evidence { error, ..asked(self.path.as_ref()) })
        };
        // One message is a unary call's: its time is that to its trailers.
        verdict.latency = self.head.filter(|_| self.received.whole() > 1);
        permit.settle(verdict);
    }

    fn broke(&mut self, error: &BoxError, phase: Phase) {
        // The transport may keep the same deadline and be first to say so, in words of its own.
        let over = self.deadline.as_ref().is_some_and(|deadline| deadline.since.elapsed() >= deadline.given);
        let end = if over { End::TimedOut } else { broken::end(&**error, phase) };
        self.settle(end, Some(in_words(&**error)));
    }

    fn by_headers(&mut self, headers: &HeaderMap) -> bool {
        let Some(code) = Code::from_headers(headers) else { return false };
        let message = headers.get("grpc-message").filter(|_| self.permit.is_some() && code != Code::Ok);
        let message =
            message.map(|text| percent_decode(text.as_bytes()).decode_utf8_lossy().chars().take(MESSAGE).collect());
        self.settle(End::Status(code), message);
        true
    }
}

/// What is known of a call before it is answered.
fn asked(path: Option<&PathAndQuery>) -> Evidence {
    let path = path.map(|path| path.path().into());
    Evidence { method: Some("POST".into()), path, ..Evidence::default() }
}

impl<B, E> Call<Response<B>, E> for ClientCall
where
    B: Body<Error: Into<BoxError>>,
    E: Into<BoxError>,
{
    type Response = Response<ResponseBody<B, Self>>;
    type Error = BoxError;

    fn permit(&mut self) -> &mut Option<OwnedPermit> {
        &mut self.permit
    }

    fn poll_cut(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::Response, BoxError>> {
        ready!(self.poll_deadline(cx));
        Poll::Ready(Ok(refusal::alone(self.time_out())))
    }

    fn answered(mut self, answer: Result<Response<B>, E>) -> Result<Self::Response, BoxError> {
        let response = answer.map_err(|error| {
            let error = error.into();
            self.broke(&error, Phase::Head);
            error
        })?;
        if let Some(permit) = &self.permit {
            permit.answered();
            self.head = permit.elapsed();
        }
        let judged = self.by_headers(response.headers());
        if !judged && (response.status() != StatusCode::OK || is_page(response.headers())) {
            self.settle(End::Http(response.status()), None);
        }
        Ok(response.map(|body| match self.permit {
            Some(_) => ResponseBody::new(body, self),
            None => ResponseBody::judged(body),
        }))
    }
}

impl<D: Buf> JudgeBody<D> for ClientCall {
    fn permit(&mut self) -> &mut Option<OwnedPermit> {
        &mut self.permit
    }

    fn came(&mut self, frame: &Frame<D>) {
        if let (Some(data), true) = (frame.data_ref(), self.head.is_some()) {
            // In one piece, with the clients there are.
            self.received.pass(data.chunk());
        }
        if let Some(trailers) = frame.trailers_ref()
            && !self.by_headers(trailers)
        {
            self.settle(End::NoStatus, None);
        }
    }

    fn ended(&mut self) {
        self.settle(End::NoStatus, None);
    }

    fn broke(&mut self, error: &BoxError) {
        Self::broke(self, error, Phase::Body);
    }

    fn poll_cut(&mut self, cx: &mut Context<'_>) -> Poll<Frame<D>> {
        ready!(self.poll_deadline(cx));
        Poll::Ready(Frame::trailers(self.time_out()))
    }
}

impl Drop for ClientCall {
    /// The caller let go of it. What is dropped by a panic elsewhere is its permit's business.
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.settle(End::Cancelled, None);
        }
    }
}

/// Something else than gRPC: a proxy's page, with HTTP's success or not.
fn is_page(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|kind| !kind.as_bytes().starts_with(b"application/grpc"))
}

/// An error with all its causes in one line.
fn in_words(error: &(dyn std::error::Error + 'static)) -> Box<str> {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_words = cause.to_string();
        if !words.ends_with(&cause_words) {
            words = format!("{words}: {cause_words}");
        }
        next = cause.source();
    }
    words.chars().take(MESSAGE).collect()
}
