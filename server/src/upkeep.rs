//! What happens without traffic: overrides end, cool-downs end and leases lapse when they are due, not when the next
//! call comes by, and where an upstream has an `active_probe`, it is sent.
//!
//! One task sleeps until the earliest due time. It learns of new ones from the facts themselves: [`Watch`] stands
//! between the breakers and the journal, so whatever changes a breaker also has its next due time looked up again.
//! Between two idle probes of one round there is no fact, so a half-open breaker is looked at once a second as well. And
//! since a new breaker makes no fact either, journal and metrics are told every few seconds which there are.

mod probing;
pub mod watchdog;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    mem,
    sync::Arc,
    time::{Duration, Instant},
};

use fuseboard_breaker::{Event, EventSink, Panel, Snapshot, State};
use parking_lot::Mutex;
use tokio::sync::Notify;

use self::probing::Turns;
use crate::{app::App, journal::Journal, metrics::Metrics};

/// How often a half-open breaker is looked at: a probe admitted into a running round makes no fact.
const ROUND: Duration = Duration::from_secs(1);
/// How often journal and metrics are told which breakers there are.
const CENSUS: Duration = Duration::from_secs(5);

/// The breakers' one observer: hands each fact to the journal, counts it, and wakes the upkeep.
#[derive(Debug)]
pub struct Watch {
    journal: Journal,
    metrics: Arc<Metrics>,
    changed: Mutex<HashSet<Arc<str>>>,
    wake: Notify,
}

impl Watch {
    /// Stands before this journal.
    pub fn new(journal: Journal, metrics: Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self { journal, metrics, changed: Mutex::default(), wake: Notify::new() })
    }

    /// Has this breaker looked at again.
    fn look_at(&self, breaker: Arc<str>) {
        self.changed.lock().insert(breaker);
        self.wake.notify_one();
    }
}

impl EventSink for Watch {
    fn record(&self, event: Event) {
        let breaker = match &event {
            Event::Transition(change) => {
                self.metrics.transition(change);
                change.breaker.clone()
            }
            Event::Probe(probe) => {
                self.metrics.probe(probe);
                probe.breaker.clone()
            }
        };
        self.journal.record(event);
        self.look_at(breaker);
    }
}

/// Runs until the process stops.
pub async fn run(app: Arc<App>, watch: Arc<Watch>) {
    let (mut due, turns) = (Due::default(), Arc::new(Turns::default()));
    let all = app.panel.breakers();
    watch.changed.lock().extend(all.iter().map(|breaker| breaker.id().clone()));
    let mut census = app.clock.now();
    while !app.lifecycle.is_stopping() {
        let now = app.clock.now();
        if census <= now {
            for breaker in app.panel.breakers() {
                app.journal.seen(breaker.id(), &breaker.policy().settings().name);
                app.metrics.watch(&breaker.snapshot());
            }
            take_failures(&app);
            census = now + CENSUS;
        }
        let changed = mem::take(&mut *watch.changed.lock());
        let next = due.tick(&app.panel, changed, now, |snapshot| turns.look(&app, &watch, snapshot, now));
        let rest = next.map_or(census, |next| next.min(census)).saturating_duration_since(app.clock.now());
        tokio::select! {
            () = tokio::time::sleep(rest) => {}
            () = watch.wake.notified() => {}
            // An upstream may be probed from now on, or no longer.
            () = app.reloaded.notified() => {
                watch.changed.lock().extend(app.panel.breakers().iter().map(|breaker| breaker.id().clone()));
            }
            () = app.lifecycle.soft() => {}
        }
    }
}

/// Brings the open incidents' failures up to date: under forced closed they come without a row.
pub fn take_failures(app: &App) {
    for breaker in app.panel.breakers() {
        app.tallies.failures(breaker.id(), breaker.snapshot().counts.failure);
    }
}

/// Who is due when.
#[derive(Debug, Default)]
struct Due {
    order: BTreeSet<(Instant, Arc<str>)>,
    of: HashMap<Arc<str>, Instant>,
}

impl Due {
    /// Ticks what changed and what is due; says when to come back. `probe` says when a breaker's own probe is due.
    fn tick(
        &mut self,
        panel: &Panel,
        mut look: HashSet<Arc<str>>,
        now: Instant,
        mut probe: impl FnMut(&Snapshot) -> Option<Instant>,
    ) -> Option<Instant> {
        while let Some((at, id)) = self.order.first().cloned()
            && at <= now
        {
            self.set(&id, None);
            look.insert(id);
        }
        for id in look {
            // Gone from the panel: nothing is due any more.
            let Some(breaker) = panel.get(&id) else {
                self.set(&id, None);
                continue;
            };
            let due = breaker.tick();
            let snapshot = breaker.snapshot();
            let round = (snapshot.state == State::HalfOpen).then(|| now + ROUND);
            self.set(&id, [due, round, probe(&snapshot)].into_iter().flatten().min());
        }
        self.order.first().map(|(at, _)| *at)
    }

    fn set(&mut self, id: &Arc<str>, next: Option<Instant>) {
        let before = match next {
            Some(next) => self.of.insert(id.clone(), next),
            None => self.of.remove(id),
        };
        if let Some(before) = before {
            self.order.remove(&(before, id.clone()));
        }
        if let Some(next) = next {
            self.order.insert((next, id.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
