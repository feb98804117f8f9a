//! A body whose links were changed is another body: its validators, parts and ends are its own, and it streams.

use std::{io::Write, time::Duration};

use async_compression::tokio::write::BrotliEncoder;
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use fuseboard_breaker::{ManualClock, State};
use http::Response;
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use tokio::{
    io::AsyncWriteExt,
    net::{TcpStream, ToSocketAddrs},
};

use crate::support::{
    app::TestApp,
    host::{Asked, Host, Reply},
    http::{get, get_with, send},
    process::Process,
    registry::{gzip, gzipped},
    soon,
};

const JSON: &str = "accept: application/json\r\n";

fn upstream(url: &str) -> String {
    format!("[[upstream]]\nname = \"up\"\nurl = \"{url}\"\npreset = \"npm\"\n")
}

fn own(asked: &Asked) -> String {
    format!("http://{}", asked.header("host").expect("a host"))
}

/// Metadata with every header that speaks of the body, and 304 for its tag.
fn tagged(asked: &Asked) -> Reply {
    let known = asked.header("if-none-match").map(|tag| tag == "\"v1\"");
    if known.unwrap_or(asked.header("if-modified-since") == Some("yesterday")) {
        return Reply::Answer(
            b"HTTP/1.1 304 Not Modified\r\netag: \"v1\"\r\nlast-modified: yesterday\r\n\r\n".to_vec(),
        );
    }
    let body = format!("[\"{}/x\"]", own(asked));
    let media_type = if asked.target().ends_with(".tgz") { "application/octet-stream" } else { "application/json" };
    let about = format!(
        "etag: \"v1\"\r\nlast-modified: yesterday\r\naccept-ranges: bytes\r\ncontent-md5: x\r\ndigest: y\r\n\
         repr-digest: z\r\nx-kept: yes\r\ncontent-type: {media_type}"
    );
    if asked.head.starts_with("HEAD") {
        let head = format!("HTTP/1.1 200 OK\r\n{about}\r\ncontent-length: {}\r\n\r\n", body.len());
        return Reply::Answer(head.into_bytes());
    }
    Reply::text(&format!("200 OK\r\n{about}"), &body)
}

#[tokio::test]
async fn validators_are_its_own_and_304_still_works() {
    let host = Host::start(tagged).await;
    let app = TestApp::start(&upstream(&host.url())).await;
    let got = get_with(app.gateway(), "/up/a", JSON).await;
    for dropped in ["last-modified", "accept-ranges", "content-md5", "digest", "repr-digest", "content-length"] {
        assert_eq!(got.header(dropped), None, "{dropped} speaks of another body");
    }
    assert_eq!(got.header("x-kept"), Some("yes"));
    let tag = got.header("etag").expect("a tag").to_owned();
    assert!(tag.starts_with("W/\"") && tag != "W/\"v1\"", "{tag}");

    let conditional = |tag: &str, more: &str| format!("if-none-match: {tag}\r\n{more}");
    let got = get_with(app.gateway(), "/up/a", &conditional(&tag, JSON)).await;
    assert_eq!((got.status, got.header("etag"), got.header("last-modified")), (304, Some(&*tag), None));
    assert_eq!(
        host.asked().last().and_then(|asked| asked.header("if-none-match").map(str::to_owned)).as_deref(),
        Some("\"v1\"")
    );

    // The same tag of other rules, and the host's own where links are expected, stand for other bodies.
    let outdated = tag.replace("fuseboard-", "fuseboard-0");
    for tag in [&*outdated, "\"v1\""] {
        let got = get_with(app.gateway(), "/up/a", &conditional(tag, JSON)).await;
        assert_eq!(got.status, 200, "{tag}");
    }
    let dated = get_with(app.gateway(), "/up/a", &format!("if-modified-since: yesterday\r\n{JSON}")).await;
    assert_eq!(dated.status, 200);
    assert_eq!(host.asked().last().and_then(|asked| asked.header("if-modified-since").map(str::to_owned)), None);
    // Where it may as well be a file the host is asked what it is: of metadata the client's is another body.
    for known in ["if-none-match: \"v1\"\r\n", "if-modified-since: yesterday\r\n"] {
        let got = get_with(app.gateway(), "/up/a", &format!("{known}accept: */*\r\n")).await;
        assert_eq!((got.status, got.header("etag")), (200, Some(&*tag)), "{known}");
        assert_eq!(got.json()[0], format!("http://{}/up/x", app.gateway()));
        let got = get_with(app.gateway(), "/up/a.tgz", &format!("{known}accept: */*\r\n")).await;
        assert_eq!((got.status, got.header("etag")), (304, Some("\"v1\"")), "{known}");
    }
    let got = get_with(app.gateway(), "/up/a", &conditional(&tag, "accept: */*\r\n")).await;
    assert_eq!((got.status, got.header("etag")), (304, Some(&*tag)));
}

#[tokio::test]
async fn head_says_what_get_says() {
    let host = Host::start(tagged).await;
    let app = TestApp::start(&upstream(&host.url())).await;
    let got = get(app.gateway(), "/up/a").await;
    let request = format!("HEAD /up/a HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", app.gateway());
    let head = send(app.gateway(), &request).await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    for name in ["etag", "content-type", "content-length", "last-modified", "digest", "x-kept"] {
        assert_eq!(head.header(name), got.header(name), "{name}");
    }
}

#[tokio::test]
async fn a_part_of_metadata_is_the_whole_and_a_part_of_a_file_is_a_part() {
    let host = Host::start(|asked| {
        let body = format!("[\"{}/x\"]", own(asked));
        let media_type = if asked.target() == "/file" { "application/octet-stream" } else { "application/json" };
        match asked.header("range") {
            Some(_) => Reply::text(
                &format!(
                    "206 Partial Content\r\ncontent-type: {media_type}\r\ncontent-range: bytes 0-3/{}",
                    body.len()
                ),
                &body[..4],
            ),
            None => Reply::text(&format!("200 OK\r\ncontent-type: {media_type}"), &body),
        }
    })
    .await;
    let app = TestApp::start(&upstream(&host.url())).await;
    let link = format!("http://{}/up/x", app.gateway());
    for (accept, ranges) in [(JSON, [None, None]), ("accept: */*\r\n", [Some("bytes=0-3"), None])] {
        let before = host.asked().len();
        let got = get_with(app.gateway(), "/up/meta", &format!("range: bytes=0-3\r\n{accept}")).await;
        assert_eq!((got.status, got.header("content-range")), (200, None), "{accept}");
        assert_eq!(got.json()[0], *link);
        for (asked, range) in host.asked()[before..].iter().zip(ranges) {
            assert_eq!(asked.header("range"), range, "{accept}");
        }
    }
    let got = get_with(app.gateway(), "/up/file", "range: bytes=0-3\r\n").await;
    assert_eq!((got.status, got.body.len()), (206, 4));
    let got = get_with(app.gateway(), "/up/file", "range: bytes=0-0,2-3\r\n").await;
    assert_eq!(got.status, 200, "several parts of who knows what are not asked for");
}

/// Asks with a client that knows where a body should end.
async fn ask(gateway: impl ToSocketAddrs, target: &str) -> Incoming {
    let response = try_ask(gateway, target).await.expect("a head");
    assert_eq!(response.status().as_u16(), 200);
    response.into_body()
}

async fn try_ask(gateway: impl ToSocketAddrs, target: &str) -> hyper::Result<Response<Incoming>> {
    let ask = async {
        let stream = TcpStream::connect(gateway).await.expect("it listens");
        let handshake = hyper::client::conn::http1::handshake(TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.expect("spoken");
        tokio::spawn(connection);
        let request = http::Request::get(target).header("host", "gate").body(Empty::<Bytes>::new());
        sender.send_request(request.expect("a request")).await
    };
    soon(target, ask).await
}

fn chunked(about: &str, chunks: &[&[u8]]) -> Vec<u8> {
    let mut answer =
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{about}transfer-encoding: chunked\r\n\r\n")
            .into_bytes();
    for chunk in chunks {
        answer.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        answer.extend_from_slice(chunk);
        answer.extend_from_slice(b"\r\n");
    }
    answer
}

#[tokio::test]
async fn r25_a_cut_body_stays_one() {
    let coded = gzipped(&[b'7'; 100_000]);
    let gzip = "content-encoding: gzip\r\n";
    let plain = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n[1,2";
    for (name, answer) in [
        ("4 of 1,000 bytes", plain.as_bytes().to_vec()),
        ("no last chunk", chunked("", &[b"[1,2]"])),
        ("all of the text, and no last chunk", chunked(gzip, &[&coded])),
        ("half of the coding", chunked(gzip, &[&coded[..coded.len() / 2]])),
    ] {
        let host = Host::start(move |_| Reply::Cut(answer.clone())).await;
        let app = TestApp::start(&upstream(&host.url())).await;
        for _ in 0..5 {
            let ended = soon("the end", ask(app.gateway(), "/up/x").await.collect()).await;
            assert!(ended.is_err(), "{name}: the client must not take it for whole");
        }
        let snapshot = app.breaker(&host.id()).snapshot();
        assert_eq!((snapshot.counts.failure, snapshot.state), (5, State::Open), "{name}");
    }
}

#[tokio::test]
async fn what_cannot_be_decoded_is_told_or_ends_with_an_error() {
    let coded = gzipped(b"[1,2,3]");
    let cut = coded[..coded.len() - 4].to_vec();
    for (coded, is_begun) in [(cut, true), (b"no gzip at all".to_vec(), false)] {
        let answer = [chunked("content-encoding: gzip\r\n", &[&coded]), b"0\r\n\r\n".to_vec()].concat();
        let host = Host::start(move |_| Reply::Answer(answer.clone())).await;
        let app = TestApp::start(&upstream(&host.url())).await;
        if is_begun {
            // Whether the head was on its way already is left to the server.
            if let Ok(response) = try_ask(app.gateway(), "/up/x").await {
                assert_eq!(response.status().as_u16(), 200);
                let ended = soon("the end", response.into_body().collect()).await;
                assert!(ended.is_err(), "the client must not take it for whole");
            }
        } else {
            let got = get(app.gateway(), "/up/x").await;
            assert_eq!((got.status, got.header("content-encoding")), (502, None), "{}", got.head);
            let told = got.json();
            let detail = told["detail"].as_str().expect("words");
            assert!(detail.contains("its content coding cannot be undone"), "{detail}");
        }
        assert_eq!(app.breaker(&host.id()).snapshot().counts.failure, 0, "the host sent all it announced");
    }
}

/// An answer in chunks, whole.
fn in_chunks(coding: &str, chunks: &[&[u8]]) -> Reply {
    Reply::Answer([chunked(&format!("content-encoding: {coding}\r\n"), chunks), b"0\r\n\r\n".to_vec()].concat())
}

async fn brotli(text: &[u8]) -> Vec<u8> {
    let mut encoder = BrotliEncoder::new(Vec::new());
    encoder.write_all(text).await.expect("memory");
    encoder.shutdown().await.expect("memory");
    encoder.into_inner()
}

#[tokio::test]
async fn what_follows_a_whole_document_is_passed_over_and_what_is_missing_of_one_is_not() {
    let one = gzipped(b"[1,");
    let two = gzipped(b"2]");
    let whole = gzipped(b"[1,2]");
    let mut corrupt = whole.clone();
    let check = corrupt.len() - 8;
    corrupt[check] ^= 0xff;
    let brotli = brotli(b"[1,2]").await;
    let text = Some("[1,2]");
    for (name, coding, chunks, expected) in [
        ("two streams", "gzip", vec![&*one, &two], text),
        ("two streams, the second begun with one byte", "gzip", vec![&one, &two[..1], &two[1..]], text),
        ("two streams in one chunk", "gzip", vec![&[&*one, &two].concat()], text),
        ("padding", "gzip", vec![&whole, &[0; 512]], text),
        ("padding in the same chunk", "gzip", vec![&[&*whole, &[0; 512]].concat()], text),
        ("junk", "gzip", vec![&whole, b"junk"], text),
        ("half of what a stream begins with", "gzip", vec![&whole, b"\x1f"], text),
        ("junk that begins like half a stream", "gzip", vec![&whole, b"\x1f", b"junk"], text),
        ("junk after two streams", "gzip", vec![&one, &two, b"junk"], text),
        ("nothing at all", "gzip", vec![], Some("")),
        ("a stream of nothing", "gzip", vec![&gzipped(b"")], Some("")),
        ("a begun second stream", "gzip", vec![&whole, &two[..two.len() - 1]], None),
        ("a second stream's beginning alone", "gzip", vec![&whole, b"\x1f\x8b"], None),
        ("a checksum of something else", "gzip", vec![&corrupt], None),
        ("all but the length", "gzip", vec![&whole[..whole.len() - 1]], None),
        ("brotli", "br", vec![&*brotli], text),
        ("junk after brotli", "br", vec![&brotli, b"junk"], text),
        ("no brotli at all", "br", vec![], Some("")),
        ("all but the end of brotli", "br", vec![&brotli[..brotli.len() - 1]], None),
    ] {
        let reply = in_chunks(coding, &chunks);
        let host = Host::start(move |_| reply.clone()).await;
        let app = TestApp::start(&upstream(&host.url())).await;
        let got = match try_ask(app.gateway(), "/up/x").await {
            Ok(response) if response.status() == 200 => soon("the end", response.into_body().collect()).await.ok(),
            _ => None,
        };
        let got = got.map(|body| String::from_utf8(body.to_bytes().to_vec()).expect("text"));
        assert_eq!(got.as_deref(), expected, "{name}");
        let counts = app.breaker(&host.id()).snapshot().counts;
        assert_eq!(counts.failure, 0, "{name}: the host sent all it announced");
        if expected.is_some() {
            assert_eq!(counts.success, 1, "{name}: read to the end");
        }
    }
}

/// Open, and its wait over.
async fn probe_due(host: &Host, app: &TestApp, clock: &ManualClock) {
    host.now(|_| Reply::status(503));
    for _ in 0..5 {
        assert_eq!(get(app.gateway(), "/up/x").await.status, 503);
    }
    assert_eq!(app.breaker(&host.id()).snapshot().state, State::Open);
    clock.advance(Duration::from_secs(31));
}

#[tokio::test]
async fn r25_the_permit_travels_with_the_changed_body_as_it_streams() {
    let host = Host::start(|_| Reply::ok()).await;
    let (app, clock) = TestApp::manual(&upstream(&host.url())).await;
    probe_due(&host, &app, &clock).await;
    // The first chunk, and then nothing.
    host.now(|asked| Reply::Early(chunked("", &[format!("[\"{}/x\", \"half a str", own(asked)).as_bytes()])));
    let mut body = ask(app.gateway(), "/up/x").await;
    let first = soon("what came so far", body.frame()).await.expect("a frame").expect("no error");
    let text = String::from_utf8(first.into_data().expect("data").to_vec()).expect("text");
    assert!(text.starts_with(&format!("[\"http://{}/up/x\"", app.gateway())), "{text}");
    let refused = get(app.gateway(), "/up/x").await;
    assert_eq!((refused.status, &refused.json()["reason"]), (503, &"probes_taken".into()));
    drop(body);

    // A whole one is a good probe, whatever its decoder leaves unread.
    let host = Host::start(|_| Reply::ok()).await;
    let (app, clock) = TestApp::manual(&upstream(&host.url())).await;
    probe_due(&host, &app, &clock).await;
    let coded = gzipped(b"[1,2,3]");
    let answer = [chunked("content-encoding: gzip\r\n", &[&coded]), b"0\r\n\r\n".to_vec()].concat();
    host.now(move |_| Reply::Answer(answer.clone()));
    let whole = soon("all of it", ask(app.gateway(), "/up/x").await.collect()).await.expect("whole");
    assert_eq!(whole.to_bytes(), "[1,2,3]");
    assert_eq!(app.breaker(&host.id()).snapshot().state, State::Closed);
}

#[tokio::test]
async fn a_large_packument_comes_through_changed_and_whole() {
    let versions = 40_000;
    let make = move |prefix: &str| {
        let version = |at: usize| {
            format!("\"{at}.0.0\":{{\"dist\":{{\"tarball\":\"{prefix}/a/-/a-{at}.0.0.tgz\",\"shasum\":\"{at:040}\"}}}}")
        };
        format!("{{\"versions\":{{{}}}}}", (0..versions).map(version).collect::<Vec<_>>().join(","))
    };
    let host = Host::start(move |asked| gzip("application/json", make(&own(asked)).as_bytes())).await;
    let app = TestApp::start(&upstream(&host.url())).await;
    let got = soon("all of it", ask(app.gateway(), "/up/a").await.collect()).await.expect("whole").to_bytes();
    assert!(got == make(&format!("http://{}/up", app.gateway())), "{} bytes", got.len());
}

/// The text of a small answer that becomes a large one.
const INFLATED: usize = 64 * 1024 * 1024;
/// What it may add to the process's memory.
const BOUND: u64 = 32 * 1024 * 1024;

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r35_what_inflates_needs_little_memory() {
    let piece = b"\"https://elsewhere.example/file\",".repeat(1024);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    for _ in 0..INFLATED / piece.len() {
        encoder.write_all(&piece).expect("memory");
    }
    let coded = encoder.finish().expect("memory");
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        coded.len()
    );
    let answer = [head.as_bytes(), &coded].concat();
    let host = Host::start(move |_| Reply::Answer(answer.clone())).await;
    let folder = tempfile::tempdir().expect("a folder");
    let process = Process::serve(folder.path(), &upstream(&host.url()), "warn").await;
    let before = process.resident();
    let mut body = ask(process.gateway.clone(), "/up/x").await;
    let (mut read, mut frames, mut peak) = (0, 0, before);
    while let Some(frame) = soon("more of it", body.frame()).await {
        read += frame.expect("no error").into_data().map_or(0, |data| data.len());
        frames += 1;
        if frames % 256 == 0 {
            peak = peak.max(process.resident());
        }
    }
    assert_eq!(read, INFLATED / piece.len() * piece.len());
    let grown = peak - before;
    assert!(grown < BOUND, "grew by {} MiB in {frames} frames", grown / 1024 / 1024);
    process.terminate().await;
}
