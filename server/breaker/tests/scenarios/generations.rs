//! Rules 7 and 8: a verdict counts in the generation its call was admitted in, and nowhere else.

use fuseboard_breaker::{ProbeOutcome, Settled, State, Verdict};

use crate::harness::{Rig, half_open, registry, secs};

#[test]
fn r07_straggler_changes_nothing() {
    let rig = Rig::new(registry());
    let slow: Vec<_> = (0..3).map(|_| rig.admit()).collect();
    let [good, bad, dropped] = <[_; 3]>::try_from(slow).expect("three");
    rig.trip();
    rig.wait_out();
    let probe = rig.admit();
    let before = rig.log.transitions();

    assert_eq!(good.settle(Verdict::success()), Settled::Late);
    assert_eq!((rig.state(), rig.snap().half_open.good), (State::HalfOpen, 0));
    assert_eq!(bad.settle(Verdict::failure()), Settled::Late);
    assert_eq!((rig.state(), rig.snap().half_open.in_flight), (State::HalfOpen, 1));
    drop(dropped);
    let snap = rig.snap();
    assert_eq!((snap.state, snap.in_flight, snap.half_open.in_flight), (State::HalfOpen, 1, 1));
    assert_eq!((snap.counts.success, snap.counts.failure), (0, 5));
    assert!(snap.counts.late >= 2);
    assert_eq!(rig.log.transitions(), before);

    assert_eq!(probe.settle(Verdict::success()), Settled::Counted);
    assert_eq!((rig.state(), rig.snap().in_flight), (State::Closed, 0));
}

#[test]
fn r07_a_failure_from_before_the_outage_is_not_counted_after_it() {
    let rig = Rig::new(registry());
    let slow: Vec<_> = (0..5).map(|_| rig.admit()).collect();
    rig.trip();
    rig.wait_out();
    rig.ok();
    assert_eq!(rig.state(), State::Closed);
    for call in slow {
        assert_eq!(call.settle(Verdict::failure()), Settled::Late);
    }
    assert_eq!((rig.state(), rig.have()), (State::Closed, 0.0));
    rig.fail(4);
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn r07_a_probe_of_an_earlier_round_is_late_in_the_next() {
    let rig = Rig::due(half_open(2, 1));
    let (first, second) = (rig.admit(), rig.admit());
    first.settle(Verdict::failure());
    rig.wait_out();
    let third = rig.admit();
    assert_ne!(second.generation(), third.generation());
    assert_eq!(second.settle(Verdict::success()), Settled::Late);
    let snap = rig.snap();
    assert_eq!((snap.state, snap.half_open.in_flight, snap.half_open.good), (State::HalfOpen, 1, 0));
    let outcomes: Vec<_> = rig.log.probes().iter().map(|probe| probe.outcome).collect();
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == ProbeOutcome::Late).count(), 1);
    drop(third);
    assert_eq!(rig.snap().in_flight, 0);
}

#[test]
fn r07_generation_grows_by_one_with_every_change_of_state() {
    let rig = Rig::new(registry());
    let start = rig.snap().generation;
    rig.fail(4);
    assert_eq!(rig.snap().generation, start);
    rig.fail(1);
    assert_eq!(rig.snap().generation, start + 1);
    rig.wait_out();
    let probe = rig.admit();
    assert_eq!((rig.snap().generation, probe.generation()), (start + 2, start + 2));
    probe.settle(Verdict::success());
    assert_eq!(rig.snap().generation, start + 3);
    let rows: Vec<_> = rig.log.transitions().iter().map(|row| row.generation).collect();
    assert_eq!(rows, [start + 1, start + 2, start + 3]);
}

#[test]
fn r08_stragglers_failing_while_open_move_nothing() {
    let rig = Rig::new(registry());
    let slow: Vec<_> = (0..50).map(|_| rig.admit()).collect();
    rig.trip();
    let (next, rows) = (rig.snap().next_probe_at, rig.log.events());
    for call in slow {
        rig.advance(secs(1) / 10);
        assert_eq!(call.settle(Verdict::failure()), Settled::Late);
        assert_eq!(rig.snap().next_probe_at, next);
    }
    let snap = rig.snap();
    assert_eq!((snap.state, snap.attempt, snap.opens), (State::Open, 0, 1));
    assert_eq!((snap.counts.failure, snap.counts.late, snap.in_flight), (5, 50, 0));
    assert_eq!(snap.next_probe_in, Some(secs(25)));
    assert_eq!(rig.log.events(), rows, "no second transition");
}
