//! The response's body with its permit aboard. Frames pass through as they come; the end of the body settles the call,
//! a body that breaks off or stalls is the host's failure and ends the client's response with an error, a body let go of
//! early is no evidence. While we wait for our client to take the next frame no timer runs against the host; one runs
//! against the client, and it must fire although nobody polls us then, so its waker is the body itself. It also hears
//! when an operator ends what has no permit.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use bytes::{Buf, Bytes, BytesMut};
use fuseboard_breaker::{Phase, Why};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    call::Call,
    classify::in_words,
    client::Conn,
    error::BodyError,
    queue::Place,
    timing::{Due, after, earlier},
    upload::Turn,
};

pub(crate) mod shared;

/// The body of a response, with its permit aboard.
pub struct Body(Kind);

enum Kind {
    /// Nothing (more) to come; the place among those in flight is held until the response is let go of.
    Ended(Option<Place>),
    Live(Arc<Shared>),
    /// One client's part in a body that others read too.
    Shared(shared::Reader),
}

struct Shared {
    live: Mutex<Option<Live>>,
    /// How it ended while nobody polled it.
    ended: Mutex<Option<Result<Frame<Bytes>, BodyError>>>,
}

struct Live {
    incoming: Incoming,
    call: Call,
    conn: Conn,
    /// Our client has the last frame and has not asked for the next.
    with_client: bool,
    /// When it got that frame.
    handed: Instant,
    /// Since when the host is waited for.
    pending: Option<Instant>,
    /// When the whole call has taken too long; moved on by every wait for our client.
    total: Instant,
}

enum Step {
    Pending,
    Frame(Frame<Bytes>),
    End(Option<Frame<Bytes>>),
    Broken(BodyError),
}

impl Body {
    pub(crate) fn empty(place: Option<Place>) -> Self {
        Self(Kind::Ended(place))
    }

    pub(crate) fn live(incoming: Incoming, call: Call, conn: Conn) -> Self {
        let waited = call.upload().map(|upload| upload.waited()).unwrap_or_default();
        let total = after(call.started(), call.upstream.timeouts.total.saturating_add(waited));
        let live = Live { incoming, call, conn, with_client: false, handed: Instant::now(), pending: None, total };
        let shared = Arc::new(Shared { live: Mutex::new(None), ended: Mutex::new(None) });
        {
            let mut slot = shared.live.lock();
            slot.insert(live).hand_over(&shared, false);
        }
        Self(Kind::Live(shared))
    }

    /// For whoever takes frames apart and hands them on piece by piece: our client took another piece of the last one,
    /// so it is not idle.
    pub fn client_took(&mut self) {
        if let Kind::Live(shared) = &self.0
            && let Some(live) = shared.live.lock().as_mut().filter(|live| live.with_client)
        {
            live.hand_over(shared, false);
        }
    }

    /// Takes over the place among those in flight, for the next hop of the same request.
    pub(crate) fn take_place(&mut self) -> Option<Place> {
        match &mut self.0 {
            Kind::Ended(place) => place.take(),
            Kind::Live(shared) => shared.live.lock().as_mut().and_then(|live| live.call.take_place()),
            Kind::Shared(_) => None,
        }
    }

    /// For an answer whose body nobody wants: reads on for a little, so that the connection can be kept, and then takes
    /// the host at its word.
    pub(crate) async fn wind_up(mut self, most: usize) -> Result<(), BodyError> {
        let mut read = 0;
        while let Some(frame) = self.frame().await {
            read += frame?.data_ref().map_or(0, Buf::remaining);
            if read > most {
                break;
            }
        }
        if let Some(mut live) = self.take_live() {
            live.call.complete();
        }
        Ok(())
    }

    /// All of it, unless it is longer than `most`; then `None`.
    pub(crate) async fn collect(mut self, most: u64) -> Result<Option<Bytes>, BodyError> {
        let mut first: Option<Bytes> = None;
        let mut all = BytesMut::new();
        while let Some(frame) = self.frame().await {
            let Ok(data) = frame?.into_data() else { continue };
            let length = first.as_ref().map_or(0, Bytes::len) + all.len() + data.len();
            if u64::try_from(length).map_or(true, |length| length > most) {
                if let Some(mut live) = self.take_live() {
                    live.call.ignore(Why::OwnGuard, Some("the body is longer than the caller takes"));
                }
                return Ok(None);
            }
            match &first {
                None if all.is_empty() => first = Some(data),
                _ => {
                    if let Some(first) = first.take() {
                        all.extend_from_slice(&first);
                    }
                    all.extend_from_slice(&data);
                }
            }
        }
        Ok(Some(first.unwrap_or_else(|| all.freeze())))
    }

    fn take_live(&mut self) -> Option<Live> {
        match std::mem::replace(&mut self.0, Kind::Ended(None)) {
            Kind::Ended(_) | Kind::Shared(_) => None,
            Kind::Live(shared) => shared.live.lock().take(),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let shared = match &mut self.0 {
            Kind::Live(shared) => shared,
            Kind::Shared(reader) => return reader.poll(cx),
            Kind::Ended(_) => return Poll::Ready(None),
        };
        let mut slot = shared.live.lock();
        let Some(live) = slot.as_mut() else {
            drop(slot);
            return Poll::Ready(shared.ended.lock().take());
        };
        let step = live.step(cx);
        match step {
            Step::Pending => Poll::Pending,
            Step::Frame(frame) => {
                live.hand_over(shared, true);
                Poll::Ready(Some(Ok(frame)))
            }
            Step::End(last) => {
                let ended = slot.take();
                drop(slot);
                self.0 = Kind::Ended(ended.and_then(Live::finish));
                Poll::Ready(last.map(Ok))
            }
            Step::Broken(error) => {
                let broken = slot.take();
                drop(slot);
                let told = broken.as_ref().map(|live| live.told(error));
                drop(broken);
                self.0 = Kind::Ended(None);
                Poll::Ready(told)
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Ended(_) => true,
            Kind::Live(_) => false,
            Kind::Shared(reader) => reader.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Ended(_) => SizeHint::with_exact(0),
            Kind::Live(shared) => {
                shared.live.lock().as_ref().map_or_else(SizeHint::default, |live| live.incoming.size_hint())
            }
            Kind::Shared(reader) => reader.size_hint(),
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Some(mut live) = self.take_live()
            && live.with_client
        {
            live.call.unread();
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.is_end_stream() { "Body(ended)" } else { "Body(streaming)" })
    }
}

impl Live {
    fn step(&mut self, cx: &mut Context<'_>) -> Step {
        if let Poll::Ready(refused) = self.call.poll_hold(cx) {
            return Step::Broken(BodyError::HeldOpen(Box::new(refused)));
        }
        self.call.polling = true;
        let incoming = &mut self.incoming;
        let polled = self.conn.look(cx, |cx| Pin::new(&mut *incoming).poll_frame(cx));
        self.call.polling = false;
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            self.call.passes(frame);
        }
        match polled {
            // Nothing comes after trailers, and our own server asks for nothing after them.
            Poll::Ready(Some(Ok(frame))) if frame.is_trailers() || self.incoming.is_end_stream() => {
                Step::End(Some(frame))
            }
            Poll::Ready(Some(Ok(frame))) => Step::Frame(frame),
            // Over h2 a stream that is reset without an error ends like this, complete or not.
            Poll::Ready(None) if self.conn.is_h2() && !self.incoming.is_end_stream() => {
                Step::Broken(self.broken("the host reset the stream before the end".to_owned()))
            }
            Poll::Ready(None) => Step::End(None),
            Poll::Ready(Some(Err(error))) => Step::Broken(self.broken(in_words(&error))),
            Poll::Pending => self.wait(cx),
        }
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
            self.total += now - self.handed;
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
            Some(Turn::Client(since)) => (after(since.max(pending), timeouts.client_idle), Due::Client),
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

    /// A frame (or the head) goes to our client; from now on it is the one to be waited for.
    fn hand_over(&mut self, shared: &Arc<Shared>, moved: bool) {
        let now = Instant::now();
        if self.with_client {
            self.total += now - self.handed;
        }
        self.pending = None;
        self.with_client = true;
        self.handed = now;
        if self.call.probe {
            if moved { self.call.moved(true) } else { self.call.waits(true) }
        }
        // Already due only if no idling is allowed at all; then the next poll is in time anyway.
        let _ = self.poll_alone(shared);
    }

    /// While our client has the last frame nobody else polls us. Ready when it has been idle for too long, or when an
    /// operator ends the call.
    fn poll_alone(&mut self, shared: &Arc<Shared>) -> Poll<BodyError> {
        let at = after(self.handed, self.call.upstream.timeouts.client_idle);
        let waker = Waker::from(Arc::clone(shared));
        let cx = &mut Context::from_waker(&waker);
        if let Poll::Ready(refused) = self.call.poll_hold(cx) {
            return Poll::Ready(BodyError::HeldOpen(Box::new(refused)));
        }
        self.conn.timer.poll(at, cx).map(|()| BodyError::ClientStalled)
    }

    /// How our client hears of such an end.
    fn told(&self, error: BodyError) -> Result<Frame<Bytes>, BodyError> {
        self.call.last_words(&error).map_or(Err(error), |trailers| Ok(Frame::trailers(trailers)))
    }

    fn finish(mut self) -> Option<Place> {
        self.call.complete();
        let place = self.call.take_place();
        if self.call.upload().is_none_or(|upload| upload.is_done()) {
            self.conn.give_back();
        }
        place
    }
}

/// The client's timer went off, or an operator ends the call. The timer may be an old one, or the client may have come back
/// this very moment.
impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        let Some(mut slot) = self.live.try_lock() else { return };
        let Some(live) = slot.as_mut().filter(|live| live.with_client) else { return };
        let Poll::Ready(error) = live.poll_alone(&self) else { return };
        // Words would only wait behind what a stalled client does not read.
        let stalled = matches!(error, BodyError::ClientStalled);
        *self.ended.lock() = Some(if stalled { Err(error) } else { live.told(error) });
        let live = slot.take();
        drop(slot);
        if let Some(mut live) = live {
            live.call.ignore(Why::ClientGone, Some("the client stopped reading"));
        }
    }
}
