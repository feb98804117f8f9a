//! A request on its way to the host. What has been sent is kept for as long as the host has not answered and it is not
//! much, so that a request the host says it never looked at can be begun anew on another connection (rule 37).

use std::{
    pin::Pin,
    sync::{Arc, Weak},
    task::{Context, Poll},
};

use bytes::Bytes;
use fuseboard_breaker::grpc::Messages;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use parking_lot::Mutex;

use super::{BoxError, RequestBody, Source};

/// More than this is not kept, and then not begun anew.
const KEPT: usize = 64 * 1024;

/// What was sent, shared with the body that sends it.
#[derive(Clone)]
pub(crate) struct Sent(Arc<Mutex<State>>);

struct State {
    source: Source,
    kept: Vec<Bytes>,
    bytes: usize,
    /// Nothing was lost of what was sent so far.
    whole: bool,
    /// Which beginning it is; an older one has nothing to send any more.
    turn: usize,
    /// Of a gRPC request.
    messages: Option<Messages>,
}

/// Finds it again as long as somebody sends it or waits for an answer to it.
pub(super) struct Trace(Weak<Mutex<State>>);

impl Trace {
    pub(super) fn find(&self) -> Option<Sent> {
        self.0.upgrade().map(Sent)
    }
}

/// One beginning of it.
pub(super) struct Sending {
    sent: Sent,
    turn: usize,
    at: usize,
}

impl Sent {
    /// A gRPC request's body, and the watch over it.
    pub(crate) fn new<B>(body: B) -> (RequestBody, Self)
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let sent = Self::of(body, Some(Messages::default()));
        (sent.begin(0), sent)
    }

    pub(super) fn of<B>(body: B, messages: Option<Messages>) -> Self
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let source = Box::pin(body.map_err(Into::into));
        Self(Arc::new(Mutex::new(State { source, kept: Vec::new(), bytes: 0, whole: true, turn: 0, messages })))
    }

    pub(super) fn begin(&self, turn: usize) -> RequestBody {
        RequestBody::sending(Sending { sent: self.clone(), turn, at: 0 }, Trace(Arc::downgrade(&self.0)))
    }

    /// The same request from its beginning, if nothing of it is lost.
    pub(crate) fn again(&self) -> Option<RequestBody> {
        let mut state = self.0.lock();
        state.turn += 1;
        let (whole, turn) = (state.whole, state.turn);
        drop(state);
        whole.then(|| self.begin(turn))
    }

    /// The host has answered: it will not be begun anew.
    pub(crate) fn seen(&self) {
        let mut state = self.0.lock();
        (state.whole, state.kept) = (false, Vec::new());
    }

    /// Whether the client is in the midst of a message.
    pub(crate) fn is_partial(&self) -> bool {
        self.0.lock().messages.as_ref().is_some_and(Messages::is_partial)
    }

    /// Messages the client sent.
    pub(crate) fn messages(&self) -> u64 {
        self.0.lock().messages.as_ref().map_or(0, Messages::whole)
    }
}

impl Body for Sending {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let sent = self.sent.clone();
        let mut state = sent.0.lock();
        if state.turn != self.turn {
            return Poll::Ready(Some(Err("the request was begun anew".into())));
        }
        if let Some(data) = state.kept.get(self.at) {
            self.at += 1;
            return Poll::Ready(Some(Ok(Frame::data(data.clone()))));
        }
        let polled = state.source.as_mut().poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled {
            match frame.data_ref() {
                Some(data) => {
                    if let Some(messages) = &mut state.messages {
                        messages.pass(data);
                    }
                    state.keep(data);
                    self.at = state.kept.len();
                }
                // Nobody sends any; one that does is passed on and not begun anew.
                None => state.whole = false,
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        let state = self.sent.0.lock();
        self.at >= state.kept.len() && state.source.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let state = self.sent.0.lock();
        let kept: usize = state.kept.iter().skip(self.at).map(Bytes::len).sum();
        let (kept, to_come) = (u64::try_from(kept).unwrap_or(u64::MAX), state.source.size_hint());
        let mut all = SizeHint::new();
        if let Some(upper) = to_come.upper() {
            all.set_upper(upper.saturating_add(kept));
        }
        all.set_lower(to_come.lower().saturating_add(kept));
        all
    }
}

impl State {
    fn keep(&mut self, data: &Bytes) {
        self.bytes += data.len();
        if self.bytes > KEPT {
            (self.whole, self.kept) = (false, Vec::new());
        } else if self.whole {
            self.kept.push(data.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::StreamBody;

    use super::*;

    fn pieces(pieces: &[&'static [u8]]) -> impl Body<Data = Bytes, Error = BoxError> + Send + 'static {
        let frames: Vec<_> = pieces.iter().map(|piece| Ok(Frame::data(Bytes::from_static(piece)))).collect();
        StreamBody::new(futures_util::stream::iter(frames))
    }

    #[tokio::test]
    async fn r37_what_nobody_saw_is_sent_again_from_the_beginning() {
        let (mut first, sent) = Sent::new(pieces(&[b"\0\0\0\0\x01", b"a", b"\0\0\0\0\0"]));
        assert_eq!(first.frame().await.unwrap().unwrap().into_data().unwrap(), "\0\0\0\0\x01");
        assert_eq!(first.frame().await.unwrap().unwrap().into_data().unwrap(), "a");
        let second = sent.again().expect("all of it is there");
        assert!(first.frame().await.unwrap().is_err(), "the first beginning goes no further");
        assert_eq!(second.collect().await.unwrap().to_bytes(), "\0\0\0\0\x01a\0\0\0\0\0");
        assert_eq!(sent.messages(), 2);
    }

    #[tokio::test]
    async fn r37_what_was_answered_or_is_too_much_is_not() {
        let (first, sent) = Sent::new(pieces(&[b"a"]));
        sent.seen();
        assert!(sent.again().is_none());
        drop(first);
        static MUCH: [u8; KEPT] = [0; KEPT];
        let (mut first, sent) = Sent::new(pieces(&[b"a", &MUCH]));
        first.frame().await;
        assert!(sent.0.lock().whole);
        first.frame().await;
        assert!(sent.again().is_none());
    }
}
