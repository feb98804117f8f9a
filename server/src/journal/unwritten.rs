//! What the store may not have yet, for whoever reads it.

use std::{collections::HashMap, sync::Arc};

use fuseboard_app::wire::event::{Audit, FeedEvent, Probe, Transition};

use super::Journal;
use crate::{
    history::{PageQuery, incidents::Stored, lane::Change},
    live::Published,
};

/// A kind of row that may wait.
pub trait Waits: Clone + Sized {
    /// The fact as a row of this kind.
    fn of(fact: &Published) -> Option<&Self>;
    /// Whether it is one of those asked for.
    fn is_of(&self, query: &PageQuery) -> bool;
}

impl Waits for Transition {
    fn of(fact: &Published) -> Option<&Self> {
        match &fact.event {
            FeedEvent::Transition(event) => Some(&event.row),
            _ => None,
        }
    }

    fn is_of(&self, query: &PageQuery) -> bool {
        query.takes(Some(&self.breaker), self.seq, self.at)
    }
}

impl Waits for Probe {
    fn of(fact: &Published) -> Option<&Self> {
        match &fact.event {
            FeedEvent::Probe(row) => Some(row),
            _ => None,
        }
    }

    fn is_of(&self, query: &PageQuery) -> bool {
        query.takes(Some(&self.breaker), self.seq, self.at)
    }
}

impl Waits for Audit {
    fn of(fact: &Published) -> Option<&Self> {
        match &fact.event {
            FeedEvent::Audit(row) => Some(row),
            _ => None,
        }
    }

    fn is_of(&self, query: &PageQuery) -> bool {
        query.takes(self.breaker.as_deref(), self.seq, self.at)
    }
}

impl Journal {
    /// Transitions the store may not have yet, by breaker, for [`crate::history::lane`].
    pub fn unwritten(&self) -> HashMap<String, Vec<Change>> {
        let waiting: Vec<Arc<Published>> = {
            let inner = self.shared.inner.lock();
            inner.queue.facts().filter(|fact| Transition::of(fact).is_some()).cloned().collect()
        };
        let mut by_breaker: HashMap<String, Vec<Change>> = HashMap::new();
        for row in waiting.iter().filter_map(|fact| Transition::of(fact)) {
            let (seq, at, from, to, held) = (row.seq, row.at.micros(), row.from, row.to, row.held);
            by_breaker.entry(row.breaker.clone()).or_default().push(Change { seq, at, from, to, held });
        }
        by_breaker
    }

    /// The rows asked for that the store may not have yet, in the page's order, no more of them than it holds and one.
    pub fn unwritten_rows<Row: Waits>(&self, query: &PageQuery) -> Vec<Row> {
        let most = query.limit() + 1;
        let asked = |fact: &&Arc<Published>| Row::of(fact).is_some_and(|row| row.is_of(query));
        let waiting: Vec<Arc<Published>> = {
            let inner = self.shared.inner.lock();
            let facts = inner.queue.facts();
            if query.after.is_some() {
                facts.filter(asked).take(most).cloned().collect()
            } else {
                facts.rev().filter(asked).take(most).cloned().collect()
            }
        };
        waiting.iter().filter_map(|fact| Row::of(fact)).cloned().collect()
    }

    /// Incidents the store may not have yet, each as it is at its breaker's newest row.
    pub fn unwritten_incidents(&self) -> HashMap<u64, Stored> {
        let waiting: Vec<_> = {
            let inner = self.shared.inner.lock();
            inner.queue.incidents().map(|(fact, course)| (fact.clone(), course.clone())).collect()
        };
        let stored = waiting.into_iter().filter_map(|(fact, course)| {
            let row = Transition::of(&fact)?;
            let (node, breaker) = (row.node.clone(), row.breaker.clone());
            Some((course.opening.seq, Stored { node, breaker, course, failed: 0, refused: 0 }))
        });
        // The newest of each is the last one.
        stored.collect()
    }
}
