//! One gRPC call as far as it has come, and how it ended.

use std::time::Duration;

use fuseboard_breaker::grpc::{Code, End, Messages};
use http::{HeaderMap, StatusCode};
use tokio::time::Instant;

use super::health;
use crate::upload::Sent;

/// What a gRPC call is judged by.
pub(crate) struct Exchange {
    /// What the caller's deadline left for the host, and when it is over.
    pub(crate) budget: Option<(Duration, Instant)>,
    /// Our own answer to what it proved, by name; set when it is judged.
    pub(crate) code: Option<Code>,
    sent: Sent,
    received: Messages,
    /// Set for a health check of our own: its answer decides.
    health: Option<health::Answer>,
    status: Option<Code>,
    /// Neither 200 nor with a status of its own: from a proxy in between.
    http: Option<StatusCode>,
}

impl Exchange {
    pub(crate) fn new(sent: Sent, budget: Option<(Duration, Instant)>) -> Self {
        Self { budget, code: None, sent, received: Messages::default(), health: None, status: None, http: None }
    }

    /// A health check of our own.
    pub(crate) fn checking(sent: Sent) -> Self {
        Self { health: Some(health::Answer::default()), ..Self::new(sent, None) }
    }

    /// The request once more, if the host may still get it as if for the first time.
    pub(crate) fn sent(&self) -> &Sent {
        &self.sent
    }

    /// Whether the host cannot be expected to answer before the client says more. It can after any whole message: an open
    /// stream whose client has nothing to add is no stalled upload.
    pub(crate) fn is_for_client_to_speak(&self) -> bool {
        self.sent.messages() == 0 || self.sent.is_partial()
    }

    /// The response's head. It may be all there is.
    pub(crate) fn head(&mut self, status: StatusCode, headers: &HeaderMap) {
        self.status = Code::from_headers(headers);
        self.http = (self.status.is_none() && status != StatusCode::OK).then_some(status);
    }

    /// Whether it is no gRPC server that answers.
    pub(crate) fn is_http_error(&self) -> bool {
        self.http.is_some()
    }

    pub(crate) fn data(&mut self, bytes: &[u8]) {
        self.received.pass(bytes);
        if let Some(health) = &mut self.health {
            health.pass(bytes);
        }
    }

    pub(crate) fn trailers(&mut self, trailers: &HeaderMap) {
        self.status = Code::from_headers(trailers).or(self.status);
    }

    /// How many messages went either way.
    pub(crate) fn messages(&self) -> (u64, u64) {
        (self.sent.messages(), self.received.whole())
    }

    /// Whether it looks like a call with one message each way.
    pub(crate) fn is_unary(&self) -> bool {
        let (sent, received) = self.messages();
        sent <= 1 && received <= 1
    }

    /// How it ended, all of it being there, and what to say about that.
    pub(crate) fn end(&self) -> (End, Option<String>) {
        match (self.status, self.http) {
            (Some(Code::Ok), _) => match self.health.as_ref().and_then(health::Answer::not_serving) {
                None => (End::Status(Code::Ok), None),
                Some(said) => (End::Status(Code::Unavailable), Some(format!("the health check says {said}"))),
            },
            (Some(code), _) => (End::Status(code), None),
            (None, Some(status)) => (End::Http(status), Some(format!("answered with HTTP status {}", status.as_u16()))),
            (None, None) => (End::NoStatus, Some("the host ended the stream without a status".to_owned())),
        }
    }
}
