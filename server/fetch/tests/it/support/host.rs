//! A host that does what it is told: for every request, in order of arrival, the script says what to send and how to
//! end. It counts what reaches it.

use std::{
    net::{SocketAddr, TcpStream as StdTcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::watch,
};

use super::soon;

/// One thing a host does.
#[derive(Clone)]
pub(crate) enum Step {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Reads the request's body to its end.
    ReadBody,
    /// Waits until the gate opens.
    Gate(Gate),
    /// Neither sends nor reads until the other side goes away.
    Hang,
    /// Ends the connection in good order.
    Close,
    /// Ends it with a reset.
    Reset,
    /// Sends zeros until the other side goes away.
    Flood,
    /// Sends these bytes one by one with a pause before each, again and again until the other side goes away.
    Drip(&'static [u8], Duration),
}

/// Opened once by the test.
#[derive(Clone)]
pub(crate) struct Gate(Arc<watch::Sender<bool>>);

impl Gate {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    pub(crate) fn open(&self) {
        self.0.send_replace(true);
    }

    pub(crate) async fn opened(&self) {
        // The sender lives as long as `self`.
        let _ = self.0.subscribe().wait_for(|open| *open).await;
    }
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    /// Which connection it came on, from 0.
    pub(crate) connection: usize,
    /// Which request of that connection it is, from 0.
    pub(crate) turn: usize,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }
}

type Script = dyn Fn(&Seen) -> Vec<Step> + Send + Sync;

struct Inner {
    script: Box<Script>,
    seen: Mutex<Vec<Seen>>,
    body: Mutex<Vec<u8>>,
    requests: watch::Sender<usize>,
    gone: watch::Sender<usize>,
    connections: AtomicUsize,
}

/// A scripted host.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) address: SocketAddr,
    inner: Arc<Inner>,
}

impl Host {
    /// Starts one on a port of its own.
    pub(crate) async fn start(script: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = Self::describe(listener.local_addr().unwrap(), script);
        let inner = Arc::clone(&host.inner);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve_tcp(Arc::clone(&inner), socket));
            }
        });
        host
    }

    /// One whose connections somebody else accepts, and hands to [`Host::serve`].
    pub(crate) fn describe(address: SocketAddr, script: impl Fn(&Seen) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let inner = Inner {
            script: Box::new(script),
            seen: Mutex::default(),
            body: Mutex::default(),
            requests: watch::Sender::new(0),
            gone: watch::Sender::new(0),
            connections: AtomicUsize::new(0),
        };
        Self { address, inner: Arc::new(inner) }
    }

    /// Always the same answer.
    pub(crate) async fn answering(answer: &'static str) -> Self {
        Self::start(move |_| vec![Step::ReadBody, send(answer)]).await
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn breaker(&self) -> String {
        format!("http:{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.inner.seen.lock().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.inner.seen.lock().len()
    }

    pub(crate) fn connections(&self) -> usize {
        self.inner.connections.load(Ordering::SeqCst)
    }

    /// All request bodies that were read, one after the other.
    pub(crate) fn body(&self) -> Vec<u8> {
        self.inner.body.lock().clone()
    }

    /// Waits until this many requests have arrived.
    pub(crate) async fn received(&self, count: usize) {
        let mut requests = self.inner.requests.subscribe();
        soon("a request", requests.wait_for(|seen| *seen >= count)).await.unwrap();
    }

    /// Waits until this many connections were closed by the other side while the host hung or flooded.
    pub(crate) async fn left(&self, count: usize) {
        let mut gone = self.inner.gone.subscribe();
        soon("a hang-up", gone.wait_for(|seen| *seen >= count)).await.unwrap();
    }

    /// Serves a connection somebody else accepted.
    pub(crate) async fn serve<T: AsyncRead + AsyncWrite + Unpin>(&self, socket: T) {
        serve(&self.inner, socket).await;
    }
}

/// An address that swallows connections: a listener whose queue is full, so that the system drops what else knocks. It
/// does so for as long as the second value is kept.
pub(crate) fn black_hole() -> (SocketAddr, (TcpListener, Vec<StdTcpStream>)) {
    const KNOCK: Duration = Duration::from_millis(100);
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let listener = socket.listen(0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut held = Vec::new();
    // The system itself says whether it let one in: a busy runtime may come too late to hear of it, and room would be left.
    while let Ok(stream) = StdTcpStream::connect_timeout(&address, KNOCK) {
        held.push(stream);
    }
    (address, (listener, held))
}

/// Text to send, with `\n` for the end of a line.
pub(crate) fn send(text: &str) -> Step {
    Step::Send(text.replace('\n', "\r\n").into_bytes())
}

async fn serve_tcp(inner: Arc<Inner>, mut socket: TcpStream) {
    if serve(&inner, &mut socket).await {
        socket.set_zero_linger().unwrap();
    }
}

/// Whether to end with a reset.
async fn serve<T: AsyncRead + AsyncWrite + Unpin>(inner: &Inner, mut socket: T) -> bool {
    let connection = inner.connections.fetch_add(1, Ordering::SeqCst);
    let mut buffer = Vec::new();
    for turn in 0.. {
        let Some(end) = read_until(&mut socket, &mut buffer, b"\r\n\r\n").await else { return false };
        let head: Vec<u8> = buffer.drain(..end).collect();
        let seen = parse(&String::from_utf8_lossy(&head), connection, turn);
        let steps = (inner.script)(&seen);
        inner.seen.lock().push(seen.clone());
        inner.requests.send_modify(|count| *count += 1);
        for step in steps {
            let done = match step {
                Step::Send(bytes) => socket.write_all(&bytes).await.is_ok() && socket.flush().await.is_ok(),
                Step::ReadBody => read_body(inner, &mut socket, &mut buffer, &seen).await.is_some(),
                Step::Gate(gate) => {
                    gate.opened().await;
                    true
                }
                Step::Hang => {
                    let mut rest = [0; 1024];
                    while matches!(socket.read(&mut rest).await, Ok(1..)) {}
                    inner.gone.send_modify(|count| *count += 1);
                    false
                }
                Step::Flood => {
                    while socket.write_all(&[0; 16 * 1024]).await.is_ok() {}
                    inner.gone.send_modify(|count| *count += 1);
                    false
                }
                Step::Drip(bytes, pause) => {
                    let mut pace = tokio::time::interval(pause);
                    for byte in bytes.iter().cycle() {
                        pace.tick().await;
                        if socket.write_all(&[*byte]).await.is_err() || socket.flush().await.is_err() {
                            break;
                        }
                    }
                    inner.gone.send_modify(|count| *count += 1);
                    false
                }
                Step::Close => {
                    // All that was sent arrives; then the end, in good order.
                    let _ = socket.shutdown().await;
                    false
                }
                Step::Reset => return true,
            };
            if !done {
                return false;
            }
        }
    }
    false
}

async fn read_until<T: AsyncRead + Unpin>(socket: &mut T, buffer: &mut Vec<u8>, end: &[u8]) -> Option<usize> {
    loop {
        if let Some(at) = buffer.windows(end.len()).position(|window| window == end) {
            return Some(at + end.len());
        }
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

async fn read_body<T: AsyncRead + Unpin>(
    inner: &Inner,
    socket: &mut T,
    buffer: &mut Vec<u8>,
    seen: &Seen,
) -> Option<()> {
    if seen.header("transfer-encoding").is_some() {
        let end = match buffer.starts_with(b"0\r\n") {
            true => 5,
            false => read_until(socket, buffer, b"\r\n0\r\n\r\n").await?,
        };
        inner.body.lock().extend(buffer.drain(..end));
        return Some(());
    }
    let mut left: usize = seen.header("content-length").map_or(0, |length| length.parse().unwrap());
    loop {
        let now = left.min(buffer.len());
        inner.body.lock().extend(buffer.drain(..now));
        left -= now;
        if left == 0 {
            return Some(());
        }
        if socket.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

fn parse(head: &str, connection: usize, turn: usize) -> Seen {
    let mut lines = head.trim_end().split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let headers = lines.filter_map(|line| line.split_once(": ")).map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    Seen {
        method: first.next().unwrap_or_default().to_owned(),
        target: first.next().unwrap_or_default().to_owned(),
        headers,
        connection,
        turn,
    }
}
