//! A client that stops reading must not hold its connection for ever. While a write to it is blocked nobody asks for the
//! host's next bytes, so the socket itself has to notice.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Instant, Sleep, sleep},
};

/// A stream whose writes fail when the other side takes nothing for `limit`.
pub(super) struct WriteStall<S> {
    stream: S,
    limit: Duration,
    /// Made by the first write that blocks, since most never do.
    timer: Option<Pin<Box<Sleep>>>,
    blocked: bool,
}

impl<S> WriteStall<S> {
    pub(super) fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, timer: None, blocked: false }
    }

    /// Watches a write that got this answer.
    fn watch<T>(&mut self, wrote: Poll<io::Result<T>>, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.blocked = false;
            return wrote;
        }
        let limit = self.limit;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(limit)));
        if !self.blocked {
            self.blocked = true;
            timer.as_mut().reset(Instant::now() + limit);
        }
        ready!(timer.as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the client stopped reading")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for WriteStall<S> {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for WriteStall<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.watch(wrote, context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.watch(wrote, context)
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
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test(start_paused = true)]
    async fn a_client_that_stops_reading_ends_the_connection() {
        let (ours, _theirs) = duplex(8);
        let mut stream = WriteStall::new(ours, LIMIT);
        let started = Instant::now();
        let ended = tokio::time::timeout(LIMIT * 2, stream.write_all(&[0; 64])).await.expect("it ends");
        let error = ended.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(started.elapsed(), LIMIT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_reader_is_waited_for() {
        let (ours, mut theirs) = duplex(8);
        let mut stream = WriteStall::new(ours, LIMIT);
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
}
