//! The end of a connection. Over HTTP/1.0 an answer of unknown length has no other end than its connection's, so one that
//! broke off, or was dropped at a stop, would look whole: its connection is reset, which nobody takes for an end.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use super::exchange::Exchange;

/// A socket that ends in order only when what was said over it did.
pub(super) struct Ending {
    stream: TcpStream,
    exchange: Arc<Exchange>,
    in_order: bool,
}

impl Ending {
    pub(super) fn new(stream: TcpStream, exchange: Arc<Exchange>) -> Self {
        Self { stream, exchange, in_order: false }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if !self.in_order
            && self.exchange.is_ended_by_connection()
            && let Err(error) = self.stream.set_zero_linger()
        {
            tracing::debug!("a connection cannot be reset: {error}");
        }
    }
}

impl AsyncRead for Ending {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Ending {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.exchange.owes_an_end() {
            return Poll::Ready(Ok(()));
        }
        ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        self.in_order = true;
        Poll::Ready(Ok(()))
    }
}
