//! All breakers as the board holds them: a pure reducer over what was loaded and what the feed brings. Rules:
//!
//! 1. A fact whose number is not above what was loaded changes nothing. Of what comes after, each breaker stands as its fact
//!    with the highest number says: facts may come twice and in any order, and the end is what a new reading would show.
//! 2. Numbers belong to one run of the server. Another run, a resync or a breaker never heard of means: load again.
//! 3. What is loaded while the feed goes on is older than the feed; the feed's later facts are applied on top of it.
//! 4. The numbers of a heartbeat replace those before it; they come over one connection, in order.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::{
    backend::{About, Refusal},
    prose::Summary,
    standing::Standing,
    timeline::Strip,
    wire::{
        action::ActionAnswer,
        breaker::{Breaker, BreakerList, State},
        event::{BreakerStats, FeedEvent, Finding, StoreHealth, Transition, TransitionEvent},
        time::Time,
        timeline::Timeline,
    },
};

pub mod arrange;

/// What the panel's page is made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PanelView {
    /// Read first.
    pub about: About,
    /// All breakers.
    pub list: BreakerList,
    /// Their lanes; absent while the history cannot be read, and the board goes on without.
    pub timeline: Option<Timeline>,
    /// Why their lanes could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<Refusal>,
    /// What the form that is open would do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<ActionAnswer>,
    /// Why a form that was sent without script was sent back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refusal>,
}

/// One breaker and its lane.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// As it stands.
    pub breaker: Breaker,
    /// As it stood.
    pub strip: Strip,
    /// The number of the change it stands by.
    seq: u64,
    /// The number of the change its outage began or ended with.
    opened_seq: u64,
}

impl Row {
    fn new(breaker: Breaker, mut strip: Strip) -> Self {
        // It may be known before it is written.
        if let Some(last) = &breaker.last_transition {
            cool(&mut strip, last, breaker.cooldown_until);
        }
        let seq = newest(&breaker);
        Self { breaker, strip, seq, opened_seq: seq }
    }
}

/// The number of a breaker's last change.
fn newest(breaker: &Breaker) -> u64 {
    breaker.last_transition.as_ref().map_or(0, |last| last.seq)
}

/// What an event touched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touched {
    /// Nothing anybody sees.
    Nothing,
    /// These breakers.
    Rows(Vec<String>),
    /// More than the event says: load again.
    Reload,
}

/// The place in the record up to which something is current.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mark {
    boot: String,
    seq: u64,
}

impl Mark {
    /// From a cursor `<boot>-<seq>`.
    pub fn new(cursor: &str) -> Self {
        let (boot, seq) = cursor.rsplit_once('-').unwrap_or((cursor, "0"));
        Self { boot: boot.into(), seq: seq.parse().unwrap_or(0) }
    }

    /// Whether a cursor is of the same run.
    pub fn same_run(&self, cursor: &str) -> bool {
        Self::new(cursor).boot == self.boot
    }

    /// Whether a number is above it.
    pub fn is_before(&self, seq: u64) -> bool {
        self.seq < seq
    }

    /// Moves on to a number; false when it was there already.
    #[cfg(feature = "browser")]
    pub fn pass(&mut self, seq: u64) -> bool {
        let new = seq > self.seq;
        self.seq = self.seq.max(seq);
        new
    }
}

/// All breakers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Panel {
    rows: BTreeMap<String, Row>,
    /// What was loaded is current up to here.
    mark: Mark,
    /// How the store is doing.
    pub store: StoreHealth,
    /// What the server's watchdog sees broken.
    pub findings: Vec<Finding>,
}

impl Panel {
    /// From what was loaded.
    pub fn load(view: &PanelView) -> Self {
        let mut panel = Self { mark: Mark::new(&view.about.cursor), ..Self::default() };
        panel.is_told(&view.about.store, &view.about.findings);
        let lanes = view.timeline.iter().flat_map(|timeline| &timeline.lanes);
        let mut strips: HashMap<&str, Strip> =
            lanes.map(|lane| (lane.breaker.as_str(), Strip::from_lane(lane))).collect();
        for breaker in &view.list.breakers {
            let strip = strips.remove(breaker.id.as_str()).unwrap_or_default();
            panel.rows.insert(breaker.id.clone(), Row::new(breaker.clone(), strip));
        }
        panel
    }

    /// One breaker alone.
    pub fn of_one(breaker: Breaker, strip: Strip, about: &About) -> Self {
        let rows = BTreeMap::from([(breaker.id.clone(), Row::new(breaker, strip))]);
        let mut panel = Self { rows, mark: Mark::new(&about.cursor), ..Self::default() };
        panel.is_told(&about.store, &about.findings);
        panel
    }

    /// Keeps the lanes that were drawn before: those read now are missing.
    pub fn keep_strips(&mut self, before: &Self) {
        for (id, row) in &mut self.rows {
            if let Some(known) = before.rows.get(id) {
                row.strip.clone_from(&known.strip);
            }
        }
    }

    fn is_told(&mut self, store: &StoreHealth, findings: &[Finding]) {
        self.store.clone_from(store);
        findings.clone_into(&mut self.findings);
    }

    /// One row.
    pub fn row(&self, id: &str) -> Option<&Row> {
        self.rows.get(id)
    }

    /// All ids.
    pub fn ids(&self) -> impl Iterator<Item = &String> {
        self.rows.keys()
    }

    /// How many breakers there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether any host was called yet.
    pub fn is_called(&self) -> bool {
        self.rows.values().any(|row| row.breaker.called)
    }

    /// Takes one event in.
    pub fn apply(&mut self, event: &FeedEvent) -> Touched {
        match event {
            FeedEvent::Hello(hello) if self.mark.same_run(&hello.cursor) => Touched::Nothing,
            FeedEvent::Hello(_) | FeedEvent::Resync(_) => Touched::Reload,
            FeedEvent::Transition(event) => {
                if !self.mark.is_before(event.row.seq) {
                    return Touched::Nothing;
                }
                match self.rows.get_mut(&event.row.breaker) {
                    Some(row) => match transition(row, event) {
                        true => Touched::Rows(vec![event.row.breaker.clone()]),
                        false => Touched::Nothing,
                    },
                    None => Touched::Reload,
                }
            }
            FeedEvent::Probe(_) | FeedEvent::Audit(_) => Touched::Nothing,
            FeedEvent::Stats(stats) => {
                self.is_told(&stats.store, &stats.findings);
                if stats.breakers.iter().any(|one| !self.rows.contains_key(&one.id)) {
                    return Touched::Reload;
                }
                for one in &stats.breakers {
                    if let Some(row) = self.rows.get_mut(&one.id) {
                        numbers(&mut row.breaker, one);
                    }
                }
                Touched::Rows(stats.breakers.iter().map(|one| one.id.clone()).collect())
            }
        }
    }

    /// Lets time pass: waits that are over make probes due. True when something changed.
    pub fn tick(&mut self, now_ms: i64) -> bool {
        let mut changed = false;
        for Row { breaker, .. } in self.rows.values_mut() {
            let due = breaker.state == State::Open && breaker.next_probe_at.is_some_and(|at| at.millis() <= now_ms);
            changed |= due != breaker.probe_due;
            breaker.probe_due = due;
            if breaker.cooldown_until.is_some_and(|until| until.millis() <= now_ms) {
                breaker.cooldown_until = None;
                changed = true;
            }
        }
        changed
    }

    /// Forgets lanes older than the window that is shown.
    pub fn trim(&mut self, before_ms: i64, window_ms: i64) {
        self.rows.values_mut().for_each(|row| row.strip.trim(before_ms, window_ms));
    }

    /// What the first sentence is made from.
    pub fn summary(&self, now_ms: i64) -> Summary {
        let mut summary =
            Summary { refused: 0, turned_away: 0, longest: None, watched: 0, waiting: 0, all: self.rows.len() as u64 };
        for Row { breaker, .. } in self.rows.values() {
            let standing = Standing::of(breaker, now_ms);
            if standing.refuses() {
                summary.refused += 1;
                summary.turned_away += breaker.refused_per_min;
                let since = breaker.refused_since();
                summary.longest = Some(summary.longest.map_or(since, |longest| longest.min(since)));
            } else if standing.trouble() {
                summary.watched += 1;
            } else if standing == Standing::Waiting {
                summary.waiting += 1;
            }
        }
        summary
    }
}

/// False when the row shows what it showed.
fn transition(row: &mut Row, event: &TransitionEvent) -> bool {
    let TransitionEvent { row: change, after } = event;
    let drawn = row.strip.push(change.seq, change.at.millis(), change.to, change.held);
    cool(&mut row.strip, change, after.cooldown_until);
    if change.seq > row.opened_seq && (trips(change) || after.down_since.is_none()) {
        row.opened_seq = change.seq;
        row.breaker.opened = trips(change).then(|| change.cause.without_evidence());
    }
    if change.seq <= row.seq {
        return drawn;
    }
    row.seq = change.seq;
    let breaker = &mut row.breaker;
    if breaker.down_since.is_none() && after.down_since.is_some() {
        breaker.refused_since_down = 0;
    }
    breaker.state = change.to;
    breaker.generation = change.generation;
    breaker.held = after.held.clone();
    breaker.since = after.since;
    breaker.attempt = after.attempt;
    breaker.wait_ms = after.wait_ms;
    breaker.next_probe_at = after.next_probe_at;
    breaker.probe_due = false;
    breaker.down_since = after.down_since;
    breaker.opens = after.opens;
    breaker.cooldown_until = after.cooldown_until;
    if change.from != change.to {
        breaker.half_open.good = 0;
        breaker.half_open.in_flight = 0;
    }
    breaker.last_transition = Some(change.clone());
    true
}

/// Draws what a change says of a cool-down.
fn cool(strip: &mut Strip, change: &Transition, until: Option<Time>) {
    match change.cause.kind.as_str() {
        "cooldown_started" if until.is_some() => {
            strip.cool(change.seq, change.at.millis(), until.map(Time::millis));
        }
        "cooldown_ended" | "reset" => strip.cool(change.seq, change.at.millis(), None),
        _ => {}
    }
}

/// Whether an outage begins with it.
pub fn trips(row: &Transition) -> bool {
    row.from == State::Closed && row.to == State::Open && row.cause.kind == "tripped"
}

fn numbers(breaker: &mut Breaker, stats: &BreakerStats) {
    breaker.in_flight = stats.in_flight;
    breaker.refused_since_down = stats.refused_since_down;
    breaker.half_open = stats.half_open;
    breaker.calls_per_min = stats.calls_per_min;
    breaker.refused_per_min = stats.refused_per_min;
    breaker.counts = stats.counts;
    breaker.rules.clone_from(&stats.rules);
    breaker.failure_rate = stats.failure_rate;
    breaker.p50_ms = stats.p50_ms;
    breaker.p95_ms = stats.p95_ms;
    let counts = &stats.counts;
    breaker.called |= stats.in_flight > 0
        || counts.success + counts.failure + counts.alive + counts.ignored + counts.cancelled + counts.refused > 0;
}

#[cfg(test)]
mod tests;
