//! Rules 3, 4, 26: clients that leave, at any await, and polls that panic.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use fuseboard_breaker::{Outcome, Phase, State};
use fuseboard_fetch::{CallError, Upstream};
use futures_util::future::{join_all, poll_immediate};
use http::Method;
use http_body_util::BodyExt;
use tokio::{net::TcpListener, task::JoinSet};

use crate::support::{
    Bench, Host, Step,
    bench::{AMPLE, SHORT, feed, outlast, request, upstream},
    host::{Gate, black_hole, send},
    soon, whole,
};

#[tokio::test(flavor = "multi_thread")]
async fn r26_a_thousand_clients_that_leave_after_connecting_leave_a_slow_host_closed() {
    let bench = Arc::new(Bench::new());
    let gate = Gate::new();
    let hold = gate.clone();
    let host = Host::start(move |seen| match seen.target.as_str() {
        "/slow" => vec![Step::Hang],
        _ => vec![Step::Gate(hold.clone()), send("HTTP/1.1 200 OK\ncontent-length: 2\n\nok")],
    })
    .await;
    let npm = upstream(&host.url("/"), |_| {});
    for round in 1..=10 {
        let mut clients = JoinSet::new();
        for _ in 0..100 {
            let (bench, npm) = (bench.clone(), npm.clone());
            clients.spawn(async move { bench.get(&npm, "/slow").await.map(drop) });
        }
        host.received(round * 100).await;
        soon("the clients' leaving", clients.shutdown()).await;
        for _ in 0..100 {
            assert_eq!(bench.verdict().await, (Outcome::Ignored, None));
        }
    }
    let snapshot = bench.snapshot(&host);
    assert_eq!((snapshot.state, snapshot.counts.ignored, snapshot.counts.failure), (State::Closed, 1000, 0));
    assert_eq!(snapshot.in_flight, 0);
    gate.open();
    assert!(bench.get(&npm, "/").await.is_ok());
}

/// Clients that leave a host that swallows their calls this long after it had all of them.
async fn leave(bench: &Bench, host: &Host, npm: &Arc<Upstream>, clients: usize, after: Duration) {
    let calls = join_all((0..clients).map(|_| bench.get(npm, "/")));
    let patience = async {
        host.received(clients).await;
        outlast(after).await;
    };
    tokio::select! {
        answers = calls => panic!("the host answered: {answers:?}"),
        () = patience => {}
    }
}

#[tokio::test]
async fn r26_clients_that_leave_after_abandoned_after_trip_a_host_that_swallows_calls() {
    let bench = Bench::new();
    let host = Host::start(|_| vec![Step::Hang]).await;
    let npm = upstream(&host.url("/"), |upstream| upstream.classify.abandoned_after = SHORT);
    leave(&bench, &host, &npm, 5, SHORT).await;
    for _ in 0..5 {
        assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Abandoned)));
    }
    assert_eq!(bench.state(&host), State::Open);
}

#[tokio::test]
async fn r26_a_black_hole_trips_although_every_client_gives_up_before_we_do() {
    let bench = Bench::new();
    let (address, _kept) = black_hole();
    let npm = upstream(&format!("http://{address}/"), |upstream| upstream.classify.abandoned_after = SHORT);
    let calls = join_all((0..5).map(|_| bench.get(&npm, "/")));
    tokio::select! {
        answers = calls => panic!("somebody answered: {answers:?}"),
        () = outlast(SHORT) => {}
    }
    for _ in 0..5 {
        assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Abandoned)));
    }
    assert_eq!(bench.breaker(&npm.breaker_id()).snapshot().state, State::Open);
}

#[tokio::test]
async fn r26_a_client_that_leaves_sooner_proves_nothing() {
    let bench = Bench::new();
    let host = Host::start(|_| vec![Step::Hang]).await;
    let npm = upstream(&host.url("/"), |upstream| upstream.classify.abandoned_after = SHORT * 1000);
    leave(&bench, &host, &npm, 1, SHORT).await;
    assert_eq!(bench.verdict().await, (Outcome::Ignored, None));
}

#[tokio::test]
async fn r26_the_host_has_the_word_only_when_the_last_request_byte_is_out() {
    let bench = Bench::new();
    let host = Host::start(|_| vec![Step::ReadBody, Step::Hang]).await;
    let npm = upstream(&host.url("/"), |upstream| upstream.classify.abandoned_after = SHORT);
    let (sender, body) = feed();
    sender.send(Ok("half".into())).unwrap();
    let call = bench.forward(&npm, request(&npm, Method::POST, "/", body));
    assert!(tokio::time::timeout(SHORT * 2, call).await.is_err());
    assert_eq!(bench.verdict().await, (Outcome::Ignored, None));
    soon("the upload's end", sender.closed()).await;
}

#[tokio::test]
async fn r26_a_client_that_leaves_in_the_middle_of_the_body_proves_nothing() {
    let bench = Bench::new();
    let host = Host::start(|_| vec![send("HTTP/1.1 200 OK\ncontent-length: 1000\n\nab"), Step::Hang]).await;
    let npm = upstream(&host.url("/"), |upstream| upstream.classify.abandoned_after = SHORT / 100);
    let mut response = bench.get(&npm, "/").await.unwrap();
    assert!(soon("a frame", response.body_mut().frame()).await.unwrap().is_ok());
    drop(response);
    assert_eq!(bench.verdict().await, (Outcome::Ignored, None));
    host.left(1).await;
}

#[tokio::test]
async fn r26_a_client_whose_own_body_breaks_off_proves_nothing() {
    let bench = Bench::new();
    let host = Host::start(|_| vec![Step::ReadBody, Step::Hang]).await;
    let npm = upstream(&host.url("/"), |_| {});
    let (sender, body) = feed();
    sender.send(Ok("half".into())).unwrap();
    sender.send(Err(std::io::Error::other("reset by our client"))).unwrap();
    let ended = soon("the end", bench.forward(&npm, request(&npm, Method::POST, "/", body))).await;
    assert!(matches!(ended, Err(CallError::ClientGone)), "{ended:?}");
    assert_eq!(bench.verdict().await, (Outcome::Ignored, None));
}

#[tokio::test]
async fn r25_a_client_that_stalls_its_own_upload_ends_the_call_as_ignored() {
    let bench = Bench::new();
    let host = Host::start(|_| vec![Step::ReadBody, Step::Hang]).await;
    let npm = upstream(&host.url("/"), |upstream| upstream.timeouts.client_idle = SHORT);
    let (sender, body) = feed();
    sender.send(Ok("half".into())).unwrap();
    let ended = soon("the end", bench.forward(&npm, request(&npm, Method::POST, "/", body))).await;
    assert!(matches!(ended, Err(CallError::ClientGone)), "{ended:?}");
    assert_eq!(bench.verdict().await, (Outcome::Ignored, None));
    soon("the upload's end", sender.closed()).await;
}

#[tokio::test]
async fn r25_a_client_that_sends_a_byte_now_and_then_is_as_good_as_idle() {
    for (length, stalls) in [(1, true), (4096, false)] {
        let bench = Bench::new();
        let host = Host::start(|_| vec![Step::ReadBody, send("HTTP/1.1 200 OK\ncontent-length: 0\n\n")]).await;
        let npm = upstream(&host.url("/"), |upstream| {
            (upstream.timeouts.client_idle, upstream.queue.concurrent, upstream.queue.waiting) = (AMPLE, 1, 0);
        });
        let (sender, body) = feed();
        let dripping = async {
            for _ in 0..=AMPLE.as_millis() / SHORT.as_millis() + 1 {
                if sender.send(Ok(vec![b'x'; length].into())).is_err() {
                    break;
                }
                outlast(SHORT).await;
            }
            drop(sender);
        };
        let call = bench.forward(&npm, request(&npm, Method::POST, "/", body));
        let (ended, ()) = soon("the end", futures_util::future::join(call, dripping)).await;
        assert_eq!(matches!(ended, Err(CallError::ClientGone)), stalls, "{length}: {ended:?}");
        let expected = if stalls { Outcome::Ignored } else { Outcome::Success };
        assert_eq!(bench.verdict().await, (expected, None), "{length}");
        assert_eq!(bench.snapshot(&host).in_flight, 0);
    }
}

/// Half-open with one permit: whoever is admitted next shows that the one before gave its permit back.
async fn half_open(bench: &Bench, host: &Host) -> Arc<Upstream> {
    let npm = upstream(&host.url("/"), |_| {});
    bench.trip(&npm).await;
    bench.advance(31);
    npm
}

fn down_but(path: &'static str, steps: Vec<Step>) -> impl Fn(&crate::support::host::Seen) -> Vec<Step> {
    move |seen| match seen.target == path {
        true => steps.clone(),
        false => vec![send("HTTP/1.1 503 Service Unavailable\ncontent-length: 0\n\n")],
    }
}

#[tokio::test]
async fn r03_a_call_dropped_before_its_first_poll_takes_no_permit() {
    let bench = Bench::new();
    let host = Host::start(down_but("/hang", vec![Step::Hang])).await;
    let npm = half_open(&bench, &host).await;
    drop(bench.get(&npm, "/hang"));
    assert_eq!((bench.state(&host), host.count()), (State::Open, 5));
    assert!(bench.quiet().await);
}

#[tokio::test]
async fn r03_a_probe_dropped_while_it_waits_for_the_head_gives_its_permit_back() {
    let bench = Bench::new();
    let host = Host::start(down_but("/hang", vec![Step::Hang])).await;
    let npm = half_open(&bench, &host).await;
    let mut probe = Box::pin(bench.get(&npm, "/hang"));
    assert!(poll_immediate(&mut probe).await.is_none());
    assert!(matches!(bench.get(&npm, "/").await, Err(CallError::Refused(_))));
    drop(probe);
    assert_eq!(bench.verdict().await, (Outcome::Ignored, None));
    let next = bench.get(&npm, "/").await.unwrap();
    assert_eq!(next.status(), 503);
}

#[tokio::test]
async fn r03_a_probe_aborted_with_its_task_while_the_body_streams_gives_its_permit_back() {
    let bench = Arc::new(Bench::new());
    let body = vec![send("HTTP/1.1 200 OK\ncontent-length: 1000\n\nab"), Step::Hang];
    let host = Host::start(down_but("/body", body)).await;
    let npm = half_open(&bench, &host).await;
    let task = tokio::spawn({
        let (bench, npm) = (bench.clone(), npm.clone());
        async move { whole(bench.get(&npm, "/body").await.unwrap()).await.map(drop) }
    });
    host.received(6).await;
    assert_eq!(bench.snapshot(&host).half_open.in_flight, 1);
    task.abort();
    assert!(soon("the task's end", task).await.unwrap_err().is_cancelled());
    assert_eq!(bench.verdict().await, (Outcome::Ignored, None));
    assert_eq!(bench.snapshot(&host).half_open.in_flight, 0);
    assert!(bench.get(&npm, "/").await.is_ok());
}

#[tokio::test]
async fn r03_a_call_dropped_while_connecting_gives_its_permit_back() {
    let bench = Bench::new();
    // Accepts, and never shakes hands.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let npm = upstream(&format!("https://{address}/"), |_| {});
    let mut call = Box::pin(bench.get(&npm, "/"));
    let (accepted, _) = soon("the connection", async {
        tokio::select! {
            _ = &mut call => panic!("the call ended"),
            accepted = listener.accept() => accepted.unwrap(),
        }
    })
    .await;
    let breaker = bench.breaker(&format!("https:{address}"));
    assert_eq!(breaker.snapshot().in_flight, 1);
    drop(call);
    drop(accepted);
    assert_eq!(bench.verdict().await, (Outcome::Ignored, None));
    assert_eq!(breaker.snapshot().in_flight, 0);
}

/// Panics when it is asked for more.
struct Bomb;

impl http_body::Body for Bomb {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
        panic!("this body was meant to panic");
    }
}

#[tokio::test]
async fn r04_a_panic_in_a_poll_is_a_failure_and_poisons_nothing() {
    let bench = Bench::new();
    let host = Host::start(|_| vec![send("HTTP/1.1 200 OK\ncontent-length: 0\n\n")]).await;
    let npm = upstream(&host.url("/"), |_| {});
    let ended = soon("the end", bench.forward(&npm, request(&npm, Method::POST, "/", Bomb))).await;
    assert!(matches!(ended, Err(CallError::Failed { phase: Phase::Panic, .. })), "{ended:?}");
    assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Panic)));
    assert!(bench.get(&npm, "/").await.is_ok());
    assert_eq!(bench.snapshot(&host).in_flight, 0);
}

#[tokio::test]
async fn r04_a_permit_dropped_by_somebody_elses_panic_is_cancelled() {
    let bench = Arc::new(Bench::new());
    let host = Host::start(|_| vec![send("HTTP/1.1 200 OK\ncontent-length: 1000\n\nab"), Step::Hang]).await;
    let npm = upstream(&host.url("/"), |_| {});
    let task = tokio::spawn({
        let (bench, npm) = (bench.clone(), npm.clone());
        async move {
            let _response = bench.get(&npm, "/").await.unwrap();
            panic!("this task was meant to panic");
        }
    });
    assert!(soon("the task's end", task).await.unwrap_err().is_panic());
    assert_eq!(bench.settled().await.outcome.as_str(), "cancelled");
    let counts = bench.snapshot(&host).counts;
    assert_eq!((counts.cancelled, counts.failure, bench.snapshot(&host).in_flight), (1, 0, 0));
}
