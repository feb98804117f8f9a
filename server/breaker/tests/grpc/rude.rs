//! Servers and proxies that break the promises of gRPC: what it proves, and that no permit leaks.

use std::time::Duration;

use fuseboard_breaker::{Event, Outcome, Phase, ProbeOutcome, State, Verdict, Why, grpc::Code};
use h2::Reason;
use tokio::{net::TcpListener, time::timeout};
use tonic::Request;

use crate::{
    accounts::{Ask, Kind},
    rig::{Rig, WAIT, until, within},
    rude_server::{Rude, RudeServer},
};

type Proved = (Outcome, Code, Option<Phase>, Option<Why>);

/// What one call proves: made as a probe, since a probe's row says everything.
async fn proved(rig: &Rig) -> Proved {
    while let Ok(permit) = rig.breaker().try_acquire() {
        permit.settle(Verdict::failure());
    }
    rig.clock.advance(WAIT);
    let (_, end) = rig.call(Kind::Server).await;
    end.expect_err("not one of them answers well");
    let events = rig.seen.events();
    let probe = events.iter().rev().find_map(|event| if let Event::Probe(probe) = event { Some(probe) } else { None });
    let probe = probe.expect("a probe's row").clone();
    let ProbeOutcome::Settled(outcome) = probe.outcome else { panic!("{probe:?}") };
    let known = probe.evidence.expect("what is known");
    rig.assert_no_permit_leaked();
    (outcome, Code::from_number(known.status.expect("a code").into()), known.phase, known.why)
}

#[tokio::test]
async fn r29_what_servers_and_proxies_prove() {
    let failure = |code, phase| (Outcome::Failure, code, Some(phase), None);
    let alive = |code, phase| (Outcome::Alive, code, Some(phase), None);
    let unseen = (Outcome::Ignored, Code::Unavailable, None, Some(Why::StaleConnection));
    let table = [
        (Rude::TrailersOnly("14"), failure(Code::Unavailable, Phase::Trailers)),
        (Rude::TrailersOnly("5"), alive(Code::NotFound, Phase::Trailers)),
        (Rude::TrailersOnly("1"), alive(Code::Cancelled, Phase::Trailers)),
        (Rude::TrailersOnly("99"), failure(Code::Unknown, Phase::Trailers)),
        (Rude::TrailersOnly("oops"), failure(Code::Unknown, Phase::Trailers)),
        (Rude::Http(503), failure(Code::Unavailable, Phase::Head)),
        (Rude::Http(429), failure(Code::Unavailable, Phase::Head)),
        (Rude::Http(500), failure(Code::Unknown, Phase::Head)),
        (Rude::Http(404), alive(Code::Unimplemented, Phase::Head)),
        (Rude::Http(401), alive(Code::Unauthenticated, Phase::Head)),
        (Rude::Page, failure(Code::Unknown, Phase::Head)),
        (Rude::NoStatus, failure(Code::Unknown, Phase::Trailers)),
        (Rude::Reset(Reason::INTERNAL_ERROR), failure(Code::Unavailable, Phase::Head)),
        (Rude::Reset(Reason::CANCEL), failure(Code::Unknown, Phase::Trailers)),
        (Rude::Reset(Reason::REFUSED_STREAM), unseen),
        (Rude::ResetLate(Reason::INTERNAL_ERROR), failure(Code::Unavailable, Phase::Body)),
        (Rude::ResetLate(Reason::CANCEL), failure(Code::Unknown, Phase::Trailers)),
        (Rude::GoAway(Reason::INTERNAL_ERROR), failure(Code::Unavailable, Phase::Head)),
        (Rude::GoAwayBelow, unseen),
        (Rude::HangUp, failure(Code::Unavailable, Phase::Head)),
    ];
    for (rude, wanted) in table {
        let server = RudeServer::serve(rude).await;
        let rig = Rig::new(server.address);
        assert_eq!(proved(&rig).await, wanted, "{rude:?}");
    }
}

#[tokio::test]
async fn r28_nobody_listening_is_a_failure_to_connect() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("bound");
    drop(listener);
    let rig = Rig::new(address);
    assert_eq!(proved(&rig).await, (Outcome::Failure, Code::Unavailable, Some(Phase::Connect), None));
}

#[tokio::test]
async fn a_proxy_that_answers_for_a_dead_server_trips() {
    for rude in [Rude::Http(502), Rude::Page, Rude::NoStatus, Rude::Reset(Reason::INTERNAL_ERROR), Rude::HangUp] {
        let server = RudeServer::serve(rude).await;
        let rig = Rig::new(server.address);
        for call in 1..=5 {
            assert_eq!(rig.state(), State::Closed, "{rude:?}: open before call {call}");
            rig.call(Kind::Unary).await.1.expect_err("not one of them answers well");
        }
        assert_eq!(rig.state(), State::Open, "{rude:?}");
        rig.assert_no_permit_leaked();
    }
}

#[tokio::test]
async fn streams_the_server_never_looked_at_are_no_failures() {
    for rude in [Rude::Reset(Reason::REFUSED_STREAM), Rude::GoAwayBelow] {
        let server = RudeServer::serve(rude).await;
        let rig = Rig::new(server.address);
        for _ in 0..20 {
            rig.call(Kind::Unary).await.1.expect_err("refused");
        }
        assert_eq!((rig.state(), rig.snap().counts.ignored, rig.snap().in_flight), (State::Closed, 20, 0), "{rude:?}");
    }
}

#[tokio::test]
async fn a_request_the_server_does_not_read_gives_its_permit_back() {
    let server = RudeServer::serve(Rude::Deaf).await;
    let rig = Rig::new(server.address);
    // More than fits in the window of a stream and of the connection.
    let big = || Ask { name: "x".repeat(1 << 20) };
    let mut calls = Vec::new();
    for _ in 0..5 {
        let mut client = rig.client.clone();
        calls.push(tokio::spawn(async move { client.get(big()).await }));
    }
    until("five calls on their way", || rig.snap().in_flight == 5).await;
    for call in &calls {
        call.abort();
    }
    until("their permits", || rig.snap().in_flight == 0).await;
    assert_eq!((rig.state(), rig.snap().counts.ignored), (State::Closed, 5));
    // With a deadline it is the server's fault.
    for _ in 0..5 {
        let mut ask = Request::new(big());
        ask.set_timeout(Duration::from_millis(150));
        let mut client = rig.client.clone();
        within("a deadline", client.get(ask)).await.expect_err("it is not read");
    }
    assert_eq!(rig.state(), State::Open);
    rig.assert_no_permit_leaked();
}

#[tokio::test]
async fn an_answer_the_caller_does_not_read_gives_its_permit_back() {
    let server = RudeServer::serve(Rude::Flood).await;
    let rig = Rig::new(server.address);
    for _ in 0..10 {
        let mut client = rig.client.clone();
        let asks = Request::new(tokio_stream::once(Ask::default()));
        let stream = within("headers", client.open(Kind::Server, asks)).await.expect("headers");
        assert_eq!(rig.snap().in_flight, 1);
        drop(stream);
        assert_eq!(rig.snap().in_flight, 0);
    }
    assert_eq!((rig.state(), rig.snap().counts.ignored), (State::Closed, 10));
}

#[tokio::test]
async fn half_open_after_any_of_them_has_all_its_permits() {
    for rude in [Rude::Reset(Reason::REFUSED_STREAM), Rude::GoAwayBelow, Rude::Deaf] {
        let server = RudeServer::serve(rude).await;
        let rig = Rig::new(server.address);
        while let Ok(permit) = rig.breaker().try_acquire() {
            permit.settle(Verdict::failure());
        }
        rig.clock.advance(WAIT);
        // Ignored, every one: half-open stays, and so do its ten permits.
        for _ in 0..15 {
            let mut client = rig.client.clone();
            let _ = timeout(Duration::from_millis(20), client.get(Ask::default())).await;
        }
        assert_eq!((rig.state(), rig.snap().counts.ignored), (State::HalfOpen, 15), "{rude:?}");
        let permits: Vec<_> = std::iter::from_fn(|| rig.breaker().try_acquire_owned().ok()).collect();
        assert_eq!(permits.len(), 10, "{rude:?}: permits leaked");
    }
}
