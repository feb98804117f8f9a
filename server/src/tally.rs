//! What is counted for each incident while it lasts: calls that failed in it, calls refused in it, and what those asked
//! for.
//!
//! - A failure is counted by the breaker itself, under its lock; here its total is only set against the total at the
//!   opening, so no call is counted twice or missed.
//! - A refusal is told by the fetcher, a moment after the breaker decided. One that comes after the end still belongs to
//!   the incident that has just ended, one that comes before the opening row to the one that is about to begin.
//! - Paths and user agents are counted in bounded room (see [`top::Top`]); the writer stores them with the incident.

pub mod top;

use std::{
    collections::HashMap,
    fmt,
    hash::{BuildHasher, RandomState},
    sync::Arc,
};

use fuseboard_fetch::{CallObserver, CallRecord};
use parking_lot::Mutex;

use self::top::Top;

const SHARDS: usize = 16;
/// Different paths counted for one incident; beyond them the counts are estimates.
const PATHS: usize = 64;
/// The same for user agents.
const AGENTS: usize = 32;

/// What one incident counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    /// Calls that failed in it, those that tripped it included.
    pub failed: u64,
    /// Calls refused in it.
    pub refused: u64,
    /// What those asked for, redacted.
    pub paths: Top,
    /// Who asked.
    pub agents: Top,
}

impl Default for Tally {
    fn default() -> Self {
        Self { failed: 0, refused: 0, paths: Top::new(PATHS), agents: Top::new(AGENTS) }
    }
}

/// The tally of one incident so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TallyRow {
    /// The incident.
    pub incident: u64,
    /// All of it, not a difference: writing it twice is harmless.
    pub tally: Tally,
}

#[derive(Default)]
struct Slot {
    /// `None` while refusals wait for the row that opens their incident.
    incident: Option<u64>,
    ended: bool,
    dirty: bool,
    /// Failures of it are the breaker's total less this; below zero after a restart in its middle.
    base: i64,
    tally: Tally,
}

type Shard = HashMap<Arc<str>, Vec<Slot>>;

/// The tallies of every incident that lasts or is not written yet. See the module.
pub struct Tallies {
    hasher: RandomState,
    shards: [Mutex<Shard>; SHARDS],
}

impl fmt::Debug for Tallies {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Tallies").finish_non_exhaustive()
    }
}

impl Default for Tallies {
    fn default() -> Self {
        Self { hasher: RandomState::new(), shards: Default::default() }
    }
}

impl Tallies {
    /// An incident begins: `tripped_by` calls failed to bring it about, `failures` did in the breaker's life.
    pub fn begin(&self, breaker: &Arc<str>, incident: u64, tripped_by: u64, failures: u64) {
        let mut shard = self.shard(breaker).lock();
        let slots = shard.entry(breaker.clone()).or_default();
        let mut slot = match slots.last() {
            Some(early) if early.incident.is_none() => slots.pop().unwrap_or_default(),
            _ => Slot::default(),
        };
        slot.incident = Some(incident);
        slot.base = signed(failures) - signed(tripped_by);
        slot.tally.failed = tripped_by;
        slot.dirty = true;
        slots.push(slot);
    }

    /// An incident of an earlier run goes on; the breaker counts its failures from zero again.
    pub fn resume(&self, breaker: &Arc<str>, incident: u64, tally: Tally) {
        let slot = Slot { incident: Some(incident), base: -signed(tally.failed), tally, ..Slot::default() };
        self.shard(breaker).lock().entry(breaker.clone()).or_default().push(slot);
    }

    /// So many calls of this breaker failed in its life.
    pub fn failures(&self, breaker: &str, failures: u64) {
        if let Some(slot) = lasting(&mut self.shard(breaker).lock(), breaker) {
            let failed = u64::try_from(signed(failures) - slot.base).unwrap_or(0);
            slot.dirty |= failed != slot.tally.failed;
            slot.tally.failed = failed;
        }
    }

    /// The breaker's incident is over.
    pub fn end(&self, breaker: &str) {
        if let Some(slot) = lasting(&mut self.shard(breaker).lock(), breaker) {
            (slot.ended, slot.dirty) = (true, true);
        }
    }

    /// A call was refused because the breaker is not closed.
    pub fn refuse(&self, breaker: &Arc<str>, path: &str, agent: Option<&str>) {
        let mut shard = self.shard(breaker).lock();
        let slots = match shard.get_mut(&**breaker) {
            Some(slots) => slots,
            None => shard.entry(breaker.clone()).or_default(),
        };
        if slots.is_empty() {
            slots.push(Slot::default());
        }
        if let Some(slot) = slots.last_mut() {
            slot.dirty = true;
            slot.tally.refused += 1;
            slot.tally.paths.add(path);
            slot.tally.agents.add(agent.unwrap_or_default());
        }
    }

    /// What an incident counted, while it lasts or is not written yet.
    pub fn of(&self, breaker: &str, incident: u64) -> Option<Tally> {
        let shard = self.shard(breaker).lock();
        let slot = shard.get(breaker)?.iter().find(|slot| slot.incident == Some(incident))?;
        Some(slot.tally.clone())
    }

    /// Every tally that changed since the last time, of incidents up to this number; ended ones are forgotten with it.
    pub fn take_dirty(&self, upto: u64) -> Vec<TallyRow> {
        let mut rows = Vec::new();
        for shard in &self.shards {
            shard.lock().retain(|_, slots| {
                slots.retain_mut(|slot| {
                    let Some(incident) = slot.incident.filter(|incident| *incident <= upto) else { return true };
                    if std::mem::take(&mut slot.dirty) {
                        rows.push(TallyRow { incident, tally: slot.tally.clone() });
                    }
                    !slot.ended
                });
                !slots.is_empty()
            });
        }
        rows
    }

    /// An observer that counts and hands on.
    pub fn observing(self: &Arc<Self>, then: Arc<dyn CallObserver>) -> Arc<dyn CallObserver> {
        Arc::new(Observing { tallies: self.clone(), then })
    }

    fn shard(&self, breaker: &str) -> &Mutex<Shard> {
        &self.shards[self.hasher.hash_one(breaker) as usize % SHARDS]
    }
}

/// The slot of the incident that lasts.
fn lasting<'a>(shard: &'a mut Shard, breaker: &str) -> Option<&'a mut Slot> {
    let slot = shard.get_mut(breaker)?.last_mut()?;
    (slot.incident.is_some() && !slot.ended).then_some(slot)
}

fn signed(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

struct Observing {
    tallies: Arc<Tallies>,
    then: Arc<dyn CallObserver>,
}

impl CallObserver for Observing {
    fn settled(&self, call: &CallRecord) {
        self.then.settled(call);
    }

    fn refused(&self, breaker: &Arc<str>, reason: &str, path: &str, agent: Option<&str>) {
        // What refuses while the breaker is closed, or without it, is no part of its incident.
        if !matches!(reason, "cooling_down" | "queue_full" | "panel_full") {
            self.tallies.refuse(breaker, path, agent);
        }
        self.then.refused(breaker, reason, path, agent);
    }
}

#[cfg(test)]
mod tests;
