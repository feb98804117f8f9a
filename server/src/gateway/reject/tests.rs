use std::{net::IpAddr, sync::Arc};

use fuseboard_breaker::{Mode, State};
use fuseboard_fetch::{TurnedAway, Upstream};
use http_body_util::BodyExt;

use super::*;
use crate::config::upstreams::Target;

fn entry(url: &str) -> Entry {
    let upstream = Upstream::plain("npm", url).expect("an upstream");
    let target = Target::new(&upstream.url).expect("a target");
    let (breaker, rewriting) = (upstream.breaker_id().into(), Default::default());
    Entry { breaker, upstream: Arc::new(upstream), target, services: Vec::new(), rewriting }
}

struct Told {
    status: u16,
    proxy_status: String,
    retry_after: String,
    problem: Value,
}

fn told(response: Own) -> Told {
    let header = |name: &str| {
        let value = response.headers().get(name).map(|value| value.to_str().expect("text").to_owned());
        value.unwrap_or_default()
    };
    assert_eq!(header("content-type"), "application/problem+json");
    assert_eq!(header("cache-control"), "no-store");
    let (status, proxy_status, retry_after) =
        (response.status().as_u16(), header("proxy-status"), header("retry-after"));
    let body =
        futures_util::FutureExt::now_or_never(response.into_body().collect()).expect("whole").expect("infallible");
    let problem = serde_json::from_slice(&body.to_bytes()).expect("JSON");
    Told { status, proxy_status, retry_after, problem }
}

fn tell(error: &CallError) -> Told {
    let board = Url::parse("http://127.0.0.1:3000/").expect("a URL");
    told(failed(&board, &entry("https://registry.example"), error))
}

fn refused(reason: RefusedReason, retry_after: Option<Duration>, mode: Option<Mode>) -> CallError {
    CallError::Refused(Refused {
        breaker: "https:[2001:db8::1]:8443".into(),
        reason,
        retry_after,
        state: State::Open,
        mode,
    })
}

#[test]
fn retry_after_is_whole_seconds_rounded_up_and_at_least_one() {
    for (millis, seconds) in [(0, "1"), (1, "1"), (999, "1"), (1000, "1"), (1001, "2"), (59_999, "60"), (60_000, "60")]
    {
        let told = tell(&refused(RefusedReason::Open, Some(Duration::from_millis(millis)), None));
        assert_eq!((told.status, &*told.retry_after), (503, seconds), "{millis} ms");
        assert_eq!(told.problem["retry_after_ms"], millis);
    }
    let told = tell(&refused(RefusedReason::ForcedOpen, None, Some(Mode::ForcedOpen)));
    assert_eq!((told.status, &*told.retry_after), (503, ""));
    assert_eq!(told.problem["override"], "forced_open");
}

#[test]
fn brackets_are_encoded_in_the_link_and_kept_in_the_next_hop() {
    let told = tell(&refused(RefusedReason::Open, None, None));
    assert_eq!(told.problem["instance"], "http://127.0.0.1:3000/breakers/https:%5B2001:db8::1%5D:8443");
    assert_eq!(told.proxy_status, "fuseboard; error=destination_unavailable; next-hop=\"[2001:db8::1]:8443\"");
}

#[test]
fn every_failure_has_its_status_its_error_and_its_words() {
    let host = "https:registry.example";
    for (phase, trouble, status, expected, title) in [
        (Phase::Dns, Trouble::Other, 502, "dns_error", "name could not be resolved"),
        (Phase::Dns, Trouble::Timeout, 504, "dns_timeout", "name was not resolved in time"),
        (Phase::Connect, Trouble::Refused, 502, "connection_refused", "refused"),
        (Phase::Connect, Trouble::Unroutable, 502, "destination_ip_unroutable", "no way"),
        (Phase::Connect, Trouble::Other, 502, "destination_unavailable", "could not be reached"),
        (Phase::Connect, Trouble::Cut, 502, "connection_terminated", "ended"),
        (Phase::Connect, Trouble::Timeout, 504, "connection_timeout", "accept a connection in time"),
        (Phase::Tls, Trouble::Certificate, 502, "tls_certificate_error", "certificate"),
        (Phase::Tls, Trouble::Alert, 502, "tls_alert_received", "broke off the TLS handshake"),
        (Phase::Tls, Trouble::Cut, 502, "connection_terminated", "TLS handshake"),
        (Phase::Tls, Trouble::Other, 502, "tls_protocol_error", "TLS handshake"),
        (Phase::Tls, Trouble::Timeout, 504, "connection_timeout", "TLS handshake in time"),
        (Phase::Send, Trouble::Timeout, 504, "connection_write_timeout", "take the request in time"),
        (Phase::Send, Trouble::Cut, 502, "connection_terminated", "before it had the whole request"),
        (Phase::Send, Trouble::Other, 502, "connection_terminated", "before it had the whole request"),
        (Phase::Head, Trouble::Timeout, 504, "http_response_timeout", "answer in time"),
        (Phase::Head, Trouble::Cut, 502, "connection_terminated", "before it answered"),
        (Phase::Head, Trouble::Other, 502, "connection_terminated", "before it answered"),
        (Phase::Head, Trouble::Malformed, 502, "http_protocol_error", "valid HTTP"),
        (Phase::Head, Trouble::HeadTooLarge, 502, "http_response_header_section_size", "too large"),
        (Phase::Head, Trouble::Switched, 502, "http_upgrade_failed", "switched protocols"),
        (Phase::Panic, Trouble::Other, 502, "proxy_internal_error", "inside the gateway"),
    ] {
        let told = tell(&CallError::Failed { breaker: host.into(), phase, error: "so it was".into(), trouble });
        assert_eq!(told.status, status, "{phase:?} {trouble:?}");
        assert_eq!(told.proxy_status, format!("fuseboard; error={expected}; next-hop=\"registry.example\""));
        assert_eq!(told.retry_after, "");
        assert_eq!(told.problem["phase"], phase.as_str());
        assert_eq!(told.problem["detail"], "registry.example: so it was");
        let said = told.problem["title"].as_str().unwrap_or_default();
        assert!(said.contains(title), "{phase:?} {trouble:?}: {said}");
        let reached = matches!(phase, Phase::Send | Phase::Head | Phase::Tls);
        assert!(!(reached && said.contains("reached")), "{phase:?} {trouble:?}: {said}");
    }
    let told = tell(&CallError::Stale { breaker: host.into() });
    assert_eq!(told.status, 502);
}

#[test]
fn our_own_limits_and_guards_have_theirs() {
    let prohibited = Guard::ProhibitedAddress {
        from: None,
        host: "x".into(),
        address: IpAddr::from([10, 0, 0, 1]),
        kind: "private",
    };
    for (error, status, reason, expected) in [
        (CallError::OwnGuard(prohibited), 502, "", "destination_ip_prohibited"),
        (CallError::OwnGuard(Guard::Loop), 502, "", "proxy_loop_detected"),
        (CallError::BadRequest { message: "no".into() }, 400, "", ""),
    ] {
        let told = tell(&error);
        assert_eq!(told.status, status, "{error}");
        assert_eq!(told.problem["reason"].as_str().unwrap_or_default(), reason);
        let proxy_status = told.proxy_status.trim_start_matches("fuseboard; error=");
        assert_eq!(proxy_status, expected);
    }
    let breaker: Arc<str> = "https:registry.example".into();
    let away = TurnedAway { breaker, state: State::Open, mode: Some(Mode::ForcedClosed) };
    for (error, reason, wait) in
        [(CallError::QueueFull(away.clone()), "queue_full", "1"), (CallError::PanelFull(away), "panel_full", "30")]
    {
        let told = tell(&error);
        assert_eq!((told.status, &*told.retry_after, &told.problem["reason"]), (503, wait, &Value::from(reason)));
        assert_eq!(
            told.proxy_status, "fuseboard; error=destination_unavailable; next-hop=\"registry.example\"",
            "{reason}"
        );
        assert_eq!((&told.problem["state"], &told.problem["override"]), (&"open".into(), &"forced_closed".into()));
        assert_eq!(told.problem["breaker"], "https:registry.example");
        assert!(
            told.problem["instance"].as_str().is_some_and(|link| link.ends_with("/breakers/https:registry.example"))
        );
    }
    let board = Url::parse("http://127.0.0.1:3000/").expect("a URL");
    let told = told(shutting_down(&board));
    assert_eq!((told.status, &*told.retry_after, &told.problem["reason"]), (503, "1", &Value::from("shutting_down")));
}

#[test]
fn nothing_a_host_says_breaks_out_of_the_header() {
    let told = tell(&CallError::Failed {
        breaker: "free\"name\\".into(),
        phase: Phase::Connect,
        error: "a\r\nset-cookie: x".into(),
        trouble: Trouble::Other,
    });
    assert!(told.proxy_status.ends_with("next-hop=\"registry.example\""), "{}", told.proxy_status);
    assert_eq!(quoted("a\"b\\c\r\nd é"), "abcd ");
}

#[test]
fn clients_print_what_they_are_told() {
    let board = Url::parse("http://127.0.0.1:3000/").expect("a URL");
    let mut registry = entry("https://registry.example");
    registry.rewriting.preset = Preset::Cargo;
    let error = refused(RefusedReason::Open, Some(Duration::from_secs(29)), None);
    let response = failed(&board, &registry, &error);
    let reason = response.extensions().get::<ReasonPhrase>().expect("a reason phrase");
    assert_eq!(reason.as_bytes(), b"Fuseboard: The host is down");
    let problem = told(response).problem;
    let detail = problem["detail"].as_str().expect("words");
    assert!(detail.contains("open") && detail.contains("29.0 s"), "{detail}");
    assert_eq!((&problem["error"], &problem["errors"][0]["detail"]), (&problem["detail"], &problem["detail"]));

    let response = in_words(failed(&board, &registry, &error));
    assert_eq!(response.headers()["content-type"], "text/plain; charset=utf-8");
    let body =
        futures_util::FutureExt::now_or_never(response.into_body().collect()).expect("whole").expect("infallible");
    let board = "http://127.0.0.1:3000/breakers/https:%5B2001:db8::1%5D:8443";
    assert_eq!(String::from_utf8_lossy(&body.to_bytes()), format!("The host is down. {detail}\n{board}\n"));
}
