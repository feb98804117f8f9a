//! Callers that go away: before they begin, while it connects, before headers, in the middle of a stream.

use std::{
    collections::VecDeque,
    convert::Infallible,
    future::pending,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use fuseboard_breaker::{
    Breaker, ManualClock, NoSink, Policy, PolicySettings, State, TripRule, grpc::ByTrailers, tower::BreakerLayer,
};
use http::{HeaderMap, HeaderName};
use http_body::{Body, Frame};
use tonic::{Request, transport::Endpoint};
use tower::{Layer, Service, service_fn};

use crate::{
    accounts::{Accounts, AccountsClient, Ask, Kind, Told},
    rig::{Rig, until, within},
};

#[tokio::test]
async fn r26_callers_that_leave_early_leave_a_slow_server_closed() {
    let server = Accounts::serve().await.expect("a free port");
    server.tell(Told::Hang);
    let rig = Rig::new(server.address);
    let calls: Vec<_> = (0..1_000)
        .map(|_| {
            let mut client = rig.client.clone();
            tokio::spawn(async move { client.get(Ask::default()).await })
        })
        .collect();
    until("some of them at the server", || server.calls() > 0).await;
    for call in &calls {
        call.abort();
    }
    until("every permit", || rig.snap().in_flight == 0).await;
    let counts = rig.snap().counts;
    assert_eq!((rig.state(), counts.failure, counts.success), (State::Closed, 0, 0));
    server.tell(Told::Well);
    rig.call(Kind::Unary).await.1.expect("the server is well");
}

#[tokio::test]
async fn r03_a_call_is_let_go_of_while_it_connects() {
    let layer = BreakerLayer::grpc("accounts");
    let breaker = layer.breaker().clone();
    // A connection that is never made.
    let connector =
        service_fn(|_: http::Uri| pending::<Result<hyper_util::rt::TokioIo<tokio::net::TcpStream>, std::io::Error>>());
    let channel = Endpoint::from_static("http://accounts.example").connect_with_connector_lazy(connector);
    let mut client = AccountsClient::new(layer.layer(channel));
    for _ in 0..10 {
        let call = client.get(Ask::default());
        let gone = tokio::time::timeout(Duration::from_millis(5), call).await;
        assert!(gone.is_err(), "there is no connection");
        let snap = breaker.snapshot();
        assert_eq!(snap.in_flight, 0, "the permit is back at once");
    }
    let counts = breaker.snapshot().counts;
    assert_eq!((breaker.snapshot().state, counts.ignored, counts.failure), (State::Closed, 10, 0));
}

#[tokio::test]
async fn a_stream_is_let_go_of_in_the_middle() {
    let server = Accounts::serve().await.expect("a free port");
    server.tell(Told::HangLate);
    let rig = Rig::new(server.address);
    for kind in Kind::ALL {
        let mut client = rig.client.clone();
        let mut stream = within("headers", client.open(kind, Request::new(tokio_stream::once(Ask::default()))))
            .await
            .expect("headers");
        within("a message", stream.message()).await.expect("a message").expect("a message");
        assert_eq!(rig.snap().in_flight, 1);
        drop(stream);
        assert_eq!(rig.snap().in_flight, 0, "{kind:?}");
    }
    assert_eq!((rig.state(), rig.snap().counts.ignored), (State::Closed, 4));
}

struct Panics;

impl Body for Panics {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        panic!("in the body")
    }
}

#[test]
fn r04_a_panic_in_the_body_is_a_failure_and_any_other_unwinding_is_not() {
    let breaker = Breaker::new("accounts", Policy::grpc(), Arc::new(ManualClock::default()), Arc::new(NoSink));
    let layer = BreakerLayer::new(breaker.clone(), ByTrailers::default());
    let mut service = layer
        .layer(service_fn(|_: http::Request<()>| std::future::ready(Ok::<_, Infallible>(http::Response::new(Panics)))));
    let mut cx = Context::from_waker(Waker::noop());
    let mut answer = |cx: &mut Context<'_>| {
        assert!(service.poll_ready(cx).is_ready());
        let mut call = Box::pin(service.call(http::Request::new(())));
        let Poll::Ready(Ok(response)) = call.as_mut().poll(cx) else { panic!("headers come at once") };
        response.into_body()
    };
    let mut body = Box::pin(answer(&mut cx));
    assert_eq!(breaker.snapshot().in_flight, 1);
    assert!(
        catch_unwind(AssertUnwindSafe(|| body.as_mut().poll_frame(&mut Context::from_waker(Waker::noop())))).is_err()
    );
    let snap = breaker.snapshot();
    assert_eq!((snap.in_flight, snap.counts.failure), (0, 1));

    let body = answer(&mut cx);
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _held = body;
        panic!("elsewhere")
    }));
    assert!(unwound.is_err());
    let snap = breaker.snapshot();
    assert_eq!((snap.in_flight, snap.counts.failure, snap.counts.cancelled), (0, 1, 1));
}

/// These frames, each at once.
struct Played(VecDeque<Frame<Bytes>>);

impl Body for Played {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}

#[test]
fn r11_a_stream_is_slow_by_its_head_and_a_unary_call_by_its_trailers() {
    const SLOW: Duration = Duration::from_secs(2);
    for (messages, head, end, slow) in [
        (1, Duration::ZERO, Duration::ZERO, false),
        (1, SLOW, Duration::ZERO, true),
        (1, Duration::ZERO, SLOW, true),
        (2, SLOW, Duration::ZERO, true),
        (2, Duration::ZERO, SLOW, false),
    ] {
        let (clock, mut settings) = (Arc::new(ManualClock::default()), PolicySettings::grpc());
        settings.trip = vec![TripRule::SlowRate {
            slow_rate: 1.0,
            slow_after: Duration::from_secs(1),
            within: Duration::from_secs(60),
            min_calls: 1,
        }];
        let policy = Policy::new(settings).expect("it can recover");
        let breaker = Breaker::new("accounts", policy, clock.clone(), Arc::new(NoSink));
        let layer = BreakerLayer::new(breaker.clone(), ByTrailers::default());
        let mut service = layer.layer(service_fn(|_: http::Request<()>| {
            clock.advance(head);
            // Each message comes in two pieces.
            let pieces = (0..messages).flat_map(|_| [&[0, 0, 0, 0, 1][..], &[7]]).map(Bytes::from_static);
            let status = HeaderMap::from_iter([(HeaderName::from_static("grpc-status"), 0.into())]);
            let frames = pieces.map(Frame::data).chain([Frame::trailers(status)]).collect();
            std::future::ready(Ok::<_, Infallible>(http::Response::new(Played(frames))))
        }));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(service.poll_ready(&mut cx).is_ready());
        let mut call = Box::pin(service.call(http::Request::new(())));
        let Poll::Ready(Ok(response)) = call.as_mut().poll(&mut cx) else { panic!("headers come at once") };
        let mut body = Box::pin(response.into_body());
        for _ in 0..2 * messages {
            let frame = body.as_mut().poll_frame(&mut cx);
            assert!(matches!(frame, Poll::Ready(Some(Ok(frame))) if frame.is_data()));
        }
        clock.advance(end);
        let frame = body.as_mut().poll_frame(&mut cx);
        assert!(matches!(frame, Poll::Ready(Some(Ok(frame))) if frame.is_trailers()));
        let tripped = breaker.snapshot().state == State::Open;
        assert_eq!((tripped, breaker.snapshot().in_flight), (slow, 0), "{messages} messages, {head:?} and {end:?}");
    }
}
