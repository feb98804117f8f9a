//! A body whose links are changed while it streams: decoded, scanned, sent on. Its pieces are taken out of the fetcher's
//! body one after another, so the permit travels with it as with any other, and what breaks there breaks here.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use async_compression::tokio::bufread::{BrotliDecoder, GzipDecoder};
use bytes::{Buf, Bytes};
use fuseboard_fetch::{Body, BodyError};
use http_body::{Body as _, Frame, SizeHint};
use tokio::io::{AsyncBufRead, AsyncRead, ReadBuf};

use super::scan::Scan;

/// Read at a time, after decoding.
const PIECE: usize = 16 * 1024;

/// What a gzip stream begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// How a body is coded, as far as it can be undone here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Identity,
    Gzip,
    Brotli,
}

/// The fetcher's body as it is, or with other links.
pub(in crate::gateway) enum Passing {
    AsItIs(Body),
    Changed(Box<Changed>),
}

/// See the module.
pub(in crate::gateway) struct Changed {
    source: Source,
    scan: Box<dyn Scan>,
    piece: Box<[u8]>,
    out: Vec<u8>,
    left: Left,
    breaker: Arc<str>,
}

/// What there is left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Read,
    /// The text is over; the host's body may have an end, or an error, to come.
    Drain,
    Nothing,
}

enum Source {
    Identity(Reader),
    Gzip(Box<GzipDecoder<Reader>>),
    Brotli(Box<BrotliDecoder<Reader>>),
}

/// The fetcher's body as bytes to read.
#[derive(Default)]
struct Reader {
    body: Body,
    chunk: Bytes,
    begun: bool,
    broken: Option<BodyError>,
}

impl Changed {
    pub(super) fn new(body: Body, coding: Coding, scan: Box<dyn Scan>, breaker: Arc<str>) -> Self {
        let reader = Reader { body, ..Reader::default() };
        let source = match coding {
            Coding::Identity => Source::Identity(reader),
            Coding::Gzip => Source::Gzip(Box::new(GzipDecoder::new(reader))),
            Coding::Brotli => Source::Brotli(Box::new(BrotliDecoder::new(reader))),
        };
        Self { source, scan, piece: vec![0; PIECE].into(), out: Vec::new(), left: Left::Read, breaker }
    }

    fn broken(&mut self, error: &io::Error) -> BodyError {
        let cannot = || BodyError::Broken {
            breaker: Arc::clone(&self.breaker),
            error: format!("its content coding cannot be undone: {error}"),
        };
        self.source.reader().broken.take().unwrap_or_else(cannot)
    }
}

impl http_body::Body for Changed {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        loop {
            if !this.out.is_empty() {
                let out = std::mem::take(&mut this.out);
                this.source.reader().body.hands_on(out.len());
                return Poll::Ready(Some(Ok(Frame::data(out.into()))));
            }
            match this.left {
                Left::Read => {
                    let mut piece = ReadBuf::new(&mut this.piece);
                    let read = ready!(this.source.poll_read(cx, &mut piece));
                    let read = match (read, piece.filled()) {
                        (Ok(()), []) => ready!(this.source.poll_more(cx)),
                        (Ok(()), text) => {
                            this.scan.push(text, &mut this.out);
                            Ok(true)
                        }
                        // Nothing at all is nothing, however it is coded.
                        (Err(_), _) if this.source.reader().is_empty() => Ok(false),
                        (Err(error), _) => Err(error),
                    };
                    match read {
                        Ok(true) => {}
                        Ok(false) => {
                            this.scan.finish(&mut this.out);
                            this.left = Left::Drain;
                        }
                        Err(error) => {
                            this.left = Left::Nothing;
                            return Poll::Ready(Some(Err(this.broken(&error))));
                        }
                    }
                }
                Left::Drain => match ready!(Pin::new(&mut this.source.reader().body).poll_frame(cx)) {
                    Some(Ok(_)) => {}
                    Some(Err(error)) => {
                        this.left = Left::Nothing;
                        return Poll::Ready(Some(Err(error)));
                    }
                    None => this.left = Left::Nothing,
                },
                Left::Nothing => return Poll::Ready(None),
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left == Left::Nothing && self.out.is_empty()
    }
}

impl Source {
    fn poll_read(&mut self, cx: &mut Context<'_>, piece: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Identity(reader) => Pin::new(reader).poll_read(cx, piece),
            Self::Gzip(decoder) => Pin::new(decoder).poll_read(cx, piece),
            Self::Brotli(decoder) => Pin::new(decoder).poll_read(cx, piece),
        }
    }

    /// Whether there is more to read although the decoder is done. Behind a gzip stream that is another one if it begins
    /// like one; all else is padding, which clients pass over.
    fn poll_more(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let Self::Gzip(decoder) = self else { return Poll::Ready(Ok(false)) };
        let more = ready!(decoder.get_mut().poll_begins_with(GZIP, cx))?;
        if more {
            let reader = std::mem::take(decoder.get_mut());
            **decoder = GzipDecoder::new(reader);
        }
        Poll::Ready(Ok(more))
    }

    fn reader(&mut self) -> &mut Reader {
        match self {
            Self::Identity(reader) => reader,
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Brotli(decoder) => decoder.get_mut(),
        }
    }
}

impl Reader {
    /// What comes next; empty at the end.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Bytes>> {
        loop {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                // Trailers speak of the body as it was.
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) if !data.is_empty() => {
                        self.begun = true;
                        return Poll::Ready(Ok(data));
                    }
                    _ => {}
                },
                Some(Err(error)) => {
                    self.broken = Some(error);
                    return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
                }
                None => return Poll::Ready(Ok(Bytes::new())),
            }
        }
    }

    /// Whether there was nothing to read.
    fn is_empty(&self) -> bool {
        !self.begun && self.broken.is_none()
    }

    /// Whether what is left begins like this.
    fn poll_begins_with(&mut self, start: [u8; 2], cx: &mut Context<'_>) -> Poll<io::Result<bool>> {
        while self.chunk.len() < start.len() && start.starts_with(&self.chunk) {
            let more = ready!(self.poll_chunk(cx))?;
            if more.is_empty() {
                break;
            }
            self.chunk = if self.chunk.is_empty() { more } else { [&*self.chunk, &*more].concat().into() };
        }
        Poll::Ready(Ok(self.chunk.starts_with(&start)))
    }
}

impl AsyncBufRead for Reader {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let this = self.get_mut();
        if this.chunk.is_empty() {
            this.chunk = ready!(this.poll_chunk(cx))?;
        }
        Poll::Ready(Ok(&this.chunk))
    }

    fn consume(mut self: Pin<&mut Self>, read: usize) {
        self.chunk.advance(read);
    }
}

impl AsyncRead for Reader {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, piece: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let chunk = ready!(self.as_mut().poll_fill_buf(cx))?;
        let read = chunk.len().min(piece.remaining());
        piece.put_slice(&chunk[..read]);
        self.consume(read);
        Poll::Ready(Ok(()))
    }
}

impl http_body::Body for Passing {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match self.get_mut() {
            Self::AsItIs(body) => Pin::new(body).poll_frame(cx),
            Self::Changed(changed) => Pin::new(&mut **changed).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::AsItIs(body) => body.is_end_stream(),
            Self::Changed(changed) => changed.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::AsItIs(body) => body.size_hint(),
            Self::Changed(_) => SizeHint::default(),
        }
    }
}
