//! What we say to a gRPC client ourselves.

use std::time::Duration;

use fuseboard_breaker::{Refused, RefusedReason, grpc::Code};
use http::{HeaderMap, HeaderValue};

use crate::error::BodyError;

/// A status with words, and when it is worth trying again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    code: Code,
    message: String,
    /// Milliseconds until it is worth it; negative is never.
    pushback: Option<i64>,
}

impl Status {
    /// A status without advice.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), pushback: None }
    }

    /// Whoever retries should wait this long, rounded up to the millisecond; for ever when absent.
    #[must_use]
    pub fn retry_after(mut self, wait: Option<Duration>) -> Self {
        let rounded_up = |wait: Duration| i64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX);
        self.pushback = Some(wait.map_or(-1, rounded_up));
        self
    }

    /// As trailers, or beside a content type as the headers of a response that is nothing but trailers.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("grpc-status", HeaderValue::from(self.code.number()));
        if let Ok(message) = HeaderValue::try_from(encoded(&self.message)) {
            headers.insert("grpc-message", message);
        }
        if let Some(pushback) = self.pushback {
            headers.insert("grpc-retry-pushback-ms", HeaderValue::from(pushback));
        }
        headers
    }
}

impl From<&Refused> for Status {
    /// Every refusal is one to come back after, or never.
    fn from(refused: &Refused) -> Self {
        let wait = match refused.reason {
            // The probe out there may end at any moment.
            RefusedReason::ProbesTaken => Some(Duration::from_secs(1)),
            _ => refused.retry_after,
        };
        Self::new(Code::Unavailable, format!("{refused}.")).retry_after(wait)
    }
}

impl From<&BodyError> for Status {
    fn from(error: &BodyError) -> Self {
        let code = match error {
            BodyError::HeldOpen(refused) => return Self::from(&**refused),
            BodyError::Deadline { .. } => Code::DeadlineExceeded,
            BodyError::Broken { .. } => Code::Unavailable,
            BodyError::FellBehind | BodyError::ClientStalled => Code::Cancelled,
        };
        Self::new(code, format!("{error}."))
    }
}

/// Everything but printable ASCII, and the percent sign, as `%XX` of its bytes.
fn encoded(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    for byte in message.bytes() {
        match byte {
            b' '..=b'~' if byte != b'%' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_encoded_and_a_wait_rounded_up() {
        let status = Status::new(Code::Unavailable, "100 % „zu“\n").retry_after(Some(Duration::from_micros(1_500)));
        let headers = status.headers();
        let said = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        assert_eq!(said("grpc-status"), "14");
        assert_eq!(said("grpc-message"), "100 %25 %E2%80%9Ezu%E2%80%9C%0A");
        assert_eq!(said("grpc-retry-pushback-ms"), "2");
        let never = Status::new(Code::Unavailable, "held").retry_after(None).headers();
        assert_eq!(never.get("grpc-retry-pushback-ms").unwrap(), "-1");
    }
}
