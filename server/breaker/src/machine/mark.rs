//! One probe as its permit and the machine share it.

use std::time::{Duration, Instant, SystemTime};

use crate::{
    outcome::Evidence,
    sync::{AtomicBool, AtomicU64, Mutex, Ordering},
};

/// One probe, shared between the machine and the permit: the permit stamps it, the machine judges by it.
#[derive(Debug)]
pub(crate) struct ProbeMark {
    pub(super) admitted: Instant,
    pub(super) at: SystemTime,
    pub(super) generation: u64,
    due: Instant,
    /// Nanoseconds from admission to the last byte or message, plus one; zero before the first.
    moved: AtomicU64,
    answered: AtomicBool,
    waiting_for_client: AtomicBool,
    judged: AtomicBool,
    /// What its permit said of the call.
    described: Mutex<Option<Box<Evidence>>>,
}

impl ProbeMark {
    pub(super) fn new(admitted: Instant, at: SystemTime, generation: u64, lease: Duration) -> Self {
        Self {
            admitted,
            at,
            generation,
            due: admitted + lease,
            moved: AtomicU64::new(0),
            answered: AtomicBool::new(false),
            waiting_for_client: AtomicBool::new(false),
            judged: AtomicBool::new(false),
            described: Mutex::new(None),
        }
    }

    /// Whether it can still earn or lose anything by what it stamps.
    pub(crate) fn is_judged(&self) -> bool {
        self.judged.load(Ordering::Acquire)
    }

    /// Its lease is over at this moment.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    pub(crate) fn stamp_progress(&self, now: Instant) {
        let nanos = u64::try_from(now.saturating_duration_since(self.admitted).as_nanos()).unwrap_or(u64::MAX - 1);
        self.moved.store(nanos + 1, Ordering::Release);
    }

    pub(crate) fn stamp_answered(&self) {
        self.answered.store(true, Ordering::Release);
    }

    pub(crate) fn stamp_waiting(&self, waiting: bool) {
        self.waiting_for_client.store(waiting, Ordering::Release);
    }

    pub(crate) fn describe(&self, so_far: Evidence) {
        *self.described.lock() = Some(Box::new(so_far));
    }

    /// What the end of the call says, and beside it what was said before: who ends it may not know what it was.
    pub(super) fn complete(&self, said: Option<Box<Evidence>>) -> Option<Box<Evidence>> {
        let Some(before) = self.described.lock().take() else { return said };
        let Some(mut said) = said else { return Some(before) };
        said.status = said.status.or(before.status);
        said.method = said.method.or(before.method);
        said.path = said.path.or(before.path);
        said.synthetic |= before.synthetic;
        Some(said)
    }

    pub(super) fn judge(&self) {
        self.judged.store(true, Ordering::Release);
    }

    pub(super) fn waits_for_client(&self) -> bool {
        self.waiting_for_client.load(Ordering::Acquire)
    }

    /// Whether a byte or message moved in the last quarter of the lease, or the host answered at any time.
    pub(super) fn proved_good(&self) -> bool {
        if self.answered.load(Ordering::Acquire) {
            return true;
        }
        let lease = self.due.saturating_duration_since(self.admitted);
        let moved = self.moved.load(Ordering::Acquire);
        moved > 0 && Duration::from_nanos(moved - 1) >= lease - lease / 4
    }
}
