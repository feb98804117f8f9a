//! The four kinds of call against tonic's own server: what trips, what does not, and how it recovers.

use std::time::Duration;

use fuseboard_breaker::{
    Event, Outcome, Phase, PolicySettings, State,
    grpc::{Code, Codes},
    tower::BreakerLayer,
};
use tonic::transport::Endpoint;
use tower::Layer;

use crate::{
    accounts::{Accounts, AccountsClient, Ask, Kind, Told},
    rig::{Rig, WAIT, until, within},
};

async fn rig() -> (Accounts, Rig) {
    let server = Accounts::serve().await.expect("a free port");
    let rig = Rig::new(server.address);
    (server, rig)
}

#[tokio::test]
async fn every_kind_of_call_passes_whole() {
    let (server, rig) = rig().await;
    let table: [(Kind, &[(&str, u64)]); 4] = [
        (Kind::Unary, &[("ana", 1)]),
        (Kind::Server, &[("ana", 1), ("ana", 2), ("ana", 3)]),
        (Kind::Client, &[("ben", 2)]),
        (Kind::Bidi, &[("ana", 1), ("ben", 2)]),
    ];
    for (kind, wanted) in table {
        let (came, end) = rig.call(kind).await;
        let came: Vec<_> = came.iter().map(|account| (account.name.as_str(), account.number)).collect();
        assert_eq!((came.as_slice(), end.is_ok()), (wanted, true), "{kind:?}: {end:?}");
    }
    assert_eq!((server.calls(), rig.snap().counts.success, rig.snap().in_flight), (4, 4, 0));
}

#[tokio::test]
async fn trips_after_five_consecutive_failures() {
    for kind in Kind::ALL {
        let (server, rig) = rig().await;
        server.tell(Told::Fail(tonic::Code::Unavailable));
        for call in 1..=5 {
            assert_eq!(rig.state(), State::Closed, "{kind:?}: open before call {call}");
            let (_, end) = rig.call(kind).await;
            let status = end.expect_err("as told");
            assert_eq!((status.code(), status.message()), (tonic::Code::Unavailable, "as told"));
        }
        assert_eq!((rig.state(), rig.seen.causes()), (State::Open, vec!["tripped"]), "{kind:?}");
        let status = rig.call(kind).await.1.expect_err("it is refused");
        assert_eq!(status.code(), tonic::Code::Unavailable);
        assert_eq!(status.message(), "accounts is open after repeated failures, nothing was sent; try again in 15.0 s");
        assert_eq!(status.metadata().get("grpc-retry-pushback-ms").expect("when to come again"), "15000");
        assert_eq!((server.calls(), rig.snap().counts.refused), (5, 1), "{kind:?}: the server heard of a refused call");
        rig.assert_no_permit_leaked();
    }
}

#[tokio::test]
async fn a_layer_made_in_one_line_has_the_built_in_policy() {
    let server = Accounts::serve().await.expect("a free port");
    let layer = BreakerLayer::grpc("accounts").codes(Codes::default().with([Code::NotFound], Outcome::Failure));
    let settings = layer.breaker().policy().settings().clone();
    assert_eq!((settings, layer.breaker().id().as_ref()), (PolicySettings::grpc(), "accounts"));
    let channel = Endpoint::from_shared(format!("http://{}", server.address)).expect("an address").connect_lazy();
    let mut client = AccountsClient::new(layer.layer(channel));
    server.tell(Told::Fail(tonic::Code::NotFound));
    for _ in 0..7 {
        within("an answer", client.get(Ask::default())).await.expect_err("as told, or refused");
    }
    assert_eq!((layer.breaker().snapshot().state, server.calls()), (State::Open, 5));
}

#[tokio::test]
async fn client_errors_do_not_trip() {
    let (server, rig) = rig().await;
    let alive = Code::ALL.into_iter().filter(|code| Codes::default().outcome(*code) == Outcome::Alive);
    let mut calls = 0;
    for code in alive {
        for _ in 0..12 {
            server.tell(Told::Fail(i32::from(code.number()).into()));
            rig.call(Kind::Unary).await.1.expect_err("as told");
            calls += 1;
        }
    }
    assert_eq!((calls, rig.snap().counts.alive, rig.state()), (108, 108, State::Closed));
    // Stray failures between them never make a run.
    for _ in 0..3 {
        for _ in 0..4 {
            server.tell(Told::Fail(tonic::Code::Unavailable));
            rig.call(Kind::Unary).await.1.expect_err("as told");
        }
        server.tell(Told::Fail(tonic::Code::NotFound));
        rig.call(Kind::Unary).await.1.expect_err("as told");
    }
    assert_eq!((rig.state(), rig.snap().counts.failure), (State::Closed, 12));
}

#[tokio::test]
async fn r29_every_code_is_judged_as_it_comes_over_the_socket() {
    for late in [false, true] {
        let (server, rig) = rig().await;
        for code in Code::ALL.into_iter().filter(|code| *code != Code::Ok) {
            let told = i32::from(code.number()).into();
            server.tell(if late { Told::FailLate(told) } else { Told::Fail(told) });
            let before = rig.snap().counts;
            rig.call(Kind::Server).await.1.expect_err("as told");
            let after = rig.snap().counts;
            let found = (after.failure - before.failure, after.alive - before.alive, after.ignored - before.ignored);
            let wanted = match Codes::default().outcome(code) {
                Outcome::Failure => (1, 0, 0),
                _ => (0, 1, 0),
            };
            assert_eq!(found, wanted, "{code}, after a message: {late}");
            // No run of failures, so that it stays closed.
            server.tell(Told::Well);
            rig.call(Kind::Unary).await.1.expect("well");
        }
    }
}

#[tokio::test]
async fn stream_layer_trips_and_fails_fast() {
    for kind in [Kind::Server, Kind::Bidi, Kind::Client, Kind::Unary] {
        let (server, rig) = rig().await;
        server.tell(Told::FailLate(tonic::Code::Internal));
        for _ in 0..5 {
            // Headers and a message were fine; the trailers are not.
            let (came, end) = rig.call(kind).await;
            assert_eq!((came.len(), end.expect_err("as told").code()), (1, tonic::Code::Internal), "{kind:?}");
        }
        assert_eq!(rig.state(), State::Open, "{kind:?}: streams that fail after they were established must trip");
        let (came, end) = rig.call(kind).await;
        assert_eq!((came.len(), end.expect_err("refused").code()), (0, tonic::Code::Unavailable));
        assert_eq!(server.calls(), 5, "{kind:?}: a refused stream reached the server");
        rig.assert_no_permit_leaked();
    }
}

#[tokio::test]
async fn the_evidence_names_code_method_and_the_servers_words() {
    let (server, rig) = rig().await;
    server.tell(Told::FailLate(tonic::Code::Internal));
    for _ in 0..5 {
        rig.call(Kind::Bidi).await.1.expect_err("as told");
    }
    let events = rig.seen.events();
    let Some(Event::Transition(row)) = events.first() else { panic!("it tripped") };
    let fuseboard_breaker::Cause::Tripped { evidence, .. } = &row.cause else { panic!("{row:?}") };
    let known = &evidence[0].evidence;
    assert_eq!((evidence.len(), known.status, known.phase), (5, Some(13), Some(Phase::Trailers)));
    assert_eq!(
        (known.method.as_deref(), known.path.as_deref(), known.error.as_deref()),
        (Some("POST"), Some("/accounts.v1.Accounts/Watch"), Some("as told"))
    );
}

#[tokio::test]
async fn recovers_through_half_open() {
    let (server, rig) = rig().await;
    server.tell(Told::Fail(tonic::Code::Unavailable));
    for _ in 0..5 {
        rig.call(Kind::Unary).await.1.expect_err("as told");
    }
    // One nanosecond before the wait is over it refuses.
    rig.clock.advance(WAIT - Duration::from_nanos(1));
    rig.call(Kind::Unary).await.1.expect_err("refused");
    assert_eq!((server.calls(), rig.state()), (5, State::Open));
    // A bad probe opens it for as long again.
    rig.clock.advance(Duration::from_nanos(1));
    rig.call(Kind::Unary).await.1.expect_err("as told");
    assert_eq!((server.calls(), rig.state()), (6, State::Open));
    rig.clock.advance(WAIT);
    // Ten probe at a time, the eleventh is refused.
    server.tell(Told::Hang);
    let (probes, eleventh) = {
        let probes: Vec<_> = (0..10)
            .map(|_| {
                let mut client = rig.client.clone();
                tokio::spawn(async move { client.get(Ask { name: "ana".into() }).await })
            })
            .collect();
        until("ten probes at the server", || server.calls() == 16).await;
        (probes, rig.call(Kind::Unary).await.1.expect_err("every permit is out"))
    };
    assert!(eleventh.message().contains("every probe permit is taken"), "{eleventh:?}");
    assert_eq!(eleventh.metadata().get("grpc-retry-pushback-ms").expect("when to come again"), "1000");
    assert_eq!((rig.state(), rig.snap().half_open.in_flight, server.calls()), (State::HalfOpen, 10, 16));
    // Ten good ones close it.
    server.tell(Told::Well);
    for probe in probes {
        within("a probe's answer", probe).await.expect("no panic").expect("the server is well");
    }
    assert_eq!(rig.state(), State::Closed);
    assert_eq!(rig.seen.causes(), ["tripped", "wait_elapsed", "probe_failed", "wait_elapsed", "probes_succeeded"]);
    rig.assert_no_permit_leaked();
}

#[tokio::test]
async fn r30_a_stream_that_outlives_the_lease_is_a_good_probe_if_it_was_answered() {
    let (server, rig) = rig().await;
    server.tell(Told::Fail(tonic::Code::Unavailable));
    for _ in 0..5 {
        rig.call(Kind::Unary).await.1.expect_err("as told");
    }
    let lease = PolicySettings::grpc().half_open.lease;
    // Not one word within the lease: lost.
    server.tell(Told::Hang);
    rig.clock.advance(WAIT);
    let mut client = rig.client.clone();
    let silent = tokio::spawn(async move { client.get(Ask::default()).await });
    until("the probe at the server", || server.calls() == 6).await;
    rig.clock.advance(lease);
    rig.breaker().tick();
    assert_eq!((rig.state(), rig.seen.causes().last()), (State::Open, Some(&"probe_lost")));
    // Its end, when it comes, is late.
    server.tell(Told::HangLate);
    until("the silent one's headers", || server.calls() == 6).await;
    rig.clock.advance(WAIT);
    let mut client = rig.client.clone();
    let mut stream =
        within("headers", client.open(Kind::Server, tonic::Request::new(tokio_stream::once(Ask::default()))))
            .await
            .expect("the server answers");
    within("a message", stream.message()).await.expect("a message").expect("a message");
    assert_eq!((rig.state(), rig.snap().half_open.good), (State::HalfOpen, 0));
    // Answered at its beginning, then silent for all of the lease.
    rig.clock.advance(lease);
    rig.breaker().tick();
    assert_eq!((rig.state(), rig.snap().half_open.good, rig.snap().half_open.in_flight), (State::HalfOpen, 1, 0));
    server.tell(Told::Fail(tonic::Code::Internal));
    within("the stream's end", stream.message()).await.expect_err("as told");
    within("the silent one's end", silent).await.expect("no panic").expect_err("it failed late");
    assert_eq!((rig.state(), rig.snap().counts.late, rig.snap().in_flight), (State::HalfOpen, 2, 0));
}

#[tokio::test]
async fn r05_a_probe_that_only_sends_needs_a_lease_that_is_long_enough() {
    // What goes into a request is not seen by the layer: only the answer counts.
    for (lease, cause) in [(40, "probe_lost"), (120, "probes_succeeded")] {
        let server = Accounts::serve().await.expect("a free port");
        let mut settings = PolicySettings::grpc();
        (settings.half_open.successes, settings.half_open.lease) = (1, Duration::from_secs(lease));
        let rig = Rig::with(server.address, settings, Codes::default());
        server.tell(Told::Fail(tonic::Code::Unavailable));
        for _ in 0..5 {
            rig.call(Kind::Unary).await.1.expect_err("as told");
        }
        // It answers when the last of the request is there.
        server.tell(Told::Well);
        rig.clock.advance(WAIT);
        let (ask, asked) = tokio::sync::mpsc::unbounded_channel();
        let asks = tokio_stream::wrappers::UnboundedReceiverStream::new(asked);
        let mut client = rig.client.clone();
        let probe = tokio::spawn(async move { client.open(Kind::Client, tonic::Request::new(asks)).await });
        for _ in 0..10 {
            ask.send(Ask { name: "ana".into() }).expect("it listens");
            until("the probe at the server", || server.calls() == 6).await;
            rig.clock.advance(Duration::from_secs(5));
            rig.breaker().tick();
        }
        drop(ask);
        let mut answers = within("an answer", probe).await.expect("no panic").expect("the server is well");
        while within("a message", answers.message()).await.expect("the server is well").is_some() {}
        assert_eq!(rig.seen.causes().last(), Some(&cause), "a lease of {lease} s");
        rig.assert_no_permit_leaked();
    }
}
