//! Rule 20: probes we send ourselves.

use std::time::Duration;

use fuseboard_breaker::{Event, Outcome, Phase, ProbeOutcome, State};
use fuseboard_fetch::{ActiveProbe, CallError};
use http::Method;

use crate::support::{
    Bench, Host, Step,
    bench::{SHORT, upstream},
    host::send,
};

const OK: &str = "HTTP/1.1 200 OK\ncontent-length: 2\n\nok";
const DOWN: &str = "HTTP/1.1 503 Service Unavailable\ncontent-length: 0\n\n";

#[tokio::test]
async fn r20_a_probe_asked_for_outside_the_wait_closes_a_host_that_is_back() {
    let bench = Bench::new();
    let host = Host::start(|seen| match seen.method.as_str() {
        "HEAD" => vec![send("HTTP/1.1 200 OK\ncontent-length: 2\n\n")],
        _ => vec![send(DOWN)],
    })
    .await;
    let npm = upstream(&host.url("/base?key=s3cret"), |_| {});
    for _ in 0..5 {
        bench.fetch(&host.url("/")).await.unwrap_err();
    }
    assert_eq!(bench.state(&host), State::Open);
    let answer = bench.probe(&npm).await.unwrap();
    assert_eq!((answer.outcome, answer.status), (ProbeOutcome::Settled(Outcome::Success), Some(200)));
    assert_eq!(bench.state(&host), State::Closed);
    assert_eq!(host.seen()[5].target, "/base?key=s3cret");
    let facts = bench.facts.0.lock();
    let probes: Vec<_> =
        facts.iter().filter_map(|fact| if let Event::Probe(probe) = fact { Some(probe) } else { None }).collect();
    let evidence = probes[0].evidence.as_ref().unwrap();
    assert!(evidence.synthetic);
    assert_eq!((evidence.method.as_deref(), evidence.path.as_deref()), (Some("HEAD"), Some("/base?key=***")));
}

#[tokio::test]
async fn r20_a_probe_the_host_fails_is_an_answer() {
    let bench = Bench::new();
    let host = Host::start(|seen| match seen.target.as_str() {
        "/healthz" => vec![Step::Hang],
        _ => vec![send(DOWN)],
    })
    .await;
    let npm = upstream(&host.url("/"), |upstream| {
        upstream.active_probe = Some(ActiveProbe::Http { method: Method::GET, path: "/healthz".to_owned() });
        upstream.timeouts.first_byte = SHORT;
    });
    bench.trip(&npm).await;
    let answer = bench.probe(&npm).await.unwrap();
    assert_eq!((answer.outcome, answer.phase), (ProbeOutcome::Settled(Outcome::Failure), Some(Phase::Head)));
    assert!(answer.error.is_some_and(|error| error.contains("no response within")));
    assert!(answer.duration >= SHORT);
    assert_eq!(bench.state(&host), State::Open);
}

#[tokio::test]
async fn r20_a_due_probe_waits_for_its_time() {
    let bench = Bench::new();
    let host = Host::start(|seen| vec![send(if seen.target == "/ok" { OK } else { DOWN })]).await;
    let npm = upstream(&host.url("/"), |upstream| {
        upstream.active_probe = Some(ActiveProbe::Http { method: Method::GET, path: "/ok".to_owned() });
    });
    bench.trip(&npm).await;
    let early = bench.probe_due(&npm).await;
    assert!(matches!(early, Err(CallError::Refused(_))), "{early:?}");
    assert_eq!(host.count(), 5);
    bench.clock.advance(Duration::from_secs(30));
    let answer = bench.probe_due(&npm).await.unwrap();
    assert_eq!(answer.outcome, ProbeOutcome::Settled(Outcome::Success));
    assert_eq!(bench.state(&host), State::Closed);
}
