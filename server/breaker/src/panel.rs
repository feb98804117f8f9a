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

/// How many to choose at one look through all of them, so that a stream of new origins does not look each time.
const CHOSEN_AT_ONCE: usize = 64;

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
    /// Who goes next, last first; each is looked at again before it goes.
    chosen: Vec<(Standing, Breaker)>,
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
    /// An empty panel for at most `max` breakers; configured upstreams' own always find room.
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
        while self.len() >= self.0.max {
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

    /// Lets one go; false when none may.
    fn make_room(&self, making: &mut Making) -> bool {
        if self.let_go(making) {
            return true;
        }
        let breakers = self.breakers();
        let free = breakers.into_iter().filter(|breaker| !making.configured.contains(breaker.id()));
        let mut leaving: Vec<_> = free.filter_map(|breaker| Some((breaker.cell().standing()?, breaker))).collect();
        leaving.sort_by_key(|(standing, _)| *standing);
        // Of those with something to lose only the first: before the next must go, an idle one may be there.
        let idle = leaving.iter().take_while(|(standing, _)| matches!(standing, Standing::Idle(_))).count();
        leaving.truncate(idle.clamp(1, CHOSEN_AT_ONCE));
        leaving.reverse();
        making.chosen = leaving;
        self.let_go(making)
    }

    /// Lets the next chosen one go that still may.
    fn let_go(&self, making: &mut Making) -> bool {
        while let Some((standing, breaker)) = making.chosen.pop() {
            let here = self.get(breaker.id()).is_some_and(|found| std::ptr::eq(found.cell(), breaker.cell()));
            if here && !making.configured.contains(breaker.id()) && breaker.cell().retire(standing) {
                self.0.breakers.pin().remove(breaker.id());
                return true;
            }
        }
        false
    }
}

impl fmt::Debug for Panel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Panel").field("max", &self.0.max).field("len", &self.len()).finish_non_exhaustive()
    }
}
