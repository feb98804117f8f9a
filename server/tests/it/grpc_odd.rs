//! gRPC that is not as it should be: odd deadlines, statuses and metadata, gRPC-Web, and services that change hands.

use ::http::{HeaderMap, Request, StatusCode, uri::PathAndQuery};
use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use tonic::Code;

use crate::support::{
    app::TestApp,
    desk::Desk,
    http,
    rpc::{Raw, RpcHost, client, get},
    soon,
};

const GET: &str = "/accounts.v1.Accounts/Get";

fn h2c() -> Client<HttpConnector, Full<Bytes>> {
    Client::builder(TokioExecutor::new()).http2_only(true).build_http()
}

/// Status, and the trailers or what stands in their place.
async fn called(app: &TestApp, headers: &[(&str, &str)]) -> (StatusCode, HeaderMap) {
    let mut request = Request::post(format!("http://{}{GET}", app.gateway()));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::from(Bytes::from_static(&[0; 5]))).expect("a request");
    let answer = soon("an answer", h2c().request(request)).await.expect("an answer");
    let (head, body) = answer.into_parts();
    let trailers = soon("its end", body.collect()).await.expect("an end").trailers().cloned();
    (head.status, trailers.unwrap_or(head.headers))
}

#[tokio::test]
async fn a_deadline_that_is_none_is_passed_on_as_it_is() {
    let host = RpcHost::start().await;
    let app = TestApp::start(&host.upstream("accounts", "[\"accounts.v1.*\"]")).await;
    for odd in ["12", "S", "", "-1S", "+1S", "1s", "1.5S", "123456789S", "1 S", "1X", "soon"] {
        let (status, trailers) = called(&app, &[("content-type", "application/grpc"), ("grpc-timeout", odd)]).await;
        assert_eq!(
            (status, &trailers["grpc-status"]),
            (StatusCode::OK, &"0".parse().unwrap()),
            "{odd:?}: {trailers:?}"
        );
        assert_eq!(host.metadata().get("grpc-timeout").expect("it went on"), odd);
    }
    // Longer than anybody lives.
    let headers = [("content-type", "application/grpc"), ("grpc-timeout", "99999999H")];
    assert_eq!(called(&app, &headers).await.1["grpc-status"], "0");
    assert_eq!(app.breaker("accounts").snapshot().counts.failure, 0);
}

#[tokio::test]
async fn metadata_that_is_too_much_fails_that_call_alone() {
    let host = RpcHost::start().await;
    let app = TestApp::start(&host.upstream("accounts", "[\"accounts.v1.*\"]")).await;
    let (fits, much) = ("x".repeat(15 << 10), "x".repeat(80 << 10));
    let grpc = ("content-type", "application/grpc");
    assert_eq!(called(&app, &[grpc, ("x-much", &fits)]).await.1["grpc-status"], "0");
    let (status, _) = called(&app, &[grpc, ("x-much", &much)]).await;
    assert_eq!(status, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    assert_eq!(host.calls(), 1, "the host is not asked");
    assert_eq!(called(&app, &[grpc]).await.1["grpc-status"], "0");
    let snapshot = app.breaker("accounts").snapshot();
    assert_eq!((snapshot.counts.success, snapshot.counts.failure, snapshot.in_flight), (2, 0, 0));
}

#[tokio::test]
async fn grpc_web_is_refused_in_words() {
    let host = RpcHost::start().await;
    let app = TestApp::start(&host.upstream("accounts", "[\"accounts.v1.*\"]")).await;
    for (kind, path) in [("application/grpc-web+proto", GET), ("application/grpc-web-text", "/accounts/Get")] {
        let asked = format!(
            "POST {path} HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: 0\r\n\r\n"
        );
        let answer = http::send(app.gateway(), &asked).await;
        assert_eq!(answer.status, 415, "{kind}");
        let detail = answer.json()["detail"].clone();
        assert!(detail.as_str().is_some_and(|detail| detail.contains("application/grpc")), "{detail}");
    }
    assert_eq!(host.calls(), 0);
}

#[tokio::test]
async fn services_change_hands_at_a_reload_and_a_stream_that_runs_goes_on() {
    let (one, other) = (RpcHost::start().await, RpcHost::start().await);
    let mine = |services: &str| one.upstream("accounts", services);
    let theirs = |services: &str| other.upstream("audit", services);
    let app = Desk::start(&(mine("[\"accounts.v1.*\"]") + &theirs("[\"audit.v1.*\"]"))).await;
    let mut client = client(app.gateway()).await;
    let (ask, asked) = tokio::sync::mpsc::unbounded_channel::<Bytes>();
    let asked = stream::unfold(asked, |mut asked| async move { asked.recv().await.map(|each| (each, asked)) });
    ask.send("before".into()).expect("it listens");
    soon("a channel", client.ready()).await.expect("it is there");
    let path = PathAndQuery::from_static("/accounts.v1.Accounts/Chat");
    let chat = soon("a chat", client.streaming(tonic::Request::new(asked), path, Raw)).await;
    let mut chat = chat.expect("a stream").into_inner();
    assert_eq!(soon("an echo", chat.message()).await.expect("no error").as_deref(), Some(&b"before"[..]));

    // Claimed twice: refused by name, and everything stays as it was.
    let both = app.reload(&(mine("[\"accounts.v1.*\"]") + &theirs("[\"accounts.v1.*\"]"))).await;
    assert_eq!(both.problem(), (422, Some("upstream[1].services[0]".to_owned())));
    get(&mut client, GET).await.expect("an answer");
    assert_eq!((one.calls(), other.calls()), (2, 0));

    let moved = app.reload(&(mine("[\"ledger.*\"]") + &theirs("[\"accounts.v1.*\"]"))).await;
    assert_eq!(moved.status, StatusCode::OK, "{}", moved.body);
    get(&mut client, GET).await.expect("an answer");
    assert_eq!((one.calls(), other.calls()), (2, 1));
    assert_eq!(get(&mut client, "/audit.v1.Log/Get").await.expect_err("nobody's now").code(), Code::Unimplemented);
    ask.send("after".into()).expect("it listens");
    assert_eq!(soon("an echo", chat.message()).await.expect("no error").as_deref(), Some(&b"after"[..]));
    drop(ask);
    assert_eq!(soon("the end", chat.message()).await.expect("no error"), None);
}
