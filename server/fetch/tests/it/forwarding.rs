//! Rule 35: what goes through untouched, and what does not.

use std::{pin::pin, sync::Arc};

use bytes::Bytes;
use fuseboard_breaker::Outcome;
use fuseboard_fetch::{CallError, Guard};
use futures_util::future::poll_immediate;
use http::{HeaderValue, Method, Request};
use http_body_util::{Empty, Full};

use crate::support::{
    Bench, Host, Step,
    bench::{feed, request, upstream},
    soon, whole,
};

const OK: &str = "HTTP/1.1 200 OK\ncontent-length: 2\n\nok";

#[tokio::test]
async fn r35_path_and_query_bytes_arrive_as_they_were_sent() {
    let bench = Bench::new();
    let host = Host::answering(OK).await;
    let npm = upstream(&host.url("/"), |_| {});
    let paths = ["/a%2fb//C/%2E%2e/x?q=%41&&z=a+b?c", "/", "/?", "/@scope%2Fname", "//double//", "/a;b=c,d:e"];
    for path in paths {
        bench.get(&npm, path).await.unwrap();
    }
    let targets: Vec<String> = host.seen().into_iter().map(|seen| seen.target).collect();
    assert_eq!(targets, paths);
}

#[tokio::test]
async fn r35_headers_of_the_hop_end_here_and_the_others_go_on() {
    let bench = Bench::new();
    let answer = "HTTP/1.1 206 Partial Content\nconnection: x-drop\nx-drop: 1\nkeep-alive: timeout=5\nvia: 1.0 cache\n\
        etag: \"a\"\ncontent-encoding: gzip\ncontent-range: bytes 0-1/10\ncontent-length: 2\n\n\x1f\x1b";
    let host = Host::answering(answer).await;
    let npm = upstream(&host.url("/"), |upstream| {
        upstream.headers.insert("authorization", HeaderValue::from_static("Bearer configured"));
    });
    let mut asked = request(&npm, Method::GET, "/x", Empty::<Bytes>::new());
    for (name, value) in [
        ("host", "gateway.example"),
        ("authorization", "Bearer client"),
        ("connection", "x-once"),
        ("x-once", "1"),
        ("te", "trailers, gzip"),
        ("expect", "100-continue"),
        ("proxy-authorization", "Basic x"),
        ("range", "bytes=0-1"),
        ("if-none-match", "\"b\""),
        ("accept-encoding", "gzip"),
        ("via", "1.1 edge"),
    ] {
        asked.headers_mut().append(name, HeaderValue::from_static(value));
    }
    let response = bench.forward(&npm, asked).await.unwrap();

    let seen = &host.seen()[0];
    let own = host.address.to_string();
    for (name, value) in [
        ("host", Some(own.as_str())),
        ("authorization", Some("Bearer configured")),
        ("te", Some("trailers")),
        ("range", Some("bytes=0-1")),
        ("if-none-match", Some("\"b\"")),
        ("accept-encoding", Some("gzip")),
        ("connection", None),
        ("x-once", None),
        ("expect", None),
        ("proxy-authorization", None),
    ] {
        assert_eq!(seen.header(name), value, "{name}");
    }
    let via: Vec<_> = seen.headers.iter().filter(|(name, _)| name == "via").map(|(_, value)| value.as_str()).collect();
    assert_eq!(via, ["1.1 edge", "1.1 fuse-test"]);
    assert_eq!(seen.headers.iter().filter(|(name, _)| name == "host").count(), 1);

    let headers = response.headers();
    for gone in ["connection", "x-drop", "keep-alive"] {
        assert!(!headers.contains_key(gone), "{gone}");
    }
    assert_eq!((&headers["etag"], &headers["content-encoding"]), (&"\"a\"".parse().unwrap(), &"gzip".parse().unwrap()));
    let via: Vec<_> = headers.get_all("via").iter().collect();
    assert_eq!(via, ["1.0 cache", "1.1 fuse-test"]);
    assert_eq!(whole(response).await.unwrap().to_bytes(), "\x1f\x1b");
}

#[tokio::test]
async fn r35_cookies_that_came_in_crumbs_are_one_line_for_the_host() {
    let bench = Bench::new();
    let host = Host::answering(OK).await;
    let npm = upstream(&host.url("/"), |_| {});
    let mut asked = request(&npm, Method::GET, "/", Empty::<Bytes>::new());
    for crumb in ["a=1", "b=2; c=3", "d=\"4\""] {
        asked.headers_mut().append("cookie", HeaderValue::from_static(crumb));
    }
    bench.forward(&npm, asked).await.unwrap();
    let seen = &host.seen()[0];
    let cookies: Vec<_> = seen.headers.iter().filter(|(name, _)| name == "cookie").map(|(_, value)| value).collect();
    assert_eq!(cookies, ["a=1; b=2; c=3; d=\"4\""]);
}

#[tokio::test]
async fn r35_trailers_pass() {
    let bench = Bench::new();
    let host =
        Host::answering("HTTP/1.1 200 OK\ntrailer: x-sum\ntransfer-encoding: chunked\n\n2\nok\n0\nx-sum: 7\n\n").await;
    let npm = upstream(&host.url("/"), |_| {});
    let mut asked = request(&npm, Method::GET, "/", Empty::<Bytes>::new());
    asked.headers_mut().insert("te", HeaderValue::from_static("trailers"));
    let collected = whole(bench.forward(&npm, asked).await.unwrap()).await.unwrap();
    assert_eq!(collected.trailers().unwrap()["x-sum"], "7");
    assert_eq!(bench.verdict().await, (Outcome::Success, None));
}

#[tokio::test]
async fn r35_a_request_body_of_known_length_keeps_it() {
    let bench = Bench::new();
    let host = Host::answering(OK).await;
    let npm = upstream(&host.url("/"), |_| {});
    let body = Full::new(Bytes::from_static(b"0123456789"));
    bench.forward(&npm, request(&npm, Method::PUT, "/x", body)).await.unwrap();
    let seen = &host.seen()[0];
    assert_eq!((seen.method.as_str(), seen.header("content-length")), ("PUT", Some("10")));
    assert_eq!((seen.header("transfer-encoding"), host.body().as_slice()), (None, &b"0123456789"[..]));
}

#[tokio::test]
async fn r35_an_upload_is_taken_no_faster_than_the_host_takes_it() {
    let bench = Bench::new();
    let host = Host::start(|_| vec![Step::Gate(crate::support::host::Gate::new())]).await;
    let npm = upstream(&host.url("/"), |_| {});
    let (sender, body) = feed();
    let piece = Bytes::from(vec![0; 64 * 1024]);
    for _ in 0..1024 {
        sender.send(Ok(piece.clone())).unwrap();
    }
    // Pieces are clones of one: the counter of a marked last one tells whether it was taken.
    let mark = Arc::new(());
    let last = Bytes::from_owner(Marked(mark.clone()));
    sender.send(Ok(last)).unwrap();
    let mut call = pin!(bench.forward(&npm, request(&npm, Method::POST, "/", body)));
    assert!(poll_immediate(call.as_mut()).await.is_none());
    soon("the request", async {
        tokio::select! {
            _ = &mut call => panic!("the call ended"),
            () = host.received(1) => {}
        }
    })
    .await;
    assert_eq!(Arc::strong_count(&mark), 2, "64 MB went into buffers");
}

struct Marked(#[expect(dead_code, reason = "counted")] Arc<()>);

impl AsRef<[u8]> for Marked {
    fn as_ref(&self) -> &[u8] {
        b"x"
    }
}

#[tokio::test]
async fn r34_a_request_that_was_here_before_is_a_loop() {
    let bench = Bench::new();
    let host = Host::answering(OK).await;
    let npm = upstream(&host.url("/"), |_| {});
    let mut asked = request(&npm, Method::GET, "/", Empty::<Bytes>::new());
    asked.headers_mut().insert("via", HeaderValue::from_static("1.1 edge, 1.1 Fuse-Test"));
    let ended = bench.forward(&npm, asked).await;
    assert!(matches!(ended, Err(CallError::OwnGuard(Guard::Loop))), "{ended:?}");
    let tunnel = bench.call(&npm, Method::CONNECT, "/").await;
    assert!(matches!(tunnel, Err(CallError::BadRequest { .. })), "{tunnel:?}");
    assert_eq!((host.count(), bench.fetcher.states()), (0, vec![]), "what was never called has no breaker");
}

#[tokio::test]
async fn r32_any_spelling_of_the_origin_is_the_same_breaker() {
    let bench = Bench::new();
    let host = Host::answering(OK).await;
    let npm = upstream(&host.url("/"), |_| {});
    let port = host.address.port();
    for uri in
        [format!("http://127.0.0.1:{port}/"), format!("HTTP://127.1:0{port}/"), format!("http://u:p@0x7f.1:{port}/")]
    {
        let asked = Request::builder().uri(&uri).body(Empty::<Bytes>::new()).unwrap();
        bench.forward(&npm, asked).await.unwrap();
    }
    assert_eq!(bench.fetcher.states().len(), 1);
    assert!(host.seen().iter().all(|seen| seen.header("host") == Some(&host.address.to_string())));
}
