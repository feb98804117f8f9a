//! [`Panel`]: all breakers of one process, bounded.
//!
//! A full panel makes room in this order: closed breakers with nothing to remember, the longest unused first; closed
//! ones with memory; open ones, the earliest next probe first (an open one says so in a row). One that is overridden,
//! half-open, in use by a call or a configured upstream's own never goes.

use std::{collections::HashSet, fmt, sync::Arc};

use parking_lot::Mutex;

use crate::{
    clock::Clock,
    event::{EventSink, Saved},
    handle::Breaker,
    machine::Standing,
    policy::Policy,
};

/// How many idle ones to remember, so that a stream of new origins does not look through all of them each time.
const IDLE_KEPT: usize = 64;

/// All breakers, by id. Cloning shares it.
#[derive(Clone)]
pub struct Panel(Arc<Inner>);

struct Inner {
    max: usize,
    clock: Arc<dyn Clock>,
    sink: Arc<dyn EventSink>,
    breakers: papaya::HashMap<Arc<str>, Breaker>,
    /// Whoever adds or removes holds this; readers do not.
    making: Mutex<Making>,
}

#[derive(Default)]
struct Making {
    /// Ids of configured upstreams' own breakers.
    configured: HashSet<Arc<str>>,
    /// Idle ones found at the last look through all, the next to go last; each is looked at again before it goes.
    idle: Vec<(Standing, Breaker)>,
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
    /// An empty panel for at most `max` breakers beside the configured upstreams' own.
    pub fn new(max: usize, clock: Arc<dyn Clock>, sink: Arc<dyn EventSink>) -> Self {
        let breakers = papaya::HashMap::new();
        Self(Arc::new(Inner { max, clock, sink, breakers, making: Mutex::default() }))
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
        let mut making = self.0.making.lock();
        if let Some(found) = self.get(id) {
            return Ok(found);
        }
        while self.bounded(&making) >= self.0.max {
            if !self.make_room(&mut making) {
                return Err(PanelFull { max: self.0.max });
            }
        }
        Ok(self.add(id, |id| Breaker::new(id, policy.clone(), self.0.clock.clone(), self.0.sink.clone())))
    }

    /// A configured upstream's own breaker: exists from the start and never goes. One that is there already takes over
    /// the policy.
    pub fn configure(&self, id: &str, policy: Policy) -> Breaker {
        let mut making = self.0.making.lock();
        let found = self.get(id);
        let breaker = match found {
            Some(found) => {
                found.set_policy(policy);
                found
            }
            None => self.add(id, |id| Breaker::new(id, policy, self.0.clock.clone(), self.0.sink.clone())),
        };
        making.configured.insert(breaker.id().clone());
        breaker
    }

    /// No upstream names this breaker any more: it may go like any other.
    pub fn unconfigure(&self, id: &str) {
        self.0.making.lock().configured.remove(id);
    }

    /// A breaker as it was left by an earlier run. One that is there already stays as it is.
    pub fn restore(&self, id: &str, policy: Policy, saved: Saved, configured: bool) -> Breaker {
        let mut making = self.0.making.lock();
        let breaker = self.get(id).unwrap_or_else(|| {
            self.add(id, |id| Breaker::restore(id, policy, self.0.clock.clone(), self.0.sink.clone(), saved))
        });
        if configured {
            making.configured.insert(breaker.id().clone());
        }
        breaker
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

    /// Under the making lock.
    fn add(&self, id: &str, make: impl FnOnce(Arc<str>) -> Breaker) -> Breaker {
        let id: Arc<str> = id.into();
        let made = make(id.clone());
        self.0.breakers.pin().insert(id, made.clone());
        made
    }

    /// How many count against the bound.
    fn bounded(&self, making: &Making) -> usize {
        self.len().saturating_sub(making.configured.len())
    }

    /// Lets one go; false when none may.
    fn make_room(&self, making: &mut Making) -> bool {
        while let Some((standing, breaker)) = making.idle.pop() {
            if self.let_go(making, &breaker, Some(standing)) {
                return true;
            }
        }
        let standing = |breaker: Breaker| Some((breaker.cell().standing()?, breaker));
        let mut leaving: Vec<_> = self.breakers().into_iter().filter_map(standing).collect();
        leaving.sort_by_key(|(standing, _)| *standing);
        let mut leaving = leaving.into_iter();
        let gone = leaving.any(|(_, breaker)| self.let_go(making, &breaker, None));
        // Only idle ones are kept for the next time: before one with memory must go, another may have become idle.
        making.idle =
            leaving.take_while(|(standing, _)| matches!(standing, Standing::Idle(_))).take(IDLE_KEPT).collect();
        making.idle.reverse();
        gone
    }

    /// Lets this one go if it may, and if it still stands `as_chosen`.
    fn let_go(&self, making: &Making, breaker: &Breaker, as_chosen: Option<Standing>) -> bool {
        let here = self.get(breaker.id()).is_some_and(|found| std::ptr::eq(found.cell(), breaker.cell()));
        let goes = here && !making.configured.contains(breaker.id()) && breaker.cell().retire(as_chosen);
        if goes {
            self.0.breakers.pin().remove(breaker.id());
        }
        goes
    }
}

impl fmt::Debug for Panel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Panel").field("max", &self.0.max).field("len", &self.len()).finish_non_exhaustive()
    }
}
