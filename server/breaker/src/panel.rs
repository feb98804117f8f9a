//! [`Panel`]: all breakers of one process, bounded.

use std::{fmt, sync::Arc};

use crate::{
    clock::Clock,
    event::{EventSink, Saved},
    handle::Breaker,
    policy::Policy,
};

/// All breakers, by id. Cloning shares it.
#[derive(Clone)]
pub struct Panel(Arc<Inner>);

struct Inner {
    max: usize,
    clock: Arc<dyn Clock>,
    sink: Arc<dyn EventSink>,
    breakers: papaya::HashMap<Arc<str>, Breaker>,
}

/// No room for another breaker and none that may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PanelFull {
    /// How many there may be.
    pub max: usize,
}

impl fmt::Display for PanelFull {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "all {} breakers are in use and none may go; raise panel.max or release overrides", self.max)
    }
}

impl std::error::Error for PanelFull {}

impl Panel {
    /// An empty panel for at most `max` breakers beside the configured ones.
    pub fn new(max: usize, clock: Arc<dyn Clock>, sink: Arc<dyn EventSink>) -> Self {
        Self(Arc::new(Inner { max, clock, sink, breakers: papaya::HashMap::new() }))
    }

    /// The breaker of this id, if there is one.
    pub fn get(&self, id: &str) -> Option<Breaker> {
        self.0.breakers.pin().get(id).cloned()
    }

    /// The breaker of this id, made with `policy` if there is none.
    ///
    /// # Errors
    /// The panel is full and no breaker may go.
    pub fn get_or_create(&self, id: &str, policy: &Policy) -> Result<Breaker, PanelFull> {
        if let Some(found) = self.get(id) {
            return Ok(found);
        }
        if self.len() >= self.0.max {
            return Err(PanelFull { max: self.0.max });
        }
        Ok(self.configure(id, policy.clone()))
    }

    /// A configured upstream's own breaker: exists from the start and never goes.
    pub fn configure(&self, id: &str, policy: Policy) -> Breaker {
        let id: Arc<str> = id.into();
        let made = Breaker::new(id.clone(), policy, self.0.clock.clone(), self.0.sink.clone());
        self.0.breakers.pin().get_or_insert(id, made).clone()
    }

    /// A breaker as it was left by an earlier run.
    pub fn restore(&self, id: &str, policy: Policy, saved: Saved, _configured: bool) -> Breaker {
        let id: Arc<str> = id.into();
        let made = Breaker::restore(id.clone(), policy, self.0.clock.clone(), self.0.sink.clone(), saved);
        self.0.breakers.pin().get_or_insert(id, made).clone()
    }

    /// All of them, in no order.
    pub fn breakers(&self) -> Vec<Breaker> {
        self.0.breakers.pin().values().cloned().collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.breakers.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Panel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Panel").field("len", &self.len()).finish_non_exhaustive()
    }
}
