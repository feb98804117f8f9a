//! What a client is told when its call was refused or failed here: the table "A refused or failed call at the gateway".
//! A host's own answer never comes through this file.

mod request;
mod words;

use std::time::Duration;

use bytes::Bytes;
use fuseboard_app::wire::problem::Problem;
use fuseboard_breaker::{Mode, Phase, Refused, RefusedReason};
use fuseboard_fetch::{BodyError, CallError, Guard, Trouble, TurnedAway};
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;
use hyper::ext::ReasonPhrase;
use serde_json::Value;
use url::Url;

use self::words::Words;
pub(super) use self::{
    request::{
        cross_site, dot_segment, echo, grpc_web, malformed, misdirected, no_path, speaks_grpc, unknown_files,
        unknown_upstream,
    },
    words::{in_words, wants_text},
};
use crate::config::{rewriting::Preset, upstreams::Entry};

/// An answer of our own; small and complete.
pub(super) type Own = Response<Full<Bytes>>;

/// One refusal on its way to a response.
struct Answer {
    status: StatusCode,
    kind: &'static str,
    title: &'static str,
    detail: String,
    proxy_status: Option<String>,
    retry_after: Option<Duration>,
    breaker: Option<String>,
    more: serde_json::Map<String, Value>,
}

impl Answer {
    fn new(status: StatusCode, kind: &'static str, title: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            title,
            detail: detail.into(),
            proxy_status: None,
            retry_after: None,
            breaker: None,
            more: serde_json::Map::new(),
        }
    }

    fn proxy_status(mut self, error: &str, next_hop: Option<&str>) -> Self {
        self.proxy_status = Some(match next_hop {
            Some(hop) => format!("fuseboard; error={error}; next-hop=\"{}\"", quoted(hop)),
            None => format!("fuseboard; error={error}"),
        });
        self
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.more.insert(key.to_owned(), value.into());
        self
    }

    fn about(mut self, breaker: &str) -> Self {
        self.breaker = Some(breaker.to_owned());
        self.with("breaker", breaker)
    }

    fn retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self.with("retry_after_ms", wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)))
    }

    fn into_response(mut self, board: &Url) -> Own {
        // npm shows this member, and beside it the reason phrase, which pip shows too.
        self.more.insert("error".to_owned(), self.detail.as_str().into());
        let instance = self.breaker.map(|breaker| board_link(board, &breaker));
        let more = instance.as_deref().map(|link| format!("\n{link}")).unwrap_or_default();
        let words = format!("{}. {}{more}\n", self.title, self.detail);
        let problem = Problem {
            kind: self.kind.to_owned(),
            title: self.title.to_owned(),
            status: self.status.as_u16(),
            detail: Some(self.detail),
            instance,
            more: self.more,
            ..Problem::default()
        };
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let mut response = Response::new(Full::new(Bytes::from(body)));
        *response.status_mut() = self.status;
        response.extensions_mut().insert(Words(words));
        if let Ok(reason) = ReasonPhrase::try_from(format!("Fuseboard: {}", self.title)) {
            response.extensions_mut().insert(reason);
        }
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(wait) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(whole_seconds(wait)));
        }
        if let Some(value) = self.proxy_status.and_then(|value| HeaderValue::try_from(value).ok()) {
            headers.insert("proxy-status", value);
        }
        response
    }
}

/// Rounded up, at least 1: a client that comes back then is not refused for the rest of a second.
fn whole_seconds(wait: Duration) -> u64 {
    (wait.as_secs() + u64::from(wait.subsec_nanos() > 0)).max(1)
}

/// What may stand between the quotes of a structured field's string.
fn quoted(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii() && !c.is_ascii_control() && !matches!(c, '"' | '\\')).collect()
}

/// The board's page of a breaker; the brackets of an IPv6 address are no path characters.
fn board_link(board: &Url, breaker: &str) -> String {
    let id = breaker.replace('[', "%5B").replace(']', "%5D");
    format!("{board}breakers/{id}")
}

/// The host behind a breaker: in its id, or the upstream's own where the id is a free name.
pub(super) fn next_hop<'a>(breaker: &'a str, entry: &'a Entry) -> &'a str {
    breaker.split_once(':').map_or(entry.target.authority.as_str(), |(_, host)| host)
}

/// Whatever ended a call before the host's answer.
pub(super) fn failed(board: &Url, entry: &Entry, error: &CallError) -> Own {
    let answer = answer(entry, error);
    let detail = serde_json::json!([{ "detail": answer.detail }]);
    match entry.rewriting.preset {
        // What Cargo shows of its registry's API.
        Preset::Cargo => answer.with("errors", detail),
        _ => answer,
    }
    .into_response(board)
}

fn answer(entry: &Entry, error: &CallError) -> Answer {
    let upstream = &entry.upstream.name;
    match error {
        CallError::Refused(refused) => refusal(refused, entry),
        CallError::QueueFull(away) => {
            let why = format!("{upstream} has as many calls waiting as queue.waiting allows. Try again, or raise it.");
            no_room(away, entry, ("queue_full", "Too many calls wait"), why).retry_after(Some(Duration::from_secs(1)))
        }
        CallError::PanelFull(away) => {
            let why = "Every breaker the panel has room for is in use. Raise panel.max.".to_owned();
            no_room(away, entry, ("panel_full", "The panel is full"), why).retry_after(Some(Duration::from_secs(30)))
        }
        CallError::OwnGuard(guard) => guarded(upstream, guard),
        CallError::Failed { breaker, phase, error, trouble } => call_failed(breaker, entry, *phase, error, *trouble),
        CallError::Deadline { breaker } => {
            let title = "The caller's deadline passed";
            Answer::new(StatusCode::GATEWAY_TIMEOUT, "urn:fuseboard:failed", title, format!("{error}.")).about(breaker)
        }
        // Whoever still reads this has sent a body that cannot be read.
        CallError::ClientGone => Answer::new(
            StatusCode::BAD_REQUEST,
            "about:blank",
            "The request is not whole",
            "Its body ended early, stalled or is badly framed. Send it again.",
        ),
        CallError::Stale { breaker } => {
            Answer::new(StatusCode::BAD_GATEWAY, "urn:fuseboard:failed", "The connection was closed", error.to_string())
                .about(breaker)
                .proxy_status("connection_terminated", Some(next_hop(breaker, entry)))
        }
        CallError::BadRequest { message } => {
            Answer::new(StatusCode::BAD_REQUEST, "about:blank", "The request cannot be sent on", message.clone())
        }
    }
}

fn no_room(away: &TurnedAway, entry: &Entry, (reason, title): (&str, &'static str), why: String) -> Answer {
    Answer::new(StatusCode::SERVICE_UNAVAILABLE, "urn:fuseboard:refused", title, why)
        .about(&away.breaker)
        .with("state", away.state.as_str())
        .with("override", away.mode.map(Mode::as_str))
        .with("reason", reason)
        .proxy_status("destination_unavailable", Some(next_hop(&away.breaker, entry)))
}

fn refusal(refused: &Refused, entry: &Entry) -> Answer {
    let (status, title) = match refused.reason {
        RefusedReason::CoolingDown => (StatusCode::TOO_MANY_REQUESTS, "The host asked for quiet"),
        RefusedReason::ForcedOpen => (StatusCode::SERVICE_UNAVAILABLE, "Held open by an operator"),
        RefusedReason::Open => (StatusCode::SERVICE_UNAVAILABLE, "The host is down"),
        RefusedReason::ProbesTaken => (StatusCode::SERVICE_UNAVAILABLE, "The host is being probed"),
    };
    let retry_after = match refused.reason {
        // The probe out there may end at any moment.
        RefusedReason::ProbesTaken => Some(Duration::from_secs(1)),
        _ => refused.retry_after,
    };
    let answer = Answer::new(status, "urn:fuseboard:refused", title, format!("{refused}."))
        .about(&refused.breaker)
        .with("state", refused.state.as_str())
        .with("override", refused.mode.map(|mode| mode.as_str()))
        .with("reason", refused.reason.as_str())
        .retry_after(retry_after);
    match refused.reason {
        RefusedReason::CoolingDown => answer,
        _ => answer.proxy_status("destination_unavailable", Some(next_hop(&refused.breaker, entry))),
    }
}

fn guarded(upstream: &str, guard: &Guard) -> Answer {
    let error = match guard {
        Guard::ProhibitedAddress { .. } => "destination_ip_prohibited",
        Guard::Loop | Guard::TooManyRedirects { .. } => "proxy_loop_detected",
        Guard::Downgrade { .. } => "http_protocol_error",
        Guard::TooLarge { .. } => "http_response_body_size",
    };
    Answer::new(
        StatusCode::BAD_GATEWAY,
        "urn:fuseboard:guard",
        "Stopped by the gateway",
        format!("The call to {upstream} was stopped here: {guard}."),
    )
    .proxy_status(error, None)
}

fn call_failed(breaker: &str, entry: &Entry, phase: Phase, error: &str, trouble: Trouble) -> Answer {
    let status = match trouble {
        Trouble::Timeout => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::BAD_GATEWAY,
    };
    let (proxy_error, title) = story(phase, trouble);
    Answer::new(status, "urn:fuseboard:failed", title, format!("{}: {error}", next_hop(breaker, entry)))
        .about(breaker)
        .with("phase", phase.as_str())
        .proxy_status(proxy_error, Some(next_hop(breaker, entry)))
}

/// The host's answer broke off before anything of it went out, so that it can still be told in words.
pub(super) fn broken(board: &Url, entry: &Entry, error: &BodyError) -> Own {
    let title = "The host's answer is broken";
    let breaker = match error {
        BodyError::Broken { breaker, .. } | BodyError::Deadline { breaker } => breaker,
        BodyError::HeldOpen(refused) => &refused.breaker,
        BodyError::FellBehind | BodyError::ClientStalled => &entry.breaker,
    };
    Answer::new(StatusCode::BAD_GATEWAY, "urn:fuseboard:failed", title, format!("{error}."))
        .about(breaker)
        .with("phase", Phase::Body.as_str())
        .proxy_status("http_response_incomplete", Some(next_hop(breaker, entry)))
        .into_response(board)
}

/// The error type of RFC 9209 that says the most, and what happened in words.
fn story(phase: Phase, trouble: Trouble) -> (&'static str, &'static str) {
    match (phase, trouble) {
        (Phase::Panic, _) => ("proxy_internal_error", "The call failed inside the gateway"),
        (Phase::Dns, Trouble::Timeout) => ("dns_timeout", "The host's name was not resolved in time"),
        (Phase::Dns, _) => ("dns_error", "The host's name could not be resolved"),
        (Phase::Connect, Trouble::Timeout) => ("connection_timeout", "The host did not accept a connection in time"),
        (Phase::Tls, Trouble::Timeout) => ("connection_timeout", "The host did not finish the TLS handshake in time"),
        (Phase::Send, Trouble::Timeout) => ("connection_write_timeout", "The host did not take the request in time"),
        (_, Trouble::Timeout) => ("http_response_timeout", "The host did not answer in time"),
        (_, Trouble::Refused) => ("connection_refused", "The host refused the connection"),
        (_, Trouble::Unroutable) => ("destination_ip_unroutable", "There is no way to the host's address"),
        (_, Trouble::Certificate) => ("tls_certificate_error", "The host's certificate is not accepted"),
        (_, Trouble::Alert) => ("tls_alert_received", "The host broke off the TLS handshake"),
        (_, Trouble::Malformed) => ("http_protocol_error", "The host did not answer in valid HTTP"),
        (_, Trouble::HeadTooLarge) => {
            ("http_response_header_section_size", "The head of the host's answer is too large")
        }
        (_, Trouble::Switched) => ("http_upgrade_failed", "The host switched protocols unasked"),
        (Phase::Tls, Trouble::Cut) => ("connection_terminated", "The host ended the connection in the TLS handshake"),
        (Phase::Tls, Trouble::Other) => ("tls_protocol_error", "The TLS handshake with the host failed"),
        (Phase::Connect, Trouble::Other) => ("destination_unavailable", "The host could not be reached"),
        (Phase::Send, _) => {
            ("connection_terminated", "The connection to the host ended before it had the whole request")
        }
        (_, Trouble::Cut | Trouble::Other) => {
            ("connection_terminated", "The connection to the host ended before it answered")
        }
    }
}

/// The process is on its way down.
pub(super) fn shutting_down(board: &Url) -> Own {
    on_the_way_down(board, "Connect again; the host was not called.")
}

/// It is, and the host has not answered yet.
pub(super) fn cut_off(board: &Url) -> Own {
    on_the_way_down(board, "The host had not answered; it may have got the request all the same. Connect again.")
}

fn on_the_way_down(board: &Url, detail: &'static str) -> Own {
    let title = "The gateway is shutting down";
    Answer::new(StatusCode::SERVICE_UNAVAILABLE, "urn:fuseboard:refused", title, detail)
        .with("reason", "shutting_down")
        .retry_after(Some(Duration::from_secs(1)))
        .proxy_status("destination_unavailable", None)
        .into_response(board)
}

#[cfg(test)]
mod tests;
