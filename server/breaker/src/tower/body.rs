//! [`ResponseBody`]: an answer's body with the permit aboard.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use super::BoxError;
use crate::permit::OwnedPermit;

/// Judges a call by its answer's body. It holds the permit until it is settled; dropped before, it may still settle it.
pub trait JudgeBody<D>: Unpin {
    /// Where it holds the permit.
    fn permit(&mut self) -> &mut Option<OwnedPermit>;

    /// Data or trailers came.
    fn came(&mut self, frame: &Frame<D>);

    /// The body ended.
    fn ended(&mut self);

    /// The body broke.
    fn broke(&mut self, error: &BoxError);

    /// Asked while the body has nothing: `Ready` ends it with this frame instead.
    fn poll_cut(&mut self, cx: &mut Context<'_>) -> Poll<Frame<D>> {
        let _ = cx;
        Poll::Pending
    }
}

pin_project! {
    /// An answer's body that is judged by what comes of it. Frames pass as they are.
    pub struct ResponseBody<B, J> {
        // None: there is, or will be, nothing more.
        #[pin]
        inner: Option<B>,
        judge: Option<J>,
    }
}

impl<B, J> ResponseBody<B, J> {
    /// A body that is still to be judged.
    pub fn new(inner: B, judge: J) -> Self {
        Self { inner: Some(inner), judge: Some(judge) }
    }

    /// The body of a call that is judged already.
    pub fn judged(inner: B) -> Self {
        Self { inner: Some(inner), judge: None }
    }

    /// No body: a refusal's.
    pub fn empty() -> Self {
        Self { inner: None, judge: None }
    }
}

impl<B, J> Body for ResponseBody<B, J>
where
    B: Body<Error: Into<BoxError>>,
    J: JudgeBody<B::Data>,
{
    type Data = B::Data;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, BoxError>>> {
        let mut this = self.project();
        let Some(inner) = this.inner.as_mut().as_pin_mut() else { return Poll::Ready(None) };
        let Some(judge) = this.judge else {
            return inner.poll_frame(cx).map_err(Into::into);
        };
        if let Some(permit) = judge.permit() {
            permit.waiting_for_client(false);
        }
        let polled = match OwnedPermit::guard_poll(judge.permit(), |_| inner.poll_frame(cx)) {
            Poll::Pending => {
                let Poll::Ready(frame) = judge.poll_cut(cx) else { return Poll::Pending };
                this.inner.set(None);
                Some(Ok(frame))
            }
            Poll::Ready(Some(Ok(frame))) => {
                judge.came(&frame);
                Some(Ok(frame))
            }
            Poll::Ready(Some(Err(error))) => {
                let error = error.into();
                judge.broke(&error);
                Some(Err(error))
            }
            Poll::Ready(None) => {
                judge.ended();
                None
            }
        };
        // Until it is polled again it is the client that takes its time.
        match judge.permit() {
            Some(permit) => permit.waiting_for_client(true),
            None => *this.judge = None,
        }
        Poll::Ready(polled)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl<B, J> fmt::Debug for ResponseBody<B, J> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ResponseBody").field("judged", &self.judge.is_none()).finish_non_exhaustive()
    }
}
