//! Bodies stream both ways, and a body that breaks off breaks off for the client too.

use std::{io, time::Duration};

use bytes::Bytes;
use fuseboard_breaker::{Mode, OverrideEnd, State};
use futures_util::stream;
use http_body_util::{BodyExt, Empty, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
};

use crate::support::{
    app::{TestApp, somebody},
    host::{Host, Reply},
    http::{get, get_with, send},
    rpc::RpcHost,
    soon,
};

fn upstream(url: &str) -> String {
    format!("[[upstream]]\nname = \"npm\"\nurl = \"{url}\"\n")
}

/// Asks over HTTP/1.1 with a client that knows where a body should end.
async fn ask(app: &TestApp, target: &str) -> (u16, Result<Bytes, hyper::Error>) {
    let ask = async {
        let stream = TcpStream::connect(app.gateway()).await.expect("it listens");
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.expect("spoken");
        tokio::spawn(connection);
        let request = http::Request::get(target).header("host", "gate").body(Empty::<Bytes>::new());
        let response = sender.send_request(request.expect("a request")).await.expect("a head");
        let status = response.status().as_u16();
        (status, response.into_body().collect().await.map(|body| body.to_bytes()))
    };
    soon(target, ask).await
}

#[tokio::test]
async fn r25_a_cut_body_is_an_error_for_the_client_and_a_failure_of_the_host() {
    for (name, answer) in [
        ("300 of 1,000 bytes", format!("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{}", "x".repeat(300))),
        ("no last chunk", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n".to_owned()),
    ] {
        let host = Host::start(move |_| Reply::Cut(answer.clone().into_bytes())).await;
        let app = TestApp::start(&upstream(&host.url())).await;
        for _ in 0..5 {
            let (status, body) = ask(&app, "/npm/x").await;
            assert_eq!(status, 200, "{name}");
            assert!(body.is_err(), "{name}: the client must not take it for whole");
        }
        let snapshot = app.breaker(&host.id()).snapshot();
        assert_eq!((snapshot.counts.failure, snapshot.state), (5, State::Open), "{name}");
        assert_eq!(get(app.gateway(), "/npm/x").await.status, 503);
    }
}

#[tokio::test]
async fn r25_a_body_that_breaks_before_its_first_byte_is_told_in_words() {
    let answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\netag: \"v1\"\r\n\r\nzz\r\n";
    let host = Host::start(move |_| Reply::Cut(answer.into())).await;
    let app = TestApp::start(&upstream(&host.url())).await;
    let got = get(app.gateway(), "/npm/x").await;
    let next_hop = host.id().replace("http:", "");
    let expected = format!("fuseboard; error=http_response_incomplete; next-hop=\"{next_hop}\"");
    assert_eq!((got.status, got.header("proxy-status"), got.header("etag")), (502, Some(&*expected), None));
    let problem = got.json();
    assert_eq!((&problem["phase"], &problem["breaker"]), (&"body".into(), &host.id().into()));
    assert_eq!(app.breaker(&host.id()).snapshot().counts.failure, 1);
}

#[tokio::test]
async fn r25_a_client_that_reads_nothing_is_let_go_of_and_so_is_its_host() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    // More than the sockets on the way take in; it is written until somebody closes the connection.
    let flood = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("somebody calls");
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n").await.expect("sent");
        let mut sent = 0;
        while stream.write_all(&[0; 64 * 1024]).await.is_ok() {
            sent += 64 * 1024;
        }
        sent
    });
    let text = format!("{}timeouts = {{ client_idle = \"300ms\" }}\n", upstream(&format!("http://{address}")));
    let app = TestApp::start(&text).await;
    let mut client = TcpStream::connect(app.gateway()).await.expect("it listens");
    client.write_all(b"GET /npm/x HTTP/1.1\r\nhost: gate\r\n\r\n").await.expect("sent");
    let sent = soon("the end of the host's connection", flood).await.expect("no panic");
    assert!(sent < 1_000_000_000, "and not because all of it was taken in");
    let counts = app.breaker(&format!("http:{address}")).snapshot().counts;
    assert_eq!((counts.ignored, counts.failure, counts.success), (1, 0, 0), "the host is not at fault");
    let mut rest = Vec::new();
    // However its own connection was ended.
    let _ = soon("the end of the client's connection", client.read_to_end(&mut rest)).await;
    assert!(rest.len() < sent, "{}", rest.len());
}

/// A client that speaks h2 from the first byte.
async fn h2c<B>(app: &TestApp) -> hyper::client::conn::http2::SendRequest<B>
where
    B: http_body::Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + Unpin + 'static,
{
    let stream = soon("a connection", TcpStream::connect(app.gateway())).await.expect("it listens");
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (sender, connection) = soon("the handshake", handshake).await.expect("h2 is spoken");
    tokio::spawn(connection);
    sender
}

#[tokio::test]
async fn h2c_clients_are_served() {
    let host = Host::start(|_| Reply::ok()).await;
    let app = TestApp::start(&upstream(&host.url())).await;
    let mut sender = h2c::<Empty<Bytes>>(&app).await;
    for status in [200, 404] {
        let target = if status == 200 { "/npm/@a%2fb" } else { "/none/x" };
        let uri = format!("http://{}{target}", app.gateway());
        let request = http::Request::get(uri).body(Empty::<Bytes>::new()).expect("a request");
        let response = soon(target, sender.send_request(request)).await.expect("an answer");
        assert_eq!((response.version(), response.status().as_u16()), (http::Version::HTTP_2, status));
        let body = soon("its body", response.into_body().collect()).await.expect("a whole body").to_bytes();
        assert_eq!(status == 200, body == "fine");
    }
    assert_eq!(host.asked()[0].target(), "/@a%2fb");
}

#[tokio::test]
async fn a_head_may_be_as_large_over_http1_as_over_h2() {
    let large = "x".repeat(60 * 1024);
    let head = format!("200 OK\r\nx-large: {large}");
    let host = Host::start(move |_| Reply::text(&head, "fine")).await;
    let app = TestApp::start(&upstream(&host.url())).await;
    for (length, status) in [(60 * 1024, 200), (65 * 1024, 431)] {
        let value = "x".repeat(length);
        let got = get_with(app.gateway(), "/npm/x", &format!("x-large: {value}\r\n")).await;
        assert_eq!(got.status, status, "HTTP/1.1");
        assert_eq!(got.header("x-large").map_or(0, str::len), if status == 200 { large.len() } else { 0 });

        let request = http::Request::get(format!("http://{}/npm/x", app.gateway())).header("x-large", &value);
        let request = request.body(Empty::<Bytes>::new()).expect("a request");
        let stream = soon("a connection", TcpStream::connect(app.gateway())).await.expect("it listens");
        let mut http = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
        let handshake = http.max_header_list_size(1 << 20).handshake(TokioIo::new(stream));
        let (mut sender, connection) = soon("the handshake", handshake).await.expect("h2 is spoken");
        tokio::spawn(connection);
        let response = soon("an answer", sender.send_request(request)).await.expect("a head");
        assert_eq!(response.status(), status, "h2");
    }
    assert_eq!(host.asked().len(), 2);
}

#[tokio::test]
async fn a_soft_stop_lets_a_call_finish() {
    let host = Host::start(|_| Reply::Hold).await;
    let app = TestApp::start(&upstream(&host.url())).await;
    let gateway = app.gateway();
    let call = tokio::spawn(async move { get(gateway, "/npm/x").await });
    host.arrived(1).await;
    app.app().lifecycle.begin_soft();
    let stopping = tokio::spawn(app.stop());
    host.let_go();
    let got = soon("the answer", call).await.expect("no panic");
    assert_eq!((got.status, &*got.body), (200, &b"held"[..]));
    soon("the end", stopping).await.expect("it ends in order");
}

#[tokio::test]
async fn a_call_that_outlasts_the_stop_is_told_so() {
    let host = Host::start(|_| Reply::Hold).await;
    let app = TestApp::start(&upstream(&host.url())).await;
    let gateway = app.gateway();
    let call = tokio::spawn(async move { get(gateway, "/npm/x").await });
    host.arrived(1).await;
    let lifecycle = app.app().lifecycle.clone();
    lifecycle.begin_soft();
    assert!(!soon("the hard step", lifecycle.drain(Duration::from_millis(50))).await, "somebody was still waiting");
    let got = soon("the answer", call).await.expect("no panic");
    assert_eq!((got.status, &got.json()["reason"]), (503, &"shutting_down".into()), "{}", got.head);
}

#[tokio::test]
async fn over_h2_too_a_call_that_outlasts_the_stop_is_told_so() {
    let host = Host::start(|_| Reply::Hold).await;
    let rpc = RpcHost::start().await;
    let app = TestApp::start(&(upstream(&host.url()) + &rpc.upstream("accounts", "[\"accounts.v1.*\"]"))).await;
    let mut plain = h2c::<Empty<Bytes>>(&app).await;
    let request = http::Request::get(format!("http://{}/npm/x", app.gateway())).body(Empty::new());
    let plain = tokio::spawn(plain.send_request(request.expect("a request")));
    let mut grpc = h2c::<UnsyncBoxBody<Bytes, io::Error>>(&app).await;
    let request = http::Request::post(format!("http://{}/accounts.v1.Accounts/Hang", app.gateway()));
    let request = request.header("content-type", "application/grpc").header("te", "trailers");
    let (open, body) = uploading(0);
    let grpc = tokio::spawn(grpc.send_request(request.body(body).expect("a request")));
    host.arrived(1).await;
    let arrived = async {
        while rpc.calls() == 0 {
            tokio::task::yield_now().await;
        }
    };
    soon("the gRPC call", arrived).await;
    let lifecycle = app.app().lifecycle.clone();
    lifecycle.begin_soft();
    assert!(!soon("the hard step", lifecycle.drain(Duration::from_millis(50))).await, "somebody was still waiting");
    let told = soon("the answer", plain).await.expect("no panic").expect("an answer");
    let status = told.status().as_u16();
    let body = soon("its body", told.into_body().collect()).await.expect("a whole body").to_bytes();
    let problem: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
    assert_eq!((status, &problem["reason"]), (503, &"shutting_down".into()), "{problem}");
    let told = soon("the answer", grpc).await.expect("no panic").expect("an answer");
    assert_eq!((told.status().as_u16(), &told.headers()["grpc-status"]), (200, &"14".parse().expect("a value")));
    drop(open);
}

/// An upload of so many pieces of 64 kB that ends when its sender is let go of. 16 MB are more than the sockets on the
/// way take in.
fn uploading(pieces: usize) -> (mpsc::UnboundedSender<Bytes>, UnsyncBoxBody<Bytes, io::Error>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    for _ in 0..pieces {
        sender.send(Bytes::from_static(&[0; 64 * 1024])).expect("nobody has let go of it");
    }
    let frames = stream::unfold(receiver, |mut receiver: mpsc::UnboundedReceiver<Bytes>| async move {
        receiver.recv().await.map(|data| (Ok(Frame::data(data)), receiver))
    });
    (sender, BodyExt::boxed_unsync(StreamBody::new(frames)))
}

/// A host that answers as soon as it is asked and wants nothing more, and one that is held open.
async fn uninterested() -> (Host, Host, TestApp) {
    let early = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine";
    let host = Host::start(|_| Reply::Early(early.into())).await;
    let held = Host::start(|_| Reply::ok()).await;
    let text = format!("{}[[upstream]]\nname = \"held\"\nurl = \"{}\"\n", upstream(&host.url()), held.url());
    let app = TestApp::start(&text).await;
    app.breaker(&held.id()).set_override(Mode::ForcedOpen, OverrideEnd::Never, somebody(), "CDN move");
    (host, held, app)
}

/// What was answered to an upload over h2, which is as it should be read to its end.
async fn put_h2<B>(app: &TestApp, target: &str, body: B) -> (u16, Bytes)
where
    B: http_body::Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + Unpin + 'static,
{
    let request = http::Request::put(format!("http://{}{target}", app.gateway())).body(body).expect("a request");
    let mut sender = h2c(app).await;
    let response = soon(target, sender.send_request(request)).await.expect("an answer");
    let status = response.status().as_u16();
    (status, soon("its body", response.into_body().collect()).await.expect("a whole body").to_bytes())
}

#[tokio::test]
async fn an_answer_before_the_end_of_an_upload_ends_the_request() {
    let (host, _held, app) = uninterested().await;
    for (target, status) in [("/npm/x", 200), ("/held/x", 503)] {
        let (upload, body) = uploading(256);
        let (told, body) = put_h2(&app, target, body).await;
        assert_eq!((told, body == "fine"), (status, status == 200), "{target}");
        soon("the end of the request", upload.closed()).await;

        let head = format!("PUT {target} HTTP/1.1\r\nhost: gate\r\ntransfer-encoding: chunked\r\n\r\n4\r\nsome\r\n");
        assert_eq!(send(app.gateway(), &head).await.status, status, "{target}: the end of the connection is the sign");
    }
    assert_eq!(app.breaker(&host.id()).snapshot().counts.success, 2, "the host's answers were whole");
}

#[tokio::test]
async fn an_upload_nobody_wants_is_taken_in_so_that_its_answer_is_read() {
    let (_host, _held, app) = uninterested().await;
    for (target, status) in [("/npm/x", 200), ("/held/x", 503), ("/none/x", 404)] {
        let (upload, body) = uploading(256);
        drop(upload);
        assert_eq!(put_h2(&app, target, body).await.0, status, "{target}");
        let mut request = format!("PUT {target} HTTP/1.1\r\nhost: gate\r\nconnection: close\r\n");
        request.push_str("transfer-encoding: chunked\r\n\r\n1000000\r\n");
        request.push_str(&"0".repeat(0x100_0000));
        request.push_str("\r\n0\r\n\r\n");
        assert_eq!(send(app.gateway(), &request).await.status, status, "{target}");
    }
}
