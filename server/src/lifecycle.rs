//! Two steps down. Soft: stop accepting, end live streams, drain, flush the journal; what waits for an answer to the end
//! of that is told that there will be none. Hard: drop what is left.
//! The first SIGTERM or SIGINT is soft; a second one, or the drain's time-out, is hard.

use std::{future::Future, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use tokio_util::{
    sync::{CancellationToken, WaitForCancellationFuture},
    task::TaskTracker,
};

/// How long connections may take to finish after the soft step.
pub const DRAIN: Duration = Duration::from_secs(20);
/// How long whoever waits for an answer then may take to hear that there will be none.
const PARTING: Duration = Duration::from_secs(1);

/// What every task watches to know when to end. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Lifecycle {
    soft: CancellationToken,
    over: CancellationToken,
    hard: CancellationToken,
    tasks: TaskTracker,
}

impl Lifecycle {
    /// A process that is up.
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends when the soft step begins: finish what you have, take nothing new.
    pub fn soft(&self) -> WaitForCancellationFuture<'_> {
        self.soft.cancelled()
    }

    /// Ends when the time to finish is over: what has no answer yet gets none.
    pub fn over(&self) -> WaitForCancellationFuture<'_> {
        self.over.cancelled()
    }

    /// Whether the time to finish is over.
    pub fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Ends when the hard step begins: drop everything.
    pub fn hard(&self) -> WaitForCancellationFuture<'_> {
        self.hard.cancelled()
    }

    /// Whether the soft step has begun.
    pub fn is_stopping(&self) -> bool {
        self.soft.is_cancelled()
    }

    /// Begins the soft step.
    pub fn begin_soft(&self) {
        self.soft.cancel();
    }

    /// Begins the hard step, and the soft one with it.
    pub fn begin_hard(&self) {
        self.soft.cancel();
        self.over.cancel();
        self.hard.cancel();
    }

    /// Runs a task that the shutdown waits for; it is dropped at the hard step.
    pub fn spawn<F>(&self, task: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let hard = self.hard.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                () = task => {}
                () = aside(hard.cancelled()) => {}
            }
        });
    }

    /// Waits until every task has ended, at most `limit`; then takes the hard step. True when nothing had to be dropped.
    pub async fn drain(&self, limit: Duration) -> bool {
        self.tasks.close();
        let drained = tokio::select! {
            () = self.tasks.wait() => true,
            () = self.hard.cancelled() => false,
            () = tokio::time::sleep(limit) => false,
        };
        if !drained {
            self.over.cancel();
            tokio::select! {
                () = self.tasks.wait() => {}
                () = self.hard.cancelled() => {}
                () = tokio::time::sleep(PARTING) => {}
            }
            self.begin_hard();
            self.tasks.wait().await;
        }
        drained
    }
}

/// Waits beside a busy future without being polled with it: every poll of a token takes a lock that all connections share.
pub fn aside<F: Future<Output = ()>>(wait: F) -> impl Future<Output = ()> {
    let mut waits = FuturesUnordered::from_iter([wait]);
    async move {
        waits.next().await;
    }
}

/// Turns the process's signals into the two steps; ends with the hard one.
///
/// # Errors
/// The signal handlers cannot be installed.
#[cfg(unix)]
pub fn watch_signals(lifecycle: &Lifecycle) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let lifecycle = lifecycle.clone();
    tokio::spawn(async move {
        let mut next = async || {
            tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            }
        };
        let name = next().await;
        tracing::info!("{name}: finishing what is running; send it again to stop at once");
        lifecycle.begin_soft();
        let name = next().await;
        tracing::warn!("{name} again: stopping at once");
        lifecycle.begin_hard();
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn drain_waits_for_tasks_and_drops_them_at_the_limit() {
        let lifecycle = Lifecycle::new();
        let (done, finished) = tokio::sync::oneshot::channel::<()>();
        let watching = lifecycle.clone();
        lifecycle.spawn(async move {
            watching.soft().await;
            drop(done);
        });
        lifecycle.begin_soft();
        assert!(lifecycle.drain(DRAIN).await, "a task that heeds the soft step is waited for");
        assert!(finished.await.is_err());

        let stubborn = Lifecycle::new();
        stubborn.spawn(std::future::pending());
        stubborn.begin_soft();
        assert!(!stubborn.drain(DRAIN).await, "a task that does not is dropped");
    }
}
