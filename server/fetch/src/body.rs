//! The response's body with its permit aboard. Frames pass through as they come; the end of the body settles the call,
//! a body that breaks off or stalls is the host's failure and ends the client's response with an error, a body let go of
//! early is no evidence. While we wait for our client to take the next frame no timer runs against the host; one runs
//! against the client, and it must fire although nobody polls us then, so its waker is the body itself. It also hears
//! when an operator ends what has no permit.

mod live;
pub(crate) mod shared;

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Wake},
};

use bytes::{Buf, Bytes, BytesMut};
use fuseboard_breaker::Why;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use parking_lot::Mutex;

use self::live::{Live, Step};
use crate::{call::Call, client::Conn, error::BodyError, queue::Place};

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

impl Body {
    pub(crate) fn empty(place: Option<Place>) -> Self {
        Self(Kind::Ended(place))
    }

    pub(crate) fn live(incoming: Incoming, call: Call, conn: Conn) -> Self {
        let live = Live::new(incoming, call, conn);
        let shared = Arc::new(Shared { live: Mutex::new(None), ended: Mutex::new(None) });
        {
            let mut slot = shared.live.lock();
            slot.insert(live).hand_over(&shared, 0);
        }
        Self(Kind::Live(shared))
    }

    /// For whoever takes frames apart and hands them on piece by piece: our client has taken the last piece and gets
    /// another one of this length.
    pub fn hands_on(&mut self, bytes: usize) {
        if let Kind::Live(shared) = &self.0
            && let Some(live) = shared.live.lock().as_mut().filter(|live| live.with_client)
        {
            live.hand_over(shared, bytes);
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

/// One with nothing in it.
impl Default for Body {
    fn default() -> Self {
        Self::empty(None)
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
                live.hand_over(shared, frame.data_ref().map_or(0, Bytes::len));
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
            Kind::Live(shared) => shared.live.lock().as_ref().map_or_else(SizeHint::default, Live::size_hint),
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
        out.write_str(if http_body::Body::is_end_stream(self) { "Body(ended)" } else { "Body(streaming)" })
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
