//! The locks and atomics of the cell: parking_lot and std, or loom's under `--cfg fuseboard_loom`, which tries every
//! order of them.

#[cfg(not(fuseboard_loom))]
pub(crate) use parking_lot::{Mutex, MutexGuard};
#[cfg(not(fuseboard_loom))]
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[cfg(fuseboard_loom)]
pub(crate) use loom::sync::{
    MutexGuard,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

/// Loom's mutex with parking_lot's face: it cannot be poisoned.
#[cfg(fuseboard_loom)]
#[derive(Debug)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

#[cfg(fuseboard_loom)]
impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }
}
