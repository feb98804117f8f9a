//! Bodies stream both ways, and a body that breaks off breaks off for the client too.

use bytes::Bytes;
use fuseboard_breaker::State;
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use crate::support::{
    app::TestApp,
    host::{Host, Reply},
    http::get,
};

fn upstream(url: &str) -> String {
    format!("[[upstream]]\nname = \"npm\"\nurl = \"{url}\"\n")
}

/// Asks over HTTP/1.1 with a client that knows where a body should end.
async fn ask(app: &TestApp, target: &str) -> (u16, Result<Bytes, hyper::Error>) {
    let stream = TcpStream::connect(app.gateway()).await.expect("it listens");
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("spoken");
    tokio::spawn(connection);
    let request = http::Request::get(target).header("host", "gate").body(Empty::<Bytes>::new()).expect("a request");
    let response = sender.send_request(request).await.expect("a head");
    let status = response.status().as_u16();
    (status, response.into_body().collect().await.map(|body| body.to_bytes()))
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
async fn h2c_clients_are_served() {
    let host = Host::start(|_| Reply::ok()).await;
    let app = TestApp::start(&upstream(&host.url())).await;
    let stream = TcpStream::connect(app.gateway()).await.expect("it listens");
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.expect("h2 is spoken");
    tokio::spawn(connection);
    for status in [200, 404] {
        let target = if status == 200 { "/npm/@a%2fb" } else { "/none/x" };
        let uri = format!("http://{}{target}", app.gateway());
        let request = http::Request::get(uri).body(Empty::<Bytes>::new()).expect("a request");
        let response = sender.send_request(request).await.expect("an answer");
        assert_eq!((response.version(), response.status().as_u16()), (http::Version::HTTP_2, status));
        let body = response.into_body().collect().await.expect("a whole body").to_bytes();
        assert_eq!(status == 200, body == "fine");
    }
    assert_eq!(host.asked()[0].target(), "/@a%2fb");
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
    let got = call.await.expect("no panic");
    assert_eq!((got.status, &*got.body), (200, &b"held"[..]));
    stopping.await.expect("it ends in order");
}
