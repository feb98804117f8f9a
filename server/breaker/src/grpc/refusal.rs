//! Answers that are nothing but trailers, made in the server's place.

use std::time::Duration;

use http::{
    HeaderMap, HeaderValue, Response,
    header::{CONTENT_TYPE, HeaderName},
};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::Code;
use crate::{refusal::Refused, tower::ResponseBody};

const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

/// What `grpc-message` cannot hold as it is.
const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');

/// A refused call's answer.
pub(super) fn refused<B, J>(refused: &Refused) -> Response<ResponseBody<B, J>> {
    let mut trailers = status(Code::Unavailable, &refused.to_string());
    trailers.insert(PUSHBACK, pushback(refused.retry_after));
    alone(trailers)
}

/// A response that is nothing but trailers.
pub(super) fn alone<B, J>(mut trailers: HeaderMap) -> Response<ResponseBody<B, J>> {
    trailers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    let mut response = Response::new(ResponseBody::empty());
    *response.headers_mut() = trailers;
    response
}

pub(super) fn status(code: Code, message: &str) -> HeaderMap {
    let message = utf8_percent_encode(message, ESCAPED).to_string();
    let mut trailers = HeaderMap::with_capacity(4);
    trailers.insert(GRPC_STATUS, code.number().into());
    if let Ok(message) = message.try_into() {
        trailers.insert(GRPC_MESSAGE, message);
    }
    trailers
}

/// When to try again, in whole milliseconds rounded up; −1 says not to.
fn pushback(wait: Option<Duration>) -> HeaderValue {
    match wait.map(|wait| wait.as_nanos().div_ceil(1_000_000)) {
        Some(millis) => u64::try_from(millis).unwrap_or(u64::MAX).into(),
        None => HeaderValue::from_static("-1"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RefusedReason, State};

    #[test]
    fn a_refusal_names_the_breaker_and_the_wait() {
        let mut refusal = Refused {
            breaker: "50% of\naccounts é".into(),
            reason: RefusedReason::Open,
            retry_after: Some(Duration::from_nanos(14_800_000_001)),
            state: State::Open,
            mode: None,
        };
        let answer: Response<ResponseBody<(), ()>> = refused(&refusal);
        let header = |answer: &Response<_>, name: &str| answer.headers()[name].to_str().expect("text").to_owned();
        assert_eq!((answer.status().as_u16(), header(&answer, "content-type").as_str()), (200, "application/grpc"));
        assert_eq!(
            (header(&answer, "grpc-status").as_str(), header(&answer, "grpc-retry-pushback-ms").as_str()),
            ("14", "14801")
        );
        assert_eq!(
            header(&answer, "grpc-message"),
            "50%25 of%0Aaccounts %C3%A9 is open after repeated failures, nothing was sent; try again in 14.8 s"
        );
        refusal.retry_after = None;
        let answer: Response<ResponseBody<(), ()>> = refused(&refusal);
        assert_eq!(header(&answer, "grpc-retry-pushback-ms"), "-1");
    }
}
