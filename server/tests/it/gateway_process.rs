//! What only a process of its own shows: exit codes, what it logs and stores, how much memory it takes.

use std::{io, sync::Arc};

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response};
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    body::{Frame, Incoming},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
};

use crate::support::{
    host::{Host, Reply},
    http::get_with,
    process::{Process, run},
    within,
};

#[tokio::test]
async fn a_server_with_nothing_to_fetch_from_says_how_to_name_it() {
    let folder = tempfile::tempdir().expect("a folder");
    Process::says(folder.path(), "no upstream yet: name one in fuseboard.toml or with --upstream NAME=URL").await;
}

#[tokio::test]
async fn check_config_says_what_is_wrong_and_ends_with_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("fuseboard.toml");
    std::fs::write(&file, "[[upstream]]\nname = \"npm\"\nurl = \"https://registry.example\"\n").expect("written");
    let (code, out, _) = run(folder.path(), &["check-config"]).await;
    assert_eq!((code, out.trim()), (Some(0), "fuseboard.toml: good, 1 upstream"));

    std::fs::write(&file, "[panel]\nmax = 0\n").expect("written");
    let (code, _, error) = run(folder.path(), &["check-config", "fuseboard.toml"]).await;
    assert_eq!(code, Some(2));
    assert!(error.contains("panel.max") && error.contains("from 1"), "{error}");
    for usage in [
        &["check-config", "none.toml"][..],
        &["serve", "--upstream", "npm"],
        &["serve", "--log", "fuseboard=loudest"],
        &["fly"],
    ] {
        let (code, _, error) = run(folder.path(), usage).await;
        assert_eq!(code, Some(2), "{usage:?}: {error}");
        assert!(!error.is_empty());
    }
}

#[tokio::test]
async fn r39_no_secret_reaches_log_store_or_error() {
    let folder = tempfile::tempdir().expect("a folder");
    // 500 trips, so that evidence is stored; then an answer that names nothing.
    let host = Host::start(|_| Reply::status(500)).await;
    let url = host.url();
    let config = format!(
        "[[upstream]]\nname = \"npm\"\nurl = \"{url}\"\nheaders = {{ authorization = \"Bearer SECRET-configured\" }}\n\
         [[upstream]]\nname = \"gone\"\nurl = \"http://127.0.0.1:1\"\n"
    );
    let process = Process::serve(folder.path(), &config, "debug").await;
    let gateway = process.gateway.parse().expect("an address");
    let mut answers = String::new();
    for upstream in ["npm", "gone"] {
        for _ in 0..7 {
            let target = format!("/{upstream}/x?token=SECRET-query&SECRET-word");
            let more = "authorization: Bearer SECRET-client\r\ncookie: SECRET-cookie\r\nx-api-key: SECRET-key\r\n";
            let got = get_with(gateway, &target, more).await;
            answers.push_str(&got.head);
            answers.push_str(&String::from_utf8_lossy(&got.body));
        }
    }
    assert!(answers.contains("HTTP/1.1 503"), "something was refused");
    let (log, status) = process.terminate().await;
    assert!(status.success(), "SIGTERM is an end in order: {log}");
    assert!(!log.is_empty(), "debug lines are there to be searched");
    assert!(!answers.contains("SECRET"), "{answers}");
    assert!(!log.contains("SECRET"), "{log}");
    for file in std::fs::read_dir(folder.path()).expect("the folder") {
        let path = file.expect("readable").path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            continue;
        }
        let bytes = std::fs::read(&path).expect("readable");
        let found = bytes.windows(6).any(|six| six == b"SECRET");
        assert!(!found, "{} holds a secret", path.display());
    }
    assert!(host.asked().iter().all(|asked| asked.header("authorization") == Some("Bearer SECRET-configured")));
}

/// Bytes each way: 2 GB.
const LENGTH: u64 = 2_000_000_000;
const CHUNK: usize = 64 * 1024;
/// What the gateway may grow by.
const BOUND: u64 = 32 * 1024 * 1024;

type Zeros = UnsyncBoxBody<Bytes, io::Error>;

/// A body of zeros made as it is read.
fn zeros() -> Zeros {
    let chunk = Bytes::from(vec![0; CHUNK]);
    let frames = stream::unfold(LENGTH, move |left| {
        let chunk = chunk.clone();
        async move {
            let now = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
            (now > 0).then(|| (Ok(Frame::data(chunk.slice(..now))), left - now as u64))
        }
    });
    BodyExt::boxed_unsync(StreamBody::new(frames))
}

async fn drained(mut body: Incoming) -> u64 {
    let mut count = 0;
    while let Some(frame) = body.frame().await {
        count += frame.expect("a whole body").data_ref().map_or(0, |data| data.len() as u64);
    }
    count
}

/// A host that takes whatever comes and gives 2 GB.
async fn ocean(took: watch::Sender<u64>) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let took = Arc::new(took);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let took = took.clone();
            let service = service_fn(move |request: Request<Incoming>| {
                let took = took.clone();
                async move {
                    let count = drained(request.into_body()).await;
                    took.send_modify(|sum| *sum += count);
                    let mut response = Response::new(zeros());
                    response.headers_mut().insert("content-length", LENGTH.into());
                    Ok::<_, io::Error>(response)
                }
            });
            tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    address
}

/// One request through the gateway; the bytes that came back.
async fn through(gateway: String, request: Request<Zeros>) -> u64 {
    let stream = TcpStream::connect(gateway).await.expect("it listens");
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("spoken");
    tokio::spawn(connection);
    let response = sender.send_request(request).await.expect("a head");
    assert_eq!(response.status(), 200);
    drained(response.into_body()).await
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r35_two_gigabytes_each_way_need_little_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let (took, taken) = watch::channel(0);
    let host = ocean(took).await;
    let config = format!("[[upstream]]\nname = \"sea\"\nurl = \"http://{host}\"\n");
    let process = Process::serve(folder.path(), &config, "warn").await;
    let request = |body: Zeros| {
        Request::put("/sea/x").header("host", "gate").header("content-length", LENGTH).body(body).expect("a request")
    };
    let before = process.resident();
    let mut call = tokio::spawn(through(process.gateway.clone(), request(zeros())));
    let mut peak = before;
    let mut look = tokio::time::interval(std::time::Duration::from_millis(20));
    let passing = async {
        loop {
            tokio::select! {
                back = &mut call => break back.expect("no panic"),
                _ = look.tick() => peak = peak.max(process.resident()),
            }
        }
    };
    let back = within(std::time::Duration::from_secs(600), "the last of 4 GB", passing).await;
    assert_eq!((*taken.borrow(), back), (LENGTH, LENGTH));
    let grown = peak - before;
    assert!(grown < BOUND, "grew by {} MiB", grown / 1024 / 1024);
    process.terminate().await;
}
