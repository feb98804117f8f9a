//! A gRPC host on bare h2: each stream is handed to the test's script, which may answer, hang, reset or say goodbye.

use std::{
    future::Future,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use fuseboard_fetch::Upstream;
use h2::{Reason, RecvStream, SendStream, server::SendResponse};
use http::{HeaderMap, Request, Response};
use http_body_util::Full;
use tokio::{net::TcpListener, sync::watch};

use super::{bench, soon};

/// One stream as it arrived, and the way to answer it.
pub(crate) struct Stream {
    pub(crate) request: Request<RecvStream>,
    pub(crate) respond: SendResponse<Bytes>,
    /// How many came before it.
    pub(crate) turn: usize,
    /// Has the connection say goodbye.
    pub(crate) farewell: Arc<watch::Sender<Option<Reason>>>,
}

/// The host.
pub(crate) struct RpcHost {
    pub(crate) address: SocketAddr,
    seen: Arc<watch::Sender<usize>>,
    over: Arc<watch::Sender<usize>>,
    pub(crate) connections: Arc<AtomicUsize>,
}

impl RpcHost {
    pub(crate) async fn start<F>(script: impl Fn(Stream) -> F + Clone + Send + Sync + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, connections) = (Arc::new(watch::Sender::new(0)), Arc::new(AtomicUsize::new(0)));
        let over = Arc::new(watch::Sender::new(0));
        let host = Self { address, seen: seen.clone(), over: over.clone(), connections: connections.clone() };
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                connections.fetch_add(1, Ordering::SeqCst);
                let (script, seen, over) = (script.clone(), seen.clone(), over.clone());
                tokio::spawn(async move {
                    let Ok(mut connection) = h2::server::handshake(socket).await else { return };
                    let farewell = Arc::new(watch::Sender::new(None));
                    let mut leaving = farewell.subscribe();
                    let mut leaves = false;
                    loop {
                        tokio::select! {
                            accepted = connection.accept() => {
                                let Some(Ok((request, respond))) = accepted else { return };
                                let turn = *seen.borrow();
                                seen.send_modify(|count| *count += 1);
                                let farewell = farewell.clone();
                                let (running, over) = (script(Stream { request, respond, turn, farewell }), over.clone());
                                tokio::spawn(async move {
                                    running.await;
                                    over.send_modify(|count| *count += 1);
                                });
                            }
                            Ok(reason) = async { leaving.wait_for(Option::is_some).await.map(|reason| *reason) }, if !leaves => {
                                leaves = true;
                                match reason {
                                    Some(Reason::NO_ERROR) | None => connection.graceful_shutdown(),
                                    Some(reason) => connection.abrupt_shutdown(reason),
                                }
                            }
                        }
                    }
                });
            }
        });
        host
    }

    pub(crate) fn url(&self) -> String {
        format!("grpc://{}", self.address)
    }

    pub(crate) fn count(&self) -> usize {
        *self.seen.borrow()
    }

    /// Waits until so many streams have come.
    pub(crate) async fn received(&self, count: usize) {
        let mut seen = self.seen.subscribe();
        soon("a stream", seen.wait_for(|seen| *seen >= count)).await.unwrap();
    }

    /// Waits until so many of them have come to the end of their script.
    pub(crate) async fn let_go(&self, count: usize) {
        let mut over = self.over.subscribe();
        soon("a stream's end", over.wait_for(|over| *over >= count)).await.unwrap();
    }
}

impl Stream {
    /// The number at the end of the path.
    pub(crate) fn number(&self) -> u32 {
        self.request.uri().path().rsplit('/').next().and_then(|last| last.parse().ok()).unwrap_or(0)
    }

    /// Reads the whole request.
    pub(crate) async fn read(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(Ok(data)) = self.request.body_mut().data().await {
            let _ = self.request.body_mut().flow_control().release_capacity(data.len());
            all.extend_from_slice(&data);
        }
        all
    }

    /// The response's headers.
    pub(crate) fn head(&mut self) -> SendStream<Bytes> {
        let head = Response::builder().header("content-type", "application/grpc").body(()).unwrap();
        self.respond.send_response(head, false).unwrap()
    }

    /// A status and nothing else.
    pub(crate) fn trailers_only(&mut self, code: u32) {
        let head = Response::builder().header("content-type", "application/grpc").header("grpc-status", code);
        self.respond.send_response(head.body(()).unwrap(), true).unwrap();
    }

    /// A message and then a status.
    pub(crate) fn message_and_status(&mut self, code: u32) {
        let mut send = self.head();
        send.send_data(message(b"hello"), false).unwrap();
        send.send_trailers(status(code)).unwrap();
    }

    /// No answer until the other side goes away; how it said so.
    pub(crate) async fn hang(mut self) -> Option<Reason> {
        std::future::poll_fn(|cx| self.respond.poll_reset(cx)).await.ok()
    }
}

/// Nothing more until the other side goes away; how it said so.
pub(crate) async fn hang_on(mut send: SendStream<Bytes>) -> Option<Reason> {
    std::future::poll_fn(|cx| send.poll_reset(cx)).await.ok()
}

pub(crate) fn status(code: u32) -> HeaderMap {
    HeaderMap::from_iter([(http::HeaderName::from_static("grpc-status"), code.into())])
}

pub(crate) fn message(content: &[u8]) -> Bytes {
    let mut framed = vec![0];
    framed.extend(u32::try_from(content.len()).unwrap().to_be_bytes());
    framed.extend_from_slice(content);
    framed.into()
}

/// An upstream of this host, with its own breaker `accounts`.
pub(crate) fn accounts(host: &RpcHost, change: impl FnOnce(&mut Upstream)) -> Arc<Upstream> {
    let mut upstream = Upstream::plain("accounts", &host.url()).unwrap();
    upstream.timeouts = bench::upstream("http://h.example", |_| {}).timeouts;
    change(&mut upstream);
    Arc::new(upstream)
}

/// A call with one message.
pub(crate) fn unary(path: &str) -> Request<Full<Bytes>> {
    asking(path, None, Full::new(message(b"hi")))
}

/// A call with a deadline.
pub(crate) fn within(path: &str, deadline: Duration) -> Request<Full<Bytes>> {
    asking(path, Some(deadline), Full::new(message(b"hi")))
}

pub(crate) fn asking<B>(path: &str, deadline: Option<Duration>, body: B) -> Request<B> {
    let mut request = Request::post(format!("http://gate{path}")).header("content-type", "application/grpc");
    if let Some(deadline) = deadline {
        request = request.header("grpc-timeout", format!("{}m", deadline.as_millis()));
    }
    request.version(http::Version::HTTP_2).body(body).unwrap()
}
