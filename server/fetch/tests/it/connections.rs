//! Rule 37: connections that were closed while nobody used them.

use bytes::Bytes;
use fuseboard_breaker::{Outcome, Phase};
use fuseboard_fetch::{CallError, Trouble};
use http::Method;
use http_body_util::Full;

use crate::support::{
    Bench, Host, Step,
    bench::{request, upstream},
    host::{Seen, send},
    whole,
};

const OK: &str = "HTTP/1.1 200 OK\ncontent-length: 2\n\nok";

/// Takes the first request of each connection, and closes it at the sight of the second: just as if it had done so a
/// moment before the request arrived.
fn once(seen: &Seen) -> Vec<Step> {
    if seen.turn == 0 { vec![Step::ReadBody, send(OK)] } else { vec![Step::Close] }
}

async fn warm(bench: &Bench, npm: &std::sync::Arc<fuseboard_fetch::Upstream>) {
    let response = bench.get(npm, "/").await.unwrap();
    assert_eq!(whole(response).await.unwrap().to_bytes(), "ok");
    assert_eq!(bench.verdict().await, (Outcome::Success, None));
}

#[tokio::test]
async fn r37_calls_one_after_the_other_share_a_connection() {
    let bench = Bench::new();
    let host = Host::answering(OK).await;
    let npm = upstream(&host.url("/"), |_| {});
    for _ in 0..10 {
        warm(&bench, &npm).await;
    }
    assert_eq!((host.count(), host.connections()), (10, 1));
}

#[tokio::test]
async fn r37_a_stale_connection_is_retried_once_on_a_fresh_one_and_is_no_failure() {
    let bench = Bench::new();
    let host = Host::start(once).await;
    let npm = upstream(&host.url("/"), |_| {});
    warm(&bench, &npm).await;
    warm(&bench, &npm).await;
    let counts = bench.snapshot(&host).counts;
    assert_eq!((counts.success, counts.failure, counts.ignored), (2, 0, 0));
    assert_eq!((host.count(), host.connections()), (3, 2));
}

#[tokio::test]
async fn r37_a_request_that_may_not_be_repeated_is_ignored_as_stale() {
    let bench = Bench::new();
    let host = Host::start(once).await;
    let npm = upstream(&host.url("/"), |_| {});
    warm(&bench, &npm).await;
    let ended = bench.call(&npm, Method::POST, "/").await;
    assert!(matches!(&ended, Err(CallError::Stale { breaker }) if **breaker == *host.breaker()), "{ended:?}");
    assert_eq!(bench.verdict().await, (Outcome::Ignored, None));
    assert_eq!((host.count(), host.connections()), (2, 1), "it was sent once");
}

#[tokio::test]
async fn r37_a_request_that_may_be_repeated_is_with_its_body_too() {
    let bench = Bench::new();
    let host = Host::start(once).await;
    let npm = upstream(&host.url("/"), |_| {});
    warm(&bench, &npm).await;
    let body = Full::new(Bytes::from_static(b"whole"));
    let response = bench.forward(&npm, request(&npm, Method::PUT, "/", body)).await.unwrap();
    assert_eq!(whole(response).await.unwrap().to_bytes(), "ok");
    assert_eq!(bench.verdict().await, (Outcome::Success, None));
    let seen = host.seen();
    assert_eq!(seen.last().and_then(|seen| seen.header("content-length")), Some("5"), "known as it was");
    assert!(host.body().ends_with(b"whole"));
    assert_eq!((host.count(), host.connections()), (3, 2));
}

#[tokio::test]
async fn r37_a_fresh_connection_that_breaks_too_is_the_hosts_failure() {
    let bench = Bench::new();
    let host = Host::start(|seen| if seen.connection == 0 { once(seen) } else { vec![Step::Close] }).await;
    let npm = upstream(&host.url("/"), |_| {});
    warm(&bench, &npm).await;
    let ended = bench.get(&npm, "/").await;
    assert!(matches!(ended, Err(CallError::Failed { phase: Phase::Head, trouble: Trouble::Cut, .. })), "{ended:?}");
    assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Head)));
    assert_eq!(host.count(), 3);
}

#[tokio::test]
async fn r37_a_connection_seen_to_be_closed_is_not_used_at_all() {
    let bench = Bench::new();
    let host = Host::start(|_| vec![Step::ReadBody, send(OK), Step::Close]).await;
    let npm = upstream(&host.url("/"), |_| {});
    for _ in 0..5 {
        warm(&bench, &npm).await;
        let response = bench.call(&npm, Method::POST, "/").await;
        // Whether or not we have seen the end yet, it is never the host's failure.
        assert!(matches!(response, Ok(_) | Err(CallError::Stale { .. })), "{response:?}");
        drop(response);
        assert_ne!(bench.settled().await.outcome.as_str(), "failure");
    }
    assert_eq!(bench.snapshot(&host).counts.failure, 0);
}

#[tokio::test]
async fn r37_an_answer_nobody_asked_for_is_nobodys() {
    let bench = Bench::new();
    let (answer, more) = (OK, "HTTP/1.1 200 OK\ncontent-length: 4\n\nevil");
    let host = Host::start(move |seen| match seen.connection {
        0 => vec![send(&format!("{answer}{more}"))],
        _ => vec![send(OK)],
    })
    .await;
    let npm = upstream(&host.url("/"), |_| {});
    for _ in 0..3 {
        warm(&bench, &npm).await;
    }
    assert_eq!((host.count(), host.connections()), (3, 2), "what it was sent on is not used again");
}
