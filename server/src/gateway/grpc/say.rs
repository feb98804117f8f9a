//! What a gRPC client is told when its call was refused or failed here.

use std::time::Duration;

use bytes::Bytes;
use fuseboard_breaker::{Phase, grpc::Code};
use fuseboard_fetch::{CallError, Trouble, grpc::Status};
use http::{HeaderValue, Response, header};
use http_body_util::Full;

use crate::{
    config::upstreams::Entry,
    gateway::reject::{self, Own},
};

/// A response that is nothing but trailers.
pub(super) fn respond(status: &Status) -> Own {
    let mut response = Response::new(Full::new(Bytes::new()));
    *response.headers_mut() = status.headers();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    response
}

/// The process is ending; another one may take over.
pub(super) fn shutting_down() -> Status {
    Status::new(Code::Unavailable, "This gateway is shutting down.").retry_after(Some(Duration::from_secs(1)))
}

/// Whatever ended a call before the host's answer.
pub(super) fn failed(entry: &Entry, error: &CallError) -> Status {
    let upstream = &entry.upstream.name;
    let busy = |message: String, wait| Status::new(Code::Unavailable, message).retry_after(Some(wait));
    match error {
        CallError::Refused(refused) => refused.into(),
        CallError::QueueFull(_) => {
            let message = format!("{upstream} has as many calls waiting as queue.waiting allows.");
            busy(message, Duration::from_secs(1))
        }
        CallError::PanelFull(_) => {
            let message = "Every breaker the panel has room for is in use. Raise panel.max.".to_owned();
            busy(message, Duration::from_secs(30))
        }
        // Trying again leads to the same guard.
        CallError::OwnGuard(guard) => {
            Status::new(Code::FailedPrecondition, format!("The call to {upstream} was stopped here: {guard}."))
        }
        CallError::Failed { breaker, phase, error, trouble } => {
            let code = match (phase, trouble) {
                (Phase::Panic, _) | (_, Trouble::Malformed | Trouble::HeadTooLarge | Trouble::Switched) => {
                    Code::Internal
                }
                _ => Code::Unavailable,
            };
            let host = reject::next_hop(breaker, entry);
            Status::new(code, format!("{upstream} at {host} failed ({}): {error}.", phase.as_str()))
        }
        CallError::Deadline { .. } => {
            Status::new(Code::DeadlineExceeded, format!("{upstream} did not answer within the call's deadline."))
        }
        CallError::Stale { .. } => Status::new(Code::Unavailable, format!("{error}.")),
        CallError::ClientGone => Status::new(Code::Cancelled, "The request broke off before the host's answer."),
        CallError::BadRequest { message } => {
            Status::new(Code::InvalidArgument, format!("The call cannot be sent on: {message}."))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fuseboard_breaker::{Mode, Refused, RefusedReason, State};
    use fuseboard_fetch::{Guard, TurnedAway, Upstream};

    use super::*;
    use crate::config::upstreams::Target;

    /// Code and advice, of something that must have words.
    fn told(status: &Status) -> (Code, Option<String>) {
        let headers = respond(status).headers().clone();
        let text = |name: &str| headers.get(name).map(|value| value.to_str().expect("text").to_owned());
        assert_eq!(text("content-type").as_deref(), Some("application/grpc"));
        assert!(text("grpc-message").is_some_and(|words| words.ends_with('.')), "{headers:?}");
        (Code::from_headers(&headers).expect("a status"), text("grpc-retry-pushback-ms"))
    }

    #[test]
    fn every_end_has_a_status_and_words() {
        let upstream = Upstream::plain("accounts", "grpc://h.example:1").expect("an upstream");
        let target = Target::new(&upstream.url).expect("a target");
        let (breaker, rewriting) = (upstream.breaker_id().into(), Default::default());
        let entry = Entry { breaker, upstream: Arc::new(upstream), target, services: Vec::new(), rewriting };
        let breaker = || Arc::<str>::from("accounts");
        let away = || TurnedAway { breaker: breaker(), state: State::Closed, mode: None };
        let refused = |reason, wait| {
            let mode = (reason == RefusedReason::ForcedOpen).then_some(Mode::ForcedOpen);
            CallError::Refused(Refused { breaker: breaker(), reason, retry_after: wait, state: State::Open, mode })
        };
        let failed =
            |phase, trouble| CallError::Failed { breaker: breaker(), phase, error: "it broke".into(), trouble };
        let wait = Some(Duration::from_micros(12_345_600));
        for (error, code, pushback) in [
            (refused(RefusedReason::Open, wait), Code::Unavailable, Some("12346")),
            (refused(RefusedReason::ProbesTaken, wait), Code::Unavailable, Some("1000")),
            (refused(RefusedReason::ForcedOpen, None), Code::Unavailable, Some("-1")),
            (CallError::QueueFull(away()), Code::Unavailable, Some("1000")),
            (CallError::PanelFull(away()), Code::Unavailable, Some("30000")),
            (CallError::OwnGuard(Guard::Loop), Code::FailedPrecondition, None),
            (failed(Phase::Connect, Trouble::Refused), Code::Unavailable, None),
            (failed(Phase::Head, Trouble::Timeout), Code::Unavailable, None),
            (failed(Phase::Head, Trouble::Malformed), Code::Internal, None),
            (failed(Phase::Panic, Trouble::Other), Code::Internal, None),
            (CallError::Deadline { breaker: breaker() }, Code::DeadlineExceeded, None),
            (CallError::Stale { breaker: breaker() }, Code::Unavailable, None),
            (CallError::ClientGone, Code::Cancelled, None),
            (CallError::BadRequest { message: "no".into() }, Code::InvalidArgument, None),
        ] {
            assert_eq!(told(&super::failed(&entry, &error)), (code, pushback.map(str::to_owned)), "{error:?}");
        }
        assert_eq!(told(&shutting_down()), (Code::Unavailable, Some("1000".to_owned())));
    }
}
