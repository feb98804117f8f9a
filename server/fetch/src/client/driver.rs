//! Who moves the bytes of a connection. Over HTTP/1.1 a call without a body does so itself while it waits, so that nobody
//! has to be woken in between. What a call has still to send must go on while our client does not take its answer, so a
//! call with a body gets a task for it, and h2, where calls share a connection, has one from the start.

use std::{
    future::Future,
    pin::{Pin, pin},
    task::{Context, Poll, Waker},
};

use tokio::task::{AbortHandle, unconstrained};

use crate::classify::in_words;

type Connection = Pin<Box<dyn Future<Output = hyper::Result<()>> + Send>>;

/// What moves the bytes of an HTTP/1.1 connection. The connection ends with it: left to itself one would wait for as
/// long as its host takes no more of a request whose caller has gone.
pub(super) enum Driver {
    /// The call that has it.
    Call(Connection),
    /// A task of its own.
    Task(#[expect(dead_code, reason = "held for its drop")] Task),
    /// Nobody: it has ended.
    Ended,
}

impl Driver {
    pub(super) fn new(connection: impl Future<Output = hyper::Result<()>> + Send + 'static) -> Self {
        Self::Call(Box::pin(connection))
    }

    /// Looks for what the connection is to bring, and if it is not there moves the connection on and looks again.
    pub(super) fn look<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut look: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let Self::Call(connection) = self else { return look(cx) };
        // What it brings comes while we move it: nobody needs to be told.
        let mut nobody = Context::from_waker(Waker::noop());
        let found = look(&mut nobody);
        if found.is_ready() {
            return found;
        }
        if let Poll::Ready(ended) = connection.as_mut().poll(cx) {
            told(ended);
            *self = Self::Ended;
        }
        look(&mut nobody)
    }

    /// Notices what has become of a connection nobody looked at for a while.
    pub(super) fn catch_up(&mut self) {
        let Self::Call(connection) = self else { return };
        let mut nobody = Context::from_waker(Waker::noop());
        let moved = pin!(unconstrained(connection.as_mut())).poll(&mut nobody);
        if let Poll::Ready(ended) = moved {
            told(ended);
            *self = Self::Ended;
        }
    }

    /// From now on it has a task of its own.
    pub(super) fn apart(&mut self) {
        if let Self::Call(_) = self
            && let Self::Call(connection) = std::mem::replace(self, Self::Ended)
        {
            *self = Self::Task(Task(spawn(connection)));
        }
    }

    pub(super) fn is_apart(&self) -> bool {
        matches!(self, Self::Task(_))
    }
}

/// Ends with whoever holds this.
pub(super) struct Task(AbortHandle);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A task for a connection.
pub(super) fn spawn(connection: impl Future<Output = hyper::Result<()>> + Send + 'static) -> AbortHandle {
    tokio::spawn(async { told(connection.await) }).abort_handle()
}

fn told(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(error = in_words(&error), "a connection to an upstream ended");
    }
}
