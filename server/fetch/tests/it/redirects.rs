//! Rule 33: redirects, hop by hop, each on its own origin's breaker.

use std::sync::Arc;

use bytes::Bytes;
use fuseboard_breaker::{Outcome, Phase, Policy, PolicySettings, ProbeOutcome, State, TripRule};
use fuseboard_fetch::{CallError, FetchError, Guard, Key, Landed, Trouble, Upstream};
use http::{HeaderMap, HeaderValue, Method};
use http_body_util::{Empty, Full};

use crate::support::{
    Bench, Host, Step,
    bench::{AMPLE, request, upstream},
    host::send,
    soon, whole,
};

const OK: &str = "HTTP/1.1 200 OK\ncontent-length: 2\n\nok";

fn to(location: &str) -> Step {
    send(&format!("HTTP/1.1 302 Found\nlocation: {location}\ncontent-length: 5\n\nthere"))
}

async fn redirecting(location: String) -> Host {
    Host::start(move |_| vec![Step::ReadBody, to(&location)]).await
}

fn allowing(host: &Host, other: &Host) -> Arc<Upstream> {
    let other = other.address.to_string();
    upstream(&host.url("/"), |upstream| {
        upstream.allow_private = true;
        upstream.redirects.hosts = vec![other];
        upstream.timeouts.first_byte = AMPLE;
        upstream.headers.insert("x-token", HeaderValue::from_static("configured"));
    })
}

#[tokio::test]
async fn r33_each_hop_is_judged_by_its_own_origins_breaker() {
    let bench = Bench::new();
    let silent = Host::start(|_| vec![Step::Hang]).await;
    let host = redirecting(silent.url("/b")).await;
    let npm = allowing(&host, &silent);
    let ended = soon("the timeout", bench.get(&npm, "/a")).await;
    let Err(CallError::Failed { breaker, phase: Phase::Head, trouble: Trouble::Timeout, .. }) = ended else {
        panic!("{ended:?}")
    };
    assert_eq!(*breaker, *silent.breaker());
    let (first, second) = (bench.settled().await, bench.settled().await);
    assert_eq!((&*first.breaker, first.outcome), (&*host.breaker(), ProbeOutcome::Settled(Outcome::Success)));
    assert_eq!((&*second.breaker, second.outcome), (&*silent.breaker(), ProbeOutcome::Settled(Outcome::Failure)));
    assert_eq!((bench.snapshot(&host).counts.success, bench.snapshot(&silent).counts.failure), (1, 1));
}

#[tokio::test]
async fn r33_secrets_do_not_cross_origins() {
    let bench = Bench::new();
    let other = Host::answering(OK).await;
    let host = redirecting(other.url("/b?c=d")).await;
    let npm = allowing(&host, &other);
    let mut asked = request(&npm, Method::GET, "/a", Empty::<Bytes>::new());
    for (name, value) in [
        ("authorization", "Bearer client"),
        ("cookie", "a=b"),
        ("x-api-key", "c"),
        ("referer", "http://board.example/x?token=d"),
        ("range", "bytes=0-1"),
    ] {
        asked.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    let response = bench.forward(&npm, asked).await.unwrap();
    let landed = response.extensions().get().map(|Landed(at)| at.to_string());
    assert_eq!(landed, Some(other.url("/b?c=d")));
    assert_eq!(whole(response).await.unwrap().to_bytes(), "ok");
    let (home, away) = (&host.seen()[0], &other.seen()[0]);
    assert_eq!((home.header("authorization"), home.header("x-token")), (Some("Bearer client"), Some("configured")));
    assert_eq!(away.target, "/b?c=d");
    assert_eq!((home.header("x-api-key"), away.header("referer")), (Some("c"), Some("http://board.example/")));
    for secret in ["authorization", "cookie", "x-token", "x-api-key"] {
        assert_eq!(away.header(secret), None, "{secret}");
    }
    assert_eq!(away.header("range"), Some("bytes=0-1"));
    assert_eq!(away.header("host"), Some(other.address.to_string().as_str()));
}

#[tokio::test]
async fn r33_secrets_do_not_reach_a_host_of_files() {
    let bench = Bench::new();
    let (host, files) = (Host::answering(OK).await, Host::answering(OK).await);
    let npm = allowing(&host, &files);
    let mut asked = request(&npm, Method::GET, "/", Empty::<Bytes>::new());
    *asked.uri_mut() = files.url("/a").parse().unwrap();
    for (name, value) in
        [("authorization", "Bearer client"), ("cookie", "a=b"), ("x-token", "c"), ("range", "bytes=0-1")]
    {
        asked.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    let response = bench.forward(&npm, asked).await.unwrap();
    assert!(response.extensions().get::<Landed>().is_none(), "no redirect was followed");
    assert_eq!(whole(response).await.unwrap().to_bytes(), "ok");
    let seen = &files.seen()[0];
    for secret in ["authorization", "cookie", "x-token"] {
        assert_eq!(seen.header(secret), None, "{secret}");
    }
    assert_eq!(seen.header("range"), Some("bytes=0-1"));
    assert_eq!(host.count(), 0);
}

#[tokio::test]
async fn r33_a_redirect_to_an_unnamed_host_goes_to_the_client() {
    let bench = Bench::new();
    let other = Host::answering(OK).await;
    let host = redirecting(other.url("/b")).await;
    let npm = upstream(&host.url("/"), |upstream| upstream.allow_private = true);
    let response = bench.get(&npm, "/a").await.unwrap();
    assert_eq!((response.status().as_u16(), &response.headers()["location"]), (302, &other.url("/b").parse().unwrap()));
    assert_eq!(whole(response).await.unwrap().to_bytes(), "there");
    assert_eq!(other.count(), 0);
}

#[tokio::test]
async fn r33_a_redirect_of_a_request_with_a_body_goes_to_the_client() {
    let bench = Bench::new();
    let host = redirecting("/b".to_owned()).await;
    let npm = upstream(&host.url("/"), |_| {});
    let body = Full::new(Bytes::from_static(b"body"));
    let response = bench.forward(&npm, request(&npm, Method::POST, "/a", body)).await.unwrap();
    assert_eq!((response.status().as_u16(), host.count()), (302, 1));
    let off = upstream(&host.url("/"), |upstream| upstream.redirects.follow = false);
    assert_eq!(bench.get(&off, "/a").await.unwrap().status(), 302);
}

#[tokio::test]
async fn r33_ten_redirects_are_followed_and_eleven_are_an_error() {
    let bench = Bench::new();
    let host = Host::start(|seen| match seen.target.strip_prefix("/").and_then(|left| left.parse::<u32>().ok()) {
        Some(0) => vec![send(OK)],
        Some(left) => vec![to(&format!("/{}", left - 1))],
        None => vec![to("/round")],
    })
    .await;
    let npm = upstream(&host.url("/"), |_| {});
    assert_eq!(bench.get(&npm, "/10").await.unwrap().status(), 200);
    assert_eq!((host.count(), host.connections()), (11, 1));
    let ended = bench.get(&npm, "/11").await;
    assert!(matches!(ended, Err(CallError::OwnGuard(Guard::TooManyRedirects { max: 10, .. }))), "{ended:?}");
    let error = bench.fetch(&host.url("/round")).await.unwrap_err();
    assert!(matches!(error, FetchError::OwnGuard(Guard::TooManyRedirects { .. })), "{error:?}");
    let counts = bench.snapshot(&host).counts;
    assert_eq!((counts.failure, bench.snapshot(&host).in_flight), (0, 0));
}

#[tokio::test]
async fn r33_fetch_follows_anywhere_it_may() {
    let bench = Bench::new();
    let host = redirecting("/b".to_owned()).await;
    let gone = Host::start(|seen| match seen.target.as_str() {
        "/a" => vec![to("/b?token=s3cret")],
        _ => vec![send("HTTP/1.1 410 Gone\ncontent-length: 0\n\n")],
    })
    .await;
    let mut headers = HeaderMap::new();
    headers.insert("accept", HeaderValue::from_static("text/plain"));
    let error = bench.fetch_with_headers(&gone.url("/a"), headers).await.unwrap_err();
    let FetchError::NotFound { url, status: 410 } = &error else { panic!("{error:?}") };
    assert_eq!(*url, gone.url("/b?token=***"));
    assert!(gone.seen().iter().all(|seen| seen.header("accept") == Some("text/plain")));
    assert_eq!(host.count(), 0);
}

#[tokio::test]
async fn r32_an_upstream_with_a_key_of_its_own_shares_its_breaker_with_nobody() {
    let bench = Bench::new();
    let host = Host::answering("HTTP/1.1 503 Service Unavailable\ncontent-length: 0\n\n").await;
    let shared = upstream(&host.url("/"), |_| {});
    let own = upstream(&host.url("/"), |upstream| {
        (upstream.name, upstream.key) = ("mine".into(), Key::Upstream);
    });
    for _ in 0..5 {
        bench.get(&own, "/").await.unwrap();
    }
    let state = |id: &str| bench.breaker(id).snapshot().state;
    assert_eq!(state("mine"), State::Open);
    assert_eq!(bench.get(&shared, "/").await.unwrap().status(), 503);
    assert_eq!(state(&host.breaker()), State::Closed);
}

#[tokio::test]
async fn r32_an_origin_nobody_names_keeps_the_policy_of_who_led_there_first() {
    let bench = Bench::new();
    let silent = Host::answering("HTTP/1.1 503 Service Unavailable\ncontent-length: 0\n\n").await;
    let host = redirecting(silent.url("/b")).await;
    let led_by = |failures: u32| {
        let mut settings = PolicySettings::registry();
        settings.trip = vec![TripRule::Failures { failures, within: std::time::Duration::from_secs(10) }];
        let policy = Policy::new(settings).unwrap();
        upstream(&host.url("/"), |upstream| {
            upstream.allow_private = true;
            upstream.redirects.hosts = vec!["*".to_owned()];
            (upstream.policy, upstream.key) = (policy, Key::Upstream);
        })
    };
    bench.get(&led_by(2), "/a").await.unwrap();
    bench.get(&led_by(9), "/a").await.unwrap();
    assert_eq!(bench.state(&silent), State::Open);
}
