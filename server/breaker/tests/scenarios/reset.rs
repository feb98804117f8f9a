//! Rule 22: close and forget.

use fuseboard_breaker::{Applied, Mode, OverrideEnd, PolicySettings, Settled, State, TripRule, Verdict};

use crate::harness::{Rig, ana, half_open, registry, retry_after, secs};

#[track_caller]
fn reset(rig: &Rig) -> Applied {
    rig.breaker.reset(ana(), "cable was out", false).expect("no override to end")
}

#[test]
fn r22_four_failures_after_a_reset_leave_it_closed() {
    let rules = [
        TripRule::Failures { failures: 5, within: secs(10) },
        TripRule::Consecutive { consecutive: 5, within: None },
        TripRule::FailureRate { failure_rate: 0.5, within: secs(10), min_calls: 5 },
    ];
    for rule in rules {
        let rig = Rig::new(PolicySettings { trip: vec![rule], ..registry() });
        rig.fail(4);
        assert_eq!(reset(&rig), Applied::Changed);
        rig.fail(4);
        assert_eq!(rig.state(), State::Closed, "{rule:?}");
        rig.fail(1);
        assert_eq!(rig.state(), State::Open, "{rule:?}");
    }
}

#[test]
fn r22_slow_calls_are_forgotten_too() {
    let rule = TripRule::SlowRate { slow_rate: 1.0, slow_after: secs(2), within: secs(10), min_calls: 5 };
    let rig = Rig::new(PolicySettings { trip: vec![rule], ..registry() });
    let slow = || rig.call(Verdict { latency: Some(secs(3)), ..Verdict::success() });
    for _ in 0..4 {
        slow();
    }
    assert_eq!(reset(&rig), Applied::Changed);
    for _ in 0..4 {
        slow();
    }
    assert_eq!(rig.state(), State::Closed);
    slow();
    assert_eq!(rig.state(), State::Open);
}

#[test]
fn r22_closes_from_every_state_and_forgets_the_attempt() {
    let deep = Rig::open(registry());
    for _ in 0..3 {
        deep.wait_out();
        deep.fail(1);
    }
    let probing = Rig::due(half_open(2, 2));
    let probe = probing.admit();
    probing.ok();
    for rig in [&deep, &probing] {
        let (before, from) = (rig.snap(), rig.state());
        assert_eq!(reset(rig), Applied::Changed);
        let snap = rig.snap();
        assert_eq!((snap.state, snap.attempt, snap.wait), (State::Closed, 0, None));
        assert_eq!((snap.next_probe_at, snap.next_probe_in, snap.down_since), (None, None, None));
        assert_eq!((snap.half_open.good, snap.half_open.in_flight, snap.probe_due), (0, 0, false));
        assert_eq!(snap.generation, before.generation + 1);
        let row = rig.last();
        assert_eq!((row.cause.as_str(), row.from, row.to), ("reset", from, State::Closed));
        assert_eq!((row.by, row.reason.as_deref()), (Some(ana()), Some("cable was out")));
        assert_eq!(snap.counts, before.counts, "lifetime counts go on");
        rig.trip();
        assert_eq!(rig.next_in(), Some(secs(30)), "the first wait again");
    }
    assert_eq!(probe.settle(Verdict::success()), Settled::Late);
    assert_eq!(probing.state(), State::Open);
}

#[test]
fn r22_calls_in_flight_no_longer_count() {
    let rig = Rig::new(registry());
    let out: Vec<_> = (0..5).map(|_| rig.admit()).collect();
    rig.fail(1);
    assert_eq!(reset(&rig), Applied::Changed);
    for call in out {
        assert_eq!(call.settle(Verdict::failure()), Settled::Late);
    }
    assert_eq!((rig.state(), rig.have(), rig.snap().in_flight), (State::Closed, 0.0, 0));
    assert_eq!((rig.snap().counts.failure, rig.snap().counts.late), (1, 5));
}

#[test]
fn r22_on_a_quiet_breaker_nothing_happens() {
    let rig = Rig::new(registry());
    rig.ok();
    let before = rig.snap();
    assert_eq!(reset(&rig), Applied::Quiet);
    assert_eq!(rig.snap().generation, before.generation);
    assert!(rig.log.events().is_empty());
    // Memory that has aged away is none.
    rig.fail(4);
    rig.advance(secs(10));
    assert_eq!(reset(&rig), Applied::Quiet);
}

#[test]
fn r22_whatever_is_left_of_trouble_is_not_quiet() {
    let remembers = Rig::new(registry());
    remembers.fail(1);
    let cools = Rig::new(registry());
    cools.call(Verdict { cooldown: true, retry_after: retry_after(secs(20)), ..Verdict::alive() });
    for (rig, what) in [(remembers, "memory"), (cools, "a cool-down"), (Rig::open(registry()), "an open breaker")] {
        assert_eq!(reset(&rig), Applied::Changed, "{what}");
        assert_eq!(rig.last().cause.as_str(), "reset");
        let snap = rig.snap();
        assert_eq!((snap.state, snap.cooldown_until, rig.have()), (State::Closed, None, 0.0), "{what}");
        rig.ok();
        assert_eq!(reset(&rig), Applied::Quiet, "and then there is nothing left");
    }
}

#[test]
fn r22_somebodys_override_is_ended_only_when_asked() {
    for mode in [Mode::ForcedOpen, Mode::ForcedClosed] {
        let rig = Rig::open(registry());
        rig.held(mode, OverrideEnd::Never);
        let (before, events) = (format!("{:?}", rig.snap()), rig.log.events());
        let refused = rig.breaker.reset(ana(), "cable was out", false).expect_err("it would end an override");
        assert_eq!((refused.0.mode, &*refused.0.reason), (mode, "CDN move"));
        assert_eq!((format!("{:?}", rig.snap()), rig.log.events()), (before, events));

        assert_eq!(rig.breaker.reset(ana(), "cable was out", true), Ok(Applied::Changed));
        assert_eq!((rig.state(), rig.snap().held), (State::Closed, None));
        assert_eq!((rig.last().cause.as_str(), rig.last().mode), ("reset", None));
        rig.ok();
    }
}

#[test]
fn r22_an_override_alone_is_not_quiet() {
    let rig = Rig::new(registry());
    rig.held(Mode::ForcedOpen, OverrideEnd::Never);
    assert_eq!(rig.breaker.reset(ana(), "cable was out", true), Ok(Applied::Changed));
    assert_eq!(rig.snap().held, None);
}

#[test]
fn r22_a_refused_reset_says_whose_override_it_would_end_and_what_to_do() {
    let rig = Rig::new(registry());
    rig.breaker.set_override(Mode::ForcedOpen, OverrideEnd::Never, ana(), "CDN move");
    let said = rig.breaker.reset(ana(), "", false).expect_err("an override stands").to_string();
    for word in ["forced_open", "ana", "CDN move", "release", "end_override"] {
        assert!(said.contains(word), "{word} is missing: {said}");
    }
}
