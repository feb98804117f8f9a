//! What waits to be written: numbered facts in order, bounded by bytes.
//!
//! When the bound is hit, probes go first, then transitions the machine made (oldest first: the newest says how the
//! breaker stands), then what operators did. What is given up is counted in one gap that is written in its place.

use std::{collections::BTreeSet, collections::VecDeque, sync::Arc};

use fuseboard_app::wire::{breaker::Mode, event::FeedEvent};
use fuseboard_breaker::event::Saved;

use super::clocks::Jump;
use crate::{
    history::{gaps::Gap, incidents::course::Course},
    live::Published,
};

/// What a restart needs of a breaker, beside its transition.
#[derive(Debug)]
pub(super) struct SavedWith {
    pub(super) after: Saved,
    /// The override before, which the row itself does not say.
    pub(super) before: Option<Mode>,
    pub(super) evicted: bool,
}

/// One unit: what is in it is written in one commit or not at all.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) fact: Arc<Published>,
    /// With transitions.
    pub(super) saved: Option<Box<SavedWith>>,
    /// The audit row an operator's transition brings along, numbered right after it.
    pub(super) audit: Option<Arc<Published>>,
    /// Its breaker's incident as it is from here on.
    pub(super) incident: Option<Box<Course>>,
    weight: usize,
}

/// What the newest configuration says of a breaker.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    pub(super) breaker: Arc<str>,
    pub(super) policy: Arc<str>,
    pub(super) at: i64,
}

/// What one commit takes.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Everything but probes, in order.
    pub(super) kept: VecDeque<Item>,
    /// Probes, in order.
    pub(super) probes: VecDeque<Item>,
    pub(super) gap: Option<Gap>,
    pub(super) seen: Vec<Seen>,
    pub(super) jumps: Vec<Jump>,
    /// Every number up to here is in this batch, in an earlier one, or in a gap.
    pub(super) upto: u64,
    /// Nothing was left behind.
    pub(super) drained: bool,
    weight: usize,
    facts: u64,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
            && self.probes.is_empty()
            && self.gap.is_none()
            && self.seen.is_empty()
            && self.jumps.is_empty()
    }

    /// When the newest transition in it happened, microseconds since 1970.
    pub(super) fn newest_transition_at(&self) -> Option<i64> {
        let at = |item: &Item| match &item.fact.event {
            FeedEvent::Transition(event) => Some(event.row.at.micros()),
            _ => None,
        };
        self.kept.iter().filter_map(at).max()
    }
}

#[derive(Debug)]
pub(super) struct Queue {
    max: usize,
    /// Everything but probes.
    kept: VecDeque<Item>,
    probes: VecDeque<Item>,
    /// What was taken and is not yet known to be in the store.
    writing: Option<Arc<Batch>>,
    seen: Vec<Seen>,
    jumps: Vec<Jump>,
    gap: Option<Gap>,
    /// Operators' facts that were given up: their acknowledgement must fail.
    lost: BTreeSet<u64>,
    /// Bytes and facts waiting, those being written included.
    bytes: usize,
    waiting: u64,
    dropped: u64,
}

impl Item {
    pub(super) fn new(fact: Arc<Published>, saved: Option<SavedWith>, audit: Option<Arc<Published>>) -> Self {
        let weight = weight(&fact.event) + audit.as_ref().map_or(0, |audit| weight(&audit.event));
        Self { fact, saved: saved.map(Box::new), audit, incident: None, weight }
    }

    pub(super) fn within(mut self, incident: Option<Course>) -> Self {
        self.incident = incident.map(Box::new);
        self
    }

    fn facts(&self) -> u64 {
        1 + u64::from(self.audit.is_some())
    }

    fn incident(&self) -> Option<(&Arc<Published>, &Course)> {
        let course = self.incident.as_deref().filter(|_| is_transition(&self.fact))?;
        Some((&self.fact, course))
    }

    pub(super) fn last_seq(&self) -> u64 {
        self.audit.as_ref().map_or(self.fact.seq, |audit| audit.seq)
    }

    /// An operator waits for it.
    fn is_operators(&self) -> bool {
        self.audit.is_some() || matches!(self.fact.event, FeedEvent::Audit(_))
    }
}

impl Queue {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            kept: VecDeque::new(),
            probes: VecDeque::new(),
            writing: None,
            seen: Vec::new(),
            jumps: Vec::new(),
            gap: None,
            lost: BTreeSet::new(),
            bytes: 0,
            waiting: 0,
            dropped: 0,
        }
    }

    pub(super) fn push(&mut self, item: Item) {
        self.bytes += item.weight;
        self.waiting += item.facts();
        if matches!(item.fact.event, FeedEvent::Probe(_)) { &mut self.probes } else { &mut self.kept }.push_back(item);
        while self.bytes > self.max && self.give_one_up() {}
    }

    pub(super) fn push_seen(&mut self, seen: Seen) {
        self.seen.push(seen);
    }

    /// Only what was jumped over is kept: time that comes twice was watched.
    pub(super) fn push_jump(&mut self, jump: Jump) {
        self.jumps.extend((jump.to > jump.from).then_some(jump));
    }

    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn has_work(&self) -> bool {
        !(self.kept.is_empty() && self.probes.is_empty() && self.seen.is_empty() && self.gap.is_none())
    }

    /// An operator's fact with this number was given up.
    pub(super) fn is_lost(&self, seq: u64) -> bool {
        self.lost.contains(&seq)
    }

    /// The next facts in order, at most `most` of them; `last` is the newest number given out. The one before must be
    /// written. Whoever pushes waits meanwhile, so what fits is taken as a whole.
    pub(super) fn take(&mut self, most: usize, last: u64) -> Arc<Batch> {
        let (seen, jumps) = (std::mem::take(&mut self.seen), std::mem::take(&mut self.jumps));
        let mut batch = Batch { gap: self.gap.take(), seen, jumps, ..Batch::default() };
        if self.kept.len() + self.probes.len() <= most {
            (batch.kept, batch.probes) = (std::mem::take(&mut self.kept), std::mem::take(&mut self.probes));
            (batch.weight, batch.facts) = (self.bytes, self.waiting);
            (batch.drained, batch.upto) = (true, last);
        } else {
            let (kept, probes) = self.first(most);
            batch.kept = self.kept.drain(..kept).collect();
            batch.probes = self.probes.drain(..probes).collect();
            for item in batch.kept.iter().chain(&batch.probes) {
                batch.weight += item.weight;
                batch.facts += item.facts();
            }
            batch.upto = [&batch.kept, &batch.probes]
                .into_iter()
                .filter_map(VecDeque::back)
                .map(Item::last_seq)
                .max()
                .unwrap_or(0);
        }
        let batch = Arc::new(batch);
        self.writing = Some(batch.clone());
        batch
    }

    /// How many of each are the first `most` in order.
    fn first(&self, most: usize) -> (usize, usize) {
        let mut kept = self.kept.iter().map(|item| item.fact.seq).peekable();
        let mut probes = self.probes.iter().map(|item| item.fact.seq).peekable();
        let mut taken = (0, 0);
        while taken.0 + taken.1 < most {
            let probe_first = match (kept.peek(), probes.peek()) {
                (Some(kept), Some(probe)) => probe < kept,
                (None, Some(_)) => true,
                (Some(_), None) => false,
                (None, None) => break,
            };
            if probe_first {
                probes.next();
                taken.1 += 1;
            } else {
                kept.next();
                taken.0 += 1;
            }
        }
        taken
    }

    /// The batch is in the store.
    pub(super) fn written(&mut self, batch: &Batch) {
        self.bytes -= batch.weight;
        self.waiting -= batch.facts;
        self.writing = None;
    }

    /// Incidents as the store may not have them yet, each as it was at its transitions, oldest first.
    pub(super) fn incidents(&self) -> impl Iterator<Item = (&Arc<Published>, &Course)> {
        self.kept().filter_map(Item::incident)
    }

    /// The facts that may not be in the store yet, those of each kind oldest first.
    pub(super) fn facts(&self) -> impl DoubleEndedIterator<Item = &Arc<Published>> {
        let probes = self.writing.iter().flat_map(|batch| &batch.probes).chain(&self.probes);
        probes.chain(self.kept()).flat_map(|item| std::iter::once(&item.fact).chain(&item.audit))
    }

    fn kept(&self) -> impl DoubleEndedIterator<Item = &Item> {
        self.writing.iter().flat_map(|batch| &batch.kept).chain(&self.kept)
    }

    fn give_one_up(&mut self) -> bool {
        let item = self.probes.pop_front().or_else(|| {
            // Never the newest: it says how its breaker stands, and an operator may be waiting for it.
            let older = self.kept.len().saturating_sub(1);
            let machine = self.kept.iter().take(older).position(|item| !item.is_operators());
            self.kept.remove(machine.unwrap_or(0))
        });
        let Some(item) = item else { return false };
        self.bytes -= item.weight;
        self.waiting -= item.facts();
        self.dropped += item.facts();
        if item.is_operators() {
            self.lost.insert(item.fact.seq);
            self.lost.extend(item.audit.as_ref().map(|audit| audit.seq));
        }
        for fact in std::iter::once(&item.fact).chain(&item.audit) {
            self.gap.get_or_insert_with(|| Gap::starting(fact)).add(fact);
        }
        true
    }
}

fn is_transition(fact: &Published) -> bool {
    matches!(fact.event, FeedEvent::Transition(_))
}

/// About how many bytes a fact takes while it waits.
fn weight(event: &FeedEvent) -> usize {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    match event {
        FeedEvent::Transition(event) => {
            let calls = event.row.cause.detail.get("evidence").and_then(|calls| calls.as_array()).map_or(0, Vec::len);
            1_200 + calls * 900 + text(&event.row.reason)
        }
        FeedEvent::Probe(probe) => 500 + text(&probe.error) + text(&probe.path),
        FeedEvent::Audit(audit) => 600 + text(&audit.reason) + audit.detail.len() * 100,
        FeedEvent::Hello(_) | FeedEvent::Stats(_) | FeedEvent::Resync(_) => 0,
    }
}
