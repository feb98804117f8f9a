//! Rules 5, 26, 27, 29, 30 and 37 for gRPC calls, against a host on bare h2.

mod deadlines;
mod health;
mod leavers;
mod streams;

use bytes::Bytes;
use fuseboard_breaker::{Event, Outcome, Phase, State};
use fuseboard_fetch::{Body, CallError, Trouble};
use http::Response;
use http_body_util::BodyExt;

use crate::support::{
    Bench,
    rpc::{RpcHost, Stream, accounts, hang_on, message, status, unary},
    soon, whole,
};

/// The status a client sees, and the data before it.
async fn ended(response: Response<Body>) -> (Option<String>, Bytes) {
    let only = response.headers().get("grpc-status").cloned();
    let all = whole(response).await.unwrap();
    let said = all.trailers().and_then(|trailers| trailers.get("grpc-status")).cloned().or(only);
    (said.map(|said| said.to_str().unwrap().to_owned()), all.to_bytes())
}

async fn answering(mut stream: Stream) {
    stream.read().await;
    match stream.number() {
        code @ ..100 => stream.message_and_status(code),
        code => stream.trailers_only(code - 100),
    }
}

#[tokio::test]
async fn r29_a_call_is_judged_by_its_status_and_never_by_the_http_200() {
    let bench = Bench::new();
    let host = RpcHost::start(answering).await;
    // Nobody trips: alive ones stand between the failures.
    let accounts = accounts(&host, |_| {});
    for code in 0..=17 {
        let proves = match code {
            0 => Outcome::Success,
            2 | 4 | 8 | 10 | 13 | 14 | 15 | 17 => Outcome::Failure,
            _ => Outcome::Alive,
        };
        for number in [code, code + 100] {
            let response = bench.forward(&accounts, unary(&format!("/a.A/{number}"))).await.unwrap();
            assert_eq!(response.status(), 200);
            assert_eq!(ended(response).await.0.as_deref(), Some(&*code.to_string()));
            let record = bench.settled().await;
            let phase = (code != 0).then_some(Phase::Trailers);
            assert_eq!((record.outcome.as_str(), record.phase), (outcome(proves), phase), "{number}");
            assert_eq!(record.status, Some(if code == 17 { 2 } else { code as u16 }));
            // So that no run of failures grows.
            bench.breaker("accounts").reset(crate::grpc::ana(), "between", false).unwrap();
        }
    }
    assert_eq!(bench.breaker("accounts").snapshot().in_flight, 0);
}

fn outcome(outcome: Outcome) -> &'static str {
    fuseboard_breaker::ProbeOutcome::Settled(outcome).as_str()
}

fn ana() -> fuseboard_breaker::By {
    fuseboard_breaker::By { name: "ana".into(), verified: false, via: "api".into() }
}

#[tokio::test]
async fn r29_an_end_without_a_status_is_a_failure_and_a_proxys_error_counts_by_its_http_status() {
    let bench = Bench::new();
    let host = RpcHost::start(|mut stream: Stream| async move {
        stream.read().await;
        match stream.number() {
            0 => stream.head().send_data(message(b"x"), true).unwrap(),
            code => {
                let head = Response::builder().status(u16::try_from(code).unwrap()).header("retry-after", "20");
                stream.respond.send_response(head.body(()).unwrap(), true).unwrap();
            }
        }
    })
    .await;
    let accounts = accounts(&host, |_| {});
    for (number, proves, code) in [
        (0, Outcome::Failure, None),
        (404, Outcome::Alive, Some("UNIMPLEMENTED")),
        (503, Outcome::Failure, Some("UNAVAILABLE")),
    ] {
        let response = bench.forward(&accounts, unary(&format!("/a.A/{number}"))).await.unwrap();
        assert_eq!(response.status().as_u16(), if number == 0 { 200 } else { number });
        whole(response).await.unwrap();
        let record = bench.settled().await;
        assert_eq!((record.outcome.as_str(), record.code), (outcome(proves), code), "{number}");
    }
}

#[tokio::test]
async fn r30_a_host_that_accepts_streams_and_fails_them_trips() {
    let bench = Bench::new();
    let host = RpcHost::start(answering).await;
    let accounts = accounts(&host, |_| {});
    for _ in 0..5 {
        assert_eq!(
            ended(bench.forward(&accounts, unary("/a.A/13")).await.unwrap()).await,
            (Some("13".into()), message(b"hello"))
        );
    }
    let refused = bench.forward(&accounts, unary("/a.A/13")).await;
    assert!(matches!(&refused, Err(CallError::Refused(refused)) if &*refused.breaker == "accounts"), "{refused:?}");
    assert_eq!(host.count(), 5);
    let facts = bench.facts.0.lock();
    let Some(Event::Transition(trip)) = facts.last() else { panic!("{facts:?}") };
    let fuseboard_breaker::Cause::Tripped { evidence, .. } = &trip.cause else { panic!("{trip:?}") };
    let seen = &evidence.last().unwrap().evidence;
    assert_eq!((seen.status, seen.code, seen.sent, seen.received), (Some(13), Some("INTERNAL"), Some(1), Some(1)));
    assert_eq!(seen.path.as_deref(), Some("/a.A/13"));
}

#[tokio::test]
async fn r05_a_stream_that_has_begun_is_a_good_probe_at_the_end_of_its_lease() {
    let bench = Bench::new();
    let host = RpcHost::start(|mut stream: Stream| async move {
        if stream.number() == 14 {
            return stream.trailers_only(14);
        }
        hang_on(stream.head()).await;
    })
    .await;
    let accounts = accounts(&host, |upstream| {
        let mut settings = upstream.policy.settings().clone();
        (settings.half_open.probes, settings.half_open.successes) = (1, 1);
        upstream.policy = fuseboard_breaker::Policy::new(settings).unwrap();
    });
    for _ in 0..5 {
        ended(bench.forward(&accounts, unary("/a.A/14")).await.unwrap()).await;
    }
    bench.advance(15);
    let watching = bench.forward(&accounts, unary("/a.A/0")).await.unwrap();
    assert_eq!(bench.breaker("accounts").snapshot().state, State::HalfOpen);
    bench.advance(40);
    bench.breaker("accounts").tick();
    assert_eq!(bench.breaker("accounts").snapshot().state, State::Closed, "headers are answer enough");
    drop(watching);
}

#[tokio::test]
async fn a_host_that_speaks_no_h2_and_one_that_is_not_there() {
    let bench = Bench::new();
    let host = RpcHost::start(answering).await;
    let gone = accounts(&host, |upstream| {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        upstream.url = format!("grpc://{free}").parse().unwrap();
    });
    let failed = bench.forward(&gone, unary("/a.A/0")).await;
    assert!(
        matches!(failed, Err(CallError::Failed { phase: Phase::Connect, trouble: Trouble::Refused, .. })),
        "{failed:?}"
    );
    let record = bench.settled().await;
    assert_eq!(
        (record.outcome.as_str(), record.phase, record.code),
        ("failure", Some(Phase::Connect), Some("UNAVAILABLE"))
    );

    let web = crate::support::Host::answering("HTTP/1.1 400 Bad Request\ncontent-length: 0\n\n").await;
    let web = accounts(&host, |upstream| upstream.url = web.url("").replace("http", "grpc").parse().unwrap());
    let failed = soon("an end", bench.fetcher.forward(&web, unary("/a.A/0"))).await;
    assert!(matches!(failed, Err(CallError::Failed { .. })), "{failed:?}");
    assert_eq!(bench.settled().await.outcome.as_str(), "failure");
}

#[tokio::test]
async fn metadata_passes_as_it_is() {
    let bench = Bench::new();
    let host = RpcHost::start(|mut stream: Stream| async move {
        let headers = stream.request.headers().clone();
        let mut head = Response::builder().header("content-type", "application/grpc");
        for name in ["grpc-timeout", "x-key-bin", "te", "authorization", "x-twice"] {
            for value in headers.get_all(name) {
                head = head.header(format!("seen-{name}"), value.clone());
            }
        }
        let mut send = stream.respond.send_response(head.body(()).unwrap(), false).unwrap();
        let mut trailers = status(0);
        trailers.insert("sum-bin", "AAEC/w".parse().unwrap());
        send.send_trailers(trailers).unwrap();
    })
    .await;
    let accounts = accounts(&host, |_| {});
    let mut request = unary("/a.A/Get");
    for (name, value) in [
        ("grpc-timeout", "59999m"),
        ("x-key-bin", "AAEC/w"),
        ("authorization", "Bearer x"),
        ("x-twice", "1"),
        ("x-twice", "2"),
    ] {
        request.headers_mut().append(name, value.parse().unwrap());
    }
    let response = bench.forward(&accounts, request).await.unwrap();
    let seen = |name: &str| {
        response.headers().get_all(name).iter().map(|value| value.to_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(seen("seen-grpc-timeout"), ["59999m"]);
    assert_eq!(seen("seen-x-key-bin"), ["AAEC/w"]);
    assert_eq!(seen("seen-te"), ["trailers"], "servers insist on it");
    assert_eq!(seen("seen-x-twice"), ["1", "2"]);
    let trailers = response.into_body().collect().await.unwrap().trailers().cloned().unwrap();
    assert_eq!(trailers.get("sum-bin").unwrap(), "AAEC/w");
}

#[tokio::test]
async fn odd_statuses_and_encoded_messages_pass_as_they_are() {
    let bench = Bench::new();
    let host = RpcHost::start(|mut stream: Stream| async move {
        let mut trailers = http::HeaderMap::new();
        let said: &[&str] = match stream.number() {
            0 => &["0", "14"],
            1 => &["-1"],
            2 => &["99999999999"],
            _ => &["5"],
        };
        for status in said {
            trailers.append("grpc-status", status.parse().unwrap());
        }
        trailers.insert("grpc-message", "100%25 %E2%82%AC%0A".parse().unwrap());
        trailers.insert("grpc-status-details-bin", "CAUSA2Zvbw".parse().unwrap());
        stream.head().send_trailers(trailers).unwrap();
    })
    .await;
    let accounts = accounts(&host, |_| {});
    for (number, said, proves, code) in [
        (0, &["0", "14"][..], Outcome::Failure, "UNKNOWN"),
        (1, &["-1"], Outcome::Failure, "UNKNOWN"),
        (2, &["99999999999"], Outcome::Failure, "UNKNOWN"),
        (3, &["5"], Outcome::Alive, "NOT_FOUND"),
    ] {
        let response = bench.forward(&accounts, unary(&format!("/a.A/{number}"))).await.unwrap();
        let trailers = whole(response).await.unwrap().trailers().cloned().unwrap();
        assert_eq!(trailers.get_all("grpc-status").iter().collect::<Vec<_>>(), said);
        assert_eq!(trailers["grpc-message"], "100%25 %E2%82%AC%0A");
        assert_eq!(trailers["grpc-status-details-bin"], "CAUSA2Zvbw");
        let record = bench.settled().await;
        assert_eq!((record.outcome.as_str(), record.code), (outcome(proves), Some(code)), "{number}");
    }
}

#[tokio::test]
async fn metadata_of_the_hosts_that_is_too_much_fails_that_call_alone() {
    let bench = Bench::new();
    let host = RpcHost::start(|mut stream: Stream| async move {
        let mut trailers = status(0);
        if stream.number() == 1 {
            trailers.insert("x-much", "x".repeat(200 << 10).parse().unwrap());
        }
        stream.head().send_trailers(trailers).unwrap();
    })
    .await;
    let accounts = accounts(&host, |_| {});
    for (number, said) in [(0, "0"), (1, "14"), (0, "0")] {
        let response = bench.forward(&accounts, unary(&format!("/a.A/{number}"))).await.unwrap();
        assert_eq!(ended(response).await.0.as_deref(), Some(said));
        let proves = if number == 0 { Outcome::Success } else { Outcome::Failure };
        assert_eq!(bench.settled().await.outcome.as_str(), outcome(proves));
    }
    assert_eq!(bench.breaker("accounts").snapshot().in_flight, 0);
}
