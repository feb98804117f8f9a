//! The same layer under hyper's client, without tonic on this side.

use std::{convert::Infallible, io, sync::Arc};

use bytes::Bytes;
use fuseboard_breaker::{
    Breaker, ManualClock, NoSink, Policy, State,
    grpc::ByTrailers,
    tower::{BoxError, BreakerLayer, BreakerService},
};
use http::{Request, Uri};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody, combinators::BoxBody};
use hyper::client::conn::http2;
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use prost::Message;
use tokio::net::TcpStream;
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::{
    accounts::{Account, Accounts, Ask, Told},
    rig::within,
};

type Sent = BoxBody<Bytes, io::Error>;
type Hyper = BreakerService<Client<HttpConnector, Sent>, ByTrailers>;

fn client() -> (Breaker, Hyper) {
    let breaker = Breaker::new("accounts", Policy::grpc(), Arc::new(ManualClock::default()), Arc::new(NoSink));
    let layer = BreakerLayer::new(breaker.clone(), ByTrailers::default());
    let client = Client::builder(TokioExecutor::new()).http2_only(true).build_http();
    (breaker, layer.layer(client))
}

fn request(server: &Accounts, body: Sent) -> Request<Sent> {
    let uri: Uri = format!("http://{}/accounts.v1.Accounts/Get", server.address).parse().expect("an address");
    Request::post(uri)
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(body)
        .expect("a request")
}

/// A message behind its length, as gRPC frames it.
fn framed(message: &impl Message) -> Bytes {
    let bytes = message.encode_to_vec();
    let mut framed = vec![0];
    framed.extend_from_slice(&u32::try_from(bytes.len()).expect("short").to_be_bytes());
    framed.extend_from_slice(&bytes);
    framed.into()
}

fn ask() -> Sent {
    let never = |never: Infallible| match never {};
    Full::new(framed(&Ask { name: "ana".into() })).map_err(never).boxed()
}

async fn call(client: &mut Hyper, request: Request<Sent>) -> Result<(Bytes, String, String), BoxError> {
    let response = client.ready().await?.call(request).await?;
    let head = response.headers().clone();
    let whole = response.into_body().collect().await?;
    let end = whole.trailers().cloned().unwrap_or(head);
    let text = |name: &str| end.get(name).map_or(String::new(), |value| value.to_str().expect("text").to_owned());
    let (status, message) = (text("grpc-status"), text("grpc-message"));
    Ok((whole.to_bytes(), status, message))
}

#[tokio::test]
async fn hypers_client_is_judged_and_refused_alike() {
    let server = Accounts::serve().await.expect("a free port");
    let (breaker, mut client) = client();
    let (body, status, _) = within("an answer", call(&mut client, request(&server, ask()))).await.expect("answered");
    assert_eq!((body, status.as_str()), (framed(&Account { name: "ana".into(), number: 1 }), "0"));
    assert_eq!((breaker.snapshot().counts.success, breaker.snapshot().in_flight), (1, 0));
    server.tell(Told::FailLate(tonic::Code::DataLoss));
    for _ in 0..5 {
        let (_, status, message) =
            within("an end", call(&mut client, request(&server, ask()))).await.expect("answered");
        assert_eq!((status.as_str(), message.as_str()), ("15", "as%20told"));
    }
    assert_eq!(breaker.snapshot().state, State::Open);
    let (body, status, message) =
        within("a refusal", call(&mut client, request(&server, ask()))).await.expect("answered");
    assert_eq!((body.len(), status.as_str(), server.calls()), (0, "14", 6));
    assert!(message.starts_with("accounts is open"), "{message}");
}

#[tokio::test]
async fn r29_a_request_that_breaks_on_our_side_is_no_evidence() {
    let server = Accounts::serve().await.expect("a free port");
    let (breaker, mut client) = client();
    for _ in 0..6 {
        let parts = [Ok(Frame::data(Bytes::from_static(&[0, 0]))), Err(io::Error::other("our own file is gone"))];
        let broken = StreamBody::new(tokio_stream::iter(parts)).boxed();
        within("an end", call(&mut client, request(&server, broken))).await.expect_err("it broke");
    }
    let counts = breaker.snapshot().counts;
    assert_eq!((breaker.snapshot().state, counts.failure, counts.ignored), (State::Closed, 0, 6));
}

#[tokio::test]
async fn a_call_that_never_left_a_dead_connection_is_no_evidence() {
    let server = Accounts::serve().await.expect("a free port");
    let socket = TcpStream::connect(server.address).await.expect("it listens");
    let (send, connection) =
        http2::handshake::<_, _, Sent>(TokioExecutor::new(), TokioIo::new(socket)).await.expect("it speaks h2");
    // Gone without a word, and the one who sends does not know yet.
    drop(connection);
    let layer = BreakerLayer::grpc("accounts");
    let breaker = layer.breaker().clone();
    let mut service = layer.layer(service_fn(move |request: Request<Sent>| {
        let mut send = send.clone();
        send.send_request(request)
    }));
    for _ in 0..10 {
        let answer = service.ready().await.expect("always").call(request(&server, ask())).await;
        assert!(answer.is_err(), "it cannot be sent");
    }
    let snap = breaker.snapshot();
    assert_eq!((snap.state, snap.counts.ignored, snap.in_flight, server.calls()), (State::Closed, 10, 0, 0));
}
