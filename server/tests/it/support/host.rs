//! A scripted host on a real socket: it refuses, hangs, cuts and answers byte by byte what the test says, and writes
//! down every request as it came.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinHandle,
};

use super::soon;

/// One request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Everything before the body, as sent.
    pub(crate) head: String,
    /// The body, when it has a length.
    pub(crate) body: Vec<u8>,
}

impl Asked {
    /// The request target, byte for byte.
    pub(crate) fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    /// A header's value.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }
}

/// A header's value in a head as text.
pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let lines = head.lines().skip(1).filter_map(|line| line.split_once(':'));
    lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

/// What the host does with a request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// These bytes, and on with the connection.
    Answer(Vec<u8>),
    /// These bytes, then the connection ends.
    Cut(Vec<u8>),
    /// These bytes as soon as the head is there; of the body, nothing is read.
    Early(Vec<u8>),
    /// Nothing until [`Host::let_go`], then a 200.
    Hold,
}

impl Reply {
    pub(crate) fn text(head: &str, body: &str) -> Self {
        Self::Answer(format!("HTTP/1.1 {head}\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes())
    }

    pub(crate) fn ok() -> Self {
        Self::text("200 OK", "fine")
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::text(&format!("{status} Said"), "no")
    }
}

type Script = Arc<Mutex<Box<dyn FnMut(&Asked) -> Reply + Send>>>;

#[derive(Clone, Default)]
struct Seen {
    asked: Arc<Mutex<Vec<Asked>>>,
    connections: Arc<AtomicUsize>,
    arrived: Arc<Notify>,
    let_go: Arc<Notify>,
}

/// The host; it goes with the value.
pub(crate) struct Host {
    address: SocketAddr,
    seen: Seen,
    script: Script,
    accepting: JoinHandle<()>,
}

impl Drop for Host {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Host {
    pub(crate) async fn start(script: impl FnMut(&Asked) -> Reply + Send + 'static) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.expect("a free port"), script)
    }

    /// On a listener that is there already.
    pub(crate) fn on(listener: TcpListener, script: impl FnMut(&Asked) -> Reply + Send + 'static) -> Self {
        let address = listener.local_addr().expect("an address");
        let script: Script = Arc::new(Mutex::new(Box::new(script)));
        let seen = Seen::default();
        let accepting = tokio::spawn(accept(listener, seen.clone(), script.clone()));
        Self { address, seen, script, accepting }
    }

    /// Changes what it does from here on.
    pub(crate) fn now(&self, script: impl FnMut(&Asked) -> Reply + Send + 'static) {
        *self.script.lock().expect("a script that does not panic") = Box::new(script);
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The id of the breaker in front of it.
    pub(crate) fn id(&self) -> String {
        format!("http:{}", self.address)
    }

    /// Every request so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.seen.asked.lock().expect("a test that does not panic").clone()
    }

    /// Connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// Waits until so many requests have come.
    pub(crate) async fn arrived(&self, many: usize) {
        let arrived = async {
            loop {
                let news = self.seen.arrived.notified();
                if self.asked().len() >= many {
                    return;
                }
                news.await;
            }
        };
        soon(&format!("request {many} at the host"), arrived).await;
    }

    /// Answers one held request.
    pub(crate) fn let_go(&self) {
        self.seen.let_go.notify_one();
    }
}

async fn accept(listener: TcpListener, seen: Seen, script: Script) {
    while let Ok((stream, _)) = listener.accept().await {
        seen.connections.fetch_add(1, Ordering::SeqCst);
        tokio::spawn(serve(stream, seen.clone(), script.clone()));
    }
}

async fn serve(stream: TcpStream, seen: Seen, script: Script) {
    let mut stream = BufReader::new(stream);
    while let Some(asked) = read(&mut stream).await {
        let reply = (script.lock().expect("a script that does not panic"))(&asked);
        seen.asked.lock().expect("a test that does not panic").push(asked);
        seen.arrived.notify_waiters();
        let (bytes, goes_on) = match reply {
            Reply::Answer(bytes) => (bytes, true),
            Reply::Cut(bytes) => (bytes, false),
            Reply::Early(bytes) => {
                // The gateway may have left already.
                let _ = stream.get_mut().write_all(&bytes).await;
                return std::future::pending().await;
            }
            Reply::Hold => {
                seen.let_go.notified().await;
                (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nheld".to_vec(), true)
            }
        };
        // The gateway may have left already.
        if stream.get_mut().write_all(&bytes).await.is_err() || !goes_on {
            return;
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let length = header(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Asked { head, body })
}
