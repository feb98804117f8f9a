//! Accepts connections, HTTP/1.1 and h2c on one port, and ends them in the two steps of `lifecycle`.

mod stall;

use std::{pin::pin, sync::Arc, time::Duration};

use hyper::service::service_fn;
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::conn::auto,
};
use tokio::net::{TcpListener, TcpStream};

use self::stall::WriteStall;
use super::Gateway;
use crate::lifecycle::aside;

/// How long a connection may sit without a complete request head, idle keep-alive connections included.
const IDLE: Duration = Duration::from_secs(75);

/// Taken in of one stream before its host takes it, and of all streams of a connection: one whose host is stuck must
/// leave room for the others.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 16 << 20;

/// Serves until the soft step begins; the connections are tasks of their own.
pub async fn serve(gateway: Arc<Gateway>, listener: TcpListener) {
    let mut http = auto::Builder::new(TokioExecutor::new());
    http.http1().timer(TokioTimer::new()).header_read_timeout(IDLE);
    http.http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(IDLE)
        .max_concurrent_streams(1024)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW);
    let http = Arc::new(http);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = gateway.lifecycle.soft() => return,
        };
        match accepted {
            Ok((stream, _)) => gateway.lifecycle.spawn(connection(gateway.clone(), http.clone(), stream)),
            Err(error) => {
                // Out of file descriptors, most likely: connections that end make room.
                tracing::warn!("the gateway cannot accept a connection: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

async fn connection(gateway: Arc<Gateway>, http: Arc<auto::Builder<TokioExecutor>>, stream: TcpStream) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!("cannot set TCP_NODELAY: {error}");
    }
    let lifecycle = gateway.lifecycle.clone();
    let longest = gateway.upstreams.load().iter().map(|entry| entry.upstream.timeouts.client_idle).max();
    let stream = WriteStall::new(stream, longest.unwrap_or(IDLE));
    let service = service_fn(move |request| {
        let gateway = gateway.clone();
        async move { super::handle(&gateway, request).await }
    });
    let mut serving = pin!(http.serve_connection(TokioIo::new(stream), service));
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = aside(lifecycle.soft()) => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    // A client that leaves early, or a host that cut its body: both are in the record already.
    if let Err(error) = ended {
        tracing::debug!("a gateway connection ended early: {error}");
    }
}
