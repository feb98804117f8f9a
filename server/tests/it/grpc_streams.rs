//! gRPC streams through the gateway that are stuck, reset or cut: none keeps a permit, none stops the others.

use std::{
    future::poll_fn,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use fuseboard_app::wire::breaker::Breaker;
use futures_util::{StreamExt, stream};
use h2::{Reason, client::SendRequest};
use http::{Method, Request as HttpRequest, StatusCode, uri::PathAndQuery};
use serde_json::json;
use tokio::{net::TcpStream, task::JoinSet};
use tonic::{Code, Request};

use crate::support::{
    app::TestApp,
    desk::Desk,
    rpc::{Raw, RpcHost, client, unary},
    soon,
};

const GET: &str = "/accounts.v1.Accounts/Get";
const WATCH: &str = "/grpc.health.v1.Health/Watch";

async fn until(so: impl Fn() -> bool) {
    while !so() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn stuck_uploads_leave_room_for_the_others_on_their_connection() {
    /// Uploads, and what the gateway takes in of each.
    const STUCK: usize = 100;
    const WINDOW: usize = 256 << 10;
    const PIECE: Bytes = Bytes::from_static(&[0; 16 << 10]);
    let (host, stuck_host) = (RpcHost::start().await, RpcHost::start().await);
    let upstreams = [host.upstream("accounts", "[\"accounts.v1.*\"]"), stuck_host.upstream("stuck", "[\"stuck.*\"]")];
    let app = TestApp::start(&upstreams.concat()).await;
    let mut client = client(app.gateway()).await;
    // The host takes none of it, and the gateway no more than its windows.
    let sent = Arc::new(AtomicUsize::new(0));
    let mut stuck = JoinSet::new();
    for _ in 0..STUCK {
        let (mut client, sent) = (client.clone(), sent.clone());
        let endless = stream::repeat(PIECE).inspect(move |piece| {
            sent.fetch_add(piece.len(), Ordering::SeqCst);
        });
        stuck.spawn(async move {
            soon("a channel", client.ready()).await.expect("it is there");
            let path = PathAndQuery::from_static("/stuck.Host/Hang");
            client.client_streaming::<_, Bytes, Bytes, _>(Request::new(endless), path, Raw).await
        });
    }
    soon("the stuck calls' arrival", until(|| stuck_host.calls() == STUCK)).await;
    soon("every window full", until(|| sent.load(Ordering::SeqCst) >= STUCK * WINDOW)).await;
    let some = Bytes::from(vec![7; 256 * 1024]);
    for _ in 0..20 {
        let answer = unary(&mut client, GET, Request::new(some.clone())).await.expect("an answer");
        assert!(answer.into_inner() == some);
    }
    assert_eq!(app.breaker("stuck").snapshot().in_flight, STUCK as u64);
    stuck.abort_all();
    soon("the stuck calls' permits", until(|| app.breaker("stuck").snapshot().in_flight == 0)).await;
    let counts = app.breaker("stuck").snapshot().counts;
    assert_eq!((counts.failure, counts.ignored), (0, STUCK as u64));
}

/// A client on bare h2, and what ends its connection.
async fn bare(app: &TestApp) -> (SendRequest<Bytes>, tokio::task::JoinHandle<()>) {
    let socket = TcpStream::connect(app.gateway()).await.expect("the gateway listens");
    // In a window as small as h2's own it takes a thousand short answers that wait to be read for an attack.
    let mut roomy = h2::client::Builder::new();
    roomy.initial_connection_window_size(4 << 20);
    let (send, connection) = roomy.handshake(socket).await.expect("it speaks h2");
    let connection = tokio::spawn(async move { drop(connection.await) });
    (send.ready().await.expect("a connection"), connection)
}

fn call(path: &str) -> HttpRequest<()> {
    let request = HttpRequest::post(format!("http://gateway{path}")).header("content-type", "application/grpc");
    request.body(()).expect("a request")
}

#[tokio::test]
async fn a_client_that_resets_or_hangs_up_gives_its_permit_back() {
    const MESSAGE: Bytes = Bytes::from_static(&[0, 0, 0, 0, 1, 7]);
    let host = RpcHost::start().await;
    let app = TestApp::start(&host.upstream("accounts", "[\"accounts.v1.*\"]")).await;
    let in_flight = || app.breaker("accounts").snapshot().in_flight;
    let mut expected = 0;
    for path in ["/accounts.v1.Accounts/Hang", "/accounts.v1.Accounts/Chat"] {
        for reason in [Some(Reason::CANCEL), Some(Reason::INTERNAL_ERROR), Some(Reason::FLOW_CONTROL_ERROR), None] {
            let (mut send, connection) = bare(&app).await;
            let (answer, mut request) = send.send_request(call(path), false).expect("a stream");
            request.send_data(MESSAGE, false).expect("a message");
            let answer = if path.ends_with("Chat") {
                let mut body = soon("a head", answer).await.expect("a head").into_body();
                let echo = soon("an echo", body.data()).await.expect("an echo").expect("no error");
                assert_eq!(echo, MESSAGE);
                (None, Some(body))
            } else {
                (Some(answer), None)
            };
            soon("the call", until(|| in_flight() == 1)).await;
            match reason {
                Some(reason) => request.send_reset(reason),
                None => connection.abort(),
            }
            soon("its permit", until(|| in_flight() == 0)).await;
            expected += 1;
            let counts = app.breaker("accounts").snapshot().counts;
            assert_eq!((counts.failure, counts.ignored), (0, expected), "{path} {reason:?}");
            drop((answer, request));
            connection.abort();
        }
    }
    // The host's side of the first kind ended, too: the next call gets through over what connection there is.
    let answer = unary(&mut client(app.gateway()).await, GET, Request::new(Bytes::from_static(b"hi"))).await;
    assert_eq!(answer.expect("an answer").into_inner(), "hi");
}

#[tokio::test]
async fn a_connection_that_is_cut_with_a_thousand_streams_keeps_no_permit() {
    const STREAMS: u64 = 1000;
    let host = RpcHost::start().await;
    let app = TestApp::start(&host.upstream("accounts", "[\"accounts.v1.*\"]")).await;
    let in_flight = || app.breaker("accounts").snapshot().in_flight;
    let (mut send, connection) = bare(&app).await;
    // One after the other, each answered and read before the next: to h2 a burst of messages as short as these is an
    // attack, and a host whose streams are cut before it has looked at them hangs up.
    let mut open = Vec::new();
    for _ in 0..STREAMS {
        poll_fn(|cx| send.poll_ready(cx)).await.expect("a connection");
        let (answer, mut request) = send.send_request(call("/accounts.v1.Accounts/Chat"), false).expect("a stream");
        request.send_data(Bytes::from_static(&[0, 0, 0, 0, 0]), false).expect("a message");
        let mut body = soon("a head", answer).await.expect("a head").into_body();
        soon("an echo", body.data()).await.expect("an echo").expect("no error");
        open.push((body, request));
    }
    assert_eq!(in_flight(), STREAMS);
    connection.abort();
    soon("their permits", until(|| in_flight() == 0)).await;
    let counts = app.breaker("accounts").snapshot().counts;
    assert_eq!((counts.failure, counts.ignored), (0, STREAMS));
}

#[tokio::test]
async fn a_health_watch_that_runs_ends_when_an_operator_holds_the_breaker_open() {
    let host = RpcHost::start().await;
    let app = Desk::start(&host.upstream("accounts", "[\"accounts.v1.*\"]")).await;
    let mut client = client(app.gateway()).await;
    soon("a channel", client.ready()).await.expect("it is there");
    let asked = Request::new(stream::iter([Bytes::from_static(b"serving")]).chain(stream::pending()));
    let watching = soon("a watch", client.streaming(asked, PathAndQuery::from_static(WATCH), Raw)).await;
    let mut watching = watching.expect("a stream").into_inner();
    assert_eq!(soon("a word", watching.message()).await.expect("no error").as_deref(), Some(&b"serving"[..]));

    let order = json!({ "mode": "forced_open", "reason": "maintenance", "for_ms": 60_000 });
    let held = app.act(Method::PUT, "/api/v1/breakers/accounts/override", order).await;
    assert_eq!(held.status, StatusCode::OK, "{}", held.body);
    let told = soon("its end", watching.message()).await.expect_err("it is held open");
    assert_eq!(told.code(), Code::Unavailable);
    assert!(told.message().starts_with("accounts is held open"), "{}", told.message());
    let pushback = told.metadata().get("grpc-retry-pushback-ms").expect("advice").to_str().expect("text");
    assert!((1..=60_000).contains(&pushback.parse::<u32>().expect("a number")), "{pushback}");
    let shown: Breaker = app.read("/api/v1/breakers/accounts").await;
    assert_eq!((shown.in_flight, shown.counts.refused), (0, 0), "it never held a permit");
}
