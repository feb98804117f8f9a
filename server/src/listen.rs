//! Accepts connections, HTTP/1.1 and h2c on one port, and ends them in the two steps of `lifecycle`. What a client may
//! keep us waiting for is bounded: for a head, between two requests, for reading what it asked for.

mod ending;
mod exchange;
mod patience;

use std::{convert::Infallible, pin::pin, sync::Arc, time::Duration};

use http::{Request, Response};
use http_body::Body;
use hyper::{
    body::Incoming,
    service::{Service, service_fn},
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::net::{TcpListener, TcpStream};

pub use self::patience::Patience;
use self::{
    ending::Ending,
    exchange::{Answer, Exchange},
    patience::Patient,
};
use crate::lifecycle::{Lifecycle, aside};

/// How long a connection may sit without a request, from its start or between two.
const IDLE: Duration = Duration::from_secs(75);
/// How long a head may take from its first byte to its last.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// How often an h2 client is asked whether it is there, and how long it may take to say so.
const PING: (Duration, Duration) = (Duration::from_secs(20), Duration::from_secs(10));
/// A request's head at most, over HTTP/1.1 and h2 alike; more is answered 431.
const HEAD: u32 = 64 * 1024;

/// Calls of one h2 client at a time; more wait there.
const STREAMS: u32 = 1024;
/// Taken in of one stream before its host takes it, and of a connection as much as of all its streams: however many hosts
/// are stuck, they leave room for the others.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = STREAMS * STREAM_WINDOW;

/// Any error of a body.
type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Serves until the soft step begins; the connections are tasks of their own.
pub async fn serve<S, B>(lifecycle: Lifecycle, listener: TcpListener, patience: impl Fn() -> Patience, service: S)
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send> + Clone + Send + 'static,
    B: Body<Data: Send, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    let mut http = auto::Builder::new(TokioExecutor::new());
    // Its own timer for heads is made anew for each request; `Patient` has one for the connection.
    http.http1().header_read_timeout(None).max_buf_size(HEAD as usize);
    let (interval, timeout) = PING;
    http.http2().timer(TokioTimer::new()).keep_alive_interval(interval).keep_alive_timeout(timeout);
    http.http2().max_concurrent_streams(STREAMS).max_header_list_size(HEAD);
    http.http2().initial_stream_window_size(STREAM_WINDOW).initial_connection_window_size(CONNECTION_WINDOW);
    let http = Arc::new(http);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = lifecycle.soft() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                let (http, lifecycle_of_it, service) = (http.clone(), lifecycle.clone(), service.clone());
                lifecycle.spawn(connection(lifecycle_of_it, http, stream, patience(), service));
            }
            Err(error) => {
                // Out of file descriptors, most likely: connections that end make room.
                tracing::warn!("a connection cannot be accepted: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection<S, B>(
    lifecycle: Lifecycle,
    http: Arc<auto::Builder<TokioExecutor>>,
    stream: TcpStream,
    patience: Patience,
    service: S,
) where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible, Future: Send> + Send + 'static,
    B: Body<Data: Send, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("cannot set TCP_NODELAY: {error}");
    }
    let exchange = Arc::new(Exchange::default());
    let stream = Patient::new(Ending::new(stream, exchange.clone()), patience, exchange.clone());
    let parting = exchange.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let version = request.version();
        let (answering, answer) = (exchange.begin(), service.call(request));
        async move { answer.await.map(|response| Answer::to(version, response, answering)) }
    });
    let mut serving = pin!(http.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = aside(lifecycle.soft()) => {
            parting.part();
            serving.as_mut().graceful_shutdown();
            tokio::select! {
                ended = serving.as_mut() => ended,
                // Whatever waits for an answer is asked once more, and may have another one now.
                () = aside(lifecycle.over()) => serving.await,
            }
        }
    };
    // A client that leaves early, or a host that cut its body: both are in the record already.
    if let Err(error) = ended {
        tracing::debug!("a connection ended early: {error}");
    }
}
