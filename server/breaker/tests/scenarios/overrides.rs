//! Overrides: what an operator decides stands beside the automatic state, which goes on in its shadow.

use fuseboard_breaker::{Applied, Mode, OverrideEnd, RefusedReason, Settled, State, Verdict};

use crate::harness::{NANO, Rig, ana, half_open, registry, secs};

#[test]
fn forced_open_sends_nothing_whatever_the_state() {
    for (rig, state) in [
        (Rig::new(registry()), State::Closed),
        (Rig::open(registry()), State::Open),
        (Rig::due(registry()), State::Open),
    ] {
        rig.held(Mode::ForcedOpen, OverrideEnd::Never);
        let refused = rig.refused();
        assert_eq!((refused.reason, refused.retry_after), (RefusedReason::ForcedOpen, None));
        assert_eq!((refused.state, refused.mode), (state, Some(Mode::ForcedOpen)));
        rig.advance(secs(86_400));
        rig.breaker.tick();
        rig.refused_for(RefusedReason::ForcedOpen);
        assert_eq!(rig.state(), state, "the shadow stands still");
    }
}

#[test]
fn forced_open_with_an_end_says_for_how_long() {
    let rig = Rig::new(registry());
    rig.held(Mode::ForcedOpen, OverrideEnd::After(secs(60)));
    rig.advance(secs(18));
    assert_eq!(rig.refused().retry_after, Some(secs(42)));
}

#[test]
fn forced_open_lets_wait_time_pass_and_judges_no_lease() {
    let rig = Rig::open(registry());
    rig.held(Mode::ForcedOpen, OverrideEnd::Never);
    rig.advance(secs(20));
    rig.release();
    assert_eq!(rig.next_in(), Some(secs(10)));
    rig.held(Mode::ForcedOpen, OverrideEnd::Never);
    rig.advance(secs(20));
    rig.release();
    assert!(rig.snap().probe_due);
    let probe = rig.admit();
    assert!(probe.is_probe());

    rig.held(Mode::ForcedOpen, OverrideEnd::Never);
    rig.advance(secs(400));
    rig.breaker.tick();
    assert_eq!((rig.state(), rig.snap().attempt), (State::HalfOpen, 0));
    assert_eq!(probe.settle(Verdict::failure()), Settled::Late);
    rig.release();
    assert_eq!((rig.state(), rig.snap().half_open.in_flight), (State::HalfOpen, 0));
    rig.ok();
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn forced_closed_over_open_ignores_traffic_until_the_wait_is_over() {
    for (verdict, state) in [(Verdict::success(), State::Closed), (Verdict::failure(), State::Open)] {
        let rig = Rig::open(registry());
        rig.held(Mode::ForcedClosed, OverrideEnd::Never);
        rig.advance(secs(30) - NANO);
        for _ in 0..20 {
            let call = rig.admit();
            assert!(!call.is_probe());
            call.settle(verdict.clone());
        }
        let (attempt, next) = (rig.snap().attempt, rig.next_in());
        assert_eq!((rig.state(), attempt, next), (State::Open, 0, Some(NANO)));

        // The next P calls are its probes; the others go through and prove nothing to it.
        rig.advance(NANO);
        let probe = rig.admit();
        let beside = rig.admit();
        assert!(probe.is_probe() && !beside.is_probe());
        beside.settle(Verdict::failure());
        assert_eq!((rig.state(), rig.snap().half_open.in_flight), (State::HalfOpen, 1));
        assert_eq!(probe.settle(verdict), Settled::Counted);
        assert_eq!(rig.state(), state);
        assert_eq!(rig.last().mode, Some(Mode::ForcedClosed));
        assert!(rig.breaker.try_acquire().is_ok(), "the override alone decides");
    }
}

#[test]
fn forced_closed_over_closed_trips_in_the_shadow() {
    let rig = Rig::new(registry());
    rig.held(Mode::ForcedClosed, OverrideEnd::Never);
    rig.trip();
    assert_eq!((rig.last().cause.as_str(), rig.last().mode), ("tripped", Some(Mode::ForcedClosed)));
    assert!(rig.breaker.try_acquire().is_ok());
    rig.release();
    rig.refused_for(RefusedReason::Open);
    assert_eq!(rig.next_in(), Some(secs(30)));
}

#[test]
fn forced_closed_judges_leases_of_its_shadow() {
    let rig = Rig::due(registry());
    rig.held(Mode::ForcedClosed, OverrideEnd::Never);
    let probe = rig.admit();
    assert!(probe.is_probe());
    rig.advance(secs(40));
    rig.breaker.tick();
    assert_eq!((rig.state(), rig.last().cause.as_str()), (State::Open, "probe_lost"));
}

#[test]
fn an_override_ends_at_its_end_to_the_nanosecond() {
    let rig = Rig::new(registry());
    rig.held(Mode::ForcedOpen, OverrideEnd::After(secs(60)));
    let held = rig.snap().held.expect("held");
    assert_eq!((held.since, held.length, held.until), (rig.wall(), Some(secs(60)), Some(rig.wall() + secs(60))));
    assert_eq!((held.by, &*held.reason), (ana(), "CDN move"));
    rig.advance(secs(60) - NANO);
    rig.refused_for(RefusedReason::ForcedOpen);
    rig.advance(NANO);
    rig.ok();
    assert_eq!(rig.causes(), ["override_set", "override_expired"]);
}

#[test]
fn an_end_is_stamped_with_when_it_was_due() {
    let rig = Rig::new(registry());
    let due = rig.wall() + secs(60);
    rig.held(Mode::ForcedOpen, OverrideEnd::After(secs(60)));
    assert_eq!(rig.breaker.tick().map(|at| at - fuseboard_breaker::Clock::now(&*rig.clock)), Some(secs(60)));
    rig.advance(secs(1_000));
    rig.breaker.tick();
    let row = rig.last();
    assert_eq!((row.cause.as_str(), row.at, row.mode), ("override_expired", due, None));
    assert_eq!((row.from, row.to), (State::Closed, State::Closed));
}

#[test]
fn no_timer_probe_or_late_result_ends_an_override() {
    for mode in [Mode::ForcedOpen, Mode::ForcedClosed] {
        let rig = Rig::new(registry());
        let late = rig.admit();
        rig.trip();
        rig.wait_out();
        let probe = rig.admit();
        rig.held(mode, OverrideEnd::Never);
        late.settle(Verdict::success());
        probe.settle(Verdict::success());
        rig.advance(secs(60 * 86_400));
        rig.breaker.tick();
        for _ in 0..20 {
            if let Ok(call) = rig.breaker.try_acquire() {
                call.settle(Verdict::success());
            }
        }
        assert_eq!(rig.snap().held.map(|held| held.mode), Some(mode));
    }
}

#[test]
fn setting_and_ending_are_rows_and_generations() {
    let rig = Rig::open(registry());
    let generation = rig.snap().generation;
    rig.held(Mode::ForcedOpen, OverrideEnd::Never);
    let row = rig.last();
    assert_eq!((row.cause.as_str(), row.from, row.to), ("override_set", State::Open, State::Open));
    assert_eq!((row.mode, row.generation), (Some(Mode::ForcedOpen), generation + 1));
    assert_eq!((row.by, row.reason.as_deref()), (Some(ana()), Some("CDN move")));
    rig.release();
    let row = rig.last();
    assert_eq!((row.cause.as_str(), row.mode, row.generation), ("override_cleared", None, generation + 2));
    assert_eq!((row.by, row.reason.as_deref()), (Some(ana()), Some("moved")));
    assert!(rig.breaker.release(ana(), "again").is_err());
    assert_eq!(rig.snap().generation, generation + 2);
}

#[test]
fn the_same_override_again_changes_its_end_and_reason_alone() {
    let rig = Rig::due(half_open(2, 2));
    rig.held(Mode::ForcedClosed, OverrideEnd::Never);
    let probe = rig.admit();
    let before = rig.snap();
    rig.advance(secs(5));
    let applied = rig.breaker.set_override(Mode::ForcedClosed, OverrideEnd::After(secs(60)), ana(), "longer");
    assert_eq!((applied, rig.last().cause.as_str()), (Applied::Changed, "override_changed"));
    let (held, was) = (rig.snap().held.expect("held"), before.held.expect("held"));
    assert_eq!((held.since, &*held.reason), (was.since, "longer"));
    assert_eq!((held.length, held.until), (Some(secs(60)), Some(rig.wall() + secs(60))));
    // The round goes on.
    assert_eq!((rig.state(), rig.snap().half_open.in_flight), (State::HalfOpen, 1));
    assert_eq!(probe.settle(Verdict::success()), Settled::Counted);
    rig.advance(secs(60));
    rig.breaker.tick();
    assert_eq!(rig.snap().held, None);
}

#[test]
fn one_override_replaces_the_other() {
    let rig = Rig::new(registry());
    rig.held(Mode::ForcedOpen, OverrideEnd::After(secs(10)));
    rig.advance(secs(5));
    rig.held(Mode::ForcedClosed, OverrideEnd::Never);
    assert_eq!(rig.snap().held.map(|held| held.since), Some(rig.wall()));
    rig.advance(secs(60));
    rig.breaker.tick();
    assert_eq!(rig.snap().held.map(|held| held.mode), Some(Mode::ForcedClosed), "the first one's end is gone, too");
    assert_eq!(rig.causes(), ["override_set", "override_set"]);
}

#[test]
fn setting_and_ending_one_empties_the_round() {
    let rig = Rig::due(half_open(2, 3));
    let (first, second) = (rig.admit(), rig.admit());
    first.settle(Verdict::success());
    assert_eq!(rig.snap().half_open.good, 1);
    rig.held(Mode::ForcedClosed, OverrideEnd::Never);
    let round = rig.snap().half_open;
    assert_eq!((rig.state(), round.in_flight, round.good), (State::HalfOpen, 0, 0));
    assert_eq!(second.settle(Verdict::failure()), Settled::Late);
    assert_eq!(rig.state(), State::HalfOpen);

    let (third, fourth) = (rig.admit(), rig.admit());
    assert!(third.is_probe() && fourth.is_probe());
    third.settle(Verdict::success());
    rig.release();
    let round = rig.snap().half_open;
    assert_eq!((rig.state(), round.in_flight, round.good), (State::HalfOpen, 0, 0));
    assert_eq!(fourth.settle(Verdict::success()), Settled::Late);
    for _ in 0..3 {
        assert_eq!(rig.state(), State::HalfOpen);
        rig.ok();
    }
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn when_it_ends_closed_stays_closed_with_cleared_memory() {
    let rig = Rig::new(registry());
    rig.held(Mode::ForcedClosed, OverrideEnd::Never);
    rig.fail(4);
    rig.release();
    assert_eq!(rig.have(), 0.0);
    rig.fail(4);
    assert_eq!(rig.state(), State::Closed);
    rig.fail(1);
    assert_eq!(rig.state(), State::Open);
}

#[test]
fn when_it_ends_open_and_overdue_is_probe_due() {
    let rig = Rig::open(registry());
    rig.held(Mode::ForcedOpen, OverrideEnd::After(secs(100)));
    rig.advance(secs(100));
    let probe = rig.admit();
    assert!(probe.is_probe());
    rig.refused_for(RefusedReason::ProbesTaken);
    assert_eq!(rig.causes(), ["tripped", "override_set", "override_expired", "wait_elapsed"]);
}

#[test]
fn admission_in_order() {
    // Forced open, forced closed, open, cool-down: each beats those after it.
    let rig = Rig::new(registry());
    let out: Vec<_> = (0..5).map(|_| rig.admit()).collect();
    let wish = crate::harness::retry_after(secs(100));
    rig.call(Verdict { cooldown: true, retry_after: wish, ..Verdict::alive() });
    rig.refused_for(RefusedReason::CoolingDown);
    for call in out {
        call.settle(Verdict::failure());
    }
    rig.refused_for(RefusedReason::Open);
    rig.held(Mode::ForcedClosed, OverrideEnd::Never);
    rig.ignored();
    rig.held(Mode::ForcedOpen, OverrideEnd::Never);
    rig.refused_for(RefusedReason::ForcedOpen);
    rig.release();
    rig.refused_for(RefusedReason::Open);
}

#[test]
fn a_shadow_that_cools_down_takes_no_notice() {
    // It sees only calls it would have admitted itself.
    let rig = Rig::new(registry());
    let wish = crate::harness::retry_after(secs(100));
    rig.call(Verdict { cooldown: true, retry_after: wish, ..Verdict::alive() });
    rig.held(Mode::ForcedClosed, OverrideEnd::Never);
    rig.fail(20);
    assert_eq!(rig.state(), State::Closed);
    rig.advance(secs(100));
    rig.trip();
}

#[test]
fn what_was_replaced_can_be_put_back_as_it_stood() {
    let rig = Rig::new(registry());
    rig.held(Mode::ForcedClosed, OverrideEnd::After(secs(600)));
    let stood = rig.snap();
    let (before, left) = (stood.held.expect("held"), stood.held_for.expect("an end"));
    assert_eq!(left, secs(600));
    rig.advance(secs(100));
    let bo = fuseboard_breaker::By { name: "bo".into(), ..ana() };
    rig.breaker.set_override(Mode::ForcedOpen, OverrideEnd::Never, bo.clone(), "maintenance");
    assert_eq!(rig.snap().held_for, None, "no end");
    let generation = rig.snap().generation;
    rig.advance(secs(5));
    let put_back = rig.breaker.put_back(before.clone(), OverrideEnd::After(left - secs(105)), bo.clone(), "undo");
    assert_eq!(put_back, Applied::Changed);
    let held = rig.snap().held.expect("it stands again");
    assert_eq!((held.mode, &held.by, held.since), (Mode::ForcedClosed, &ana(), before.since));
    assert_eq!((held.reason, held.until), (before.reason.clone(), before.until), "its own reason and end");
    let row = rig.last();
    assert_eq!((row.cause.as_str(), row.by, row.reason.as_deref()), ("override_set", Some(bo), Some("undo")));
    assert_eq!(rig.snap().generation, generation + 1);
    rig.advance(secs(495) - NANO);
    assert!(rig.snap().held.is_some());
    rig.advance(NANO);
    rig.breaker.tick();
    assert_eq!(rig.snap().held, None);
    assert_eq!(rig.last().cause.as_str(), "override_expired");
}
