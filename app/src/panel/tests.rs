use proptest::{prelude::*, sample::select};
use serde_json::json;

use super::*;
use crate::{
    backend::BreakerFilter,
    sample::{self, at},
    timeline::Axis,
    wire::{
        breaker::{Mode, Override},
        event::{After, Hello, Stats, Transition},
    },
};

const HOUR: i64 = 3_600_000;

fn about(cursor: &str) -> About {
    About { now: at(HOUR), cursor: cursor.into(), ..sample::about() }
}

fn loaded(breakers: Vec<Breaker>, cursor: &str) -> Panel {
    let lanes = breakers.iter().map(|one| sample::lane(&one.id, 0, HOUR, &[(0, 'c')])).collect();
    let timeline = Timeline { from: at(0), to: at(HOUR), step_ms: 1, lanes, next: None };
    let list = BreakerList { breakers, as_of: at(HOUR), cursor: cursor.into(), next: None };
    Panel::load(&PanelView {
        about: about(cursor),
        list,
        timeline: Some(timeline),
        unread: None,
        plan: None,
        refused: None,
    })
}

fn two() -> Panel {
    loaded(vec![sample::breaker("a", State::Closed), sample::breaker("b", State::Closed)], "7-10")
}

fn opened(seq: u64, id: &str) -> FeedEvent {
    let cause = json!({"kind": "tripped", "rule": "failures"});
    FeedEvent::Transition(Box::new(sample::event(sample::transition(
        seq,
        id,
        HOUR + 1_000,
        State::Closed,
        State::Open,
        cause,
    ))))
}

fn hello(cursor: &str) -> Hello {
    Hello { cursor: cursor.into(), now: at(HOUR), version: "0.1.0".into() }
}

fn stats(id: &str, refused_per_min: u64) -> FeedEvent {
    let breaker = sample::breaker(id, State::Closed);
    let one = BreakerStats {
        id: id.into(),
        in_flight: 1,
        refused_since_down: refused_per_min,
        half_open: breaker.half_open,
        calls_per_min: refused_per_min,
        refused_per_min,
        counts: breaker.counts,
        rules: vec![],
        failure_rate: None,
        p50_ms: None,
        p95_ms: None,
    };
    FeedEvent::Stats(Box::new(Stats {
        now: at(HOUR),
        breakers: vec![one],
        store: StoreHealth::default(),
        findings: Vec::new(),
    }))
}

#[test]
fn a_transition_moves_its_breaker_and_grows_its_lane() {
    let mut panel = two();
    assert_eq!(panel.apply(&opened(11, "b")), Touched::Rows(vec!["b".into()]));
    let row = panel.row("b").expect("b");
    assert_eq!((row.breaker.state, row.breaker.down_since), (State::Open, Some(at(HOUR + 1_000))));
    assert_eq!(row.breaker.last_transition.as_ref().map(|last| last.seq), Some(11));
    assert_ne!(row.strip, two().row("b").expect("b").strip);
    assert_eq!(panel.row("a"), two().row("a"), "the other one is as it was");
    let arranged = panel.arrange(&BreakerFilter::default(), HOUR + 2_000);
    // Both are npm's: the one that flows stays folded under the one that does not.
    assert_eq!((arranged.groups.len(), arranged.quiet.len()), (1, 0));
    assert_eq!(arranged.groups[0].trouble, ["b"]);
    assert_eq!(arranged.groups[0].quiet, ["a"]);
}

#[test]
fn a_repeated_or_older_fact_changes_nothing() {
    let mut panel = two();
    panel.apply(&opened(11, "b"));
    let once = panel.clone();
    assert_eq!(panel.apply(&opened(11, "b")), Touched::Nothing);
    assert_eq!(panel.apply(&opened(10, "a")), Touched::Nothing, "10 was in what was loaded");
    assert_eq!(panel, once);
}

#[test]
fn a_resync_another_run_or_an_unknown_breaker_means_load_again() {
    let mut panel = two();
    assert_eq!(panel.apply(&FeedEvent::Hello(hello("7-12"))), Touched::Nothing);
    assert_eq!(panel.apply(&FeedEvent::Hello(hello("8-2"))), Touched::Reload);
    assert_eq!(panel.apply(&FeedEvent::Resync(hello("7-12"))), Touched::Reload);
    assert_eq!(panel.apply(&opened(13, "new")), Touched::Reload);
    assert_eq!(panel.apply(&stats("newer", 1)), Touched::Reload);
}

#[test]
fn after_a_reload_the_feed_goes_on_from_the_new_mark() {
    let mut panel = loaded(vec![sample::breaker("a", State::Closed)], "8-2");
    assert_eq!(panel.apply(&opened(3, "a")), Touched::Rows(vec!["a".into()]), "3 of run 8, though run 7 was at 12");
}

/// What a change leaves behind, as the server says it.
fn change(seq: u64, (id, to, held, after_ms): (&str, State, Option<Mode>, i64), from: &Breaker) -> TransitionEvent {
    let at = at(HOUR + 1_000 + after_ms);
    let row = Transition { held, ..sample::transition(seq, id, 0, from.state, to, json!({"kind": "tripped"})) };
    let held =
        held.map(|mode| Override { mode, reason: format!("reason {seq}"), by: "ana".into(), since: at, until: None });
    let down_since = if to == State::Closed { None } else { from.down_since.or(Some(at)) };
    let opens = from.opens + u64::from(from.state == State::Closed && to == State::Open);
    let after = After {
        since: if from.state == to { from.since } else { at },
        attempt: seq as u32,
        wait_ms: (to == State::Open).then_some(30_000),
        next_probe_at: (to == State::Open).then_some(at),
        down_since,
        opens,
        held,
        cooldown_until: None,
    };
    TransitionEvent { row: Transition { at, ..row }, after }
}

/// The server's own reading of all that happened.
fn reading(changes: &[TransitionEvent]) -> Panel {
    let breakers = ["a", "b", "c"].map(|id| {
        let mut breaker = sample::breaker(id, State::Closed);
        for TransitionEvent { row, after } in changes.iter().filter(|change| change.row.breaker == id) {
            breaker.state = row.to;
            breaker.generation = row.generation;
            breaker.last_transition = Some(row.clone());
            if trips(row) || after.down_since.is_none() {
                breaker.opened = trips(row).then(|| row.cause.without_evidence());
            }
            let After { since, attempt, wait_ms, next_probe_at, down_since, opens, held, cooldown_until } =
                after.clone();
            breaker =
                Breaker { since, attempt, wait_ms, next_probe_at, down_since, opens, held, cooldown_until, ..breaker };
        }
        breaker
    });
    loaded(breakers.to_vec(), "7-1000")
}

proptest! {
    /// Facts that come twice and in any order, with heartbeats between them, end as a new reading begins.
    #[test]
    fn any_order_of_facts_ends_as_a_new_reading(
        happened in prop::collection::vec(
            (
                select(vec!["a", "b", "c"]),
                select(vec![State::Closed, State::Open, State::HalfOpen]),
                select(vec![None, None, Some(Mode::ForcedOpen), Some(Mode::ForcedClosed)]),
                0_i64..40_000,
            ),
            1..40,
        ),
        order in prop::collection::vec(0_usize..1_000, 1..120),
    ) {
        let mut changes: Vec<TransitionEvent> = Vec::new();
        for (seq, one) in (11..).zip(happened) {
            let now = reading(&changes);
            let from = &now.row(one.0).expect("a breaker").breaker;
            changes.push(change(seq, one, from));
        }
        let feed = |changes: &[TransitionEvent]| changes.iter().cloned().map(Box::new).map(FeedEvent::Transition).collect::<Vec<_>>();
        let mut shuffled: Vec<TransitionEvent> = order.iter().map(|nth| changes[nth % changes.len()].clone()).collect();
        for change in &changes {
            shuffled.insert(order[0] % (shuffled.len() + 1), change.clone());
        }
        let beat = ["a", "b", "c"].map(|id| stats(id, 41));
        let heard = |events: Vec<FeedEvent>| {
            let mut panel = loaded(["a", "b", "c"].map(|id| sample::breaker(id, State::Closed)).to_vec(), "7-10");
            for (nth, event) in events.iter().enumerate() {
                panel.apply(event);
                panel.apply(&beat[nth % 3]);
            }
            beat.iter().for_each(|event| { panel.apply(event); });
            panel
        };
        let (in_order, any_order) = (heard(feed(&changes)), heard(feed(&shuffled)));
        let mut fresh = reading(&changes);
        beat.iter().for_each(|event| { fresh.apply(event); });
        let axis = Axis { from_ms: 0, to_ms: HOUR + 60_000, width: 720.0 };
        for id in ["a", "b", "c"] {
            let row = |panel: &Panel| panel.row(id).expect("a breaker").clone();
            prop_assert_eq!(&row(&any_order).breaker, &row(&fresh).breaker);
            prop_assert_eq!(row(&any_order).strip.bands(axis), row(&in_order).strip.bands(axis));
        }
        prop_assert_eq!(any_order.arrange(&BreakerFilter::default(), HOUR), fresh.arrange(&BreakerFilter::default(), HOUR));
        prop_assert_eq!(any_order.summary(HOUR).refused, fresh.summary(HOUR).refused);
    }
}

#[test]
fn stats_bring_numbers_and_the_first_call() {
    let mut waiting = sample::breaker("a", State::Closed);
    waiting.called = false;
    let mut panel = loaded(vec![waiting], "7-10");
    assert_eq!(panel.apply(&stats("a", 41)), Touched::Rows(vec!["a".into()]));
    let breaker = &panel.row("a").expect("a").breaker;
    assert_eq!((breaker.refused_per_min, breaker.called), (41, true));
}

#[test]
fn the_summary_counts_who_is_refused_and_since_when() {
    let mut early = sample::open("a", HOUR + 1);
    (early.down_since, early.refused_per_min) = (Some(at(500)), 40);
    let mut late = sample::open("b", HOUR + 1);
    (late.down_since, late.refused_per_min) = (Some(at(900)), 1);
    let held = sample::held(crate::wire::breaker::Mode::ForcedClosed, None);
    let panel = loaded(vec![early, late, held, sample::breaker("c", State::Closed)], "7-10");
    let summary = panel.summary(HOUR);
    assert_eq!((summary.refused, summary.turned_away, summary.longest), (2, 41, Some(at(500))));
    assert_eq!((summary.watched, summary.waiting, summary.all), (1, 0, 4));
}

#[test]
fn an_override_on_top_of_an_outage_does_not_begin_it_anew() {
    let held = crate::sample::held(crate::wire::breaker::Mode::ForcedOpen, None).held;
    let outage = |down_ms: i64, held_ms: i64| {
        let mut one = sample::open("a", HOUR + 1);
        (one.down_since, one.held) = (Some(at(down_ms)), held.clone());
        one.held.iter_mut().for_each(|held| held.since = at(held_ms));
        loaded(vec![one], "7-10").summary(HOUR).longest
    };
    assert_eq!(outage(500, 900), Some(at(500)));
    assert_eq!(outage(900, 500), Some(at(500)), "held open first");
    assert_eq!(
        loaded(vec![crate::sample::held(crate::wire::breaker::Mode::ForcedOpen, None)], "7-10").summary(HOUR).longest,
        Some(at(0))
    );
}

#[test]
fn a_cool_down_is_on_the_lane_as_soon_as_it_is_heard_of() {
    let mut panel = loaded(vec![sample::breaker("a", State::Closed)], "7-10");
    let fact = |seq: u64, at_ms: i64, kind: &str, until: Option<i64>| {
        let row = sample::transition(seq, "a", at_ms, State::Closed, State::Closed, json!({"kind": kind}));
        let mut event = sample::event(row);
        event.after.cooldown_until = until.map(at);
        FeedEvent::Transition(Box::new(event))
    };
    panel.apply(&fact(11, HOUR, "cooldown_started", Some(HOUR + 60_000)));
    let said = |panel: &Panel| {
        let axis = Axis { from_ms: HOUR, to_ms: HOUR + 60_000, width: 720.0 };
        panel.row("a").expect("a").strip.spoken(axis)
    };
    assert_eq!(said(&panel), "cooling down 1 min");
    panel.apply(&fact(12, HOUR + 20_000, "cooldown_ended", None));
    assert_eq!(said(&panel), "cooling down 20 s, closed 40 s");
}

#[test]
fn time_alone_makes_a_probe_due_and_ends_a_cool_down() {
    let mut cooling = sample::breaker("b", State::Closed);
    cooling.cooldown_until = Some(at(HOUR + 1_000));
    let mut panel = loaded(vec![sample::open("a", HOUR + 1_000), cooling], "7-10");
    assert!(!panel.tick(HOUR + 999));
    assert!(panel.tick(HOUR + 1_000));
    assert!(panel.row("a").expect("a").breaker.probe_due);
    assert_eq!(panel.row("b").expect("b").breaker.cooldown_until, None);
    assert!(!panel.tick(HOUR + 1_000), "once");
}
