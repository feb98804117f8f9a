//! [`ResponseFuture`].

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use pin_project_lite::pin_project;

use super::Call;
use crate::permit::OwnedPermit;

pin_project! {
    /// The answer of a service behind a breaker.
    #[must_use = "futures do nothing unless polled"]
    #[derive(Debug)]
    pub struct ResponseFuture<F, C, R, E> {
        #[pin]
        state: State<F, C, R, E>,
    }
}

pin_project! {
    #[project = StateProjected]
    #[derive(Debug)]
    enum State<F, C, R, E> {
        // Refused, or answered before anything was sent.
        Answered { answer: Option<Result<R, E>> },
        // The call goes with the answer.
        Called { #[pin] answer: F, call: Option<C> },
    }
}

impl<F, C, R, E> ResponseFuture<F, C, R, E> {
    pub(super) fn answered(answer: Result<R, E>) -> Self {
        Self { state: State::Answered { answer: Some(answer) } }
    }

    pub(super) fn called(answer: F, call: C) -> Self {
        Self { state: State::Called { answer, call: Some(call) } }
    }
}

impl<F, Res, Err, C> Future for ResponseFuture<F, C, C::Response, C::Error>
where
    F: Future<Output = Result<Res, Err>>,
    C: Call<Res, Err>,
{
    type Output = Result<C::Response, C::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProjected::Answered { answer } => answer.take().map_or(Poll::Pending, Poll::Ready),
            StateProjected::Called { answer, call: held } => {
                let Some(mut call) = held.take() else { return Poll::Pending };
                match OwnedPermit::guard_poll(call.permit(), |_| answer.poll(cx)) {
                    Poll::Ready(answer) => Poll::Ready(call.answered(answer)),
                    Poll::Pending => {
                        let cut = call.poll_cut(cx);
                        if cut.is_pending() {
                            *held = Some(call);
                        }
                        cut
                    }
                }
            }
        }
    }
}
