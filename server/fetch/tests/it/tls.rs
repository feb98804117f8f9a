//! TLS and h2: certificates, ALPN, and an h2 host that says it never looked.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use crate::support::{
    Bench, Host,
    bench::{feed, request, upstream},
    host::{Seen, Step, send},
    secure::Secure,
    soon, whole,
};
use bytes::{Bytes, BytesMut};
use fuseboard_breaker::{Outcome, Phase};
use fuseboard_fetch::{CallError, FetchError, Guard, Trouble};
use http::{Method, Response};
use http_body_util::Full;

#[tokio::test]
async fn a_trusted_host_is_called_over_http1_when_it_speaks_no_other() {
    let secure = Secure::new(b"http/1.1").await;
    let (url, bench) = (secure.url(), secure.bench());
    let address = secure.listener.local_addr().unwrap();
    let host = Host::describe(address, |_: &Seen| vec![send("HTTP/1.1 200 OK\ncontent-length: 2\n\nok")]);
    let serving = host.clone();
    tokio::spawn(async move {
        while let Some(stream) = secure.accept().await {
            let host = serving.clone();
            tokio::spawn(async move { host.serve(stream).await });
        }
    });
    for _ in 0..3 {
        assert_eq!(soon("the answer", bench.fetch(&url)).await.unwrap(), "ok");
    }
    assert_eq!(host.connections(), 1);
}

#[tokio::test]
async fn r28_a_certificate_nobody_vouches_for_is_a_failure_in_phase_tls() {
    let secure = Secure::new(b"http/1.1").await;
    let url = secure.url();
    let serving = tokio::spawn(async move { secure.accept().await.is_some() });
    let bench = Bench::new();
    let npm = upstream(&url, |_| {});
    let ended = soon("the end", bench.get(&npm, "/")).await;
    assert!(
        matches!(ended, Err(CallError::Failed { phase: Phase::Tls, trouble: Trouble::Certificate, .. })),
        "{ended:?}"
    );
    assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Tls)));
    assert!(!soon("the handshake's end", serving).await.unwrap());
}

#[tokio::test]
async fn r33_https_does_not_fall_to_http_when_followed() {
    let plain = Host::start(|_| vec![Step::Close]).await;
    let secure = Secure::new(b"http/1.1").await;
    let (url, bench) = (secure.url(), secure.bench());
    let answer = format!("HTTP/1.1 301 Moved\nlocation: {}\ncontent-length: 0\n\n", plain.url("/"));
    let host = Host::describe(plain.address, move |_: &Seen| vec![send(&answer)]);
    tokio::spawn(async move {
        if let Some(stream) = secure.accept().await {
            host.serve(stream).await;
        }
    });
    let error = soon("the answer", bench.fetch(&url)).await.unwrap_err();
    assert!(matches!(error, FetchError::OwnGuard(Guard::Downgrade { .. })), "{error:?}");
    assert_eq!(plain.connections(), 0);
}

/// An h2 host that refuses the first `refusals` streams, and answers the others with what they sent.
async fn refusing(refusals: usize) -> (Bench, String, Arc<AtomicUsize>, Arc<AtomicUsize>) {
    let secure = Secure::new(b"h2").await;
    let (url, bench) = (secure.url(), secure.bench());
    let (streams, connections) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (counted, connected) = (streams.clone(), connections.clone());
    tokio::spawn(async move {
        while let Some(stream) = secure.accept().await {
            connected.fetch_add(1, Ordering::SeqCst);
            let counted = counted.clone();
            tokio::spawn(async move {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((mut asked, mut respond))) = connection.accept().await {
                    if counted.fetch_add(1, Ordering::SeqCst) < refusals {
                        respond.send_reset(h2::Reason::REFUSED_STREAM);
                        continue;
                    }
                    assert!(!asked.headers().contains_key("host"));
                    assert_eq!(asked.uri().scheme_str(), Some("https"));
                    tokio::spawn(async move {
                        let mut said = BytesMut::from("ok");
                        while let Some(Ok(data)) = asked.body_mut().data().await {
                            said.extend_from_slice(&data);
                        }
                        let mut body = respond.send_response(Response::new(()), false).unwrap();
                        body.send_data(said.freeze(), true).unwrap();
                    });
                }
            });
        }
    });
    (bench, url, streams, connections)
}

#[tokio::test]
async fn an_h2_host_gets_all_calls_on_one_connection() {
    let (bench, url, streams, connections) = refusing(0).await;
    for _ in 0..3 {
        assert_eq!(soon("the answer", bench.fetch(&url)).await.unwrap(), "ok");
    }
    assert_eq!((streams.load(Ordering::SeqCst), connections.load(Ordering::SeqCst)), (3, 1));
}

#[tokio::test]
async fn r37_a_refused_stream_is_retried_for_any_method_and_is_no_failure() {
    for method in [Method::GET, Method::POST] {
        let (bench, url, streams, _) = refusing(1).await;
        let npm = upstream(&url, |_| {});
        let response = soon("the answer", bench.call(&npm, method, "/")).await.unwrap();
        assert_eq!(whole(response).await.unwrap().to_bytes(), "ok");
        assert_eq!(bench.verdict().await, (Outcome::Success, None));
        assert_eq!(streams.load(Ordering::SeqCst), 2);
    }
}

#[tokio::test]
async fn r37_a_refused_stream_is_retried_with_its_body_while_all_of_it_is_here() {
    let (bench, url, streams, _) = refusing(1).await;
    let npm = upstream(&url, |_| {});
    let body = Full::new(Bytes::from_static(b"body"));
    let ended = soon("the answer", bench.forward(&npm, request(&npm, Method::POST, "/", body))).await;
    assert_eq!(whole(ended.unwrap()).await.unwrap().to_bytes(), "okbody");
    assert_eq!(bench.verdict().await, (Outcome::Success, None));
    assert_eq!(streams.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn r37_a_refused_stream_whose_body_is_gone_is_ignored_as_stale() {
    let (bench, url, streams, _) = refusing(1).await;
    let npm = upstream(&url, |_| {});
    let (sender, body) = feed();
    for _ in 0..2 {
        sender.send(Ok(Bytes::from_static(&[0; 40 * 1024]))).unwrap();
    }
    drop(sender);
    let ended = soon("the end", bench.forward(&npm, request(&npm, Method::POST, "/", body))).await;
    assert!(matches!(ended, Err(CallError::Stale { .. })), "{ended:?}");
    assert_eq!(bench.verdict().await, (Outcome::Ignored, None));
    assert_eq!(streams.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_complete_answer_over_h2_lets_go_of_an_upload_the_host_does_not_want() {
    let secure = Secure::new(b"h2").await;
    let (url, bench) = (secure.url(), secure.bench());
    tokio::spawn(async move {
        while let Some(stream) = secure.accept().await {
            let mut connection = h2::server::handshake(stream).await.unwrap();
            // Neither reads the requests nor resets them: their bodies stay with the streams.
            let mut kept = Vec::new();
            while let Some(Ok((asked, mut respond))) = connection.accept().await {
                let mut body = respond.send_response(Response::new(()), false).unwrap();
                body.send_data(Bytes::from_static(b"ok"), true).unwrap();
                kept.push(asked);
            }
        }
    });
    let npm = upstream(&url, |_| {});
    let (sender, body) = feed();
    for _ in 0..64 {
        sender.send(Ok(Bytes::from_static(&[0; 64 * 1024]))).unwrap();
    }
    let response = bench.forward(&npm, request(&npm, Method::POST, "/", body)).await.unwrap();
    assert_eq!(whole(response).await.unwrap().to_bytes(), "ok");
    soon("the upload's end", sender.closed()).await;
    assert_eq!(bench.verdict().await, (Outcome::Success, None));
}

#[tokio::test]
async fn grpc_over_tls_takes_h2_and_nothing_else() {
    for (protocol, speaks) in [(&b"h2"[..], true), (b"http/1.1", false)] {
        let secure = Secure::new(protocol).await;
        let (url, bench) = (secure.url().replace("https", "grpcs"), secure.bench());
        tokio::spawn(async move {
            while let Some(stream) = secure.accept().await {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((asked, mut respond))) = connection.accept().await {
                    assert_eq!(asked.uri().scheme_str(), Some("https"));
                    let head = Response::builder().header("grpc-status", "0").body(()).unwrap();
                    respond.send_response(head, true).unwrap();
                }
            }
        });
        let accounts = Arc::new(fuseboard_fetch::Upstream::plain("accounts", &url).unwrap());
        let ended = bench.forward(&accounts, crate::support::rpc::unary("/a.A/Get")).await;
        match ended {
            Ok(response) => assert!(speaks && response.headers()["grpc-status"] == "0"),
            Err(CallError::Failed { phase, .. }) => assert_eq!((speaks, phase), (false, Phase::Tls)),
            Err(other) => panic!("{other:?}"),
        }
        let proves = if speaks { Outcome::Success } else { Outcome::Failure };
        assert_eq!(bench.verdict().await.0, proves);
    }
}
