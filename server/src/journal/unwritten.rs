//! What the store may not have yet, for whoever reads it.

use std::collections::HashMap;

use fuseboard_app::wire::event::{FeedEvent, Transition};

use super::Journal;
use crate::history::{incidents::Stored, lane::Change};

impl Journal {
    /// Transitions the store may not have yet, by breaker, for [`crate::history::lane`].
    pub fn unwritten(&self) -> HashMap<String, Vec<Change>> {
        let waiting: Vec<_> = self.shared.inner.lock().queue.transitions().cloned().collect();
        let mut by_breaker: HashMap<String, Vec<Change>> = HashMap::new();
        for fact in &waiting {
            if let FeedEvent::Transition(event) = &fact.event {
                let row = &event.row;
                let (seq, at, from, to, held) = (row.seq, row.at.micros(), row.from, row.to, row.held);
                by_breaker.entry(row.breaker.clone()).or_default().push(Change { seq, at, from, to, held });
            }
        }
        by_breaker
    }

    /// One breaker's transitions the store may not have yet, in order and with their evidence.
    pub fn unwritten_of(&self, breaker: &str) -> Vec<Transition> {
        let inner = self.shared.inner.lock();
        let rows = inner.queue.transitions().filter_map(|fact| match &fact.event {
            FeedEvent::Transition(event) if event.row.breaker == breaker => Some(event.row.clone()),
            _ => None,
        });
        rows.collect()
    }

    /// Incidents the store may not have yet, each as it is at its breaker's newest row.
    pub fn unwritten_incidents(&self) -> HashMap<u64, Stored> {
        let waiting: Vec<_> = {
            let inner = self.shared.inner.lock();
            inner.queue.incidents().map(|(fact, course)| (fact.clone(), course.clone())).collect()
        };
        let stored = waiting.into_iter().filter_map(|(fact, course)| match &fact.event {
            FeedEvent::Transition(event) => {
                let (node, breaker) = (event.row.node.clone(), event.row.breaker.clone());
                Some((course.opening.seq, Stored { node, breaker, course, failed: 0, refused: 0 }))
            }
            _ => None,
        });
        // The newest of each is the last one.
        stored.collect()
    }
}
