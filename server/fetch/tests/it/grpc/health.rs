//! Health and reflection are no work: they take no permit and prove nothing, and stop only when an operator says so.
//! Rule 20's probe is a health check.

use std::time::Duration;

use fuseboard_breaker::{Mode, Outcome, OverrideEnd, ProbeOutcome, RefusedReason, State, Verdict};
use fuseboard_fetch::{ActiveProbe, CallError};
use http_body_util::BodyExt;

use super::{ana, ended};
use crate::support::{
    Bench,
    rpc::{RpcHost, Stream, accounts, hang_on, message, status, unary},
    soon,
};

const CHECK: &str = "/grpc.health.v1.Health/Check";
const REFLECTION: [&str; 2] = [
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
];

/// Fails at its work, and answers what is asked about itself.
async fn sick(mut stream: Stream) {
    stream.read().await;
    match stream.request.uri().path() {
        path if path.starts_with("/grpc.") => stream.message_and_status(14),
        _ => stream.trailers_only(14),
    }
}

#[tokio::test]
async fn health_and_reflection_are_not_counted_and_pass_an_open_breaker() {
    let bench = Bench::new();
    let host = RpcHost::start(sick).await;
    let accounts = accounts(&host, |_| {});
    let aside = [CHECK, REFLECTION[0], REFLECTION[1]];
    for path in aside.iter().cycle().take(9) {
        assert_eq!(ended(bench.forward(&accounts, unary(path)).await.unwrap()).await.0.as_deref(), Some("14"));
    }
    assert!(bench.quiet().await, "nobody counted them");
    for _ in 0..5 {
        ended(bench.forward(&accounts, unary("/a.A/Get")).await.unwrap()).await;
        bench.settled().await;
    }
    assert_eq!(bench.breaker("accounts").snapshot().state, State::Open);
    for path in aside {
        assert_eq!(ended(bench.forward(&accounts, unary(path)).await.unwrap()).await.0.as_deref(), Some("14"));
    }
    assert_eq!(host.count(), 9 + 5 + 3);
}

#[tokio::test]
async fn they_stop_while_the_breaker_is_forced_open() {
    let bench = Bench::new();
    let host = RpcHost::start(sick).await;
    let accounts = accounts(&host, |_| {});
    ended(bench.forward(&accounts, unary(CHECK)).await.unwrap()).await;
    bench.breaker("accounts").set_override(Mode::ForcedOpen, OverrideEnd::Never, ana(), "maintenance");
    for path in [CHECK, REFLECTION[0], REFLECTION[1], "/a.A/Get"] {
        let refused = bench.forward(&accounts, unary(path)).await;
        let Err(CallError::Refused(refused)) = &refused else { panic!("{path}: {refused:?}") };
        assert_eq!((refused.reason, refused.retry_after), (RefusedReason::ForcedOpen, None));
    }
    assert_eq!(host.count(), 1);
    bench.breaker("accounts").release(ana(), "done").unwrap();
    ended(bench.forward(&accounts, unary(CHECK)).await.unwrap()).await;
    assert_eq!(host.count(), 2);
}

/// Watches: says something now and then, for as long as it is listened to.
async fn watched(mut stream: Stream) {
    stream.request.body_mut().data().await;
    if stream.request.uri().path().ends_with("Silent") {
        stream.hang().await;
        return;
    }
    let mut send = stream.head();
    send.send_data(message(b"serving"), false).unwrap();
    hang_on(send).await;
}

#[tokio::test]
async fn those_that_run_are_ended_when_it_is_forced_open() {
    let bench = Bench::new();
    let host = RpcHost::start(watched).await;
    let accounts = accounts(&host, |_| {});
    // One is waited for, one has said something and is waited for again, one is with a client that takes its time.
    let silent = "/grpc.health.v1.Health/Silent";
    let mut silent = Box::pin(bench.fetcher.forward(&accounts, unary(silent)));
    tokio::select! {
        answer = silent.as_mut() => panic!("{answer:?}"),
        () = host.received(1) => {}
    }
    let mut watching = bench.forward(&accounts, unary("/grpc.health.v1.Health/Watch")).await.unwrap();
    let first = soon("the first word", watching.body_mut().frame()).await.unwrap().unwrap();
    assert_eq!(first.into_data().unwrap(), message(b"serving"));
    let mut next = Box::pin(watching.body_mut().frame());
    assert!(tokio::time::timeout(Duration::ZERO, next.as_mut()).await.is_err(), "nothing more is said");
    let mut unread = bench.forward(&accounts, unary(REFLECTION[0])).await.unwrap();

    // What the breaker does by itself does not end them.
    while let Ok(permit) = bench.breaker("accounts").try_acquire() {
        permit.settle(Verdict::failure());
    }
    assert_eq!(bench.breaker("accounts").snapshot().state, State::Open);
    assert!(tokio::time::timeout(Duration::ZERO, next.as_mut()).await.is_err());
    assert!(tokio::time::timeout(Duration::ZERO, silent.as_mut()).await.is_err());

    bench.breaker("accounts").set_override(Mode::ForcedOpen, OverrideEnd::Never, ana(), "maintenance");
    let refused = soon("the silent one's end", silent).await;
    assert!(
        matches!(&refused, Err(CallError::Refused(refused)) if refused.reason == RefusedReason::ForcedOpen),
        "{refused:?}"
    );
    let told = soon("the watch's end", next).await.unwrap().unwrap().into_trailers().unwrap();
    let said = |name: &str| told.get(name).map(|said| said.to_str().unwrap().to_owned());
    assert_eq!((said("grpc-status").as_deref(), said("grpc-retry-pushback-ms").as_deref()), (Some("14"), Some("-1")));
    assert!(said("grpc-message").unwrap().contains("accounts is held open"), "{told:?}");
    drop(watching);
    // Nobody asks this one for more: the host hears of the end all the same, and what it had said is not passed on.
    host.let_go(3).await;
    let told = soon("the unread one's end", unread.body_mut().frame()).await.unwrap().unwrap();
    assert_eq!(told.into_trailers().unwrap().get("grpc-status").unwrap(), "14");
    assert!(unread.body_mut().frame().await.is_none());
}

#[tokio::test]
async fn they_are_counted_where_that_is_configured() {
    let bench = Bench::new();
    let host = RpcHost::start(sick).await;
    let accounts = accounts(&host, |upstream| upstream.classify.uncounted = Vec::new());
    ended(bench.forward(&accounts, unary(CHECK)).await.unwrap()).await;
    assert_eq!(bench.verdict().await.0, Outcome::Failure);
}

#[tokio::test]
async fn r20_the_probe_is_a_health_check_and_its_answer_decides() {
    let bench = Bench::new();
    let host = RpcHost::start(|mut stream: Stream| async move {
        let path = stream.request.uri().path().to_owned();
        let asked = stream.read().await;
        assert_eq!((path.as_str(), &asked[..]), (CHECK, &b"\0\0\0\0\x05\x0a\x03a.A"[..]));
        let answer: &'static [u8] = match stream.turn {
            0 => b"\0\0\0\0\x02\x08\x01",
            1 => b"\0\0\0\0\x02\x08\x02",
            _ => return stream.trailers_only(12),
        };
        let mut send = stream.head();
        send.send_data(bytes::Bytes::from_static(answer), false).unwrap();
        send.send_trailers(status(0)).unwrap();
    })
    .await;
    let accounts = accounts(&host, |upstream| {
        upstream.active_probe = Some(ActiveProbe::Health { service: "a.A".to_owned() });
    });
    for (outcome, code, words) in [
        (Outcome::Success, "OK", None),
        (Outcome::Failure, "UNAVAILABLE", Some("NOT_SERVING")),
        (Outcome::Alive, "UNIMPLEMENTED", None),
    ] {
        let answer = bench.probe(&accounts).await.unwrap();
        assert_eq!((answer.outcome, answer.code), (ProbeOutcome::Settled(outcome), Some(code)));
        assert_eq!(answer.error.is_some(), words.is_some(), "{answer:?}");
        assert!(words.is_none_or(|words| answer.error.as_ref().unwrap().contains(words)), "{answer:?}");
    }
}
