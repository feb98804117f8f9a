//! For services behind the breaker: whether a call would be refused, without making one; who waits for a service to
//! become ready and must hear when calls are refused meanwhile; and who must hear when an operator holds it open.

use std::{collections::HashMap, mem::take, task::Waker};

use super::{Cell, PASS};
use crate::{
    event::Mode,
    machine::Machine,
    refusal::{Refused, RefusedReason},
    sync::{AtomicU64, Mutex, Ordering},
};

impl Cell {
    /// Why a call would be refused now; reserves and counts nothing.
    pub(crate) fn refusal(&self) -> Option<Refused> {
        if self.word.load(Ordering::Acquire) & PASS != 0 {
            return None;
        }
        match self.open_for() {
            Some(left) => Some(self.refused_for(left)),
            None => self.refusal_by_machine(),
        }
    }

    /// Leaves a waker behind for the moment calls are refused, unless they already are. Asks the machine itself: who
    /// changes it looks for wakers under the same lock.
    pub(crate) fn watch(&self, watch: &mut Watch, waker: &Waker) -> Option<Refused> {
        self.watchers.register(watch, waker);
        let refused = self.refusal_by_machine()?;
        self.watchers.remove(watch);
        Some(refused)
    }

    pub(crate) fn unwatch(&self, watch: &mut Watch) {
        self.watchers.remove(watch);
    }

    /// Leaves a waker behind for the moment an operator holds it open, unless one does.
    pub(crate) fn watch_hold(&self, watch: &mut Watch, waker: &Waker) -> Option<Refused> {
        self.ending.register(watch, waker);
        let refused = self.refusal_by_machine().filter(|refused| refused.reason == RefusedReason::ForcedOpen)?;
        self.ending.remove(watch);
        Some(refused)
    }

    pub(crate) fn unwatch_hold(&self, watch: &mut Watch) {
        self.ending.remove(watch);
    }

    /// Who must hear of what the machine came to.
    pub(super) fn who_hears(&self, machine: &Machine) -> [Option<&Watchers>; 2] {
        let refuses = self.watchers.any() && machine.refuses_now();
        let held_open = self.ending.any() && machine.mode() == Some(Mode::ForcedOpen);
        [refuses.then_some(&self.watchers), held_open.then_some(&self.ending)]
    }

    fn refusal_by_machine(&self) -> Option<Refused> {
        let moment = self.moment();
        let mut locked = self.locked.lock();
        let refusal = locked.machine.refuses(moment);
        self.leave(locked, false);
        refusal.map(|refusal| self.refused(refusal))
    }

    /// A call was refused by what [`Cell::refusal`] said.
    pub(crate) fn refuse(&self) {
        self.column.refuse();
    }
}

#[derive(Debug)]
pub(crate) struct Watchers {
    /// As many as `wakers` has, for those who only ask whether there are any.
    count: AtomicU64,
    wakers: Mutex<Wakers>,
}

#[derive(Debug, Default)]
struct Wakers {
    next: u64,
    waiting: HashMap<u64, Waker>,
}

/// One waiter's place; it has one waker at a time.
#[derive(Debug, Default)]
pub(crate) struct Watch(Option<u64>);

impl Watchers {
    pub(super) fn new() -> Self {
        Self { count: AtomicU64::new(0), wakers: Mutex::new(Wakers::default()) }
    }

    pub(super) fn any(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    pub(super) fn register(&self, watch: &mut Watch, waker: &Waker) {
        let mut wakers = self.wakers.lock();
        let place = *watch.0.get_or_insert_with(|| {
            wakers.next += 1;
            wakers.next
        });
        match wakers.waiting.get_mut(&place) {
            Some(left) => left.clone_from(waker),
            None => drop(wakers.waiting.insert(place, waker.clone())),
        }
        self.count.store(wakers.waiting.len() as u64, Ordering::Release);
    }

    pub(super) fn remove(&self, watch: &mut Watch) {
        let Some(place) = watch.0.take() else { return };
        let mut wakers = self.wakers.lock();
        let left = wakers.waiting.remove(&place);
        self.count.store(wakers.waiting.len() as u64, Ordering::Release);
        drop(wakers);
        // A waker is its task's code: it runs outside the lock.
        drop(left);
    }

    pub(super) fn wake(&self) {
        let mut wakers = self.wakers.lock();
        let waiting = take(&mut wakers.waiting);
        self.count.store(0, Ordering::Release);
        drop(wakers);
        waiting.into_values().for_each(Waker::wake);
    }
}
