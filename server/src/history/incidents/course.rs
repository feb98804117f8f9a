//! The course of one incident, row by row. No store in here.
//!
//! An incident lasts while its breaker is not closed or is forced open. What it is at any row is worked out from what it
//! was before and that row alone, so the same rows always give the same incident.

use std::sync::Arc;

use fuseboard_app::wire::{
    breaker::{Mode, State},
    event::{Actor, Cause, Transition},
    incident::{IncidentKind, ProbeTally},
};

use crate::history::is_down;

/// What never changes about an incident.
#[derive(Debug, Clone, PartialEq)]
pub struct Opening {
    /// The opening row's number: the incident's id.
    pub seq: u64,
    /// The run that saw it begin.
    pub boot: u64,
    /// What opened it.
    pub kind: IncidentKind,
    /// When, microseconds since 1970.
    pub at: i64,
    /// The opening row's cause, without evidence.
    pub cause: Cause,
    /// Who opened it, if somebody did.
    pub actor: Option<Actor>,
    /// Why they did.
    pub reason: Option<String>,
    /// The upstreams whose calls passed the breaker then; `None` when it was recorded before that was kept.
    pub upstreams: Option<Vec<String>>,
}

/// What its rows have said so far; lengths and times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SoFar {
    /// Its newest row's time: `down` and `unknown` are complete up to here.
    pub marked_at: i64,
    /// Whether it is down from there on.
    pub is_down: bool,
    /// Time it was down and watched.
    pub down: i64,
    /// Time nobody watched.
    pub unknown: i64,
    /// How often it opened.
    pub opens: u64,
    /// Its probes.
    pub probes: ProbeTally,
    /// Overrides set in it.
    pub overrides: u64,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq)]
pub struct Ending {
    /// The closing row's number.
    pub seq: u64,
    /// When.
    pub at: i64,
    /// The closing row's cause, without evidence; `None` when that row was given up.
    pub cause: Option<Cause>,
}

/// One incident at one of its rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// How it began.
    pub opening: Arc<Opening>,
    /// What came after.
    pub so_far: SoFar,
    /// How it ended, if it has.
    pub ending: Option<Arc<Ending>>,
}

/// Whether an incident lasts while a breaker is this.
pub fn lasts(state: State, held: Option<Mode>) -> bool {
    state != State::Closed || held == Some(Mode::ForcedOpen)
}

impl Course {
    /// The incident this row opens on a breaker of these upstreams.
    pub fn open(boot: u64, row: &Transition, upstreams: Vec<String>) -> Self {
        let opening = Opening {
            seq: row.seq,
            boot,
            kind: if row.to == State::Closed { IncidentKind::Held } else { IncidentKind::Tripped },
            at: row.at.micros(),
            cause: row.cause.without_evidence(),
            actor: row.actor.clone(),
            reason: row.reason.clone(),
            upstreams: Some(upstreams),
        };
        let so_far = SoFar {
            marked_at: opening.at,
            is_down: false,
            down: 0,
            unknown: 0,
            opens: 0,
            probes: ProbeTally::default(),
            overrides: 0,
        };
        let mut course = Self { opening: Arc::new(opening), so_far, ending: None };
        course.count(row);
        course
    }

    /// The next row of its breaker, which may be its last.
    pub fn follow(&mut self, row: &Transition) {
        self.watch_until(row.at.micros());
        self.count(row);
        if !lasts(row.to, row.held) {
            let cause = Some(row.cause.without_evidence());
            // Where the clock was set back it ended before it began.
            let at = self.so_far.marked_at.max(self.opening.at);
            self.ending = Some(Arc::new(Ending { seq: row.seq, at, cause }));
        }
    }

    fn count(&mut self, row: &Transition) {
        let so_far = &mut self.so_far;
        so_far.is_down = is_down(row.to, row.held);
        so_far.opens += u64::from(row.to == State::Open && row.from != State::Open);
        so_far.overrides += u64::from(row.cause.kind == "override_set");
    }

    /// A probe of its breaker was judged.
    pub fn probe(&mut self, outcome: &str) {
        let probes = &mut self.so_far.probes;
        *match outcome {
            "success" | "alive" => &mut probes.good,
            "failure" => &mut probes.bad,
            "lost" => &mut probes.lost,
            _ => &mut probes.void,
        } += 1;
    }

    /// Somebody watched until then. Time never goes back: the number, not the clock, is the order.
    pub fn watch_until(&mut self, at: i64) {
        let length = (at - self.so_far.marked_at).max(0);
        self.so_far.down += if self.so_far.is_down { length } else { 0 };
        self.so_far.marked_at += length;
    }

    /// Nobody watched until then.
    pub fn miss_until(&mut self, at: i64) {
        let length = (at - self.so_far.marked_at).max(0);
        self.so_far.unknown += length;
        self.so_far.marked_at += length;
    }

    /// The wall clock jumped from here to there: what it jumped over nobody watched, and what it tells again counts again.
    pub fn jump(&mut self, from: i64, to: i64) {
        self.watch_until(from);
        self.miss_until(to);
        self.so_far.marked_at = to;
    }

    /// Calls that failed to bring it about.
    pub fn tripped_by(row: &Transition) -> u64 {
        let detail = &row.cause.detail;
        if detail.get("rule").and_then(|rule| rule.as_str()) == Some("slow_rate") {
            // What it counted were slow calls; those of them that failed are among the deciding ones.
            let calls = detail.get("evidence").and_then(|calls| calls.as_array());
            let failed = calls.into_iter().flatten().filter(|call| call["outcome"] == "failure");
            return failed.count() as u64;
        }
        detail.get("counts").and_then(|counts| counts.get("have")).and_then(serde_json::Value::as_u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
