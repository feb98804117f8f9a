//! What `/metrics` says. Counters that no snapshot keeps are counted here as the facts pass by; the rest is read from
//! snapshots when somebody asks. Asking never touches a breaker (rule 6). Labels are breaker ids and fixed words.

mod scrape;

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use fuseboard_breaker::{Clock, Panel, Probe, Snapshot, State, Transition};
use fuseboard_fetch::{CallObserver, CallRecord};
use parking_lot::{Mutex, RwLock};
use prometheus_client::{encoding::prometheus_text, registry::Registry};

use self::scrape::Scrape;

/// Upper bounds of the latency histogram, in seconds.
const BOUNDS: [f64; 14] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];

/// The states in the order their seconds are kept.
const STATES: [State; 3] = [State::Closed, State::Open, State::HalfOpen];

type Counters<Words> = HashMap<Arc<str>, HashMap<Words, u64>>;
/// By reason; there are a handful.
type Refused = Vec<(Arc<str>, AtomicU64)>;

/// How long a breaker has been in each state, as far as it was watched.
#[derive(Debug, Clone, Copy)]
struct Watched {
    state: State,
    since: Instant,
    before: [Duration; 3],
}

/// The counters. See the module.
pub struct Metrics {
    clock: Arc<dyn Clock>,
    started: Instant,
    refused: RwLock<HashMap<Arc<str>, Refused>>,
    buckets: [AtomicU64; BOUNDS.len() + 1],
    sum_micros: AtomicU64,
    facts: Mutex<Facts>,
}

/// What is counted from facts: rare, so one lock does.
#[derive(Debug, Default)]
struct Facts {
    transitions: Counters<(State, State, &'static str)>,
    probes: Counters<&'static str>,
    watched: HashMap<Arc<str>, Watched>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Metrics").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// What a scrape says beyond breakers and counters.
#[derive(Debug, Clone, Default)]
pub struct Process {
    /// The node's name.
    pub node: String,
    /// The server's version.
    pub version: String,
    /// Facts waiting to be written.
    pub journal_depth: u64,
    /// Facts given up.
    pub journal_dropped: u64,
    /// Size of the store's files.
    pub store_bytes: u64,
    /// What stands of the watchdog's findings, by kind.
    pub findings: Vec<(&'static str, u64)>,
}

impl Metrics {
    /// Everything at zero.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            started: clock.now(),
            clock,
            refused: RwLock::default(),
            buckets: Default::default(),
            sum_micros: AtomicU64::new(0),
            facts: Mutex::default(),
        }
    }

    /// Counts a change.
    pub fn transition(&self, change: &Transition) {
        let mut facts = self.facts.lock();
        let kinds = facts.transitions.entry(change.breaker.clone()).or_default();
        *kinds.entry((change.from, change.to, change.cause.as_str())).or_default() += 1;
        if change.from != change.to {
            let now = self.clock.now();
            let watched = facts.watched.entry(change.breaker.clone()).or_insert(Watched {
                state: change.from,
                since: now,
                before: Default::default(),
            });
            watched.enter(change.to, now);
        }
    }

    /// Begins to count a breaker's seconds, if that has not begun yet: one that never changes makes no fact.
    pub fn watch(&self, snapshot: &Snapshot) {
        let now = self.clock.now();
        let mut facts = self.facts.lock();
        facts.watched.entry(snapshot.id.clone()).or_insert_with(|| self.watched(snapshot, now));
    }

    /// Counts a probe.
    pub fn probe(&self, probe: &Probe) {
        let mut facts = self.facts.lock();
        *facts.probes.entry(probe.breaker.clone()).or_default().entry(probe.outcome.as_str()).or_default() += 1;
    }

    /// An observer that counts and hands on.
    pub fn observing(self: &Arc<Self>, then: Arc<dyn CallObserver>) -> Arc<dyn CallObserver> {
        Arc::new(Observing { metrics: self.clone(), then })
    }

    /// The Prometheus text.
    ///
    /// # Errors
    /// Never in practice: a string takes everything.
    pub fn render(&self, panel: &Panel, process: Process) -> Result<String, fmt::Error> {
        let snapshots: Vec<_> = panel.breakers().iter().map(|breaker| breaker.snapshot()).collect();
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self.scrape(snapshots, process)));
        let mut text = String::new();
        prometheus_text::encode(&mut text, &registry)?;
        Ok(text)
    }

    fn settled(&self, latency: Duration) {
        let seconds = latency.as_secs_f64();
        let bucket = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        self.buckets[bucket].fetch_add(1, Relaxed);
        self.sum_micros.fetch_add(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    fn refuse(&self, breaker: &Arc<str>, reason: &str) {
        let count = |reasons: &[(Arc<str>, AtomicU64)]| {
            let found = reasons.iter().find(|(known, _)| **known == *reason);
            found.map(|(_, count)| count.fetch_add(1, Relaxed)).is_some()
        };
        if self.refused.read().get(breaker).is_some_and(|reasons| count(reasons)) {
            return;
        }
        let mut refused = self.refused.write();
        let reasons = refused.entry(breaker.clone()).or_default();
        if !count(reasons) {
            reasons.push((reason.into(), AtomicU64::new(1)));
        }
    }

    /// In its state since it began, or since this process watches.
    fn watched(&self, snapshot: &Snapshot, now: Instant) -> Watched {
        let age = self.clock.wall().duration_since(snapshot.since).unwrap_or_default();
        let since = now.checked_sub(age).map_or(self.started, |since| since.max(self.started));
        Watched { state: snapshot.state, since, before: Default::default() }
    }

    /// Everything in one value; what is gone from the panel is forgotten, so that labels stay bounded.
    fn scrape(&self, snapshots: Vec<Snapshot>, process: Process) -> Scrape {
        let now = self.clock.now();
        let kept: std::collections::HashSet<&str> = snapshots.iter().map(|snapshot| &*snapshot.id).collect();
        let refused = {
            let mut refused = self.refused.write();
            refused.retain(|breaker, _| kept.contains(&**breaker));
            let counts = |reasons: &Refused| {
                reasons.iter().map(|(reason, count)| (reason.clone(), count.load(Relaxed))).collect()
            };
            refused.iter().map(|(breaker, reasons)| (breaker.clone(), counts(reasons))).collect()
        };
        let mut facts = self.facts.lock();
        facts.transitions.retain(|breaker, _| kept.contains(&**breaker));
        facts.probes.retain(|breaker, _| kept.contains(&**breaker));
        facts.watched.retain(|breaker, _| kept.contains(&**breaker));
        let mut seconds = HashMap::new();
        for snapshot in &snapshots {
            let watched = facts.watched.entry(snapshot.id.clone()).or_insert_with(|| self.watched(snapshot, now));
            seconds.insert(snapshot.id.clone(), watched.seconds(now));
        }
        Scrape {
            refused,
            buckets: self.buckets.each_ref().map(|bucket| bucket.load(Relaxed)),
            sum: Duration::from_micros(self.sum_micros.load(Relaxed)).as_secs_f64(),
            transitions: facts.transitions.clone(),
            probes: facts.probes.clone(),
            seconds,
            snapshots,
            process,
        }
    }
}

impl Watched {
    fn enter(&mut self, state: State, now: Instant) {
        self.before[index(self.state)] += now.saturating_duration_since(self.since);
        (self.state, self.since) = (state, now);
    }

    fn seconds(&self, now: Instant) -> [f64; 3] {
        let mut all = self.before;
        all[index(self.state)] += now.saturating_duration_since(self.since);
        all.map(|length| length.as_secs_f64())
    }
}

fn index(state: State) -> usize {
    match state {
        State::Closed => 0,
        State::Open => 1,
        State::HalfOpen => 2,
    }
}

struct Observing {
    metrics: Arc<Metrics>,
    then: Arc<dyn CallObserver>,
}

impl CallObserver for Observing {
    fn settled(&self, call: &CallRecord) {
        if let Some(latency) = call.head_latency {
            self.metrics.settled(latency);
        }
        self.then.settled(call);
    }

    fn refused(&self, breaker: &Arc<str>, reason: &str, path: &str, agent: Option<&str>) {
        self.metrics.refuse(breaker, reason);
        self.then.refused(breaker, reason, path, agent);
    }
}

#[cfg(test)]
mod tests;
