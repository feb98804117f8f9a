//! An answer whose body breaks before anything of it went out can still be told in words, so its first piece is looked at
//! before its head is sent. A body that has none yet goes out as it is; one that is changed here is waited for, since
//! whether it can be changed shows with its first piece. What breaks later is cut off, but what came before goes out.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;

/// A body and what came of it already.
pub(super) struct Begun<B: Body> {
    first: Option<Frame<Bytes>>,
    body: B,
    broken: Option<B::Error>,
}

impl<B: Body<Data = Bytes> + Unpin> Begun<B> {
    /// Without a look.
    pub(super) fn unseen(body: B) -> Self {
        Self { first: None, body, broken: None }
    }

    /// Looks at the first piece if it is there, or waits for it.
    pub(super) async fn new(mut body: B, waits: bool) -> Result<Self, B::Error> {
        let first = if body.is_end_stream() {
            None
        } else if waits {
            body.frame().await
        } else {
            let look = |cx: &mut Context<'_>| match Pin::new(&mut body).poll_frame(cx) {
                Poll::Ready(first) => Poll::Ready(first),
                Poll::Pending => Poll::Ready(None),
            };
            poll_fn(look).await
        };
        Ok(Self { first: first.transpose()?, body, broken: None })
    }
}

impl<B: Body<Data = Bytes, Error: Unpin> + Unpin> Body for Begun<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        if let Some(first) = self.first.take() {
            return Poll::Ready(Some(Ok(first)));
        }
        if let Some(error) = self.broken.take() {
            return Poll::Ready(Some(Err(error)));
        }
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Err(error))) = polled {
            // Whatever our server has not sent yet when a body breaks it sends no more: it gets one turn to do so.
            self.broken = Some(error);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && self.broken.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.body.size_hint();
        let here = self.first.as_ref().and_then(Frame::data_ref).map_or(0, |data| data.len() as u64);
        let mut all = SizeHint::new();
        if let Some(upper) = rest.upper() {
            all.set_upper(upper + here);
        }
        all.set_lower(rest.lower() + here);
        all
    }
}
