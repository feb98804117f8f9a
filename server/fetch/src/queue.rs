//! At most so many calls in flight per upstream, and at most so many waiting for their turn. The permit is taken after
//! the queue, so that nobody holds a probe while standing in line.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::upstream::Queue;

/// The line in front of one upstream.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) limits: Queue,
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// A call's place among those in flight; given back by drop.
#[derive(Debug)]
pub(crate) struct Place(#[expect(dead_code, reason = "held for its drop")] OwnedSemaphorePermit);

/// There is no place, and no room to wait for one.
#[derive(Debug)]
pub(crate) struct Full;

impl Line {
    pub(crate) fn new(limits: Queue) -> Self {
        let concurrent = limits.concurrent.clamp(1, Semaphore::MAX_PERMITS);
        Self { limits, places: Arc::new(Semaphore::new(concurrent)), waiting: AtomicUsize::new(0) }
    }

    /// Waits for a place, unless too many do so already.
    pub(crate) async fn enter(&self) -> Result<Place, Full> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Ok(Place(place));
        }
        let _turn = Turn::take(&self.waiting, self.limits.waiting).ok_or(Full)?;
        // The semaphore is never closed; were it, there would be no place to be had.
        Arc::clone(&self.places).acquire_owned().await.map(Place).map_err(|_| Full)
    }
}

/// One of those waiting, until it is dropped.
struct Turn<'a>(&'a AtomicUsize);

impl<'a> Turn<'a> {
    fn take(waiting: &'a AtomicUsize, most: usize) -> Option<Self> {
        waiting
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| (now < most).then_some(now + 1))
            .ok()
            .map(|_| Self(waiting))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::future::poll_immediate;

    use super::*;

    #[tokio::test]
    async fn r25_one_more_than_may_wait_is_turned_away_and_a_leaver_makes_room() {
        let line = Line::new(Queue { concurrent: 1, waiting: 1 });
        let first = line.enter().await.unwrap();
        let mut second = Box::pin(line.enter());
        assert!(poll_immediate(second.as_mut()).await.is_none());
        assert!(matches!(line.enter().await, Err(Full)));
        drop(second);
        let mut third = pin!(line.enter());
        assert!(poll_immediate(third.as_mut()).await.is_none());
        drop(first);
        assert!(third.await.is_ok());
        assert!(line.enter().await.is_ok());
    }
}
