//! One body for several clients. Whoever has read all there is asks the host for more, on behalf of all; what the others
//! have not read yet is kept for them. Nobody waits for a slower one, and what is kept is bounded: a client that falls
//! further behind than that loses the rest. When all have left, so has the host's reader.

use std::{
    collections::VecDeque,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body as _, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Body;
use crate::error::BodyError;

/// Bytes kept of one body at most.
pub(crate) const KEPT: usize = 4 << 20;

/// What the clients of one answer have in common.
#[derive(Default)]
pub(crate) struct Common {
    state: Mutex<State>,
    /// Apart from the state: a waker in the body's own hands must not hold the body.
    waiting: Arc<Waiting>,
}

#[derive(Default)]
struct State {
    source: Source,
    /// How many clients may still ask.
    readers: usize,
    /// What at least one of them has not read yet.
    kept: VecDeque<Piece>,
    /// The number of the first of those.
    first: u64,
    bytes: usize,
}

#[derive(Default)]
enum Source {
    /// There is no answer yet.
    #[default]
    Awaited,
    /// Not shared: the first to come gets it.
    Whole(Body),
    /// There is no more for those who come later.
    Taken,
    /// Shared while it streams; what may be kept of it is reserved.
    Live(Body, #[expect(dead_code, reason = "held for its drop")] OwnedSemaphorePermit),
    /// All that there is, is kept.
    Ended(Option<BodyError>),
}

struct Piece {
    content: Content,
    /// How many have not read it.
    left: usize,
}

#[derive(Clone)]
enum Content {
    Data(Bytes),
    Trailers(HeaderMap),
}

impl Piece {
    fn len(&self) -> usize {
        match &self.content {
            Content::Data(data) => data.len(),
            Content::Trailers(_) => 0,
        }
    }
}

impl Common {
    /// The answer is there. It is shared if several wait for it and what they may keep of it fits into `room` (KiB).
    pub(crate) fn begin(&self, body: Body, room: &Arc<Semaphore>) {
        let length = body.size_hint().exact().map_or(Some(KEPT), |length| usize::try_from(length).ok());
        let mut state = self.state.lock();
        let reserved = length
            .filter(|length| state.readers > 1 && *length <= KEPT)
            .and_then(|length| u32::try_from(length.div_ceil(1024)).ok())
            .and_then(|kib| Arc::clone(room).try_acquire_many_owned(kib).ok());
        state.source = match reserved {
            Some(reserved) => Source::Live(body, reserved),
            None => Source::Whole(body),
        };
    }
}

/// What one client gets of an answer.
pub(crate) enum Turn {
    /// All of it, by itself.
    Whole(Body),
    /// The same as others.
    Together(Body),
    /// Nothing: it is too large to be shared, and somebody else's.
    Alone,
}

/// One client, from before there is an answer.
pub(crate) struct Reader {
    common: Arc<Common>,
    /// The number of the next piece.
    at: u64,
    /// Bytes to come, if their number is known.
    left: Option<u64>,
    over: bool,
}

impl Reader {
    pub(crate) fn new(common: &Arc<Common>) -> Self {
        common.state.lock().readers += 1;
        Self { common: Arc::clone(common), at: 0, left: None, over: false }
    }

    /// Once [`Common::begin`] has been called.
    pub(crate) fn turn(mut self) -> Turn {
        let mut state = self.common.state.lock();
        match std::mem::replace(&mut state.source, Source::Taken) {
            Source::Whole(body) => Turn::Whole(body),
            Source::Awaited | Source::Taken => Turn::Alone,
            shared => {
                let to_come = if let Source::Live(body, _) = &shared { body.size_hint().exact() } else { Some(0) };
                let kept = u64::try_from(state.bytes).unwrap_or(u64::MAX);
                self.left = to_come.map(|to_come| to_come.saturating_add(kept));
                state.source = shared;
                drop(state);
                Turn::Together(Body(super::Kind::Shared(self)))
            }
        }
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        if self.over {
            return Poll::Ready(None);
        }
        let mut state = self.common.state.lock();
        let mut waiting_since_now = false;
        let frame = loop {
            if self.at < state.first {
                break Some(Err(BodyError::FellBehind));
            }
            if let Some(content) = state.read(self.at) {
                self.at += 1;
                break Some(Ok(content));
            }
            let body = match &mut state.source {
                Source::Live(body, _) => body,
                Source::Ended(error) => break error.clone().map(Err),
                // Not shared with this one, which is told so by its turn.
                Source::Awaited | Source::Whole(_) | Source::Taken => break Some(Err(BodyError::FellBehind)),
            };
            if !std::mem::replace(&mut waiting_since_now, true) {
                self.common.waiting.join(cx.waker());
            }
            let waker = Waker::from(Arc::clone(&self.common.waiting));
            let frame = match Pin::new(body).poll_frame(&mut Context::from_waker(&waker)) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(frame) => frame,
            };
            match frame {
                Some(Ok(frame)) => state.keep(frame),
                Some(Err(error)) => state.source = Source::Ended(Some(error)),
                None => state.source = Source::Ended(None),
            }
            self.common.waiting.wake_by_ref();
        };
        drop(state);
        self.over = !matches!(frame, Some(Ok(_)));
        Poll::Ready(frame.map(|frame| {
            frame.map(|content| match content {
                Content::Data(data) => {
                    let read = u64::try_from(data.len()).unwrap_or(u64::MAX);
                    self.left = self.left.map(|left| left.saturating_sub(read));
                    Frame::data(data)
                }
                Content::Trailers(trailers) => Frame::trailers(trailers),
            })
        }))
    }

    pub(super) fn is_end_stream(&self) -> bool {
        self.over || {
            let state = self.common.state.lock();
            let end = state.first + u64::try_from(state.kept.len()).unwrap_or(u64::MAX);
            matches!(state.source, Source::Ended(None)) && self.at == end
        }
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.common.state.lock();
        state.readers -= 1;
        let read = usize::try_from(self.at.saturating_sub(state.first)).unwrap_or(usize::MAX);
        for piece in state.kept.iter_mut().skip(read) {
            piece.left -= 1;
        }
        state.forget_read();
    }
}

impl State {
    /// The piece of this number, if it is there already.
    fn read(&mut self, number: u64) -> Option<Content> {
        let piece = self.kept.get_mut(usize::try_from(number - self.first).ok()?)?;
        piece.left -= 1;
        let content = piece.content.clone();
        self.forget_read();
        Some(content)
    }

    /// Keeps what came for all who are there; those who have not even read what it takes the room of are left behind.
    fn keep(&mut self, frame: Frame<Bytes>) {
        let content = match frame.into_data() {
            Ok(data) => Content::Data(data),
            Err(frame) => match frame.into_trailers() {
                Ok(trailers) => Content::Trailers(trailers),
                Err(_) => return,
            },
        };
        let piece = Piece { content, left: self.readers };
        self.bytes += piece.len();
        while self.bytes > KEPT && !self.kept.is_empty() {
            self.forget_first();
        }
        self.kept.push_back(piece);
    }

    fn forget_read(&mut self) {
        while self.kept.front().is_some_and(|piece| piece.left == 0) {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some(piece) = self.kept.pop_front() {
            self.bytes -= piece.len();
            self.first += 1;
        }
    }
}

/// Everybody who waits for more of it.
#[derive(Default)]
struct Waiting(Mutex<Vec<Waker>>);

impl Waiting {
    fn join(&self, waker: &Waker) {
        let mut all = self.0.lock();
        if !all.iter().any(|other| other.will_wake(waker)) {
            all.push(waker.clone());
        }
    }
}

impl Wake for Waiting {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let all = std::mem::take(&mut *self.0.lock());
        all.into_iter().for_each(Waker::wake);
    }
}
