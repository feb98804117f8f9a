//! The demo's gRPC service and its clients: h2c, messages of no bytes, a status in the trailers.

use std::{
    collections::VecDeque,
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use bytes::Bytes;
use fuseboard_fetch::grpc::Status;
use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::{
    body::{Body, Frame, Incoming},
    server::conn::http2,
    service::service_fn,
};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioIo},
};
use tokio::{
    net::TcpStream,
    time::{Sleep, sleep},
};

use super::{script::Said, traffic::Failed};

/// A message of no bytes.
const MESSAGE: Bytes = Bytes::from_static(&[0; 5]);
/// What clients give a call.
const DEADLINE: HeaderValue = HeaderValue::from_static("2S");
const GRPC: HeaderValue = HeaderValue::from_static("application/grpc");

/// One connection of the service.
pub(super) async fn connection(stream: TcpStream, epoch: Instant, answers: fn(u64, &str) -> Said) {
    let service = service_fn(move |request: Request<Incoming>| async move {
        let method = request.uri().path().rsplit('/').next().unwrap_or_default();
        let said = answers(epoch.elapsed().as_secs(), method);
        let mut response = Response::new(Saying::new(said));
        response.headers_mut().insert(header::CONTENT_TYPE, GRPC);
        Ok::<_, Infallible>(response)
    });
    if let Err(error) = http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await
    {
        tracing::debug!("a connection of the demo's gRPC service ended: {error}");
    }
}

/// What is said, as it is said.
struct Saying {
    left: VecDeque<Frame<Bytes>>,
    every: Duration,
    pause: Pin<Box<Sleep>>,
    ends: bool,
}

impl Saying {
    fn new(said: Said) -> Self {
        let messages = (0..said.messages).map(|_| Frame::data(MESSAGE));
        let status = said.ends.map(|(code, words)| Frame::trailers(Status::new(code, words).headers()));
        let every = Duration::from_millis(said.every);
        Self { left: messages.chain(status).collect(), every, pause: Box::pin(sleep(every)), ends: said.ends.is_some() }
    }
}

impl Body for Saying {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left.is_empty() && !self.ends {
            return Poll::Pending;
        }
        ready!(self.pause.as_mut().poll(cx));
        self.pause = Box::pin(sleep(self.every));
        Poll::Ready(self.left.pop_front().map(Ok))
    }
}

/// Calls through the gateway.
#[derive(Clone)]
pub(super) struct Caller(Client<HttpConnector, Full<Bytes>>);

impl Caller {
    pub(super) fn new() -> Self {
        Self(Client::builder(TokioExecutor::new()).http2_only(true).build_http())
    }

    /// One call, to the end of its answer.
    pub(super) async fn call(&self, gateway: SocketAddr, path: &str) -> Result<(), Failed> {
        let request = Request::post(format!("http://{gateway}{path}"))
            .header(header::CONTENT_TYPE, GRPC)
            .header(header::TE, "trailers")
            .header(header::USER_AGENT, "fuseboard-demo")
            .header("grpc-timeout", DEADLINE)
            .body(Full::new(MESSAGE))?;
        let mut body = self.0.request(request).await?.into_body();
        while let Some(frame) = body.frame().await {
            frame?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use fuseboard_breaker::grpc::Code;

    use super::*;

    #[tokio::test]
    async fn a_stream_that_breaks_off_is_messages_and_then_a_status() {
        let said = Said { messages: 2, every: 0, ends: Some((Code::Unavailable, "it breaks off")) };
        let all = Saying::new(said).collect().await.expect("a body");
        let trailers = all.trailers().expect("trailers").clone();
        assert_eq!(Code::from_headers(&trailers), Some(Code::Unavailable));
        assert_eq!(all.to_bytes(), [0; 10].as_slice());
    }
}
