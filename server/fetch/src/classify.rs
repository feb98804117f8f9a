//! What an answer, or the lack of one, proves about the host. Three kinds of question: a status (2xx and 3xx are
//! success, a client's fault is alive, the configured ones are failures), the host's wish to be left alone, and what a
//! broken connection tells: whether it is the host's fault or was merely closed while nobody used it, and what was wrong.

use std::{
    error::Error as _,
    io,
    num::IntErrorKind,
    time::{Duration, SystemTime},
};

use fuseboard_breaker::{Outcome, RetryAfter};
use http::{HeaderMap, StatusCode, header::RETRY_AFTER};

use crate::{error::Trouble, upstream::Classify};

/// What a status proves.
pub(crate) fn status(rules: &Classify, status: StatusCode) -> Outcome {
    let code = status.as_u16();
    if code == 429 {
        return if rules.count_429 { Outcome::Failure } else { Outcome::Alive };
    }
    if rules.failures.contains(code) && !rules.alive.contains(code) {
        return Outcome::Failure;
    }
    match code {
        ..400 => Outcome::Success,
        _ => Outcome::Alive,
    }
}

/// No wish longer than this is carried on; the policy caps it far below.
const LONGEST_WISH: Duration = Duration::from_secs(366 * 24 * 3600);

/// A date takes half of this; what is longer is nonsense, and would be kept in the record.
const LONGEST_RAW: usize = 64;

/// The host's `Retry-After`, seconds or a date; nonsense is as good as none.
pub(crate) fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Box<RetryAfter>> {
    let raw = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if raw.len() > LONGEST_RAW {
        return None;
    }
    let wait = if raw.bytes().all(|byte| byte.is_ascii_digit()) {
        // More than fits is still a wish to wait as long as can be (RFC 9111, 1.2.2).
        Duration::from_secs(match raw.parse::<u64>() {
            Err(error) if *error.kind() == IntErrorKind::PosOverflow => u64::MAX,
            seconds => seconds.ok()?,
        })
    } else {
        httpdate::parse_http_date(raw).ok()?.duration_since(now).unwrap_or_default()
    };
    Some(Box::new(RetryAfter { raw: raw.into(), wait: wait.min(LONGEST_WISH) }))
}

/// Whether a connection broke in the way one does that the host had closed before it saw the request.
pub(crate) fn closed_by_host(error: &hyper::Error) -> bool {
    if error.is_incomplete_message() || error.is_canceled() || error.is_closed() {
        return true;
    }
    let mut source = error.source();
    while let Some(inner) = source {
        if let Some(io) = inner.downcast_ref::<io::Error>() {
            use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected, UnexpectedEof};
            return matches!(
                io.kind(),
                BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected | UnexpectedEof
            );
        }
        source = inner.source();
    }
    false
}

/// Whether an h2 host says it never looked at the request: REFUSED_STREAM, or GOAWAY below our stream.
pub(crate) fn never_processed(error: &hyper::Error) -> bool {
    let mut source = error.source();
    while let Some(inner) = source {
        if let Some(h2) = inner.downcast_ref::<h2::Error>() {
            return h2.is_remote() && (h2.reason() == Some(h2::Reason::REFUSED_STREAM) || h2.is_go_away());
        }
        source = inner.source();
    }
    false
}

/// What was wrong with an answer, or with the connection it was to come on.
pub(crate) fn trouble(error: &hyper::Error) -> Trouble {
    if error.is_parse_too_large() {
        return Trouble::HeadTooLarge;
    }
    if error.is_parse() {
        return Trouble::Malformed;
    }
    let mut source = error.source();
    while let Some(inner) = source {
        if let Some(h2) = inner.downcast_ref::<h2::Error>() {
            return match h2.is_library() {
                // Our side's way to say that a head is larger than we take.
                true if h2.reason() == Some(h2::Reason::REFUSED_STREAM) => Trouble::HeadTooLarge,
                // We ended it, because of what the host sent.
                true => Trouble::Malformed,
                false => Trouble::Cut,
            };
        }
        source = inner.source();
    }
    if closed_by_host(error) { Trouble::Cut } else { Trouble::Other }
}

/// Why there is no TCP connection.
pub(crate) fn connect_trouble(error: &io::Error) -> Trouble {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Trouble::Refused,
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => Trouble::Unroutable,
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => Trouble::Cut,
        _ => Trouble::Other,
    }
}

/// Why there is no TLS on it.
pub(crate) fn tls_trouble(error: &io::Error) -> Trouble {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => Trouble::Certificate,
        Some(rustls::Error::AlertReceived(_)) => Trouble::Alert,
        Some(_) => Trouble::Other,
        None if error.kind() == io::ErrorKind::UnexpectedEof => Trouble::Cut,
        None => connect_trouble(error),
    }
}

/// An error with all its causes in one line.
pub(crate) fn in_words(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let more = inner.to_string();
        if !words.contains(&more) {
            words.push_str(": ");
            words.push_str(&more);
        }
        source = inner.source();
    }
    words
}

#[cfg(test)]
mod tests;
