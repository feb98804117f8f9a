//! [`BreakerService`].

use std::{
    fmt,
    mem::replace,
    ops::ControlFlow,
    task::{Context, Poll},
};

use tower_service::Service;

use super::{Call, Classify, ResponseFuture};
use crate::{cell::Watch, handle::Breaker, permit::OwnedPermit, refusal::Refused};

/// A service behind a breaker.
pub struct BreakerService<S, C> {
    inner: S,
    breaker: Breaker,
    classify: C,
    /// The service behind was asked whether it is ready and may hold something for a call.
    asked: bool,
    /// Readiness found calls refused: the next one is.
    refused: Option<Refused>,
    watch: Watch,
}

impl<S, C> BreakerService<S, C> {
    pub(super) fn new(inner: S, breaker: Breaker, classify: C) -> Self {
        Self { inner, breaker, classify, asked: false, refused: None, watch: Watch::default() }
    }

    /// The breaker: to look at it, to reset it, to hold it open.
    pub fn breaker(&self) -> &Breaker {
        &self.breaker
    }
}

impl<S: Clone, C> BreakerService<S, C> {
    /// The service behind gets no call: what it holds for one goes back. A clone has nothing reserved, by tower's rules.
    fn let_go(&mut self) {
        if replace(&mut self.asked, false) {
            let fresh = self.inner.clone();
            drop(replace(&mut self.inner, fresh));
        }
    }
}

impl<S, C, Req> Service<Req> for BreakerService<S, C>
where
    S: Service<Req> + Clone,
    S::Error: Into<C::Error>,
    C: Classify<Req, S::Response, S::Error>,
{
    type Response = C::Response;
    type Error = C::Error;
    type Future = ResponseFuture<S::Future, C::Call, C::Response, C::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), C::Error>> {
        self.refused = self.breaker.cell().refusal();
        if self.refused.is_none() {
            self.asked = true;
            match self.inner.poll_ready(cx) {
                Poll::Pending => self.refused = self.breaker.cell().watch(&mut self.watch, cx.waker()),
                Poll::Ready(ready) => {
                    self.breaker.cell().unwatch(&mut self.watch);
                    return Poll::Ready(ready.map_err(Into::into));
                }
            }
            if self.refused.is_none() {
                return Poll::Pending;
            }
        }
        self.breaker.cell().unwatch(&mut self.watch);
        self.let_go();
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Req) -> Self::Future {
        if let Some(refused) = self.refused.take() {
            self.breaker.cell().refuse();
            return ResponseFuture::answered(self.classify.refused(refused));
        }
        let admitted = match self.breaker.try_acquire_owned() {
            Ok(permit) => self.classify.admitted(&request, permit),
            Err(refused) => ControlFlow::Break(self.classify.refused(refused)),
        };
        match admitted {
            ControlFlow::Continue(mut call) => {
                self.asked = false;
                let answer = OwnedPermit::guard_poll(call.permit(), |_| self.inner.call(request));
                ResponseFuture::called(answer, call)
            }
            ControlFlow::Break(answer) => {
                self.let_go();
                ResponseFuture::answered(answer)
            }
        }
    }
}

impl<S: Clone, C: Clone> Clone for BreakerService<S, C> {
    /// Shares the breaker, and has not been asked whether it is ready.
    fn clone(&self) -> Self {
        Self::new(self.inner.clone(), self.breaker.clone(), self.classify.clone())
    }
}

impl<S, C> Drop for BreakerService<S, C> {
    fn drop(&mut self) {
        self.breaker.cell().unwatch(&mut self.watch);
    }
}

impl<S: fmt::Debug, C> fmt::Debug for BreakerService<S, C> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inner, breaker, .. } = self;
        out.debug_struct("BreakerService").field("breaker", breaker.id()).field("inner", inner).finish_non_exhaustive()
    }
}
