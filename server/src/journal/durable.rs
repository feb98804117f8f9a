//! Waiting for the store: until a number is in it, until everything is, until the last of it is.

use std::{sync::atomic::Ordering, time::Duration};

use super::{Ending, Journal, Shared};

/// How long an acknowledgement waits for a store in trouble.
const ACK_PATIENCE: Duration = Duration::from_secs(2);

/// It took effect but is not in the store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{error}")]
pub struct NotStored {
    /// Why, in words.
    pub error: String,
}

/// While it lives, the writer does not linger.
struct Waiter<'a>(&'a Shared);

impl<'a> Waiter<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.waiting_acks.fetch_add(1, Ordering::SeqCst);
        shared.hurry.notify_one();
        Self(shared)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.waiting_acks.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Journal {
    /// Waits until this number is in the store; not for long while the store is in trouble.
    ///
    /// # Errors
    /// It is not, or not yet: the action stands, but a restart before the store recovers would lose it.
    pub async fn durable(&self, seq: u64) -> Result<(), NotStored> {
        self.all_durable(&[seq]).await.pop().unwrap_or(Ok(()))
    }

    /// The same for several numbers, in their order; the wait is one.
    pub async fn all_durable(&self, seqs: &[u64]) -> Vec<Result<(), NotStored>> {
        let Some(last) = seqs.iter().copied().max() else { return Vec::new() };
        let _hurry = Waiter::new(&self.shared);
        let mut written = self.shared.written.subscribe();
        // What was not reached in time is seen below.
        let _ = tokio::time::timeout(ACK_PATIENCE, written.wait_for(|upto| *upto >= last)).await;
        let upto = *written.borrow();
        let refused = self.shared.trouble.lock().error.clone();
        let inner = self.shared.inner.lock();
        let fate = |seq: u64| match seq <= upto {
            true if !inner.queue.is_lost(seq) => Ok(()),
            true => Err("the store refused for so long that it was given up".to_owned()),
            false => Err(refused.clone().unwrap_or_else(|| "the store did not answer in 2 s".to_owned())),
        };
        seqs.iter().map(|seq| fate(*seq).map_err(|error| NotStored { error })).collect()
    }

    /// The newest number, when everything up to it is in the store.
    pub fn drained(&self) -> Option<u64> {
        let last = self.last_seq();
        (*self.shared.written.borrow() >= last).then_some(last)
    }

    /// Waits until everything taken so far is in the store, however long that takes.
    pub async fn flush(&self) {
        let _hurry = Waiter::new(&self.shared);
        let last = self.last_seq();
        // The sender lives as long as `self`.
        let _ = self.shared.written.subscribe().wait_for(|upto| *upto >= last).await;
    }

    /// Writes everything, marks the run as ended in order and ends the writer. Facts pushed later are not written.
    /// While the store refuses it waits: bound it with a time-out.
    pub async fn close(&self) {
        self.shared.ending.send_if_modified(|ending| {
            let ask = *ending == Ending::Running;
            *ending = (*ending).max(Ending::Asked);
            ask
        });
        self.shared.hurry.notify_one();
        let _ = self.shared.ending.subscribe().wait_for(|ending| *ending == Ending::Done).await;
        let task = self.task.lock().take();
        if let Some(task) = task {
            // It has said it is done; only its connection is left to close.
            let _ = task.await;
        }
    }
}
