//! Rules 26 and 27: whose deadline was it?

use std::{pin::pin, sync::Arc, time::Duration};

use fuseboard_breaker::{Outcome, Phase, State};
use fuseboard_fetch::CallError;
use http_body_util::BodyExt;
use tokio::{sync::Notify, time::timeout};

use super::{ended, outcome};
use crate::support::{
    Bench,
    rpc::{RpcHost, Stream, accounts, hang_on, message, unary, within},
    soon,
};

const LONG_ENOUGH: Duration = Duration::from_millis(150);
const TOO_SHORT: Duration = Duration::from_millis(20);

async fn hung(stream: Stream) {
    stream.hang().await;
}

#[tokio::test]
async fn r27_a_hung_server_whose_callers_all_bring_deadlines_trips() {
    let bench = Bench::new();
    let host = RpcHost::start(hung).await;
    let accounts = accounts(&host, |_| {});
    for _ in 0..5 {
        let late = bench.forward(&accounts, within("/a.A/Get", LONG_ENOUGH)).await;
        assert!(matches!(late, Err(CallError::Deadline { .. })), "{late:?}");
        let record = bench.settled().await;
        assert_eq!(
            (record.outcome.as_str(), record.phase, record.code),
            ("failure", Some(Phase::Deadline), Some("DEADLINE_EXCEEDED"))
        );
    }
    let snapshot = bench.breaker("accounts").snapshot();
    assert_eq!((snapshot.state, snapshot.in_flight), (State::Open, 0));
}

#[tokio::test]
async fn r27_a_deadline_too_short_to_blame_anybody_is_ignored() {
    let bench = Bench::new();
    let host = RpcHost::start(hung).await;
    let accounts = accounts(&host, |_| {});
    for _ in 0..6 {
        let late = bench.forward(&accounts, within("/a.A/Get", TOO_SHORT)).await;
        assert!(matches!(late, Err(CallError::Deadline { .. })), "{late:?}");
        assert_eq!(bench.verdict().await, (Outcome::Ignored, Some(Phase::Deadline)));
    }
}

#[tokio::test]
async fn r27_one_that_is_over_on_arrival_sends_nothing() {
    let bench = Bench::new();
    let host = RpcHost::start(hung).await;
    let accounts = accounts(&host, |_| {});
    let late = bench.forward(&accounts, within("/a.A/Get", Duration::ZERO)).await;
    assert!(matches!(late, Err(CallError::Deadline { .. })), "{late:?}");
    assert!(bench.quiet().await);
    assert_eq!(host.count(), 0);
}

#[tokio::test]
async fn r27_a_caller_that_leaves_at_its_own_deadline_is_late_and_one_that_leaves_before_is_no_evidence() {
    let bench = Bench::new();
    let host = RpcHost::start(hung).await;
    // Rule 26 is not for gRPC: no silence is long enough.
    let accounts = accounts(&host, |upstream| upstream.classify.abandoned_after = Duration::from_millis(1));
    // So long that a busy machine tells its last twentieth from its end.
    let budget = LONG_ENOUGH * 10;
    for (leaves_after, proves) in [(budget * 19 / 20, Outcome::Failure), (budget / 5, Outcome::Ignored)] {
        let call = bench.fetcher.forward(&accounts, within("/a.A/Get", budget));
        assert!(timeout(leaves_after, call).await.is_err(), "it leaves first");
        assert_eq!(bench.settled().await.outcome.as_str(), outcome(proves), "{leaves_after:?}");
    }
    let call = bench.fetcher.forward(&accounts, unary("/a.A/Get"));
    assert!(timeout(LONG_ENOUGH, call).await.is_err(), "it leaves");
    assert_eq!(bench.verdict().await, (Outcome::Ignored, None));
}

#[tokio::test]
async fn r27_a_stream_that_has_begun_is_told_in_its_trailers() {
    let bench = Bench::new();
    let host = RpcHost::start(|mut stream: Stream| async move {
        let mut send = stream.head();
        send.send_data(message(b"first"), false).unwrap();
        hang_on(send).await;
    })
    .await;
    let accounts = accounts(&host, |_| {});
    let response = bench.forward(&accounts, within("/a.A/Watch", LONG_ENOUGH)).await.unwrap();
    assert_eq!(ended(response).await, (Some("4".into()), message(b"first")));
    assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Deadline)));
}

#[tokio::test]
async fn r27_the_servers_own_word_at_the_deadline_is_the_deadline() {
    let bench = Bench::new();
    let word = Arc::new(Notify::new());
    let told = Arc::clone(&word);
    let host = RpcHost::start(move |mut stream: Stream| {
        let told = Arc::clone(&told);
        async move {
            stream.read().await;
            told.notified().await;
            stream.trailers_only(1);
        }
    })
    .await;
    let accounts = accounts(&host, |_| {});
    // It reads as CANCELLED, but the budget was as good as used up.
    let budget = LONG_ENOUGH * 10;
    let mut call = pin!(bench.forward(&accounts, within("/a.A/Get", budget)));
    assert!(timeout(budget * 19 / 20, call.as_mut()).await.is_err(), "the host has not answered");
    word.notify_one();
    drop(soon("the host's word", call).await);
    assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Deadline)));
    word.notify_one();
    let response = bench.forward(&accounts, within("/a.A/Get", budget)).await.unwrap();
    assert_eq!(ended(response).await.0.as_deref(), Some("1"));
    assert_eq!(bench.verdict().await, (Outcome::Alive, Some(Phase::Trailers)));
}

#[tokio::test]
async fn r25_without_a_deadline_the_upstreams_own_first_byte_ends_it() {
    let bench = Bench::new();
    let host = RpcHost::start(hung).await;
    let accounts = accounts(&host, |upstream| upstream.timeouts.first_byte = LONG_ENOUGH);
    let late = bench.forward(&accounts, unary("/a.A/Get")).await;
    assert!(matches!(late, Err(CallError::Failed { phase: Phase::Head, .. })), "{late:?}");
    assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Head)));
    // One with a deadline is bound by that.
    let call = bench.fetcher.forward(&accounts, within("/a.A/Get", LONG_ENOUGH * 2));
    let late = soon("its deadline", call).await;
    assert!(matches!(late, Err(CallError::Deadline { .. })), "{late:?}");
}

#[tokio::test]
async fn r25_a_stream_may_be_silent_for_as_long_as_both_sides_like() {
    let bench = Bench::new();
    let word = Arc::new(Notify::new());
    let told = Arc::clone(&word);
    let host = RpcHost::start(move |mut stream: Stream| {
        let told = Arc::clone(&told);
        async move {
            let mut send = stream.head();
            told.notified().await;
            send.send_data(message(b"late"), false).unwrap();
            send.send_trailers(super::status(0)).unwrap();
        }
    })
    .await;
    let accounts = accounts(&host, |upstream| {
        (upstream.timeouts.between_bytes, upstream.timeouts.client_idle) = (LONG_ENOUGH, LONG_ENOUGH);
    });
    // Its client has nothing more to say, and does not end its side either.
    let (feeder, feed) = crate::support::bench::feed();
    feeder.send(Ok(message(b"hi"))).unwrap();
    let request = crate::support::rpc::asking("/a.A/Chat", None, feed);
    let response = bench.forward(&accounts, request).await.unwrap();
    let mut body = pin!(response.into_body());
    assert!(timeout(LONG_ENOUGH * 3, body.frame()).await.is_err(), "it is silent and goes on");
    word.notify_one();
    let all = soon("the end", body.collect()).await.unwrap();
    assert_eq!(all.trailers().unwrap().get("grpc-status").unwrap(), "0");
    assert_eq!(bench.verdict().await, (Outcome::Success, None));
    drop(feeder);
}

#[tokio::test]
async fn r25_a_client_that_stops_in_the_midst_of_a_message_ends_the_call_as_ignored() {
    let bench = Bench::new();
    let host = RpcHost::start(hung).await;
    let accounts = accounts(&host, |upstream| upstream.timeouts.client_idle = LONG_ENOUGH);
    let (feeder, feed) = crate::support::bench::feed();
    feeder.send(Ok(message(b"hello").slice(..7))).unwrap();
    let ended = bench.forward(&accounts, crate::support::rpc::asking("/a.A/Put", None, feed)).await;
    assert!(matches!(ended, Err(CallError::ClientGone)), "{ended:?}");
    assert_eq!(bench.verdict().await, (Outcome::Ignored, None));
    drop(feeder);
}

#[tokio::test]
async fn r05_a_probe_whose_client_has_asked_and_waits_is_lost() {
    let bench = Bench::new();
    let host = RpcHost::start(hung).await;
    let accounts = accounts(&host, |_| {});
    for _ in 0..5 {
        let late = bench.forward(&accounts, within("/a.A/Get", LONG_ENOUGH)).await;
        assert!(matches!(late, Err(CallError::Deadline { .. })), "{late:?}");
    }
    for (said, cause) in [(&b"hi"[..], "probe_lost"), (b"", "wait_elapsed")] {
        bench.advance(15);
        // It asks and leaves its side open, or has not asked yet.
        let (feeder, feed) = crate::support::bench::feed();
        if !said.is_empty() {
            feeder.send(Ok(message(said))).unwrap();
        }
        let before = host.count();
        let mut chat = Box::pin(bench.fetcher.forward(&accounts, crate::support::rpc::asking("/a.A/Chat", None, feed)));
        tokio::select! {
            answer = chat.as_mut() => panic!("{answer:?}"),
            () = host.received(before + 1) => {}
        }
        // The turn is the client's as soon as all it said is on its way.
        assert!(timeout(TOO_SHORT, chat.as_mut()).await.is_err());
        bench.advance(40);
        bench.breaker("accounts").tick();
        let facts = bench.facts.0.lock();
        let last = facts.iter().rev().find_map(|fact| match fact {
            fuseboard_breaker::Event::Transition(change) => Some(change.cause.as_str()),
            fuseboard_breaker::Event::Probe(_) => None,
        });
        assert_eq!(last, Some(cause), "{said:?}");
    }
}

#[tokio::test]
async fn r05_a_probe_that_only_sends_is_good_while_the_host_takes_what_it_sends() {
    let bench = Bench::new();
    let host = RpcHost::start(|mut stream: Stream| async move {
        if stream.request.uri().path().ends_with("Get") {
            return stream.trailers_only(14);
        }
        // It reads all there is and answers at the end.
        stream.read().await;
        stream.message_and_status(0);
    })
    .await;
    let accounts = accounts(&host, |upstream| {
        let mut settings = upstream.policy.settings().clone();
        (settings.half_open.probes, settings.half_open.successes) = (1, 1);
        upstream.policy = fuseboard_breaker::Policy::new(settings).unwrap();
    });
    // The last message goes out 5 s, or 15 s, before the end of the lease.
    for (last, state, cause) in [(35, State::Closed, "probes_succeeded"), (25, State::Open, "probe_lost")] {
        while bench.panel.get("accounts").is_none_or(|breaker| breaker.snapshot().state == State::Closed) {
            ended(bench.forward(&accounts, unary("/a.A/Get")).await.unwrap()).await;
        }
        bench.advance(15);
        let (feeder, feed) = crate::support::bench::feed();
        let uploaded = host.count() + 1;
        let mut sends = Box::pin(bench.fetcher.forward(&accounts, crate::support::rpc::asking("/a.A/Put", None, feed)));
        for second in [0, last] {
            bench.advance(second);
            feeder.send(Ok(message(b"more"))).unwrap();
            tokio::select! {
                answer = sends.as_mut() => panic!("{answer:?}"),
                () = host.received(uploaded) => {}
            }
            // The turn is the client's as soon as all it said is on its way.
            assert!(timeout(TOO_SHORT, sends.as_mut()).await.is_err());
        }
        bench.advance(40 - last);
        bench.breaker("accounts").tick();
        let facts = bench.facts.0.lock();
        let last = facts.iter().rev().find_map(|fact| match fact {
            fuseboard_breaker::Event::Transition(change) => Some(change.cause.as_str()),
            fuseboard_breaker::Event::Probe(_) => None,
        });
        assert_eq!((last, bench.breaker("accounts").snapshot().state), (Some(cause), state));
    }
}
