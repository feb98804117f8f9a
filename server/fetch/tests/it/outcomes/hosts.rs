//! The hosts of the table, by what they do.

use std::{
    any::Any,
    future::Future,
    net::{Shutdown, SocketAddr, TcpStream as StdTcpStream},
    os::fd::AsFd,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use fuseboard_breaker::Outcome;
use fuseboard_fetch::{Timeouts, Upstream};
use h2::{Reason, SendStream, server::SendResponse};
use http::Response;
use rcgen::date_time_ymd;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::server::TlsStream;

use super::Client;
use crate::{
    names::Names,
    support::{
        Bench, Host, Step,
        bench::{AMPLE, SHORT, upstream},
        host::{self, Gate, Seen, send},
        secure::Secure,
        whole,
    },
};

const OK: &str = "HTTP/1.1 200 OK\ncontent-length: 2\n\nok";

/// A host, the upstream that names it, and a bench to call it from.
pub(super) struct At {
    pub(super) bench: Bench,
    pub(super) upstream: Arc<Upstream>,
    host: Option<Host>,
    /// What has to stay for as long as the host does.
    _kept: Option<Box<dyn Any + Send>>,
}

/// Panics when it is asked for more.
pub(super) struct Bomb;

impl http_body::Body for Bomb {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
        panic!("this body was meant to panic");
    }
}

impl At {
    pub(super) async fn start(host: &'static str, client: Client) -> Self {
        if let Some(kind) = host.strip_prefix("h2: ") {
            return over_h2(kind).await;
        }
        match host {
            "refuses" => {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = listener.local_addr().unwrap();
                drop(listener);
                Self::new(Bench::new(), &format!("http://{address}/"), host, client)
            }
            "black hole" => black_hole(client),
            "name without an address" => named(Names::new(vec![Ok(vec![])]), host),
            "resolver that does not answer" => named(Names::new(vec![]), host),
            "name that leads inside" => named(Names::new(vec![Ok(vec![SocketAddr::from(([127, 0, 0, 1], 80))])]), host),
            "no TLS" => {
                let plain = Host::start(|_| vec![Step::Close]).await;
                Self::new(Bench::new(), &format!("https://{}/", plain.address), host, client)
            }
            "wrong name in the certificate" => {
                tls(Secure::with(b"http/1.1", "other.example", |_| {}).await, true).await
            }
            "expired certificate" => {
                let expired = |params: &mut rcgen::CertificateParams| {
                    (params.not_before, params.not_after) = (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
                };
                tls(Secure::with(b"http/1.1", "127.0.0.1", expired).await, true).await
            }
            "unknown certificate" => tls(Secure::new(b"http/1.1").await, false).await,
            "hang-up in the handshake" => {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let url = format!("https://{}/", listener.local_addr().unwrap());
                tokio::spawn(async move { while listener.accept().await.is_ok() {} });
                Self::new(Bench::new(), &url, host, client)
            }
            _ => {
                let plain = Host::start(move |seen| steps(host, seen)).await;
                let mut at = Self::new(Bench::new(), &plain.url("/"), host, client);
                at.host = Some(plain);
                at
            }
        }
    }

    /// Timeouts are short where one of them is to pass, and long everywhere else.
    fn new(bench: Bench, url: &str, host: &str, client: Client) -> Self {
        let upstream = upstream(url, |upstream| {
            upstream.redirects.follow = false;
            upstream.classify.abandoned_after = if client == Client::GivesUp { SHORT } else { SHORT * 1000 };
            let timeouts: &mut Timeouts = &mut upstream.timeouts;
            match (host, client) {
                (_, Client::Leaves | Client::GivesUp | Client::LeavesInBody) => {}
                (_, Client::StallsSending | Client::StallsReading) => timeouts.client_idle = SHORT,
                ("black hole" | "resolver that does not answer" | "no TLS", _) => timeouts.connect = SHORT,
                ("hang before the head" | "drip of a head" | "endless 1xx", _) => timeouts.first_byte = SHORT,
                ("takes nothing" | "hang after one byte", _) => timeouts.between_bytes = SHORT,
                ("drip of a body", _) => timeouts.total = AMPLE,
                _ => {}
            }
        });
        Self { bench, upstream, host: None, _kept: None }
    }

    /// The host has the request, or never will.
    pub(super) async fn reached(&self) {
        if let Some(host) = &self.host {
            host.received(1).await;
        }
    }

    /// A good call, so that there is a connection to be had.
    pub(super) async fn warm(&self, needed: bool) {
        if needed {
            let response = self.bench.get(&self.upstream, "/warm").await.unwrap();
            assert_eq!(whole(response).await.unwrap().to_bytes(), "ok");
            assert_eq!(self.bench.verdict().await, (Outcome::Success, None));
        }
    }
}

fn named(names: Arc<Names>, host: &str) -> At {
    At::new(Bench::with(|builder| builder.resolver(names)), "http://named.example/", host, Client::Reads)
}

fn black_hole(client: Client) -> At {
    let (address, kept) = host::black_hole();
    let mut at = At::new(Bench::new(), &format!("http://{address}/"), "black hole", client);
    at._kept = Some(Box::new(kept));
    at
}

async fn tls(secure: Secure, trusted: bool) -> At {
    let bench = if trusted { secure.bench() } else { Bench::new() };
    let at = At::new(bench, &secure.url(), "", Client::Reads);
    tokio::spawn(async move {
        loop {
            secure.accept().await;
        }
    });
    at
}

fn steps(host: &str, seen: &Seen) -> Vec<Step> {
    if seen.target == "/warm" {
        return vec![send(OK)];
    }
    let head = "HTTP/1.1 200 OK\ncontent-length: 1000\n\n";
    let never = || Step::Gate(Gate::new());
    let pause = SHORT / 8;
    match host {
        "200" if seen.method == "HEAD" => vec![send("HTTP/1.1 200 OK\ncontent-length: 2\n\n")],
        "200" => vec![send(OK)],
        "204" => vec![send("HTTP/1.1 204 No Content\n\n")],
        "304" => vec![send("HTTP/1.1 304 Not Modified\netag: \"a\"\n\n")],
        "302" => vec![send("HTTP/1.1 302 Found\nlocation: /elsewhere\ncontent-length: 0\n\n")],
        "chunked" => vec![send("HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n2\nok\n0\n\n")],
        "until the end of the connection" => vec![send("HTTP/1.1 200 OK\nconnection: close\n\nok"), Step::Close],
        "trailers" => vec![send("HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n2\nok\n0\nx-sum: 1\n\n")],
        "100 and 103 before 200" => vec![
            send("HTTP/1.1 100 Continue\n\n"),
            send("HTTP/1.1 103 Early Hints\nlink: </a>; rel=preload\n\n"),
            send(OK),
        ],
        "503 cut short" => vec![send("HTTP/1.1 503 Service Unavailable\ncontent-length: 1000\n\nab"), Step::Close],
        "404 cut short" => vec![send("HTTP/1.1 404 Not Found\ncontent-length: 1000\n\nab"), Step::Close],
        "200 before the end of the upload" => vec![send(OK), never()],
        "413 before the end of the upload" => vec![send("HTTP/1.1 413 Too Large\ncontent-length: 2\n\nno"), never()],
        "takes the request's body" => vec![Step::ReadBody, send(OK)],
        "takes nothing" => vec![never()],
        "hang before the head" => vec![Step::Hang],
        "drip of a head" => vec![Step::Drip(b"HTTP/1.1 200 OK and so on and so on and so on ", pause)],
        "endless 1xx" => vec![Step::Drip(b"HTTP/1.1 100 Continue\r\n\r\n", Duration::from_micros(100))],
        "close before the head" => vec![Step::Close],
        "reset before the head" => vec![Step::Reset],
        "cut in the head" => vec![send("HTTP/1.1 200 OK\ncontent-le"), Step::Close],
        "garbage" => vec![send("SSH-2.0-OpenSSH_9.2\n\n"), Step::Close],
        "huge headers" => vec![send(&format!("HTTP/1.1 200 OK\nx-large: {}\n\n", "x".repeat(65 * 1024))), Step::Close],
        "101 unasked" => vec![send("HTTP/1.1 101 Switching Protocols\nupgrade: x\nconnection: upgrade\n\n")],
        "hang after one byte" => vec![send(head), send("x"), Step::Hang],
        "300 of 1,000 bytes" => vec![send(head), send(&"x".repeat(300)), Step::Close],
        "no last chunk" => vec![send("HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n2\nok\n"), Step::Close],
        "bad chunk" => vec![send("HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n2\nok\nzz\n"), Step::Close],
        "reset in the body" => vec![send(head), send("x"), Step::Reset],
        "drip of a body" => vec![send(head), Step::Drip(b"x", pause)],
        "endless" => vec![send("HTTP/1.1 200 OK\ncontent-length: 99999999\n\n"), Step::Flood],
        "once a connection" => vec![Step::Close],
        status => {
            let status: u16 = status.parse().unwrap_or_else(|_| panic!("no such host: {status}"));
            let body = if seen.method == "HEAD" { "" } else { "no" };
            vec![send(&format!("HTTP/1.1 {status} Said\ncontent-length: 2\n\n{body}"))]
        }
    }
}

type Reply = Pin<Box<dyn Future<Output = ()> + Send>>;

async fn over_h2(kind: &'static str) -> At {
    let secure = Secure::new(b"h2").await;
    let at = At::new(secure.bench(), &secure.url(), kind, Client::Reads);
    tokio::spawn(async move {
        let first = Arc::new(AtomicBool::new(true));
        loop {
            let Some(stream) = secure.accept().await else { continue };
            let first = first.swap(false, Ordering::SeqCst);
            tokio::spawn(async move {
                if kind == "GOAWAY below our stream once" && first {
                    go_away_at_once(stream).await;
                } else {
                    serve_h2(kind, stream, first).await;
                }
            });
        }
    });
    at
}

/// The head and the first bytes of a body.
fn begin(respond: &mut SendResponse<Bytes>) -> SendStream<Bytes> {
    let mut body = respond.send_response(Response::new(()), false).unwrap();
    body.send_data(Bytes::from_static(b"ok"), false).unwrap();
    body
}

async fn serve_h2(kind: &'static str, stream: TlsStream<TcpStream>, first: bool) {
    let socket = StdTcpStream::from(stream.get_ref().0.as_fd().try_clone_to_owned().unwrap());
    let mut connection = h2::server::handshake(stream).await.unwrap();
    while let Some(Ok((_asked, mut respond))) = connection.accept().await {
        match kind {
            "refused once" if first => respond.send_reset(Reason::REFUSED_STREAM),
            "RST_STREAM before the head" => respond.send_reset(Reason::INTERNAL_ERROR),
            "huge headers" => {
                let head = Response::builder().header("x-large", "x".repeat(65 * 1024)).body(()).unwrap();
                respond.send_response(head, true).unwrap();
            }
            "RST_STREAM in the body" | "RST_STREAM without an error in the body" => {
                let mut body = begin(&mut respond);
                flush(&mut connection).await;
                let without = kind.contains("without");
                body.send_reset(if without { Reason::NO_ERROR } else { Reason::INTERNAL_ERROR });
            }
            "GOAWAY and gone before the head" => {
                connection.abrupt_shutdown(Reason::NO_ERROR);
                while connection.accept().await.is_some() {}
                drop(respond);
                return;
            }
            "GOAWAY in the body" => {
                // Held, so that the stream itself is not reset.
                let body = begin(&mut respond);
                flush(&mut connection).await;
                connection.abrupt_shutdown(Reason::INTERNAL_ERROR);
                while connection.accept().await.is_some() {}
                drop(body);
            }
            "connection lost in the body" => {
                let body = begin(&mut respond);
                flush(&mut connection).await;
                // Its end comes behind what was sent; dropped while there is something unread it may come before that.
                socket.shutdown(Shutdown::Write).unwrap();
                while connection.accept().await.is_some() {}
                drop(body);
                return;
            }
            "GOAWAY that lets the body finish" => {
                let mut body = begin(&mut respond);
                connection.graceful_shutdown();
                flush(&mut connection).await;
                body.send_data(Bytes::from_static(b"!"), true).unwrap();
            }
            _ => {
                let mut body = begin(&mut respond);
                body.send_data(Bytes::new(), true).unwrap();
            }
        }
    }
}

/// Lets the connection send what it was given.
async fn flush(connection: &mut h2::server::Connection<TlsStream<TcpStream>, Bytes>) {
    let sent: Reply = Box::pin(async {
        for _ in 0..16 {
            tokio::task::yield_now().await;
        }
    });
    tokio::select! {
        _ = connection.accept() => {}
        () = sent => {}
    }
}

/// A server that says it has looked at nothing, frame by frame: the library has no word for that.
async fn go_away_at_once(mut stream: TlsStream<TcpStream>) {
    let (settings, go_away) = ([0, 0, 0, 4, 0, 0, 0, 0, 0], [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    stream.write_all(&settings).await.unwrap();
    let mut preface = [0; 24];
    stream.read_exact(&mut preface).await.unwrap();
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.unwrap();
        let mut payload = vec![0; usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2])];
        stream.read_exact(&mut payload).await.unwrap();
        // HEADERS.
        if head[3] == 1 {
            break;
        }
    }
    stream.write_all(&go_away).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut rest = Vec::new();
    // Whatever else the client had to say.
    let _ = stream.read_to_end(&mut rest).await;
}
