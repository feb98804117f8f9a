//! One breaker's page as the board holds it: the breaker and the newest rows of its record, kept current by the feed.
//! Pure, with the rules of [`crate::panel`].

use serde::{Deserialize, Serialize};

use crate::{
    backend::{About, Refusal},
    panel::{Panel, Row, Touched, trips},
    timeline::Strip,
    wire::{
        breaker::Breaker,
        event::{Audit, FeedEvent, Probe, Transition},
        timeline::Lane,
    },
};

/// How many rows of each kind a page keeps.
pub const KEPT: usize = 50;

/// What a breaker's page is made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StoryView {
    /// Read first.
    pub about: About,
    /// The breaker.
    pub breaker: Breaker,
    /// Its lane with calls and probes; absent while the history cannot be read.
    pub lane: Option<Lane>,
    /// Newest first.
    pub transitions: Vec<Transition>,
    /// The trip the outage began with, where it is older than these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trip: Option<Transition>,
    /// Newest first.
    pub probes: Vec<Probe>,
    /// Newest first.
    pub audit: Vec<Audit>,
    /// Why some of its history could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<Refusal>,
    /// Why a form that was sent without script was sent back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refusal>,
}

/// One breaker's page.
#[derive(Debug, Clone, PartialEq)]
pub struct Story {
    /// The breaker's id.
    pub id: String,
    panel: Panel,
    /// The lane as it was loaded, for its calls and probe marks.
    pub lane: Option<Lane>,
    /// Newest first.
    pub transitions: Vec<Transition>,
    /// The newest trip, however many changes came after it.
    trip: Option<Transition>,
    /// Newest first.
    pub probes: Vec<Probe>,
    /// Newest first.
    pub audit: Vec<Audit>,
}

impl Story {
    /// From what was loaded.
    pub fn load(view: &StoryView) -> Self {
        let strip = view.lane.as_ref().map(Strip::from_lane).unwrap_or_default();
        Self {
            id: view.breaker.id.clone(),
            panel: Panel::of_one(view.breaker.clone(), strip, &view.about),
            lane: view.lane.clone(),
            transitions: view.transitions.clone(),
            trip: view.transitions.iter().find(|row| trips(row)).or(view.trip.as_ref()).cloned(),
            probes: view.probes.clone(),
            audit: view.audit.clone(),
        }
    }

    /// Keeps what was read before of what could not be read now.
    #[must_use]
    pub fn or(mut self, before: &Self) -> Self {
        if self.lane.is_none() {
            self.lane.clone_from(&before.lane);
            self.panel.keep_strips(&before.panel);
        }
        // The newest may be known all the same; what is older than what was read now was read before.
        fn keep<Row: Clone>(rows: &mut Vec<Row>, before: &[Row], seq: impl Fn(&Row) -> u64) {
            let oldest = rows.last().map_or(u64::MAX, &seq);
            rows.extend(before.iter().filter(|row| seq(row) < oldest).cloned());
            rows.truncate(KEPT);
        }
        keep(&mut self.transitions, &before.transitions, |row| row.seq);
        keep(&mut self.probes, &before.probes, |row| row.seq);
        keep(&mut self.audit, &before.audit, |row| row.seq);
        self.trip = self.trip.or_else(|| before.trip.clone());
        self
    }

    /// The breaker and its strip.
    pub fn row(&self) -> Option<&Row> {
        self.panel.row(&self.id)
    }

    /// How the store is doing.
    pub fn store(&self) -> &crate::wire::event::StoreHealth {
        &self.panel.store
    }

    /// What the server's watchdog sees broken.
    pub fn findings(&self) -> &[crate::wire::event::Finding] {
        &self.panel.findings
    }

    /// Takes one event in. Events about other breakers change nothing.
    pub fn apply(&mut self, event: &FeedEvent) -> Touched {
        match event {
            FeedEvent::Transition(change) if change.row.breaker == self.id => {
                let touched = self.panel.apply(event);
                if touched != Touched::Nothing {
                    if trips(&change.row) && self.trip.as_ref().is_none_or(|trip| trip.seq < change.row.seq) {
                        self.trip = Some(change.row.clone());
                    }
                    newest(&mut self.transitions, &change.row, |row| row.seq);
                }
                touched
            }
            FeedEvent::Probe(probe) if probe.breaker == self.id => self.fact(|story| {
                newest(&mut story.probes, probe, |row| row.seq);
            }),
            FeedEvent::Audit(audit) if audit.breaker.as_deref() == Some(&*self.id) => self.fact(|story| {
                newest(&mut story.audit, audit, |row| row.seq);
            }),
            FeedEvent::Stats(stats) => {
                let own = stats.breakers.iter().filter(|one| one.id == self.id).cloned().collect::<Vec<_>>();
                self.panel.apply(&FeedEvent::Stats(Box::new(crate::wire::event::Stats {
                    now: stats.now,
                    breakers: own,
                    store: stats.store.clone(),
                    findings: stats.findings.clone(),
                })))
            }
            FeedEvent::Hello(_) | FeedEvent::Resync(_) => self.panel.apply(event),
            FeedEvent::Transition(_) | FeedEvent::Probe(_) | FeedEvent::Audit(_) => Touched::Nothing,
        }
    }

    fn fact(&mut self, keep: impl FnOnce(&mut Self)) -> Touched {
        keep(self);
        Touched::Rows(vec![self.id.clone()])
    }

    /// Lets time pass.
    pub fn tick(&mut self, now_ms: i64) -> bool {
        self.panel.tick(now_ms)
    }

    /// The trip this outage began with.
    pub fn trip(&self) -> Option<&Transition> {
        let down = self.row()?.breaker.down_since?;
        self.trip.as_ref().filter(|row| row.at >= down)
    }
}

/// Puts a row in its place, newest first, unless it is there already or older than all that are kept.
fn newest<Row: Clone>(rows: &mut Vec<Row>, row: &Row, seq: impl Fn(&Row) -> u64) {
    let place = rows.partition_point(|one| seq(one) > seq(row));
    if place < KEPT && rows.get(place).is_none_or(|one| seq(one) != seq(row)) {
        rows.insert(place, row.clone());
        rows.truncate(KEPT);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{sample, wire::breaker::State};

    fn story() -> Story {
        let about = sample::about();
        let breaker = sample::breaker("a", State::Closed);
        let lane = Some(sample::lane("a", 0, 10_000, &[(0, 'c')]));
        let (transitions, probes, audit) = (vec![], vec![], vec![]);
        Story::load(&StoryView {
            about,
            breaker,
            lane,
            transitions,
            trip: None,
            probes,
            audit,
            unread: None,
            refused: None,
        })
    }

    fn opened(seq: u64, id: &str) -> FeedEvent {
        let cause = json!({"kind": "tripped", "rule": "failures"});
        FeedEvent::Transition(Box::new(sample::event(sample::transition(
            seq,
            id,
            11_000,
            State::Closed,
            State::Open,
            cause,
        ))))
    }

    fn audited(seq: u64) -> FeedEvent {
        let audit = json!({
            "seq": seq, "node": "n", "at": "2026-11-30T01:12:00.000000Z", "action": "reset", "breaker": "a",
            "actor": {"name": "ana", "verified": false, "via": "board"}, "reason": "CDN is back", "detail": {},
        });
        FeedEvent::Audit(Box::new(serde_json::from_value(audit).expect("an audit row")))
    }

    #[test]
    fn its_own_rows_come_first_and_once() {
        let mut story = story();
        assert_eq!(story.apply(&opened(11, "a")), Touched::Rows(vec!["a".into()]));
        assert_eq!(story.apply(&opened(11, "a")), Touched::Nothing);
        story.apply(&audited(12));
        story.apply(&audited(12));
        assert_eq!((story.transitions.len(), story.audit.len()), (1, 1));
        assert_eq!(story.trip().map(|row| row.seq), Some(11));
        assert_eq!(story.row().map(|row| row.breaker.state), Some(State::Open));
    }

    #[test]
    fn a_long_outage_still_knows_what_it_began_with() {
        let mut story = story();
        story.apply(&opened(11, "a"));
        for seq in 12..12 + 2 * KEPT as u64 {
            let (from, to) = if seq % 2 == 0 { (State::Open, State::HalfOpen) } else { (State::HalfOpen, State::Open) };
            let mut event =
                sample::event(sample::transition(seq, "a", 12_000, from, to, json!({"kind": "probe_failed"})));
            event.after.down_since = Some(sample::at(11_000));
            story.apply(&FeedEvent::Transition(Box::new(event)));
        }
        assert!(story.transitions.iter().all(|row| row.seq > 11), "the rows kept are all younger");
        assert_eq!(story.trip().map(|row| row.seq), Some(11));
    }

    #[test]
    fn other_breakers_leave_it_alone() {
        let mut story = story();
        let before = story.clone();
        assert_eq!(story.apply(&opened(11, "b")), Touched::Nothing);
        assert_eq!(story, before);
    }

    #[test]
    fn rows_that_come_late_stand_where_they_belong() {
        let mut story = story();
        for seq in [12, 14, 11, 13, 12] {
            story.apply(&audited(seq));
        }
        assert_eq!(story.audit.iter().map(|row| row.seq).collect::<Vec<_>>(), [14, 13, 12, 11]);
    }

    #[test]
    fn a_page_keeps_a_bounded_number_of_rows() {
        let mut story = story();
        for seq in 11..11 + 2 * KEPT as u64 {
            story.apply(&audited(seq));
        }
        assert_eq!(story.audit.len(), KEPT);
        assert_eq!(story.audit[0].seq, 10 + 2 * KEPT as u64);
    }

    #[test]
    fn what_could_not_be_read_stays_as_it_was_read_before() {
        let mut before = story();
        before.apply(&opened(11, "a"));
        before.apply(&opened(13, "a"));
        before.apply(&audited(12));
        let mut read = story();
        read.lane = None;
        read.panel = Panel::of_one(sample::breaker("a", State::Open), Strip::default(), &sample::about());
        // The newest change is known without the record.
        read.apply(&opened(13, "a"));
        let after = read.or(&before);
        let seqs: Vec<_> = after.transitions.iter().map(|row| row.seq).collect();
        assert_eq!((seqs, after.audit.len(), after.trip.is_some()), (vec![13, 11], 1, true));
        let strip = |story: &Story| story.row().map(|row| row.strip.clone());
        assert_eq!((after.lane.is_some(), strip(&after)), (true, strip(&before)));
    }
}
