//! Streams that end in the middle: a reset, a goodbye, a window that never opens, a client that leaves. None of them
//! keeps a permit.

use std::{
    future::poll_fn,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use fuseboard_breaker::{Outcome, Phase};
use fuseboard_fetch::CallError;
use h2::Reason;
use http_body_util::Full;
use tokio::sync::{Notify, watch};

use super::{answering, ended};
use crate::support::{
    Bench,
    bench::{feed, outlast},
    rpc::{RpcHost, Stream, accounts, asking, hang_on, message, status, unary},
    soon,
};

fn in_flight(bench: &Bench) -> u64 {
    bench.breaker("accounts").snapshot().in_flight
}

#[tokio::test]
async fn r30_a_reset_in_the_middle_is_a_failure_and_told_in_the_trailers() {
    let bench = Bench::new();
    let host = RpcHost::start(|mut stream: Stream| async move {
        let mut send = stream.head();
        send.send_data(message(b"first"), false).unwrap();
        // The data is out before the reset.
        send.reserve_capacity(1);
        let _ = poll_fn(|cx| send.poll_capacity(cx)).await;
        if let Some(Ok(_)) = stream.request.body_mut().data().await {
            send.send_reset(Reason::INTERNAL_ERROR);
        }
    })
    .await;
    let accounts = accounts(&host, |_| {});
    let (feeder, feed) = feed();
    let mut response = bench.forward(&accounts, asking("/a.A/Chat", None, feed)).await.unwrap();
    let first = soon("the first message", http_body_util::BodyExt::frame(response.body_mut())).await.unwrap().unwrap();
    assert_eq!(first.into_data().unwrap(), message(b"first"));
    feeder.send(Ok(message(b"go"))).unwrap();
    assert_eq!(ended(response).await.0.as_deref(), Some("14"));
    assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Body)));
    assert_eq!(in_flight(&bench), 0);
}

#[tokio::test]
async fn r37_a_refused_stream_is_begun_anew_with_all_its_messages_and_is_no_failure() {
    let bench = Bench::new();
    let host = RpcHost::start(|mut stream: Stream| async move {
        if stream.turn == 0 {
            return stream.respond.send_reset(Reason::REFUSED_STREAM);
        }
        let read = stream.read().await;
        let mut send = stream.head();
        send.send_data(read.into(), false).unwrap();
        send.send_trailers(status(0)).unwrap();
    })
    .await;
    let accounts = accounts(&host, |_| {});
    let response = bench.forward(&accounts, unary("/a.A/Get")).await.unwrap();
    assert_eq!(ended(response).await, (Some("0".into()), message(b"hi")));
    let counts = bench.breaker("accounts").snapshot().counts;
    assert_eq!((counts.success, counts.failure, counts.ignored, host.count()), (1, 0, 0, 2));
}

#[tokio::test]
async fn r37_one_that_is_refused_again_is_no_failure_either() {
    let bench = Bench::new();
    let host = RpcHost::start(|mut stream: Stream| async move {
        stream.respond.send_reset(Reason::REFUSED_STREAM);
    })
    .await;
    let accounts = accounts(&host, |_| {});
    let ended = bench.forward(&accounts, unary("/a.A/Get")).await;
    assert!(matches!(ended, Err(CallError::Failed { .. } | CallError::Stale { .. })), "{ended:?}");
    assert_eq!(bench.settled().await.outcome.as_str(), "ignored");
    assert_eq!((host.count(), in_flight(&bench)), (2, 0));
}

#[tokio::test]
async fn r37_after_a_goodbye_calls_go_on_over_another_connection() {
    let bench = Bench::new();
    let host = RpcHost::start(|mut stream: Stream| async move {
        stream.read().await;
        let farewell = stream.farewell.clone();
        stream.message_and_status(0);
        farewell.send_replace(Some(Reason::NO_ERROR));
    })
    .await;
    let accounts = accounts(&host, |_| {});
    for _ in 0..20 {
        let response = bench.forward(&accounts, unary("/a.A/Get")).await.unwrap();
        assert_eq!(ended(response).await.0.as_deref(), Some("0"));
    }
    let counts = bench.breaker("accounts").snapshot().counts;
    assert_eq!((counts.success, counts.failure, in_flight(&bench)), (20, 0, 0));
    assert!(host.connections.load(Ordering::SeqCst) > 1);
}

#[tokio::test]
async fn a_goodbye_in_anger_in_the_middle_of_a_stream_leaves_no_permit_behind() {
    let bench = Bench::new();
    let host = RpcHost::start(|mut stream: Stream| async move {
        let send = stream.head();
        stream.farewell.send_replace(Some(Reason::ENHANCE_YOUR_CALM));
        hang_on(send).await;
    })
    .await;
    let accounts = accounts(&host, |_| {});
    let response = bench.forward(&accounts, unary("/a.A/Watch")).await;
    if let Ok(response) = response {
        assert_eq!(ended(response).await.0.as_deref(), Some("14"));
    }
    assert_eq!(bench.settled().await.outcome.as_str(), "failure");
    assert_eq!(in_flight(&bench), 0);
}

#[tokio::test]
async fn a_window_that_never_opens_leaves_no_permit_behind() {
    let bench = Bench::new();
    let host = RpcHost::start(|stream: Stream| async move {
        // It never reads, so its window stays shut.
        stream.hang().await;
    })
    .await;
    let accounts = accounts(&host, |_| {});
    let big = Full::new(Bytes::from(vec![0; 10 << 20]));
    let stuck = bench.forward(&accounts, asking("/a.A/Put", Some(Duration::from_millis(200)), big)).await;
    assert!(matches!(stuck, Err(CallError::Deadline { .. })), "{stuck:?}");
    let counts = bench.breaker("accounts").snapshot().counts;
    assert_eq!((counts.success, counts.failure, in_flight(&bench)), (0, 1, 0));
}

#[tokio::test]
async fn a_request_the_host_does_not_read_leaves_room_for_the_others() {
    let bench = Bench::new();
    let host = RpcHost::start(|mut stream: Stream| async move {
        if stream.request.uri().path().ends_with("Put") {
            // Its connection's window is used up, for whoever else there is.
            stream.hang().await;
            return;
        }
        stream.read().await;
        stream.message_and_status(0);
    })
    .await;
    let accounts = accounts(&host, |_| {});
    let (feeder, feed) = feed();
    for _ in 0..100 {
        feeder.send(Ok(Bytes::from_static(&[0; 16 << 10]))).unwrap();
    }
    let mut stuck = Box::pin(bench.fetcher.forward(&accounts, asking("/a.A/Put", None, feed)));
    tokio::select! {
        answer = stuck.as_mut() => panic!("{answer:?}"),
        () = host.received(1) => {}
    }
    // What it was handed it has not taken for this long.
    outlast(Duration::from_millis(250)).await;
    let others = async {
        for _ in 0..10 {
            assert_eq!(ended(bench.forward(&accounts, unary("/a.A/Get")).await.unwrap()).await.0.as_deref(), Some("0"));
        }
    };
    tokio::select! {
        answer = stuck.as_mut() => panic!("{answer:?}"),
        () = others => {}
    }
    assert_eq!((host.connections.load(Ordering::SeqCst), in_flight(&bench)), (2, 1), "one is enough for the others");
    drop(stuck);
    let counts = bench.breaker("accounts").snapshot().counts;
    assert_eq!((counts.success, counts.failure, counts.ignored, in_flight(&bench)), (10, 0, 1, 0));
}

#[tokio::test]
async fn clients_that_read_nothing_leave_room_for_the_others() {
    const STUCK: usize = 60;
    /// What the gateway takes in of a stream.
    const WINDOW: usize = 1 << 20;
    let bench = Bench::new();
    let sent = Arc::new(watch::Sender::new(0));
    let host = {
        let sent = sent.clone();
        RpcHost::start(move |mut stream: Stream| {
            let sent = sent.clone();
            async move {
                let watches = stream.request.uri().path().ends_with("Watch");
                let mut out = stream.head();
                let mut left = if watches { usize::MAX } else { 10 << 20 };
                while left > 0 {
                    out.reserve_capacity(left.min(WINDOW));
                    let Some(Ok(room)) = poll_fn(|cx| out.poll_capacity(cx)).await else { return };
                    let piece = room.min(left);
                    left -= piece;
                    out.send_data(Bytes::from(vec![0; piece]), false).unwrap();
                    if watches {
                        sent.send_modify(|sent| *sent += piece);
                    }
                }
                out.send_trailers(status(0)).unwrap();
            }
        })
        .await
    };
    let accounts = accounts(&host, |_| {});
    let mut stuck = Vec::new();
    for _ in 0..STUCK {
        stuck.push(bench.forward(&accounts, unary("/a.A/Watch")).await.unwrap());
    }
    soon("every window full", sent.subscribe().wait_for(|sent| *sent >= STUCK * WINDOW)).await.unwrap();
    let (said, all) = ended(bench.forward(&accounts, unary("/a.A/Get")).await.unwrap()).await;
    assert_eq!((said.as_deref(), all.len()), (Some("0"), 10 << 20));
    assert_eq!(host.connections.load(Ordering::SeqCst), 1, "they share one");
    assert_eq!(in_flight(&bench), STUCK as u64);
    drop(stuck);
    assert_eq!((in_flight(&bench), bench.breaker("accounts").snapshot().counts.ignored), (0, STUCK as u64));
}

#[tokio::test]
async fn ten_megabytes_pass_both_ways() {
    let bench = Bench::new();
    let host = RpcHost::start(|mut stream: Stream| async move {
        let read = stream.read().await;
        let mut send = stream.head();
        let mut rest = Bytes::from(read);
        while !rest.is_empty() {
            send.reserve_capacity(rest.len());
            let Some(Ok(room)) = poll_fn(|cx| send.poll_capacity(cx)).await else { return };
            let piece = rest.split_to(room.min(rest.len()));
            send.send_data(piece, false).unwrap();
        }
        send.send_trailers(status(0)).unwrap();
    })
    .await;
    let accounts = accounts(&host, |_| {});
    let big = message(&vec![7; 10 << 20]);
    let response = bench.forward(&accounts, asking("/a.A/Echo", None, Full::new(big.clone()))).await.unwrap();
    let (said, back) = ended(response).await;
    assert_eq!(said.as_deref(), Some("0"));
    assert!(back == big, "{} of {} bytes came back", back.len(), big.len());
}

#[tokio::test]
async fn a_client_that_leaves_is_gone_for_the_host_too() {
    let bench = Bench::new();
    let (gone, begun) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let host = {
        let (gone, begun) = (gone.clone(), begun.clone());
        RpcHost::start(move |mut stream: Stream| {
            let (gone, begun) = (gone.clone(), begun.clone());
            async move {
                let head = if stream.number() == 1 { Some(stream.head()) } else { None };
                stream.request.body_mut().data().await;
                begun.notify_one();
                let said = match head {
                    Some(head) => hang_on(head).await,
                    None => stream.hang().await,
                };
                if said == Some(Reason::CANCEL) {
                    gone.notify_one();
                }
            }
        })
        .await
    };
    let accounts = accounts(&host, |_| {});
    for number in [0, 1] {
        let (feeder, feed) = feed();
        feeder.send(Ok(message(b"hi"))).unwrap();
        let mut call = Box::pin(bench.fetcher.forward(&accounts, asking(&format!("/a.A/{number}"), None, feed)));
        let response = if number == 1 { Some(soon("the head", call.as_mut()).await.unwrap()) } else { None };
        if number == 0 {
            tokio::select! {
                answer = call.as_mut() => panic!("{answer:?}"),
                () = begun.notified() => {}
            }
        } else {
            soon("the first message", begun.notified()).await;
        }
        drop((call, response));
        soon("the host's news of it", gone.notified()).await;
        assert_eq!(bench.verdict().await.0, Outcome::Ignored);
        assert_eq!(in_flight(&bench), 0);
        drop(feeder);
    }
}

#[tokio::test]
async fn calls_one_after_the_other_share_a_connection() {
    let bench = Bench::new();
    let host = RpcHost::start(answering).await;
    let accounts = accounts(&host, |_| {});
    for _ in 0..10 {
        ended(bench.forward(&accounts, unary("/a.A/0")).await.unwrap()).await;
    }
    assert_eq!(host.connections.load(Ordering::SeqCst), 1);
}
