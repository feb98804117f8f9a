//! gRPC through the gateway, with a tonic server behind it and a tonic client in front.

use std::{sync::Arc, time::Duration};

use ::http::uri::PathAndQuery;
use bytes::Bytes;
use fuseboard_breaker::{Mode, OverrideEnd, State};
use futures_util::{StreamExt, stream};
use http_body_util::Full;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use tonic::{Code, Request, metadata::MetadataValue};

use crate::support::{
    app::{TestApp, somebody},
    http,
    rpc::{Raw, RpcHost, client, get, unary},
    soon,
};

const GET: &str = "/accounts.v1.Accounts/Get";

async fn gateway(host: &RpcHost) -> TestApp {
    TestApp::start(&host.upstream("accounts", "[\"accounts.v1.*\"]")).await
}

#[tokio::test]
async fn all_four_kinds_pass() {
    let host = RpcHost::start().await;
    let app = gateway(&host).await;
    let mut client = client(app.gateway()).await;
    assert_eq!(get(&mut client, GET).await.expect("an answer").into_inner(), "hi");

    let path = |method: &str| PathAndQuery::try_from(format!("/accounts.v1.Accounts/{method}")).expect("a path");
    let asked = Request::new(Bytes::from_static(b"abc"));
    ready(&mut client).await;
    let listed = client.server_streaming(asked, path("List"), Raw).await.expect("a stream").into_inner();
    let listed: Vec<Bytes> = soon("the list", listed.map(|each| each.expect("a message")).collect()).await;
    assert_eq!(listed, ["a", "b", "c"]);

    let parts = stream::iter(["x", "y", "z"].map(Bytes::from));
    ready(&mut client).await;
    let summed = soon("the sum", client.client_streaming(Request::new(parts), path("Sum"), Raw)).await;
    assert_eq!(summed.expect("an answer").into_inner(), "xyz");

    // Each answer comes before the next question is asked.
    let (ask, asked) = tokio::sync::mpsc::unbounded_channel::<Bytes>();
    let asked = stream::unfold(asked, |mut asked| async move { asked.recv().await.map(|each| (each, asked)) });
    ask.send("first".into()).expect("it listens");
    ready(&mut client).await;
    let chat = soon("the chat", client.streaming(Request::new(asked), path("Chat"), Raw)).await;
    let mut chat = chat.expect("a stream").into_inner();
    for (heard, next) in [("first", "second"), ("second", "third")] {
        assert_eq!(soon("an echo", chat.message()).await.expect("no error").as_deref(), Some(heard.as_bytes()));
        ask.send(next.into()).expect("it listens");
    }
    drop(ask);
    assert_eq!(soon("the last echo", chat.message()).await.expect("no error").as_deref(), Some(&b"third"[..]));
    assert_eq!(soon("the end", chat.message()).await.expect("no error"), None);

    let counts = app.breaker("accounts").snapshot().counts;
    assert_eq!((counts.success, counts.failure, counts.ignored), (4, 0, 0));
}

#[tokio::test]
async fn metadata_and_deadline_arrive_as_they_were_sent() {
    let host = RpcHost::start().await;
    let app = gateway(&host).await;
    let mut client = client(app.gateway()).await;
    let mut request = Request::new(Bytes::from_static(b"hi"));
    request.set_timeout(Duration::from_millis(54_321));
    request.metadata_mut().insert("x-trace", "a=b; c".parse().expect("a value"));
    request.metadata_mut().insert_bin("x-key-bin", MetadataValue::from_bytes(&[0, 1, 2, 255]));
    let answer = unary(&mut client, GET, request).await.expect("an answer");
    assert_eq!(answer.metadata().get("x-trace").expect("it came back"), "a=b; c");
    let bytes = answer.metadata().get_bin("x-key-bin").expect("it came back").to_bytes().expect("bytes");
    assert_eq!(bytes, [0, 1, 2, 255].as_slice());
    let seen = host.metadata();
    assert_eq!(seen.get("grpc-timeout").expect("it went on"), "54321000u");
    assert_eq!(seen.get("te").expect("it went on"), "trailers");
}

#[tokio::test]
async fn ten_megabytes_pass_both_ways() {
    let host = RpcHost::start().await;
    let app = gateway(&host).await;
    let mut client = client(app.gateway()).await;
    let big: Bytes = (0..10 << 20).map(|at: u32| at as u8).collect::<Vec<_>>().into();
    let answer = unary(&mut client, GET, Request::new(big.clone())).await.expect("an answer");
    assert!(answer.into_inner() == big);
}

#[tokio::test]
async fn a_service_finds_its_upstream_and_one_that_nobody_names_is_unimplemented() {
    let (one, other) = (RpcHost::start().await, RpcHost::start().await);
    let text = format!(
        "{}{}",
        one.upstream("accounts", "[\"accounts.v1.*\"]"),
        other.upstream("audit", "[\"accounts.v1.Audit\", \"ledger.*\"]")
    );
    let app = TestApp::start(&text).await;
    let mut client = client(app.gateway()).await;
    for path in [GET, "/accounts.v1.Audit/Get", "/ledger.v2.Books/Get"] {
        get(&mut client, path).await.expect("an answer");
    }
    assert_eq!((one.calls(), other.calls()), (1, 2));
    let status = get(&mut client, "/billing.v1.Invoices/Get").await.expect_err("nobody serves it");
    assert_eq!(status.code(), Code::Unimplemented);
    let message = status.message();
    assert!(message.contains("\"billing.v1.Invoices\"") && message.contains("ledger.*"), "{message}");
    assert_eq!((one.calls(), other.calls()), (1, 2));

    let web = http::get(app.gateway(), "/accounts/Get").await;
    assert_eq!(web.status, 415, "it is called by service name");
    let asked = "POST /accounts.v1.Accounts/Get HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\
                 content-type: application/grpc\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(http::send(app.gateway(), asked).await.status, 505, "HTTP/1.1 has no way to answer it");
}

#[tokio::test]
async fn a_refusal_is_unavailable_and_says_which_breaker_and_how_long() {
    let host = RpcHost::start().await;
    let app = gateway(&host).await;
    let mut client = client(app.gateway()).await;
    host.fail_with(Code::Internal);
    for _ in 0..5 {
        assert_eq!(get(&mut client, GET).await.expect_err("as told").code(), Code::Internal);
    }
    assert_eq!(app.breaker("accounts").snapshot().state, State::Open);
    let status = get(&mut client, GET).await.expect_err("it is open");
    assert_eq!(status.code(), Code::Unavailable);
    let message = status.message();
    assert!(message.starts_with("accounts is open") && message.contains("try again in 1"), "{message}");
    let pushback = status.metadata().get("grpc-retry-pushback-ms").expect("advice").to_str().expect("text").to_owned();
    assert!((10_000..=15_000).contains(&pushback.parse::<u32>().expect("a number")), "{pushback}");

    app.breaker("accounts").set_override(Mode::ForcedOpen, OverrideEnd::Never, somebody(), "maintenance");
    let status = get(&mut client, GET).await.expect_err("it is held open");
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(status.metadata().get("grpc-retry-pushback-ms").expect("advice"), "-1");
    assert!(status.message().contains("accounts is held open"), "{}", status.message());
    assert_eq!(host.calls(), 5, "the host got none of these");
}

#[tokio::test]
async fn r27_a_deadline_is_enforced_here_too() {
    let host = RpcHost::start().await;
    let app = gateway(&host).await;
    // A client that says a deadline and has no timer of its own.
    let client = Client::builder(TokioExecutor::new()).http2_only(true).build_http::<Full<Bytes>>();
    let request = ::http::Request::post(format!("http://{}/accounts.v1.Accounts/Hang", app.gateway()));
    let request = request.header("content-type", "application/grpc").header("grpc-timeout", "150m");
    let request = request.body(Full::from(Bytes::from_static(&[0; 5]))).expect("a request");
    let answer = soon("an answer", client.request(request)).await.expect("an answer");
    let said = |name: &str| answer.headers().get(name).map(|value| value.to_str().expect("text").to_owned());
    assert_eq!((answer.status().as_u16(), said("grpc-status").as_deref()), (200, Some("4")), "{answer:?}");
    let message = said("grpc-message").expect("words");
    assert!(message.contains("accounts did not answer"), "{message}");
    let snapshot = app.breaker("accounts").snapshot();
    assert_eq!((snapshot.counts.failure, snapshot.in_flight), (1, 0));
}

#[tokio::test]
async fn a_host_that_is_not_there_is_unavailable() {
    let host = RpcHost::start().await;
    let text = host.upstream("accounts", "[\"*\"]");
    // A port that refuses connections and that nobody else can take.
    let socket = tokio::net::TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
    let free = socket.local_addr().expect("an address").to_string();
    let app = TestApp::start(&text.replace(&host.address.to_string(), &free)).await;
    let status = get(&mut client(app.gateway()).await, GET).await.expect_err("nobody listens");
    assert_eq!(status.code(), Code::Unavailable);
    assert!(status.message().contains(&free) && status.message().contains("connect"), "{}", status.message());
}

#[tokio::test]
async fn health_is_asked_of_an_upstream_and_stops_while_it_is_held_open() {
    const CHECK: &str = "/grpc.health.v1.Health/Check";
    let (one, other) = (RpcHost::start().await, RpcHost::start().await);
    let text = format!("{}{}", one.upstream("accounts", "[\"a.*\"]"), other.upstream("ledger", "[\"l.*\"]"));
    let app = TestApp::start(&text).await;
    let mut client = client(app.gateway()).await;
    let status = get(&mut client, CHECK).await.expect_err("whose?");
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("fuseboard-upstream"), "{}", status.message());
    let of = |name: &str| {
        let mut request = Request::new(Bytes::new());
        request.metadata_mut().insert("fuseboard-upstream", name.parse().expect("a value"));
        request
    };
    unary(&mut client, CHECK, of("ledger")).await.expect("an answer");
    assert_eq!((one.calls(), other.calls()), (0, 1));
    assert_eq!(other.metadata().get("fuseboard-upstream"), None, "it ends at the gateway");
    assert_eq!(unary(&mut client, CHECK, of("npm")).await.expect_err("no such").code(), Code::NotFound);
    let snapshot = app.breaker("ledger").snapshot();
    assert_eq!((snapshot.counts.success, snapshot.called), (0, false), "not counted");

    app.breaker("ledger").set_override(Mode::ForcedOpen, OverrideEnd::Never, somebody(), "maintenance");
    let status = unary(&mut client, CHECK, of("ledger")).await.expect_err("it is held open");
    assert_eq!((status.code(), other.calls()), (Code::Unavailable, 1));
}

#[tokio::test]
async fn many_streams_at_once_each_get_their_own() {
    let host = RpcHost::start().await;
    let app = gateway(&host).await;
    let client = client(app.gateway()).await;
    let together = Arc::new(tokio::sync::Barrier::new(300));
    let calls = (0..300_u32).map(|number| {
        let (mut client, together) = (client.clone(), together.clone());
        tokio::spawn(async move {
            let (ask, asked) = tokio::sync::mpsc::unbounded_channel::<Bytes>();
            let asked = stream::unfold(asked, |mut asked| async move { asked.recv().await.map(|each| (each, asked)) });
            ask.send(number.to_string().into()).expect("it listens");
            client.ready().await.expect("it is there");
            let path = PathAndQuery::from_static("/accounts.v1.Accounts/Chat");
            let mut chat = client.streaming(Request::new(asked), path, Raw).await.expect("a stream").into_inner();
            assert_eq!(chat.message().await.expect("no error"), Some(number.to_string().into()));
            // All of them are open at once.
            together.wait().await;
            drop(ask);
            assert_eq!(chat.message().await.expect("no error"), None);
        })
    });
    for call in calls.collect::<Vec<_>>() {
        soon("a chat's end", call).await.expect("no panic");
    }
    let snapshot = app.breaker("accounts").snapshot();
    assert_eq!((snapshot.counts.success, snapshot.in_flight), (300, 0));
}

async fn ready(client: &mut tonic::client::Grpc<tonic::transport::Channel>) {
    soon("a channel", client.ready()).await.expect("it is there");
}
