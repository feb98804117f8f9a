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
use rand::{RngExt, SeedableRng};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};

use tonic::{Code, metadata::MetadataValue};

use crate::support::{
    host::{Host, Reply},
    http::get_with,
    process::{Process, request, run},
    rpc::{RpcHost, client, unary},
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

/// Everything anybody can read of a running server, one text: the API, the board's pages, the metrics and the feed.
async fn told(board: &str, breakers: &[String]) -> String {
    let mut paths: Vec<String> =
        ["/", "/incidents", "/audit", "/settings", "/health", "/metrics", "/openapi.json"].map(str::to_owned).to_vec();
    for of in ["breakers", "upstreams", "config", "timeline", "transitions", "probes", "audit", "incidents"] {
        paths.push(format!("/api/v1/{of}"));
    }
    for id in breakers {
        paths.push(format!("/breakers/{id}"));
        paths.push(format!("/api/v1/breakers/{id}"));
        paths.push(format!("/api/v1/breakers/{id}/timeline"));
    }
    for what in ["incidents", "transitions", "probes", "audit"] {
        for format in ["csv", "json", "ndjson", "md", "ics", "html"] {
            // Only incidents are there as documents.
            if what == "incidents" || !["md", "ics", "html"].contains(&format) {
                paths.push(format!("/api/v1/export?what={what}&format={format}"));
            }
        }
    }
    let mut all = String::new();
    for path in paths {
        let (status, body) = request(board, "GET", &path, "").await.expect("an answer");
        assert_eq!(status, 200, "{path} has something to tell: {body}");
        all.push_str(&body);
    }
    let feed = async {
        let mut stream = TcpStream::connect(board).await.expect("it listens");
        let asked = format!("GET /api/v1/events?after=1-0 HTTP/1.1\r\nhost: {board}\r\n\r\n");
        stream.write_all(asked.as_bytes()).await.expect("sent");
        let mut feed = String::new();
        while !feed.contains("event: stats") {
            let mut some = [0; 16 * 1024];
            let count = stream.read(&mut some).await.expect("more");
            assert_ne!(count, 0, "the feed ended: {feed}");
            feed.push_str(&String::from_utf8_lossy(&some[..count]));
        }
        feed
    };
    let feed = within(std::time::Duration::from_secs(60), "the feed's first heartbeat", feed).await;
    assert!(feed.contains("event: transition"), "{feed}");
    all + &feed
}

/// Looks through every file but the configuration.
fn search(folder: &std::path::Path) -> Vec<String> {
    let mut files = Vec::new();
    for file in std::fs::read_dir(folder).expect("the folder") {
        let path = file.expect("readable").path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            continue;
        }
        let bytes = std::fs::read(&path).expect("readable");
        assert!(!bytes.windows(6).any(|six| six == b"SECRET"), "{} holds a secret", path.display());
        files.push(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
    }
    files
}

#[tokio::test]
async fn r39_no_secret_reaches_log_store_page_feed_or_error() {
    let folder = tempfile::tempdir().expect("a folder");
    // 500 trips, so that evidence is stored; the others end in an error of ours.
    let host = Host::start(|_| Reply::status(500)).await;
    let away = "302 Found\r\nlocation: http://SECRET-user:SECRET-word@127.0.0.1:1/x?sig=SECRET-sig&SECRET-flag";
    let leading = Host::start(move |_| Reply::text(away, "there")).await;
    let rpc = RpcHost::start().await;
    rpc.fail_with(Code::Unavailable);
    let config = format!(
        "[[upstream]]\nname = \"npm\"\nurl = \"{}\"\nheaders = {{ authorization = \"Bearer SECRET-configured\" }}\n\
         active_probe = {{ path = \"/health?key=SECRET-probe\" }}\n\
         [[upstream]]\nname = \"gone\"\nurl = \"http://127.0.0.1:1/base\"\n\
         [[upstream]]\nname = \"away\"\nurl = \"{}\"\nallow_private = true\nredirects = {{ hosts = [\"*\"] }}\n\
         [[upstream]]\nname = \"inside\"\nurl = \"{}\"\nkey = \"upstream\"\nredirects = {{ hosts = [\"*\"] }}\n{}\
         headers = {{ x-configured = \"SECRET-configured\" }}\n",
        host.url(),
        leading.url(),
        leading.url(),
        rpc.upstream("accounts", "[\"accounts.v1.*\"]"),
    );
    let process = Process::serve(folder.path(), &config, "debug").await;
    let gateway = process.gateway.parse().expect("an address");
    let mut answers = String::new();
    for upstream in ["npm", "gone", "away", "inside", "nobody"] {
        for _ in 0..7 {
            let target = format!("/{upstream}/x?token=SECRET-query&SECRET-word");
            let more = "authorization: Bearer SECRET-client\r\ncookie: SECRET-cookie\r\nx-api-key: SECRET-key\r\n";
            let got = get_with(gateway, &target, more).await;
            answers.push_str(&got.head);
            answers.push_str(&String::from_utf8_lossy(&got.body));
        }
    }
    assert!(answers.contains("HTTP/1.1 503"), "something was refused");
    let mut caller = client(gateway).await;
    for _ in 0..7 {
        let mut asked = tonic::Request::new(Bytes::from_static(b"SECRET-message"));
        asked.metadata_mut().insert("authorization", "Bearer SECRET-rpc".parse().expect("metadata"));
        asked.metadata_mut().insert_bin("x-key-bin", MetadataValue::from_bytes(b"SECRET-key"));
        let status = unary(&mut caller, "/accounts.v1.Accounts/Get", asked).await.expect_err("as told");
        answers.push_str(&format!("{status:?}"));
    }
    assert_eq!(rpc.metadata().get("x-configured").and_then(|value| value.to_str().ok()), Some("SECRET-configured"));
    let breakers = [host.id(), leading.id(), "http:127.0.0.1:1".to_owned(), "inside".to_owned(), "accounts".to_owned()];
    // An operator's probe carries the query of active_probe.
    let probed = format!("/api/v1/breakers/{}/probe", host.id());
    request(&process.board, "POST", &probed, "{\"reason\":\"test\"}").await.expect("an answer");
    let told = told(&process.board, &breakers).await;
    assert!(told.contains("/x?token=***"), "there is something to be searched");
    let held = search(folder.path());
    assert!(held.iter().any(|file| file.ends_with("-wal")), "{held:?}");
    let (log, status) = process.terminate().await;
    assert!(status.success(), "SIGTERM is an end in order: {log}");
    assert!(!log.is_empty(), "debug lines are there to be searched");
    for (name, text) in [("an answer", &answers), ("the log", &log), ("what anybody can read", &told)] {
        let at = text.find("SECRET").map(|at| text[..text.len().min(at + 80)].lines().last().unwrap_or_default());
        assert_eq!(at, None, "{name} holds a secret");
    }
    search(folder.path());
    assert!(host.asked().iter().all(|asked| asked.header("authorization") == Some("Bearer SECRET-configured")));
}

/// What a client may send, and what none should.
const NOISE: [&[u8]; 22] = [
    b"GET /npm/x HTTP/1.1\r\nhost: gate\r\n\r\n",
    b"GET http://[::1/npm HTTP/1.1\r\nhost: gate\r\n\r\n",
    b"GET //npm HTTP/1.1\r\nhost: gate\r\n\r\n",
    b"GET /%ff%fe/\xc3\xbc HTTP/1.1\r\nhost: gate\r\n\r\n",
    b"GET /npm%2fx?%00 HTTP/1.1\r\nhost: \xff\r\n\r\n",
    b"OPTIONS * HTTP/1.1\r\nhost: gate\r\n\r\n",
    b"CONNECT npm:443 HTTP/1.1\r\nhost: npm:443\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\x01\x01\x05\0\0\0\x01\x82",
    b"POST /npm/x HTTP/1.1\r\nhost: gate\r\ncontent-length: 99999999999999999999\r\n\r\n",
    b"POST /npm/x HTTP/1.1\r\nhost: gate\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffffff\r\n",
    b"POST /npm/x HTTP/1.1\r\nhost: gate\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx: y\r\n\r\n",
    b"POST /npm/x HTTP/1.1\r\nhost: gate\r\nexpect: 100-continue\r\ncontent-length: 3\r\n\r\nabc",
    b"GET /npm/x HTTP/1.1\r\nhost: gate\r\nconnection: \xff, host, te, x\r\nte: \xfe\r\nvia: \xfd\r\n\r\n",
    b"GET /npm/x HTTP/1.1\r\nhost: gate\r\nrange: bytes=9-1\r\nif-none-match: \"\r\n\r\n",
    b"GET /npm/;..;/\\..%5c HTTP/1.1\r\nhost: gate\r\n\r\n",
    b"GET /api/v1/breakers?limit=-1&after=%ff HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
    b"GET /api/v1/events?after=99999999999999999999-x HTTP/1.1\r\nhost: 127.0.0.1\r\nlast-event-id: \xff\r\n\r\n",
    b"GET /api/v1/timeline?from=x&to=9999999-01-01T00:00:00Z&width=99999999999 HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
    b"PUT /api/v1/breakers/%5B::1%5D/override HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 2\r\n\r\n{]",
    b"GET /breakers/%2e%2e%2f?range=%F0%9F HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n",
    b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
    b"\r\n\r\n\0\0\0",
];

#[tokio::test]
async fn no_bytes_of_a_client_make_it_panic() {
    let seed = std::env::var("FUSEBOARD_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(rand::random);
    println!("FUSEBOARD_SEED={seed}");
    let mut dice = rand::rngs::StdRng::seed_from_u64(seed);
    let folder = tempfile::tempdir().expect("a folder");
    let host = Host::start(|_| Reply::ok()).await;
    let config = format!("[[upstream]]\nname = \"npm\"\nurl = \"{}\"\n", host.url());
    let process = Process::serve(folder.path(), &config, "warn").await;
    for round in 0..20 {
        for bytes in NOISE {
            let mut bytes = bytes.to_vec();
            // First as they stand, then with a few of them changed.
            for _ in 0..round.min(4) {
                let at = dice.random_range(0..bytes.len());
                bytes[at] = dice.random();
            }
            for listener in [&process.gateway, &process.board] {
                let exchange = async {
                    let mut stream = TcpStream::connect(listener).await.expect("it listens");
                    // It may be cut off while it still sends.
                    let _ = stream.write_all(&bytes).await;
                    let _ = stream.shutdown().await;
                    let mut some = [0; 1024];
                    // Some answers never end.
                    let _ = stream.read(&mut some).await;
                };
                let what = format!("an end to {:?}", String::from_utf8_lossy(&bytes));
                within(std::time::Duration::from_secs(60), &what, exchange).await;
            }
        }
    }
    let got = get_with(process.gateway.parse().expect("an address"), "/npm/x", "").await;
    assert_eq!((got.status, &*got.body), (200, &b"fine"[..]));
    let (log, _) = process.terminate().await;
    assert!(!log.contains("panicked"), "{log}");
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

#[tokio::test]
async fn a_log_that_nobody_reads_any_more_stops_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let process = Process::serve_unheard(folder.path(), "").await;
    let (status, _) = request(&process.board, "GET", "/health", "").await.expect("an answer");
    assert_eq!(status, 200);
    let (_, status) = process.terminate().await;
    assert!(status.success(), "SIGTERM is an end in order: {status}");
}
