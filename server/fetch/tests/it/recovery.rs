//! What the product exists for: a host that was down is called again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use fuseboard_breaker::{Event, Outcome, Phase, Policy, PolicySettings, ProbeOutcome, State};
use fuseboard_fetch::{Body, CallError, FetchError};
use futures_util::future::poll_immediate;
use http::{HeaderMap, Method, Response};
use http_body_util::BodyExt;

use crate::support::{
    Bench, Host, Step,
    bench::upstream,
    host::{Gate, send},
    soon, whole,
};

const DOWN: &str = "HTTP/1.1 503 Service Unavailable\ncontent-length: 4\n\ndown";
const UP: &str = "HTTP/1.1 200 OK\ncontent-length: 5\n\nhello";

async fn switched(head: bool) -> (Host, Arc<AtomicBool>) {
    let back = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&back);
    let host = Host::start(move |_| {
        let answer = if switch.load(Ordering::SeqCst) { UP } else { DOWN };
        let answer = if head { answer.rsplit_once("\n").unwrap().0.to_owned() + "\n" } else { answer.to_owned() };
        vec![send(&answer)]
    })
    .await;
    (host, back)
}

/// An hour of failing in steps of ten minutes, then one good call: every step reaches the host once, and the breaker is
/// closed at the end.
async fn an_hour(method: Method) {
    let bench = Bench::new();
    let (host, back) = switched(method == Method::HEAD).await;
    let url = host.url("/lodash");
    let fetch = async || match method {
        Method::HEAD => bench.head(&url).await.map(|response| response.status().as_u16().to_string()),
        _ => bench.fetch(&url).await.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    };
    for _ in 0..5 {
        let error = fetch().await.unwrap_err();
        assert!(matches!(error, FetchError::UpstreamDown { refused: None, status: Some(503), .. }), "{error:?}");
    }
    assert_eq!(bench.fetcher.states(), [(host.breaker().into(), State::Open)]);

    for step in 1..=6 {
        let error = fetch().await.unwrap_err();
        let FetchError::UpstreamDown { breaker, retry_in: Some(wait), refused: Some(State::Open), .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(*breaker, *host.breaker());
        assert!(wait > Duration::ZERO && wait <= Duration::from_secs(300), "{wait:?}");
        assert_eq!(host.count(), 4 + step, "a refused call must not reach the host");

        bench.advance(600);
        let error = fetch().await.unwrap_err();
        assert!(matches!(error, FetchError::UpstreamDown { refused: None, status: Some(503), .. }), "{error:?}");
        assert_eq!(host.count(), 5 + step);
    }

    back.store(true, Ordering::SeqCst);
    bench.advance(600);
    let answer = fetch().await.unwrap();
    assert_eq!(answer, if method == Method::HEAD { "200" } else { "hello" });
    assert_eq!(bench.fetcher.states(), [(host.breaker().into(), State::Closed)]);
    assert_eq!(host.count(), 12);
}

#[tokio::test]
async fn r16_after_an_hour_of_503_the_next_fetch_succeeds_and_the_breaker_is_closed() {
    an_hour(Method::GET).await;
}

#[tokio::test]
async fn r16_after_an_hour_of_503_the_next_head_succeeds_and_the_breaker_is_closed() {
    an_hour(Method::HEAD).await;
}

#[tokio::test]
async fn r01_after_a_trip_the_host_receives_nothing() {
    let bench = Bench::new();
    let host = Host::answering(DOWN).await;
    let npm = upstream(&host.url("/"), |_| {});
    bench.trip(&npm).await;
    let connections = host.connections();
    for _ in 0..100 {
        assert!(matches!(bench.get(&npm, "/a?token=s3cret").await, Err(CallError::Refused(_))));
    }
    assert_eq!((host.count(), host.connections()), (5, connections));
    assert_eq!(bench.snapshot(&host).counts.refused, 100);
    let refused = bench.book.refused.lock();
    assert_eq!(refused.len(), 100);
    assert_eq!(refused[0], (host.breaker(), "open".to_owned(), "/a?token=***".to_owned(), None));
}

#[tokio::test]
async fn r25_in_half_open_a_second_caller_is_refused_while_the_first_one_streams() {
    let bench = Bench::new();
    let gate = Gate::new();
    let script_gate = gate.clone();
    let host = Host::start(move |seen| match seen.target.as_str() {
        "/big" => {
            vec![send("HTTP/1.1 200 OK\ncontent-length: 10\n\n12345"), Step::Gate(script_gate.clone()), send("67890")]
        }
        _ => vec![send(DOWN)],
    })
    .await;
    let npm = upstream(&host.url("/"), |_| {});
    bench.trip(&npm).await;
    bench.advance(31);

    let mut streaming = bench.fetch_observed_with_headers(&host.url("/big"), HeaderMap::new()).await.unwrap();
    let first = soon("a frame", streaming.body_mut().frame()).await.unwrap().unwrap();
    assert_eq!(first.into_data().unwrap(), "12345");
    assert_eq!(bench.state(&host), State::HalfOpen);
    let second = bench.fetch(&host.url("/big")).await.unwrap_err();
    assert!(matches!(second, FetchError::UpstreamDown { refused: Some(State::HalfOpen), .. }), "{second:?}");
    assert_eq!(host.count(), 6);

    gate.open();
    assert_eq!(whole(streaming).await.unwrap().to_bytes(), "67890");
    assert_eq!(bench.verdict().await, (Outcome::Success, None));
    assert_eq!(bench.state(&host), State::Closed);
}

#[tokio::test]
async fn r13_a_missing_page_is_a_good_probe() {
    let bench = Bench::new();
    let host = Host::start(|seen| match seen.target.as_str() {
        "/gone" => vec![send("HTTP/1.1 404 Not Found\ncontent-length: 2\n\nno")],
        _ => vec![send(DOWN)],
    })
    .await;
    let npm = upstream(&host.url("/"), |_| {});
    bench.trip(&npm).await;
    bench.advance(31);
    let error = bench.fetch(&host.url("/gone")).await.unwrap_err();
    assert!(matches!(error, FetchError::NotFound { status: 404, .. }), "{error:?}");
    assert_eq!(bench.verdict().await, (Outcome::Alive, None));
    assert_eq!(bench.state(&host), State::Closed);
}

/// A bench on a half-open breaker whose probe holds its permit for so long, and the host's `/big` of 100 MB, of which it
/// sends so many.
async fn large(lease: u64, megabytes: usize) -> (Bench, Host, Response<Body>) {
    let bench = Bench::new();
    let host = Host::start(move |seen| match seen.target.as_str() {
        "/big" => {
            let mut steps = vec![send(&format!("HTTP/1.1 200 OK\ncontent-length: {}\n\n", 100 << 20))];
            steps.extend((0..megabytes).map(|_| Step::Send(vec![b'x'; 1 << 20])));
            steps.push(Step::Hang);
            steps
        }
        _ => vec![send(DOWN)],
    })
    .await;
    let mut settings = PolicySettings::registry();
    settings.half_open.lease = Duration::from_secs(lease);
    let policy = Policy::new(settings).unwrap();
    let npm = upstream(&host.url("/"), |upstream| upstream.policy = policy);
    bench.trip(&npm).await;
    bench.advance(31);
    let streaming = bench.get(&npm, "/big").await.unwrap();
    (bench, host, streaming)
}

#[tokio::test]
async fn r05_a_hundred_megabytes_at_three_a_second_close_the_breaker() {
    // With a lease the file outlasts, and with one it does not.
    for (lease, closed_at) in [(20, 60), (40, 100)] {
        let (bench, host, mut streaming) = large(lease, 100).await;
        let breaker = bench.breaker(&host.breaker());
        let (mut read, mut told) = (0, 0);
        while let Some(frame) = soon("a frame", streaming.body_mut().frame()).await {
            read += frame.unwrap().into_data().unwrap().len();
            // 3 MB/s: a third of a second for each megabyte.
            while told < read >> 20 {
                told += 1;
                bench.clock.advance(Duration::from_secs(1) / 3 + Duration::from_nanos(1));
                breaker.tick();
                let state = if told < closed_at { State::HalfOpen } else { State::Closed };
                assert!(told == 100 || breaker.snapshot().state == state, "lease {lease}, {told} MB");
            }
        }
        assert_eq!((read, breaker.snapshot().state), (100 << 20, State::Closed), "lease {lease}");
        let outcome = if lease == 20 { ProbeOutcome::Late } else { ProbeOutcome::Settled(Outcome::Success) };
        assert_eq!(bench.settled().await.outcome, outcome);
        assert_eq!(bench.snapshot(&host).in_flight, 0);
    }
}

#[tokio::test]
async fn r05_a_probe_whose_host_falls_silent_is_lost() {
    let (bench, host, mut streaming) = large(20, 1).await;
    assert!(soon("a frame", streaming.body_mut().frame()).await.unwrap().is_ok());
    // Asked for more and given nothing: it is the host that is waited for.
    while poll_immediate(streaming.body_mut().frame()).await.is_some() {}
    bench.advance(20);
    let breaker = bench.breaker(&host.breaker());
    breaker.tick();
    assert_eq!(breaker.snapshot().state, State::Open);
    let facts = bench.facts.0.lock();
    let probe = facts.iter().rev().find_map(|fact| if let Event::Probe(probe) = fact { Some(probe) } else { None });
    let probe = probe.expect("it is on record");
    assert_eq!((probe.outcome, probe.phase), (ProbeOutcome::Lost, Some(Phase::Lease)));
    let known = probe.evidence.as_ref().expect("what is known of it");
    assert_eq!((known.method.as_deref(), known.path.as_deref(), known.status), (Some("GET"), Some("/big"), Some(200)));
}
