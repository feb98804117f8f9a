//! What a connection's socket has to know of its requests and of the process: how many heads were complete, whether one of
//! them is being answered, whether the end of the connection is to be the end of an answer, and whether it is time to part.
//! The server in between tells nothing of it.

use std::{
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use http::{Response, Version, header::CONTENT_LENGTH};
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;

/// The requests of one connection.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    heads: AtomicU64,
    busy: AtomicUsize,
    /// An answer has begun that only the connection's end will end.
    ended_by_connection: AtomicBool,
    /// It was given whole.
    whole: AtomicBool,
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

    /// Whether a client takes the end of the connection for the end of its answer.
    pub(super) fn is_ended_by_connection(&self) -> bool {
        self.ended_by_connection.load(Ordering::Acquire)
    }

    /// Whether it would be wrong to do so yet.
    pub(super) fn owes_an_end(&self) -> bool {
        self.is_ended_by_connection() && !self.whole.load(Ordering::Acquire)
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
    answering: Answering,
    ends_connection: bool,
}

impl<B: Body> Answer<B> {
    /// The answer to a request of that version.
    pub(super) fn to(version: Version, response: Response<B>, answering: Answering) -> Response<Self> {
        let unbounded =
            || !response.headers().contains_key(CONTENT_LENGTH) && response.body().size_hint().exact().is_none();
        let ends_connection = version < Version::HTTP_11 && unbounded();
        response.map(|body| Self { body, answering, ends_connection })
    }
}

impl<B: Body + Unpin> Body for Answer<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if self.ends_connection {
            let exchange = &self.answering.0;
            exchange.ended_by_connection.store(true, Ordering::Release);
            if matches!(polled, Poll::Ready(None)) || matches!(polled, Poll::Ready(Some(Ok(_)))) && self.is_end_stream()
            {
                exchange.whole.store(true, Ordering::Release);
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
