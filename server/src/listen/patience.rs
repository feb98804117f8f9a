//! How long a client may keep its connection waiting. While a write to it is blocked nobody asks for the host's next bytes,
//! and a head that comes in pieces is nobody's request yet, so the socket itself has to notice both.

use std::{
    future::Future,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep_until},
};

use super::{HEAD_WITHIN, IDLE, exchange::Exchange};

/// A stream whose writes fail when the other side takes nothing for too long, and whose reads fail when a head does not
/// come to its end.
pub(super) struct Patient<S> {
    stream: S,
    writes: Writes,
    heads: Heads,
}

/// How long a client may leave unread what is written to it.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// While the process runs.
    pub stall: Duration,
    /// Once it is to stop.
    pub parting: Duration,
}

impl<S> Patient<S> {
    /// A connection that was just made.
    pub(super) fn new(stream: S, patience: Patience, exchange: Arc<Exchange>) -> Self {
        let writes = Writes { patience, exchange: exchange.clone(), blocked: None, timer: Timer(None) };
        let head = Some(Head { due: Instant::now() + IDLE, begun: false, before: 0 });
        Self { stream, writes, heads: Heads { exchange, head, preface: Some(0), timer: Timer(None) } }
    }
}

/// Made by the first wait, since most connections never wait for long.
struct Timer(Option<Pin<Box<Sleep>>>);

impl Timer {
    fn poll(&mut self, at: Instant, context: &mut Context<'_>) -> Poll<()> {
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if sleep.deadline() != at {
            sleep.as_mut().reset(at);
        }
        sleep.as_mut().poll(context)
    }
}

struct Writes {
    patience: Patience,
    exchange: Arc<Exchange>,
    /// Since when a write is blocked.
    blocked: Option<Instant>,
    timer: Timer,
}

impl Writes {
    /// Watches a write that got this answer.
    fn watch<T>(&mut self, wrote: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.blocked = None;
            return wrote;
        }
        let since = *self.blocked.get_or_insert_with(Instant::now);
        let mut due = since + self.patience.stall;
        if let Some(parting) = self.exchange.parting() {
            due = due.min(since.max(parting) + self.patience.parting);
        }
        ready!(self.timer.poll(due, context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client stopped reading")))
    }
}

/// HTTP/1.1 heads alone: over h2 a client in the midst of a head cannot answer pings, and is found out by that.
struct Heads {
    exchange: Arc<Exchange>,
    head: Option<Head>,
    /// How many bytes of h2's preface have come; nothing when it turned out to be something else.
    preface: Option<usize>,
    timer: Timer,
}

/// A head that is waited for, or one that has begun to come.
struct Head {
    due: Instant,
    begun: bool,
    /// How many were complete before it.
    before: u64,
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0";

impl Heads {
    /// Watches a read that got this answer and these bytes.
    fn watch(&mut self, read: Poll<io::Result<()>>, new: &[u8], context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.preface == Some(PREFACE.len()) {
            return read;
        }
        if self.exchange.is_busy() {
            // What comes now belongs to what is being answered.
            self.head = None;
            return read;
        }
        let before = self.exchange.heads();
        let waited_for = self.head.take().filter(|head| head.before == before);
        let begun = waited_for.as_ref().is_some_and(|head| head.begun);
        let head = match waited_for {
            Some(head) if begun || new.is_empty() => head,
            None if new.is_empty() => Head { due: Instant::now() + IDLE, begun: false, before },
            _ => Head { due: Instant::now() + HEAD_WITHIN, begun: true, before },
        };
        let due = self.head.insert(head).due;
        if read.is_ready() {
            self.look_for_preface(new);
            return read;
        }
        ready!(self.timer.poll(due, context));
        let slow = if begun {
            "the client did not finish the head of a request in time"
        } else {
            "the client asked for nothing"
        };
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, slow)))
    }

    fn look_for_preface(&mut self, new: &[u8]) {
        let Some(seen) = self.preface else { return };
        let expected = &PREFACE[seen..];
        let count = expected.len().min(new.len());
        self.preface = (expected[..count] == new[..count]).then_some(seen + count);
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        this.heads.watch(read, &buffer.filled()[before..], context)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.writes.watch(wrote, context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.writes.watch(wrote, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);
    const PARTING: Duration = Duration::from_secs(2);

    fn patient(stream: DuplexStream) -> (Patient<DuplexStream>, Arc<Exchange>) {
        let exchange = Arc::new(Exchange::default());
        let patience = Patience { stall: LIMIT, parting: PARTING };
        (Patient::new(stream, patience, exchange.clone()), exchange)
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_stops_reading_ends_the_connection() {
        let (ours, _theirs) = duplex(8);
        let mut stream = patient(ours).0;
        let started = Instant::now();
        let ended = tokio::time::timeout(LIMIT * 2, stream.write_all(&[0; 64])).await.expect("it ends");
        let error = ended.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(started.elapsed(), LIMIT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_stops_reading_does_not_hold_up_a_shutdown() {
        let (ours, theirs) = duplex(8);
        let (mut stream, exchange) = patient(ours);
        let started = Instant::now();
        let mut writing = std::pin::pin!(stream.write_all(&[0; 64]));
        let blocked = tokio::time::timeout(Duration::from_secs(10), writing.as_mut()).await;
        assert!(blocked.is_err(), "it is waited for while nobody is in a hurry");
        exchange.part();
        let error = writing.await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(started.elapsed(), Duration::from_secs(10) + PARTING);
        drop(theirs);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_is_waited_for() {
        let (ours, mut theirs) = duplex(8);
        let mut stream = patient(ours).0;
        let reader = tokio::spawn(async move {
            let mut pace = tokio::time::interval(LIMIT - Duration::from_secs(1));
            let mut all = Vec::new();
            while all.len() < 64 {
                pace.tick().await;
                let mut some = [0; 8];
                let count = theirs.read(&mut some).await.expect("the writer is there");
                all.extend_from_slice(&some[..count]);
            }
            all
        });
        let written = tokio::time::timeout(LIMIT * 100, stream.write_all(&[7; 64])).await;
        written.expect("it ends").expect("slow, but reading");
        let read = tokio::time::timeout(LIMIT * 100, reader).await.expect("it gets all of it");
        assert_eq!(read.expect("no panic"), [7; 64]);
    }

    /// Reads whatever comes until the connection is ended, and says after how long.
    async fn ended(stream: &mut Patient<DuplexStream>) -> Duration {
        let began = Instant::now();
        let mut rest = Vec::new();
        let read = tokio::time::timeout(IDLE * 3, stream.read_to_end(&mut rest)).await;
        let error = read.expect("it is ended").expect_err("and not by its client");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_comes_in_pieces_has_ten_seconds_from_its_first_byte() {
        let (ours, mut theirs) = duplex(1024);
        let (mut stream, _) = patient(ours);
        let drip = tokio::spawn(async move {
            let mut pace = tokio::time::interval(HEAD_WITHIN / 4);
            while theirs.write_all(b"x").await.is_ok() {
                pace.tick().await;
            }
        });
        assert_eq!(ended(&mut stream).await, HEAD_WITHIN);
        drop(stream);
        drip.await.expect("no panic");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_nothing_at_all_is_let_go_of() {
        let (ours, _theirs) = duplex(1024);
        assert_eq!(ended(&mut patient(ours).0).await, IDLE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_is_being_answered_may_take_its_time_and_the_next_head_counts_anew() {
        let (ours, mut theirs) = duplex(1024);
        let (mut stream, exchange) = patient(ours);
        let mut some = [0; 4];
        theirs.write_all(b"GET ").await.expect("room");
        stream.read_exact(&mut some).await.expect("it came");
        let answering = exchange.begin();
        // Its body comes slowly.
        for _ in 0..3 {
            let slow = tokio::time::timeout(HEAD_WITHIN * 2, stream.read_u8()).await;
            assert!(slow.is_err(), "nothing came, and that is fine");
            theirs.write_all(b"x").await.expect("room");
            assert_eq!(stream.read_u8().await.expect("it came"), b'x');
        }
        drop(answering);
        let idle = tokio::time::timeout(IDLE - Duration::from_secs(1), stream.read_u8()).await;
        assert!(idle.is_err(), "between two requests it may be idle");
        theirs.write_all(b"G").await.expect("room");
        assert_eq!(ended(&mut stream).await, HEAD_WITHIN);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_asks_for_nothing_more_is_let_go_of() {
        let (ours, mut theirs) = duplex(1024);
        let (mut stream, exchange) = patient(ours);
        for _ in 0..2 {
            theirs.write_all(b"G").await.expect("room");
            stream.read_u8().await.expect("it came");
            let answering = exchange.begin();
            assert!(tokio::time::timeout(IDLE * 2, stream.read_u8()).await.is_err(), "as long as the answer takes");
            drop(answering);
        }
        assert_eq!(ended(&mut stream).await, IDLE, "from the end of the answer");
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_answered_before_the_next_read_is_no_slow_head() {
        let (ours, mut theirs) = duplex(1024);
        let (mut stream, exchange) = patient(ours);
        theirs.write_all(b"G").await.expect("room");
        stream.read_u8().await.expect("it came");
        drop(exchange.begin());
        assert!(tokio::time::timeout(HEAD_WITHIN * 2, stream.read_u8()).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn h2_is_told_by_its_preface_even_in_pieces_and_left_to_its_pings() {
        let (ours, mut theirs) = duplex(1024);
        let (mut stream, _) = patient(ours);
        for piece in ["PR", "I * HTTP/2.0", "\r\n\r\nSM\r\n\r\n"] {
            theirs.write_all(piece.as_bytes()).await.expect("room");
            let mut some = vec![0; piece.len()];
            stream.read_exact(&mut some).await.expect("it came");
        }
        assert!(tokio::time::timeout(IDLE * 2, stream.read_u8()).await.is_err());
        let (ours, mut theirs) = duplex(1024);
        let (mut stream, _) = patient(ours);
        theirs.write_all(b"PRIVATE").await.expect("room");
        assert_eq!(ended(&mut stream).await, HEAD_WITHIN);
    }
}
