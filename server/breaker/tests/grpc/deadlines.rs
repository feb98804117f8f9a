//! Rule 27: whose deadline was it?

use std::{convert::Infallible, future::Ready, time::Duration};

use bytes::Bytes;
use fuseboard_breaker::{
    Event, Phase, PolicySettings, State, Why,
    grpc::{Code, Codes},
};
use http_body_util::Empty;
use tokio::time::timeout;
use tonic::{Request, Status};
use tower::{Layer, ServiceExt, service_fn};

use crate::{
    accounts::{Account, Accounts, Ask, Kind, Told},
    rig::{Rig, WAIT},
};

async fn rig() -> (Accounts, Rig) {
    let server = Accounts::serve().await.expect("a free port");
    let rig = Rig::new(server.address);
    (server, rig)
}

/// Five at once, each with this deadline.
async fn five(rig: &Rig, kind: Kind, deadline: Duration) -> Vec<(Vec<Account>, Status)> {
    let call = || async {
        let (came, end) = rig.call_with(kind, |request| request.set_timeout(deadline)).await;
        (came, end.expect_err("the server hangs"))
    };
    let (a, b, c, d, e) = tokio::join!(call(), call(), call(), call(), call());
    vec![a, b, c, d, e]
}

#[tokio::test]
async fn r27_a_hung_server_whose_callers_all_bring_deadlines_trips() {
    for kind in Kind::ALL {
        let (server, rig) = rig().await;
        server.tell(Told::Hang);
        for (came, status) in five(&rig, kind, Duration::from_millis(200)).await {
            // Tonic's own timer says CANCELLED, ours DEADLINE_EXCEEDED; either may be first.
            assert!(matches!(status.code(), tonic::Code::Cancelled | tonic::Code::DeadlineExceeded), "{status:?}");
            assert_eq!(came, []);
        }
        assert_eq!(rig.state(), State::Open, "{kind:?}: {:?}", rig.snap().counts);
        let Some(Event::Transition(row)) = rig.seen.events().pop() else { panic!("it tripped") };
        let fuseboard_breaker::Cause::Tripped { evidence, .. } = row.cause else { panic!("{row:?}") };
        assert!(evidence.iter().all(|call| call.evidence.phase == Some(Phase::Deadline)), "{evidence:?}");
        assert!(evidence.iter().all(|call| call.evidence.status == Some(4)), "{evidence:?}");
        rig.assert_no_permit_leaked();
    }
}

#[tokio::test]
async fn r27_the_deadline_holds_to_the_end_of_the_stream() {
    // Tonic's timer stops at the headers; a server that hangs after them would hang its callers for ever.
    for kind in [Kind::Server, Kind::Unary] {
        let (server, rig) = rig().await;
        server.tell(Told::HangLate);
        for (came, status) in five(&rig, kind, Duration::from_secs(1)).await {
            assert_eq!((came.len(), status.code()), (1, tonic::Code::DeadlineExceeded), "{status:?}");
            assert_eq!(status.message(), "accounts did not answer within the 1s the call had");
        }
        assert_eq!(rig.state(), State::Open, "{kind:?}: {:?}", rig.snap().counts);
        rig.assert_no_permit_leaked();
    }
}

#[tokio::test]
async fn r27_a_caller_that_lets_go_at_its_deadline_has_reached_it() {
    let (server, rig) = rig().await;
    server.tell(Told::Hang);
    // So long that a busy machine tells its last twentieth from its end.
    let budget = Duration::from_secs(2);
    let call = |after: Duration| {
        let mut client = rig.client.clone();
        async move {
            let mut ask = Request::new(Ask::default());
            ask.set_timeout(budget);
            timeout(after, client.get(ask)).await.expect_err("it lets go first")
        }
    };
    // Well before nine tenths of it: no evidence.
    let early = || call(budget / 20);
    tokio::join!(early(), early(), early(), early(), early());
    assert_eq!((rig.state(), rig.snap().counts.ignored), (State::Closed, 5));
    let late = || call(budget * 19 / 20);
    tokio::join!(late(), late(), late(), late(), late());
    assert_eq!((rig.state(), rig.snap().counts.failure), (State::Open, 5));
    rig.assert_no_permit_leaked();
}

#[tokio::test]
async fn r27_deadlines_too_short_to_tell_prove_nothing() {
    let (server, rig) = rig().await;
    server.tell(Told::Hang);
    for _ in 0..2 {
        five(&rig, Kind::Unary, Duration::from_millis(60)).await;
    }
    let counts = rig.snap().counts;
    assert_eq!((rig.state(), counts.failure, counts.ignored), (State::Closed, 0, 10));
    // What is too short is each client's own to say.
    let codes = Codes::default().min_budget(Duration::from_millis(50));
    let rig = Rig::with(server.address, PolicySettings::grpc(), codes);
    five(&rig, Kind::Unary, Duration::from_millis(60)).await;
    assert_eq!((rig.state(), rig.snap().counts.failure), (State::Open, 5));
}

#[tokio::test]
async fn r27_a_call_whose_deadline_is_over_is_not_sent() {
    let (server, rig) = rig().await;
    let set = |request: &mut Request<()>| request.set_timeout(Duration::ZERO);
    let status = rig.call_with(Kind::Unary, set).await.1.expect_err("there is no time left");
    assert_eq!((status.code(), server.calls()), (tonic::Code::DeadlineExceeded, 0));
    let snap = rig.snap();
    assert_eq!((snap.counts.ignored, snap.in_flight), (1, 0));
    // The channel behind it is not even handed the request.
    let untouched = service_fn(|_: http::Request<()>| -> Ready<Result<http::Response<Empty<Bytes>>, Infallible>> {
        panic!("there is no time left")
    });
    let request = http::Request::builder().header("grpc-timeout", "0n").body(()).expect("a request");
    let answer = rig.layer.layer(untouched).oneshot(request).await.expect("an answer");
    assert_eq!(Code::from_headers(answer.headers()), Some(Code::DeadlineExceeded));
    assert_eq!(rig.snap().in_flight, 0);
    // As a probe it says why, and leaves its permit to the next.
    trip(&server, &rig).await;
    rig.clock.advance(WAIT);
    rig.call_with(Kind::Unary, set).await.1.expect_err("there is no time left");
    let Some(Event::Probe(probe)) = rig.seen.events().pop() else { panic!("a probe's row") };
    assert_eq!(probe.evidence.expect("what is known").why, Some(Why::ShortDeadline));
    assert_eq!((rig.state(), rig.snap().half_open.in_flight), (State::HalfOpen, 0));
}

#[tokio::test]
async fn a_deadline_that_is_kept_changes_nothing() {
    let (_server, rig) = rig().await;
    for kind in Kind::ALL {
        let (came, end) = rig.call_with(kind, |request| request.set_timeout(Duration::from_secs(60))).await;
        assert!(!came.is_empty() && end.is_ok(), "{kind:?}: {end:?}");
    }
    assert_eq!((rig.snap().counts.success, rig.snap().in_flight), (4, 0));
}

async fn trip(server: &Accounts, rig: &Rig) {
    server.tell(Told::Fail(tonic::Code::Unavailable));
    for _ in 0..5 {
        rig.call(Kind::Unary).await.1.expect_err("as told");
    }
    assert_eq!(rig.state(), State::Open);
}
