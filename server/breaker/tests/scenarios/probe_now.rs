//! Rule 20: an operator's probe, and what an uncalled breaker says.

use std::time::Duration;

use fuseboard_breaker::{Mode, Outcome, OverrideEnd, ProbeOutcome, RefusedReason, Settled, State, Verdict};

use crate::harness::{Rig, half_open, registry, secs};

#[test]
fn r20_a_host_nobody_calls_is_due_and_counts_down_to_zero_only() {
    let rig = Rig::open(registry());
    rig.advance(secs(29));
    let snap = rig.snap();
    assert_eq!((snap.probe_due, snap.next_probe_in), (false, Some(secs(1))));
    for _ in 0..3 {
        rig.advance(secs(1));
        rig.breaker.tick();
        let snap = rig.snap();
        assert_eq!((snap.state, snap.probe_due), (State::Open, true));
        assert_eq!(snap.next_probe_in.unwrap_or_default(), Duration::ZERO);
    }
    assert_eq!(rig.causes(), ["tripped"], "time alone is no transition");
}

#[test]
fn r20_open_a_bad_one_is_a_probe_row_and_nothing_else() {
    let rig = Rig::open(registry());
    rig.advance(secs(10));
    let (before, rows) = (rig.snap(), rig.log.transitions());
    let probe = rig.breaker.acquire_probe().expect("outside the wait");
    assert!(probe.is_probe());
    rig.refused_for(RefusedReason::Open);
    assert!(rig.breaker.acquire_probe().is_err(), "one request");
    rig.advance(secs(1));
    probe.settle(Verdict::failure());

    let after = rig.snap();
    assert_eq!((after.state, after.generation, after.attempt), (before.state, before.generation, before.attempt));
    assert_eq!((after.next_probe_at, after.wait, after.opens), (before.next_probe_at, before.wait, before.opens));
    assert_eq!(rig.log.transitions(), rows);
    let probes = rig.log.probes();
    assert_eq!(probes.len(), 1);
    assert_eq!(probes[0].outcome, ProbeOutcome::Settled(Outcome::Failure));
    assert!(rig.breaker.acquire_probe().is_ok(), "and again");
}

#[test]
fn r20_open_a_good_one_is_the_first_of_the_round() {
    for verdict in [Verdict::success(), Verdict::alive()] {
        let rig = Rig::open(half_open(1, 2));
        let probe = rig.breaker.acquire_probe().expect("outside the wait");
        assert_eq!(probe.settle(verdict), Settled::Counted);
        let snap = rig.snap();
        assert_eq!((snap.state, snap.half_open.good, snap.half_open.in_flight), (State::HalfOpen, 1, 0));
        assert_eq!(rig.causes(), ["tripped", "probe_requested"]);
        assert_eq!((rig.last().from, rig.last().to), (State::Open, State::HalfOpen));
        rig.ok();
        assert_eq!(rig.state(), State::Closed);
    }
}

#[test]
fn r20_one_good_one_closes_where_one_is_enough() {
    let rig = Rig::open(registry());
    rig.breaker.acquire_probe().expect("outside the wait").settle(Verdict::success());
    assert_eq!(rig.state(), State::Closed);
    assert_eq!(rig.causes(), ["tripped", "probe_requested", "probes_succeeded"]);
}

#[test]
fn r20_open_ignored_and_dropped_ones_change_nothing() {
    let rig = Rig::open(registry());
    let (generation, next) = (rig.snap().generation, rig.snap().next_probe_at);
    rig.breaker.acquire_probe().expect("outside the wait").settle(Verdict::ignored());
    drop(rig.breaker.acquire_probe().expect("the one before is back"));
    let snap = rig.snap();
    assert_eq!((snap.state, snap.generation, snap.next_probe_at), (State::Open, generation, next));
    assert_eq!(snap.in_flight, 0);
    assert_eq!(rig.causes(), ["tripped"]);
    assert_eq!(rig.log.probes().len(), 2);
    assert!(rig.breaker.acquire_probe().is_ok());
}

#[test]
fn r20_open_one_that_never_comes_back_does_not_reopen() {
    let mut settings = registry();
    settings.wait.first = secs(300);
    let rig = Rig::open(settings);
    let next = rig.snap().next_probe_at;
    let probe = rig.breaker.acquire_probe().expect("outside the wait");
    rig.advance(secs(40));
    rig.breaker.tick();
    let snap = rig.snap();
    assert_eq!((snap.state, snap.attempt, snap.next_probe_at), (State::Open, 0, next));
    assert_eq!(rig.causes(), ["tripped"]);
    assert_eq!(rig.log.probes().last().map(|probe| probe.outcome), Some(ProbeOutcome::Lost));
    assert!(rig.breaker.acquire_probe().is_ok(), "another may be asked for");
    assert_eq!(probe.settle(Verdict::success()), Settled::Late);
    assert_eq!(rig.state(), State::Open);
}

#[test]
fn r20_one_overtaken_by_the_round_is_late() {
    let rig = Rig::open(half_open(1, 2));
    rig.advance(secs(29));
    let requested = rig.breaker.acquire_probe().expect("outside the wait");
    rig.advance(secs(1));
    let probe = rig.admit();
    assert_eq!(requested.settle(Verdict::success()), Settled::Late);
    assert_eq!((rig.state(), rig.snap().half_open.good), (State::HalfOpen, 0));
    assert_eq!(probe.settle(Verdict::success()), Settled::Counted);
}

#[test]
fn r20_half_open_it_takes_a_permit() {
    let rig = Rig::due(half_open(2, 2));
    let first = rig.admit();
    let asked = rig.breaker.acquire_probe().expect("the second of two");
    assert!(asked.is_probe());
    rig.refused_for(RefusedReason::ProbesTaken);
    let refused = rig.breaker.acquire_probe().expect_err("both are out");
    assert_eq!(refused.reason, RefusedReason::ProbesTaken);
    first.settle(Verdict::success());
    asked.settle(Verdict::success());
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn r20_closed_it_is_an_ordinary_call() {
    let rig = Rig::new(registry());
    let call = rig.breaker.acquire_probe().expect("closed");
    assert!(!call.is_probe());
    assert_eq!(call.settle(Verdict::failure()), Settled::Counted);
    assert_eq!((rig.have(), rig.snap().counts.failure), (1.0, 1));
    assert!(rig.log.events().is_empty());
}

#[test]
fn r20_forced_open_it_is_refused() {
    for rig in [Rig::new(registry()), Rig::open(registry()), Rig::due(registry())] {
        rig.held(Mode::ForcedOpen, OverrideEnd::Never);
        let refused = rig.breaker.acquire_probe().expect_err("nothing is sent");
        assert_eq!((refused.reason, refused.retry_after), (RefusedReason::ForcedOpen, None));
    }
}
