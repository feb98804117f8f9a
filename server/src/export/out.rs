//! A file on its way to whoever asked for it: written by a future, read as a stream. Both are one value; dropping it
//! drops the query under way, and nothing runs on behind it.

use axum::body::Bytes;
use futures_util::{Stream, StreamExt, stream};
use tokio::sync::mpsc;

use crate::fault::Fault;

/// What is gathered before it goes out.
const CHUNK: usize = 32 * 1024;

/// Where a format writes to.
pub(super) struct Out {
    buffer: Vec<u8>,
    chunks: mpsc::Sender<Bytes>,
}

impl Out {
    /// Adds text; it goes out with the next [`Out::breathe`].
    pub(super) fn text(&mut self, text: &str) {
        self.buffer.extend_from_slice(text.as_bytes());
    }

    /// The same for what writes bytes.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Hands on what has gathered, once that is enough; waits for a slow reader.
    pub(super) async fn breathe(&mut self) {
        if self.buffer.len() >= CHUNK {
            self.end().await;
        }
    }

    /// Hands on what is left.
    pub(super) async fn end(&mut self) {
        if !self.buffer.is_empty() {
            // Without a reader there is no writer either: see `written`.
            let _ = self.chunks.send(std::mem::take(&mut self.buffer).into()).await;
        }
    }
}

/// What `write` writes. Its error is the last thing the stream says.
pub(super) fn written<Fut>(
    write: impl FnOnce(Out) -> Fut + Send + 'static,
) -> impl Stream<Item = Result<Bytes, Fault>> + Send + 'static
where
    Fut: Future<Output = Result<(), Fault>> + Send + 'static,
{
    let (chunks, mut arrived) = mpsc::channel(1);
    let writing = write(Out { buffer: Vec::new(), chunks });
    let fault = stream::once(writing).filter_map(async |ended| ended.err().map(Err));
    let chunks = stream::poll_fn(move |context| arrived.poll_recv(context)).map(Ok);
    stream::select(chunks, fault)
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    };

    use super::*;

    #[tokio::test]
    async fn what_is_written_arrives_in_order_and_ends() {
        let stream = written(|mut out| async move {
            for line in 0..10_000 {
                out.text(&format!("{line}\n"));
                out.breathe().await;
            }
            out.end().await;
            Ok(())
        });
        let chunks: Vec<_> = stream.map(|chunk| chunk.expect("no fault")).collect().await;
        let want: String = (0..10_000).map(|line| format!("{line}\n")).collect();
        assert_eq!(chunks.concat(), want.as_bytes());
        assert!(chunks.len() > 1 && chunks.iter().all(|chunk| chunk.len() < 2 * CHUNK));
    }

    #[tokio::test]
    async fn a_fault_ends_the_stream_and_is_said() {
        let stream = written(|mut out| async move {
            out.text("half");
            out.end().await;
            Err(Fault::field("x", "is broken"))
        });
        let said: Vec<_> = stream.collect().await;
        assert_eq!(said.iter().filter(|said| said.is_err()).count(), 1);
    }

    #[tokio::test]
    async fn nobody_reads_nobody_writes() {
        let written_so_far = Arc::new(AtomicUsize::new(0));
        let count = written_so_far.clone();
        let stream = written(move |mut out| async move {
            loop {
                out.text(&"x".repeat(CHUNK));
                out.breathe().await;
                count.fetch_add(1, SeqCst);
            }
        });
        let mut stream = Box::pin(stream);
        assert!(stream.next().await.is_some());
        drop(stream);
        // The future went with its stream: its share of the counter is gone, and it is at most two chunks ahead.
        assert_eq!(Arc::strong_count(&written_so_far), 1);
        assert!(written_so_far.load(SeqCst) <= 2);
    }
}
