//! What is left of a request when its answer is already there: refused, or answered by a host that wanted no more. Whoever
//! is cut off while sending may never read that answer, so the rest is taken in for a little and thrown away. What then
//! still comes is ended: HTTP/1.1 by the end of the connection, h2 by a reset of the stream that names no error (RFC 9113,
//! 8.1). That reset comes at once when a host has begun to take the request: a client may be stuck in the midst of it.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Version, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::{runtime::Handle, time::timeout};

/// How long a client may go on sending to nobody.
const LONGEST: Duration = Duration::from_secs(5);
/// How long it may pause meanwhile.
const IDLE: Duration = Duration::from_secs(1);

/// A request's body that is taken in for a little when it is let go of before its end.
pub(super) struct Lingering<B: Body<Data = Bytes> + Send + Unpin + 'static> {
    body: Option<B>,
    /// The stream can be ended alone.
    h2: bool,
    /// The client sends nothing until it is asked to, which the first poll does.
    expects: bool,
    polled: bool,
}

impl<B: Body<Data = Bytes> + Send + Unpin + 'static> Lingering<B> {
    pub(super) fn new(body: B, version: Version, headers: &HeaderMap) -> Self {
        let (h2, expects) = (version == Version::HTTP_2, headers.contains_key(header::EXPECT));
        Self { body: Some(body), h2, expects, polled: false }
    }
}

impl<B: Body<Data = Bytes> + Send + Unpin + 'static> Body for Lingering<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        self.polled = true;
        self.body.as_mut().map_or(Poll::Ready(None), |body| Pin::new(body).poll_frame(cx))
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(SizeHint::default, Body::size_hint)
    }
}

impl<B: Body<Data = Bytes> + Send + Unpin + 'static> Drop for Lingering<B> {
    fn drop(&mut self) {
        let enough = if self.polled { self.h2 } else { self.expects };
        let rest = self.body.take().filter(|body| !enough && !body.is_end_stream());
        if let (Some(rest), Ok(runtime)) = (rest, Handle::try_current()) {
            runtime.spawn(drain(rest));
        }
    }
}

async fn drain<B: Body<Data = Bytes> + Unpin>(mut body: B) {
    let all = async { while let Ok(Some(Ok(_))) = timeout(IDLE, body.frame()).await {} };
    // Enough was taken in.
    let _ = timeout(LONGEST, all).await;
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::StreamBody;
    use tokio::{sync::mpsc, time::Instant};

    use super::*;

    type Sender = mpsc::Sender<Bytes>;

    fn sending(
        version: Version,
        headers: &HeaderMap,
    ) -> (Sender, impl Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static) {
        let (sender, receiver) = mpsc::channel::<Bytes>(1);
        let frames = futures_util::stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|data| (Ok(Frame::data(data)), receiver))
        });
        (sender, Lingering::new(StreamBody::new(Box::pin(frames)), version, headers))
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_is_listened_to_for_a_little_and_not_for_ever() {
        let began = Instant::now();
        let (sender, body) = sending(Version::HTTP_11, &HeaderMap::new());
        drop(body);
        timeout(IDLE * 100, sender.closed()).await.expect("one that pauses is ended");
        assert_eq!(began.elapsed(), IDLE);

        let (sender, body) = sending(Version::HTTP_11, &HeaderMap::new());
        drop(body);
        let mut pace = tokio::time::interval(IDLE / 2);
        let began = Instant::now();
        while began.elapsed() < LONGEST * 2 && sender.send(Bytes::from_static(b"more")).await.is_ok() {
            pace.tick().await;
        }
        let took = began.elapsed();
        assert!((LONGEST..LONGEST + IDLE).contains(&took), "one that does not stop is ended, not after {took:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_waits_for_leave_is_not_asked_to_send() {
        let began = Instant::now();
        let expects = HeaderMap::from_iter([(header::EXPECT, http::HeaderValue::from_static("100-continue"))]);
        let (sender, body) = sending(Version::HTTP_11, &expects);
        drop(body);
        timeout(IDLE * 100, sender.closed()).await.expect("it is let go of");
        assert_eq!(began.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stream_in_the_midst_of_its_upload_is_ended_at_once() {
        for (version, begun, lasts) in [
            (Version::HTTP_2, true, Duration::ZERO),
            (Version::HTTP_2, false, IDLE),
            (Version::HTTP_11, true, IDLE),
            (Version::HTTP_11, false, IDLE),
        ] {
            let began = Instant::now();
            let (sender, mut body) = sending(version, &HeaderMap::new());
            if begun {
                sender.send(Bytes::from_static(b"some")).await.expect("it is taken");
                timeout(IDLE, body.frame()).await.expect("in time").expect("a frame").expect("infallible");
            }
            drop(body);
            timeout(IDLE * 100, sender.closed()).await.expect("it is let go of");
            assert_eq!(began.elapsed(), lasts, "{version:?}, begun: {begun}");
        }
    }
}
