use serde_json::json;

use super::*;
use crate::{
    backend::BreakerFilter,
    sample::{self, at},
    wire::event::{Hello, Stats},
};

const HOUR: i64 = 3_600_000;

fn about(cursor: &str) -> About {
    About { now: at(HOUR), cursor: cursor.into(), ..sample::about() }
}

fn loaded(breakers: Vec<Breaker>, cursor: &str) -> Panel {
    let lanes = breakers.iter().map(|one| sample::lane(&one.id, 0, HOUR, &[(0, 'c')])).collect();
    let timeline = Timeline { from: at(0), to: at(HOUR), step_ms: 1, lanes, next: None };
    let list = BreakerList { breakers, as_of: at(HOUR), cursor: cursor.into(), next: None };
    Panel::load(&PanelView { about: about(cursor), list, timeline: Some(timeline), plan: None, refused: None })
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

#[test]
fn stats_bring_numbers_and_the_first_call() {
    let mut panel = two();
    let mut waiting = sample::breaker("a", State::Closed);
    waiting.called = false;
    panel.replace(waiting);
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
