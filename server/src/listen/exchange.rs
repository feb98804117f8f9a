//! What a connection's socket has to know of its requests and of the process: how many heads were complete, whether one of
//! them is being answered, and whether it is time to part. The server in between tells nothing of it.

use std::{
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;

/// The requests of one connection.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    heads: AtomicU64,
    busy: AtomicUsize,
    parting: OnceLock<Instant>,
}

impl Exchange {
    /// Heads that were complete so far.
    pub(super) fn heads(&self) -> u64 {
        self.heads.load(Ordering::Acquire)
    }

    /// Whether something is being answered.
    pub(super) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire) > 0
    }

    /// The process is to stop. The connection has to be looked at once more after this.
    pub(super) fn part(&self) {
        self.parting.get_or_init(Instant::now);
    }

    /// Since when it is.
    pub(super) fn parting(&self) -> Option<Instant> {
        self.parting.get().copied()
    }

    /// A head is complete; its request is being answered for as long as this lives.
    pub(super) fn begin(self: &Arc<Self>) -> Answering {
        self.heads.fetch_add(1, Ordering::AcqRel);
        self.busy.fetch_add(1, Ordering::AcqRel);
        Answering(Arc::clone(self))
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Answering(Arc<Exchange>);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

/// An answer's body. The request is answered when this has been sent.
pub(super) struct Answer<B> {
    body: B,
    #[expect(dead_code, reason = "held for its drop")]
    answering: Answering,
}

impl<B> Answer<B> {
    pub(super) fn new(body: B, answering: Answering) -> Self {
        Self { body, answering }
    }
}

impl<B: Body + Unpin> Body for Answer<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
