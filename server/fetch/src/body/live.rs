//! A body that streams: one frame after the other from the host to our client, and who is waited for meanwhile.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use fuseboard_breaker::{Phase, Why};
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::Instant;

use super::Shared;
use crate::{
    call::Call,
    classify::in_words,
    client::Conn,
    error::BodyError,
    queue::Place,
    timing::{Due, Progress, after, earlier},
    upload::Turn,
};

/// Handed to our client at a time at most: it has `client_idle` to take it.
const PIECE: usize = 128 << 10;

pub(super) struct Live {
    incoming: Incoming,
    /// What came and our client has not been handed yet.
    rest: Bytes,
    pub(super) call: Call,
    conn: Conn,
    /// Our client has the last frame and has not asked for the next.
    pub(super) with_client: bool,
    /// When it got that frame, and how long it was.
    handed: (Instant, usize),
    /// How it takes what it is handed.
    progress: Progress,
    /// Since when the host is waited for.
    pending: Option<Instant>,
    /// When the whole call has taken too long; moved on by every wait for our client.
    total: Instant,
}

pub(super) enum Step {
    Pending,
    Frame(Frame<Bytes>),
    End(Option<Frame<Bytes>>),
    Broken(BodyError),
}

impl Live {
    pub(super) fn new(incoming: Incoming, call: Call, conn: Conn) -> Self {
        let waited = call.upload().map(|upload| upload.waited()).unwrap_or_default();
        let total = after(call.started(), call.upstream.timeouts.total.saturating_add(waited));
        Self {
            incoming,
            rest: Bytes::new(),
            call,
            conn,
            with_client: false,
            handed: (Instant::now(), 0),
            progress: Progress::default(),
            pending: None,
            total,
        }
    }

    pub(super) fn step(&mut self, cx: &mut Context<'_>) -> Step {
        if let Poll::Ready(refused) = self.call.poll_hold(cx) {
            return Step::Broken(BodyError::HeldOpen(Box::new(refused)));
        }
        if !self.rest.is_empty() {
            return self.piece();
        }
        self.call.polling = true;
        let incoming = &mut self.incoming;
        let polled = self.conn.look(cx, |cx| Pin::new(&mut *incoming).poll_frame(cx));
        self.call.polling = false;
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.call.passes(frame);
            self.host_moved();
        }
        match polled {
            // Nothing comes after trailers, and our own server asks for nothing after them.
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => {
                    self.rest = data;
                    self.piece()
                }
                Err(trailers) => Step::End(Some(trailers)),
            },
            // Over h2 a stream that is reset without an error ends like this, complete or not.
            Poll::Ready(None) if self.conn.is_h2() && !self.incoming.is_end_stream() => {
                Step::Broken(self.broken("the host reset the stream before the end".to_owned()))
            }
            Poll::Ready(None) => Step::End(None),
            Poll::Ready(Some(Err(error))) => Step::Broken(self.broken(in_words(&error))),
            Poll::Pending => self.wait(cx),
        }
    }

    /// As much as our client is handed at a time.
    fn piece(&mut self) -> Step {
        let frame = Frame::data(self.rest.split_to(self.rest.len().min(PIECE)));
        let is_last = self.rest.is_empty() && self.incoming.is_end_stream();
        if is_last { Step::End(Some(frame)) } else { Step::Frame(frame) }
    }

    pub(super) fn size_hint(&self) -> SizeHint {
        let rest = u64::try_from(self.rest.len()).unwrap_or(u64::MAX);
        let to_come = self.incoming.size_hint();
        let mut all = SizeHint::new();
        if let Some(upper) = to_come.upper() {
            all.set_upper(upper.saturating_add(rest));
        }
        all.set_lower(to_come.lower().saturating_add(rest));
        all
    }

    fn broken(&mut self, error: String) -> BodyError {
        // A response may fail because our client's half of the exchange did.
        if self.call.turn() == Turn::Broken {
            self.call.broken_off(&error);
        } else {
            self.call.fail(Phase::Body, &error);
        }
        BodyError::Broken { breaker: Arc::clone(self.call.breaker()), error }
    }

    /// The host is waited for, or our client if it is still sending.
    fn wait(&mut self, cx: &mut Context<'_>) -> Step {
        let mut now = Instant::now();
        if std::mem::take(&mut self.with_client) {
            self.came_back(now);
            if self.call.probe {
                self.call.waits(false);
            }
        }
        let pending = *self.pending.get_or_insert(now);
        loop {
            let (at, due) = self.due(pending);
            if at <= now {
                return Step::Broken(self.late(due));
            }
            // Who is waited for may change without anybody waking us: look again before either could be due.
            let sending = self.call.upload().is_some_and(|upload| !upload.is_done());
            let timeouts = &self.call.upstream.timeouts;
            let look = if sending { at.min(after(now, timeouts.between_bytes.min(timeouts.client_idle))) } else { at };
            if self.conn.timer.poll(look, cx).is_pending() {
                return Step::Pending;
            }
            now = Instant::now();
        }
    }

    fn due(&self, pending: Instant) -> (Instant, Due) {
        let timeouts = &self.call.upstream.timeouts;
        let total = (self.total, Due::Total);
        // A stream may be silent for as long as both sides like; dead connections are found by pings.
        if let Some(exchange) = self.call.exchange() {
            return exchange.budget.map_or(total, |(_, deadline)| earlier((deadline, Due::Deadline), total));
        }
        match self.call.upload().map(|upload| upload.turn()) {
            Some(Turn::Client(since)) => {
                let patience = timeouts.client_idle;
                let left = self.call.upload().map_or(patience, |upload| upload.left(patience));
                (after(since.max(pending), left), Due::Client)
            }
            Some(Turn::Host(since) | Turn::Done(since)) => {
                earlier((after(since.max(pending), timeouts.between_bytes), Due::Between), total)
            }
            _ => earlier((after(pending, timeouts.between_bytes), Due::Between), total),
        }
    }

    fn late(&mut self, due: Due) -> BodyError {
        let timeouts = &self.call.upstream.timeouts;
        let error = match due {
            Due::Client => {
                self.call.ignore(Why::ClientGone, Some("the client stopped sending"));
                return BodyError::ClientStalled;
            }
            Due::Deadline => {
                self.call.outlived_deadline();
                return BodyError::Deadline { breaker: Arc::clone(self.call.breaker()) };
            }
            Due::Total => format!("the call was not over after {:?}", timeouts.total),
            Due::FirstByte | Due::Between => format!("no byte for {:?}", timeouts.between_bytes),
        };
        self.broken(error)
    }

    fn host_moved(&self) {
        if self.call.probe {
            self.call.moved(true);
        }
        if let Some(upload) = self.call.upload() {
            upload.host_moved();
        }
    }

    /// A frame (or the head) goes to our client; from now on it is the one to be waited for.
    pub(super) fn hand_over(&mut self, shared: &Arc<Shared>, bytes: usize) {
        let now = Instant::now();
        if self.with_client {
            self.came_back(now);
        }
        self.pending = None;
        self.with_client = true;
        self.handed = (now, bytes);
        if self.call.probe {
            self.call.waits(true);
        }
        // Already due only if no idling is allowed at all; then the next poll is in time anyway.
        let _ = self.poll_alone(shared);
    }

    /// Our client has taken what it was handed.
    fn came_back(&mut self, now: Instant) {
        let (handed, bytes) = self.handed;
        self.total += now - handed;
        self.progress.waited(now - handed);
        self.progress.moved(bytes);
    }

    /// While our client has the last frame nobody else polls us. Ready when it has been idle for too long, or when an
    /// operator ends the call.
    pub(super) fn poll_alone(&mut self, shared: &Arc<Shared>) -> Poll<BodyError> {
        let patience = self.call.upstream.timeouts.client_idle;
        // A stream's messages are taken at the pace of whoever has to do something about them.
        let left = if self.call.exchange().is_some() { patience } else { self.progress.left(patience) };
        let at = after(self.handed.0, left);
        let waker = Waker::from(Arc::clone(shared));
        let cx = &mut Context::from_waker(&waker);
        if let Poll::Ready(refused) = self.call.poll_hold(cx) {
            return Poll::Ready(BodyError::HeldOpen(Box::new(refused)));
        }
        self.conn.timer.poll(at, cx).map(|()| BodyError::ClientStalled)
    }

    /// How our client hears of such an end.
    pub(super) fn told(&self, error: BodyError) -> Result<Frame<Bytes>, BodyError> {
        self.call.last_words(&error).map_or(Err(error), |trailers| Ok(Frame::trailers(trailers)))
    }

    pub(super) fn finish(mut self) -> Option<Place> {
        self.call.complete();
        let place = self.call.take_place();
        if self.call.upload().is_none_or(|upload| upload.is_done()) {
            self.conn.give_back();
        }
        place
    }
}
