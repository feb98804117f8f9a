//! Clients of HTTP/1.0, proxies that speak it to what stands behind them among them: the end of the connection is the only
//! end an answer of unknown length has, so one that is not whole must not end like that.

use std::io::{self, ErrorKind};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
};

use crate::support::{
    app::TestApp,
    host::{Host, Reply},
    registry::gzipped,
    soon,
};

fn upstreams(host: &Host) -> String {
    let url = host.url();
    format!(
        "[[upstream]]\nname = \"up\"\nurl = \"{url}\"\ntimeouts = {{ between_bytes = \"300ms\" }}\n\
         [[upstream]]\nname = \"changed\"\nurl = \"{url}\"\npreset = \"npm\"\ntimeouts = {{ between_bytes = \"300ms\" }}\n"
    )
}

/// Asks, and reads until the connection ends; how it did is told apart from what came before.
async fn ask(app: &TestApp, request: &str) -> (Vec<u8>, io::Result<usize>) {
    let mut stream = soon("a connection", TcpStream::connect(app.gateway())).await.expect("it listens");
    stream.write_all(request.as_bytes()).await.expect("sent");
    read(stream).await
}

async fn read(mut stream: TcpStream) -> (Vec<u8>, io::Result<usize>) {
    let mut all = Vec::new();
    let ended = soon("the connection's end", stream.read_to_end(&mut all)).await;
    (all, ended)
}

fn get(target: &str) -> String {
    format!("GET {target} HTTP/1.0\r\nhost: gate\r\n\r\n")
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n";

#[tokio::test]
async fn r35_over_http_1_0_a_body_that_breaks_off_ends_in_a_reset_and_not_in_order() {
    let cut = format!("{CHUNKED}\r\n5\r\n[1,2,\r\n").into_bytes();
    let coded = gzipped(&(0..100_000).map(|at| format!("[{at}]")).collect::<String>().into_bytes());
    let half = &coded[..coded.len() / 2];
    let half_coded =
        [format!("{CHUNKED}content-encoding: gzip\r\n\r\n{:x}\r\n", half.len()).as_bytes(), half, b"\r\n0\r\n\r\n"]
            .concat();
    for (name, target, reply) in [
        ("no last chunk", "/up/x", Reply::Cut(cut.clone())),
        ("silence", "/up/x", Reply::Early(cut.clone())),
        ("no last chunk, links changed", "/changed/x", Reply::Cut(cut)),
        ("half of the coding", "/changed/x", Reply::Answer(half_coded)),
    ] {
        let host = Host::start(move |_| reply.clone()).await;
        let app = TestApp::start(&upstreams(&host)).await;
        for keep in ["", "connection: keep-alive\r\n"] {
            let request = format!("GET {target} HTTP/1.0\r\nhost: gate\r\n{keep}\r\n");
            let (came, ended) = ask(&app, &request).await;
            let error = ended.map_err(|error| error.kind());
            assert_eq!(error, Err(ErrorKind::ConnectionReset), "{name}: {}", String::from_utf8_lossy(&came));
        }
    }
}

#[tokio::test]
async fn r35_over_http_1_0_whatever_is_whole_ends_in_order() {
    let chunk = [b'x'; 0x10000];
    let chunks = 64;
    let mut large = format!("{CHUNKED}\r\n").into_bytes();
    for _ in 0..chunks {
        large.extend([b"10000\r\n", &chunk[..], b"\r\n"].concat());
    }
    large.extend(b"0\r\n\r\n");
    let host = Host::start(move |asked| match asked.target() {
        "/large" => Reply::Answer(large.clone()),
        "/small" => Reply::Answer(format!("{CHUNKED}\r\n2\r\n[]\r\n0\r\n\r\n").into_bytes()),
        "/none" if asked.head.starts_with("HEAD") => Reply::Answer(format!("{CHUNKED}\r\n").into_bytes()),
        "/none" => Reply::Answer(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()),
        _ => Reply::ok(),
    })
    .await;
    let app = TestApp::start(&upstreams(&host)).await;
    for (request, body) in [
        (get("/up/small"), "[]"),
        (get("/changed/small"), "[]"),
        (get("/up/none"), ""),
        ("HEAD /up/none HTTP/1.0\r\n\r\n".to_owned(), ""),
        (get("/up/known"), "fine"),
    ] {
        let (came, ended) = ask(&app, &request).await;
        assert!(ended.is_ok(), "{request}: {ended:?}");
        assert!(came.starts_with(b"HTTP/1.0 20") && came.ends_with(format!("\r\n\r\n{body}").as_bytes()), "{request}");
    }
    // To one that takes it as slowly as it likes: what it has not taken yet is not thrown away.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a small window");
    let mut stream = soon("a connection", socket.connect(app.gateway())).await.expect("it listens");
    stream.write_all(get("/up/large").as_bytes()).await.expect("sent");
    host.arrived(6).await;
    let (came, ended) = read(stream).await;
    assert!(ended.is_ok(), "{ended:?}");
    let head = came.windows(4).position(|four| four == b"\r\n\r\n").expect("a head") + 4;
    assert_eq!(came.len() - head, chunks * chunk.len());
}

#[tokio::test]
async fn r35_over_http_1_0_a_body_of_known_length_shows_what_came_of_it() {
    let text = format!("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{}", "x".repeat(300));
    let host = Host::start(move |_| Reply::Cut(text.clone().into_bytes())).await;
    let app = TestApp::start(&upstreams(&host)).await;
    let (came, ended) = ask(&app, &get("/up/x")).await;
    assert!(ended.is_ok(), "its length says that it is not whole: {ended:?}");
    let came = String::from_utf8(came).expect("text");
    assert!(came.contains("content-length: 1000\r\n") && came.ends_with(&"x".repeat(300)), "{came}");
}

#[tokio::test]
async fn r35_over_http_1_0_a_body_that_a_stop_ends_is_reset_too() {
    let begun = format!("{CHUNKED}\r\n5\r\n[1,2,\r\n");
    let host = Host::start(move |_| Reply::Early(begun.clone().into_bytes())).await;
    let text = format!("[[upstream]]\nname = \"up\"\nurl = \"{}\"\n", host.url());
    let app = TestApp::start(&text).await;
    let mut stream = soon("a connection", TcpStream::connect(app.gateway())).await.expect("it listens");
    stream.write_all(get("/up/x").as_bytes()).await.expect("sent");
    let mut came = Vec::new();
    while !came.ends_with(b"[1,2,") {
        came.push(soon("the beginning", stream.read_u8()).await.expect("it is under way"));
    }
    app.app().lifecycle.begin_hard();
    let (rest, ended) = read(stream).await;
    assert_eq!(ended.map_err(|error| error.kind()), Err(ErrorKind::ConnectionReset), "{rest:?}");
}
