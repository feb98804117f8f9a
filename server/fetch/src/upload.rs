//! The request's body on its way to the host, watched: whoever waits for the response must know whether the host is
//! slow to take it, our own client slow to send it, or the last byte is out and the host has the word. The body goes
//! with the call: a connection that still waits for its host to take more must not hold our client.

mod sent;

use std::{
    fmt,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use http_body::{Body, Frame, SizeHint};
use parking_lot::Mutex;
use tokio::time::Instant;

pub(crate) use self::sent::Sent;
use self::sent::{Sending, Trace};
use crate::timing::Progress;

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A request's body, of whatever kind it came.
pub(crate) struct RequestBody(Option<Streaming>);

type Source = Pin<Box<dyn Body<Data = Bytes, Error = BoxError> + Send>>;

struct Streaming {
    upload: Arc<Upload>,
    /// No more than that: a connection may keep this long after its call is over.
    trace: Trace,
}

/// Says that the poll panicked where it does: whoever waits may hear of the connection's end before the body is dropped.
struct Polling<'a>(Option<&'a Upload>);

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        if let Some(upload) = self.0 {
            upload.now(PANICKED);
        }
    }
}

impl RequestBody {
    /// Nothing is to be sent.
    pub(crate) const EMPTY: Self = Self(None);

    pub(crate) fn new<B>(body: B) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        if body.is_end_stream() {
            return Self::EMPTY;
        }
        Sent::of(body, None).begin(0)
    }

    fn sending(body: Sending, trace: Trace) -> Self {
        if body.is_end_stream() {
            return Self::EMPTY;
        }
        Self(Some(Streaming { upload: Arc::new(Upload::new(Box::pin(body))), trace }))
    }

    /// The same once more, as long as nobody has looked at it.
    pub(crate) fn sent(&self) -> Option<Sent> {
        self.0.as_ref().and_then(|streaming| streaming.trace.find())
    }

    /// The watch over it; none when there is nothing to send.
    pub(crate) fn upload(&self) -> Option<&Arc<Upload>> {
        self.0.as_ref().map(|streaming| &streaming.upload)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(Streaming { upload, .. }) = &self.0 else { return Poll::Ready(None) };
        let mut source = upload.source.lock();
        let Some(body) = source.as_mut() else { return Poll::Ready(Some(Err(over()))) };
        let mut polling = Polling(Some(&**upload));
        let polled = body.as_mut().poll_frame(cx);
        polling.0 = None;
        let came = match &polled {
            Poll::Ready(Some(Ok(frame))) => frame.data_ref().map_or(0, Bytes::len),
            _ => 0,
        };
        let tag = match &polled {
            Poll::Pending => CLIENT,
            Poll::Ready(Some(Ok(_))) if body.is_end_stream() => DONE,
            Poll::Ready(Some(Ok(_))) => HOST,
            Poll::Ready(Some(Err(_))) => BROKEN,
            Poll::Ready(None) => DONE,
        };
        drop(source);
        upload.now(tag);
        upload.progress.lock().moved(came);
        if polled.is_pending() {
            upload.sender.register(cx.waker());
        }
        // Whoever wanted it gone while it was polled could not take it.
        if upload.over.load(Ordering::SeqCst) {
            upload.let_go();
            if polled.is_pending() {
                return Poll::Ready(Some(Err(over())));
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        let Some(streaming) = &self.0 else { return true };
        streaming.upload.source.lock().as_ref().is_some_and(|body| body.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        let Some(streaming) = &self.0 else { return SizeHint::with_exact(0) };
        streaming.upload.source.lock().as_ref().map_or_else(SizeHint::default, |body| body.size_hint())
    }
}

impl Drop for Streaming {
    fn drop(&mut self) {
        self.upload.dropped();
        self.upload.over();
    }
}

impl fmt::Debug for RequestBody {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.is_empty() { "RequestBody(empty)" } else { "RequestBody(streaming)" })
    }
}

/// How a request ends whose answer nobody waits for any more. An h2 host is told that it was cancelled.
fn over() -> BoxError {
    h2::Error::from(h2::Reason::CANCEL).into()
}

const HOST: u64 = 0;
const CLIENT: u64 = 1;
const DONE: u64 = 2;
const BROKEN: u64 = 3;
const DROPPED: u64 = 4;
const PANICKED: u64 = 5;
const TAG_BITS: u32 = 3;
const TAG: u64 = (1 << TAG_BITS) - 1;

/// Who is waited for, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The host, to take what it was handed.
    Host(Instant),
    /// Our client, to send more.
    Client(Instant),
    /// Nobody: the last byte was handed over.
    Done(Instant),
    /// Our client's body ended with an error.
    Broken,
    /// Nobody: our client's body panicked.
    Panicked,
    /// Nobody: the connection let go of it before its end.
    Dropped(Instant),
}

/// Shared by the body, which the connection's task polls, and whoever waits for the response.
pub(crate) struct Upload {
    /// Where the bytes come from, until nobody wants them.
    source: Mutex<Option<Source>>,
    over: AtomicBool,
    base: Instant,
    /// The tag in the low bits, microseconds since `base` above.
    turn: AtomicU64,
    /// Microseconds our client was waited for.
    waited: AtomicU64,
    progress: Mutex<Progress>,
    /// A probe's lease depends on who is waited for, so its waiter wants to know at once.
    keen: AtomicBool,
    waiter: AtomicWaker,
    /// Whoever sends it on, while our client is waited for.
    sender: AtomicWaker,
}

impl Upload {
    fn new(source: Source) -> Self {
        Self {
            source: Mutex::new(Some(source)),
            over: AtomicBool::new(false),
            base: Instant::now(),
            turn: AtomicU64::new(HOST),
            waited: AtomicU64::new(0),
            progress: Mutex::default(),
            keen: AtomicBool::new(false),
            waiter: AtomicWaker::new(),
            sender: AtomicWaker::new(),
        }
    }

    /// The body is handed to a connection.
    pub(crate) fn begin(&self) {
        self.now(HOST);
    }

    pub(crate) fn turn(&self) -> Turn {
        let word = self.turn.load(Ordering::Acquire);
        let since = self.base + Duration::from_micros(word >> TAG_BITS);
        match word & TAG {
            HOST => Turn::Host(since),
            CLIENT => Turn::Client(since),
            DONE => Turn::Done(since),
            BROKEN => Turn::Broken,
            PANICKED => Turn::Panicked,
            _ => Turn::Dropped(since),
        }
    }

    /// How long our client was waited for in all, up to the last time it sent something.
    pub(crate) fn waited(&self) -> Duration {
        Duration::from_micros(self.waited.load(Ordering::Relaxed))
    }

    /// How much longer our client may pause that has been waited for since this moment.
    pub(crate) fn left(&self, patience: Duration) -> Duration {
        self.progress.lock().left(patience)
    }

    /// The host is moving, and our client may only follow it.
    pub(crate) fn host_moved(&self) {
        *self.progress.lock() = Progress::default();
    }

    /// Whether all of it was handed over.
    pub(crate) fn is_done(&self) -> bool {
        self.turn.load(Ordering::Acquire) & TAG == DONE
    }

    /// Whether the host has not taken what it was handed for so long.
    pub(crate) fn is_stuck(&self, for_so_long: Duration) -> bool {
        matches!(self.turn(), Turn::Host(since) if since.elapsed() >= for_so_long)
    }

    /// The call is over: whoever sends has nobody to send to any more.
    pub(crate) fn over(&self) {
        self.over.store(true, Ordering::SeqCst);
        self.let_go();
        // Nothing else would wake it: what it waited for is gone.
        self.sender.wake();
    }

    /// Lets go of our client's body, unless it is being polled this very moment.
    fn let_go(&self) {
        let source = self.source.try_lock().and_then(|mut source| source.take());
        drop(source);
    }

    /// Wakes this one at each change of turn.
    pub(crate) fn notify(&self, waker: &Waker) {
        self.waiter.register(waker);
        self.keen.store(true, Ordering::Release);
    }

    fn now(&self, tag: u64) {
        let before = self.turn.load(Ordering::Relaxed);
        if before & TAG == tag && tag != HOST {
            return; // Polled again in vain: the wait goes on from where it began.
        }
        let now = u64::try_from(self.base.elapsed().as_micros()).unwrap_or(u64::MAX >> TAG_BITS);
        if before & TAG == CLIENT {
            let waited = now.saturating_sub(before >> TAG_BITS);
            self.waited.fetch_add(waited, Ordering::Relaxed);
            self.progress.lock().waited(Duration::from_micros(waited));
        }
        self.turn.store((now << TAG_BITS) | tag, Ordering::Release);
        if self.keen.load(Ordering::Acquire) {
            self.waiter.wake();
        }
    }

    fn dropped(&self) {
        if !matches!(self.turn(), Turn::Done(_) | Turn::Broken | Turn::Panicked) {
            self.now(DROPPED);
        }
    }
}
