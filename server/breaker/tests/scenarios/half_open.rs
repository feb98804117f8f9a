//! Rule 13: half-open has a tally of its own.

use fuseboard_breaker::{Cause, PolicySettings, ProbeOutcome, RefusedReason, Settled, State, Verdict};

use crate::harness::{NANO, Rig, half_open, registry, retry_after, secs};

#[test]
fn r13_s_good_probes_close_one_bad_one_reopens() {
    for (probes, successes) in [(1, 1), (1, 3), (3, 5), (5, 3), (10, 10)] {
        let rig = Rig::due(half_open(probes, successes));
        for good in 1..successes {
            rig.ok();
            let round = rig.snap().half_open;
            assert_eq!((rig.state(), round.good, round.needed), (State::HalfOpen, good, successes));
        }
        rig.ok();
        assert_eq!(rig.state(), State::Closed, "P = {probes}, S = {successes}");
        assert!(matches!(rig.last().cause, Cause::ProbesSucceeded { good } if good == successes));

        let rig = Rig::due(half_open(probes, successes));
        for _ in 1..successes {
            rig.ok();
        }
        rig.fail(1);
        assert_eq!((rig.state(), rig.snap().attempt), (State::Open, 1), "P = {probes}, S = {successes}");
        assert_eq!(rig.last().cause.as_str(), "probe_failed");
    }
}

#[test]
fn r13_the_first_failed_probe_makes_the_others_late() {
    let rig = Rig::due(half_open(3, 3));
    let [bad, good, worse] = [(); 3].map(|()| rig.admit());
    assert_eq!(bad.settle(Verdict::failure()), Settled::Counted);
    let (next, rows) = (rig.snap().next_probe_at, rig.log.transitions());
    assert_eq!(good.settle(Verdict::success()), Settled::Late);
    assert_eq!(worse.settle(Verdict::failure()), Settled::Late);
    assert_eq!((rig.state(), rig.snap().attempt, rig.snap().next_probe_at), (State::Open, 1, next));
    assert_eq!(rig.log.transitions(), rows);
    let late = rig.log.probes().iter().filter(|probe| probe.outcome == ProbeOutcome::Late).count();
    assert_eq!(late, 2);
}

#[test]
fn r13_probes_left_over_when_it_closes_are_late() {
    let rig = Rig::due(half_open(3, 1));
    let [first, second, third] = [(); 3].map(|()| rig.admit());
    assert_eq!(first.settle(Verdict::success()), Settled::Counted);
    assert_eq!(rig.state(), State::Closed);
    assert_eq!(second.settle(Verdict::failure()), Settled::Late);
    drop(third);
    assert_eq!((rig.state(), rig.have(), rig.snap().in_flight), (State::Closed, 0.0, 0));
}

#[test]
fn r13_alive_is_good_and_ignored_is_nothing() {
    let rig = Rig::due(half_open(1, 2));
    rig.ignored();
    assert_eq!((rig.state(), rig.snap().half_open.good), (State::HalfOpen, 0));
    rig.alive();
    assert_eq!((rig.state(), rig.snap().half_open.good), (State::HalfOpen, 1));
    rig.ignored();
    assert_eq!((rig.state(), rig.snap().half_open.in_flight), (State::HalfOpen, 0));
    rig.alive();
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn r13_w_and_m_play_no_part() {
    // Good probes an hour apart close, and what failed before the trip is forgotten after the close.
    let rig = Rig::due(half_open(1, 3));
    for _ in 0..3 {
        rig.advance(secs(3_600));
        rig.ok();
    }
    assert_eq!((rig.state(), rig.have()), (State::Closed, 0.0));
    rig.fail(4);
    assert_eq!(rig.state(), State::Closed);
    rig.fail(1);
    assert_eq!(rig.state(), State::Open);
}

#[test]
fn r13_probes_are_rows_of_the_record() {
    let rig = Rig::due(half_open(1, 2));
    let (at, probe) = (rig.wall(), rig.admit());
    let generation = probe.generation();
    rig.advance(secs(3));
    probe.settle(Verdict::success());
    let row = rig.log.probes().pop().expect("on record");
    assert_eq!((row.at, row.duration, row.generation), (at, secs(3), generation));
    assert_eq!(row.outcome.as_str(), "success");
    assert_eq!(&*row.breaker, "https:registry.example");
}

#[test]
fn r13_a_failed_probe_carries_its_evidence() {
    let rig = Rig::due(registry());
    let evidence = fuseboard_breaker::Evidence { status: Some(503), ..Default::default() };
    let verdict = Verdict { retry_after: retry_after(secs(100)), ..Verdict::failure() };
    rig.call(verdict.with_evidence(evidence));
    let Cause::ProbeFailed { evidence, wait } = rig.last().cause else { panic!("{:?}", rig.last()) };
    assert_eq!(evidence.and_then(|call| call.evidence.status), Some(503));
    assert_eq!((wait.wait, wait.retry_after.map(|wish| wish.wait)), (secs(100), Some(secs(100))));
}

#[test]
fn five_consecutive_trip_then_ten_good_probes_close() {
    let rig = Rig::new(PolicySettings::grpc());
    rig.fail(4);
    assert_eq!(rig.state(), State::Closed);
    rig.fail(1);
    assert_eq!(rig.state(), State::Open);
    rig.advance(secs(15) - NANO);
    rig.refused_for(RefusedReason::Open);
    rig.advance(NANO);
    let mut probes: Vec<_> = (0..10).map(|_| rig.admit()).collect();
    rig.refused_for(RefusedReason::ProbesTaken);
    let last = probes.pop().expect("ten");
    for probe in probes {
        assert_eq!(probe.settle(Verdict::success()), Settled::Counted);
        assert_eq!(rig.state(), State::HalfOpen);
    }
    assert_eq!(last.settle(Verdict::success()), Settled::Counted);
    assert_eq!((rig.state(), rig.snap().attempt), (State::Closed, 0));
    assert_eq!(rig.causes(), ["tripped", "wait_elapsed", "probes_succeeded"]);
}
