//! [`HeldOpen`].

use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use crate::{cell::Watch, handle::Breaker, refusal::Refused};

/// Ready when an operator holds the breaker open: for what passes it without a permit (a health check that watches) and
/// must stop then all the same. What the breaker does by itself leaves it pending.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use std::sync::Arc;
/// use fuseboard_breaker::{Breaker, By, Mode, NoSink, OverrideEnd, Policy, SystemClock, tower::HeldOpen};
///
/// let breaker = Breaker::new("accounts", Policy::grpc(), Arc::new(SystemClock), Arc::new(NoSink));
/// let held = HeldOpen::new(&breaker);
/// let ana = By { name: "ana".into(), verified: true, via: "shell".into() };
/// breaker.set_override(Mode::ForcedOpen, OverrideEnd::Never, ana, "maintenance");
/// assert_eq!(&*held.await.breaker, "accounts");
/// # });
/// ```
#[must_use = "futures do nothing unless polled"]
pub struct HeldOpen {
    breaker: Breaker,
    watch: Watch,
}

impl HeldOpen {
    /// Watches this breaker.
    pub fn new(breaker: &Breaker) -> Self {
        Self { breaker: breaker.clone(), watch: Watch::default() }
    }
}

impl Future for HeldOpen {
    /// What a call would be told now.
    type Output = Refused;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Refused> {
        let Self { breaker, watch } = &mut *self;
        breaker.cell().watch_hold(watch, cx.waker()).map_or(Poll::Pending, Poll::Ready)
    }
}

impl Drop for HeldOpen {
    fn drop(&mut self) {
        self.breaker.cell().unwatch_hold(&mut self.watch);
    }
}

impl fmt::Debug for HeldOpen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("HeldOpen").field(self.breaker.id()).finish()
    }
}
