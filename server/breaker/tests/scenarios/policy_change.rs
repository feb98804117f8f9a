//! A reload: unchanged rules keep their memory, a drawn wait is cut to a new `max`.

use fuseboard_breaker::{Mode, OverrideEnd, PolicySettings, RefusedReason, State, TripRule};

use crate::harness::{NANO, Rig, policy, registry, secs};

#[test]
fn unchanged_rules_keep_their_memory() {
    let rig = Rig::new(registry());
    rig.fail(4);
    let generation = rig.snap().generation;
    let mut settings = registry();
    settings.wait.first = secs(7);
    settings.trip.push(TripRule::Consecutive { consecutive: 100, within: None });
    rig.breaker.set_policy(policy(settings.clone()));
    assert_eq!((rig.last().cause.as_str(), rig.snap().generation), ("policy_changed", generation));
    assert_eq!(*rig.breaker.policy().settings(), settings);
    assert_eq!((rig.have(), rig.snap().rules.len()), (4.0, 2));
    rig.fail(1);
    assert_eq!((rig.state(), rig.next_in()), (State::Open, Some(secs(7))));
}

#[test]
fn changed_rules_start_empty() {
    let rig = Rig::new(registry());
    rig.fail(4);
    let trip = vec![TripRule::Failures { failures: 2, within: secs(10) }];
    rig.breaker.set_policy(policy(PolicySettings { trip, ..registry() }));
    assert_eq!((rig.state(), rig.have()), (State::Closed, 0.0));
    rig.fail(1);
    assert_eq!(rig.state(), State::Closed);
    rig.fail(1);
    assert_eq!(rig.state(), State::Open);
}

#[test]
fn a_drawn_wait_is_cut_to_a_new_max() {
    let rig = Rig::open(registry());
    for _ in 0..4 {
        rig.wait_out();
        rig.fail(1);
    }
    assert_eq!(rig.next_in(), Some(secs(300)));
    let mut settings = registry();
    settings.wait.max = secs(100);
    rig.breaker.set_policy(policy(settings));
    let left = rig.next_in().expect("open");
    assert!(left <= secs(100), "{left:?}");
    rig.advance(left - NANO);
    rig.refused_for(RefusedReason::Open);
    rig.advance(NANO);
    assert!(rig.admit().is_probe());
}

#[test]
fn a_longer_max_does_not_stretch_a_drawn_wait() {
    let rig = Rig::open(registry());
    let mut settings = registry();
    (settings.wait.first, settings.wait.max) = (secs(200), secs(3_000));
    rig.breaker.set_policy(policy(settings));
    assert_eq!(rig.next_in(), Some(secs(30)));
}

#[test]
fn states_overrides_and_counts_survive() {
    let rig = Rig::open(registry());
    rig.held(Mode::ForcedOpen, OverrideEnd::After(secs(60)));
    let before = rig.snap();
    rig.breaker.set_policy(policy(PolicySettings::grpc()));
    let after = rig.snap();
    assert_eq!((after.state, after.held, after.attempt), (before.state, before.held, before.attempt));
    assert_eq!((after.counts, after.opens, after.generation), (before.counts, before.opens, before.generation));
}

#[test]
fn the_same_policy_again_is_no_change() {
    let rig = Rig::new(registry());
    rig.breaker.set_policy(policy(registry()));
    assert!(rig.log.events().is_empty());
}

#[test]
fn a_half_open_round_goes_on_with_the_new_numbers() {
    let rig = Rig::due(crate::harness::half_open(1, 5));
    rig.ok();
    rig.breaker.set_policy(policy(crate::harness::half_open(3, 2)));
    let round = rig.snap().half_open;
    assert_eq!((rig.state(), round.permits, round.needed), (State::HalfOpen, 3, 2));
    for _ in 0..2 {
        if rig.state() == State::HalfOpen {
            rig.ok();
        }
    }
    assert_eq!(rig.state(), State::Closed, "a round always ends");
}
