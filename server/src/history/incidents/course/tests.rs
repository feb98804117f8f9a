use fuseboard_app::wire::{
    breaker::{Mode, State},
    event::{Cause, Transition},
    incident::IncidentKind,
    time::Time,
};
use serde_json::json;

use super::{Course, lasts};

fn row(seq: u64, ms: i64, from: State, to: State, held: Option<Mode>, cause: serde_json::Value) -> Transition {
    Transition {
        seq,
        node: "fuse-1".into(),
        breaker: "a".into(),
        at: Time::from_micros(ms * 1_000),
        from,
        to,
        held,
        generation: seq,
        cause: serde_json::from_value::<Cause>(cause).expect("a cause"),
        actor: None,
        reason: None,
    }
}

fn kind(kind: &str) -> serde_json::Value {
    json!({ "kind": kind })
}

#[test]
fn it_lasts_until_closed_and_not_forced_open() {
    use State::{Closed, HalfOpen, Open};
    assert!(!lasts(Closed, None) && !lasts(Closed, Some(Mode::ForcedClosed)));
    assert!(lasts(Closed, Some(Mode::ForcedOpen)) && lasts(Open, Some(Mode::ForcedClosed)) && lasts(HalfOpen, None));

    let mut course = Course::open(
        1,
        &row(4, 1_000, Closed, Open, None, json!({"kind": "tripped", "evidence": [1], "rule": "x"})),
        vec![],
    );
    assert_eq!(
        (course.opening.kind, course.opening.cause.detail.contains_key("evidence")),
        (IncidentKind::Tripped, false)
    );
    course.follow(&row(5, 3_000, Open, HalfOpen, None, kind("wait_elapsed")));
    course.probe("failure");
    course.follow(&row(7, 4_000, HalfOpen, Open, None, kind("probe_failed")));
    // Held closed: up, though its shadow is open.
    course.follow(&row(8, 5_000, Open, Open, Some(Mode::ForcedClosed), kind("override_set")));
    course.follow(&row(9, 9_000, Open, Open, Some(Mode::ForcedOpen), kind("override_set")));
    course.follow(&row(10, 10_000, Open, Closed, Some(Mode::ForcedOpen), kind("whatever")));
    assert_eq!(course.ending, None, "closed in the shadow, but held open");
    course.follow(&row(11, 12_500, Closed, Closed, None, kind("override_cleared")));
    let (so_far, ending) = (course.so_far, course.ending.expect("it is over"));
    assert_eq!((ending.seq, ending.at), (11, 12_500_000));
    assert_eq!((so_far.down, so_far.opens, so_far.overrides), (7_500_000, 2, 2), "4 s, then 3.5 s");
    assert_eq!((so_far.probes.bad, so_far.probes.good), (1, 0));
}

#[test]
fn forcing_a_closed_breaker_open_is_one_too() {
    let held = row(2, 0, State::Closed, State::Closed, Some(Mode::ForcedOpen), kind("override_set"));
    let course = Course::open(1, &held, vec![]);
    assert_eq!((course.opening.kind, course.so_far.opens, course.so_far.overrides), (IncidentKind::Held, 0, 1));
    assert!(course.so_far.is_down);
}

#[test]
fn time_nobody_watched_is_neither_up_nor_down_and_none_runs_backwards() {
    let mut course = Course::open(1, &row(1, 10_000, State::Closed, State::Open, None, kind("tripped")), vec![]);
    course.watch_until(12_000_000);
    course.miss_until(20_000_000);
    // Stamped while nobody watched, and the wall clock went back.
    course.follow(&row(2, 15_000, State::Open, State::HalfOpen, None, kind("wait_elapsed")));
    course.follow(&row(3, 21_000, State::HalfOpen, State::Closed, None, kind("probes_succeeded")));
    assert_eq!((course.so_far.down, course.so_far.unknown), (3_000_000, 8_000_000));
}

#[test]
fn what_tripped_it_is_counted_by_its_rule() {
    let by = |cause| Course::tripped_by(&row(1, 0, State::Closed, State::Open, None, cause));
    assert_eq!(by(json!({"kind": "tripped", "rule": "failures", "counts": {"have": 5, "calls": 9}})), 5);
    let slow = json!({"kind": "tripped", "rule": "slow_rate", "counts": {"have": 10, "calls": 20},
        "evidence": [{"outcome": "success"}, {"outcome": "failure"}]});
    assert_eq!(by(slow), 1);
    assert_eq!(by(kind("override_set")), 0);
}
