//! Rule 5: a probe that holds its permit for LEASE is judged once.

use fuseboard_breaker::{Evidence, Outcome, OwnedPermit, Phase, ProbeOutcome, RefusedReason, Settled, State, Verdict};

use crate::harness::{NANO, Rig, ana, half_open, registry, secs};

const LEASE: std::time::Duration = secs(40);

#[test]
fn r05_a_silent_probe_is_lost_at_lease() {
    let rig = Rig::due(registry());
    let probe = rig.admit();
    rig.advance(LEASE - NANO);
    rig.refused_for(RefusedReason::ProbesTaken);
    assert_eq!(rig.breaker.tick().map(|_| rig.state()), Some(State::HalfOpen));

    rig.advance(NANO);
    let refused = rig.refused();
    assert_eq!((refused.reason, refused.retry_after), (RefusedReason::Open, Some(secs(60))));
    let snap = rig.snap();
    assert_eq!((snap.state, snap.attempt), (State::Open, 1));
    assert_eq!(rig.causes(), ["tripped", "wait_elapsed", "probe_lost"]);
    let lost = rig.log.probes().pop().expect("the lost probe is on record");
    assert_eq!((lost.outcome, lost.duration, lost.phase), (ProbeOutcome::Lost, LEASE, Some(Phase::Lease)));

    // Its verdict, when it comes, changes nothing.
    let rows = rig.log.transitions();
    rig.advance(secs(1));
    assert_eq!(probe.settle(Verdict::success()), Settled::Late);
    assert_eq!((rig.state(), rig.next_in()), (State::Open, Some(secs(59))));
    assert_eq!((rig.snap().counts.late, rig.snap().in_flight), (1, 0));
    assert_eq!(rig.log.transitions(), rows);
}

#[test]
fn r05_a_lost_probe_is_judged_when_it_was_due_not_when_somebody_looks() {
    let rig = Rig::due(registry());
    let _probe = rig.admit();
    let due = rig.wall() + LEASE;
    rig.advance(LEASE + secs(25));
    rig.breaker.tick();
    assert_eq!(rig.last().at, due);
    assert_eq!(rig.next_in(), Some(secs(35)));
    rig.advance(secs(35));
    assert!(rig.admit().is_probe());
}

#[test]
fn r05_two_things_may_be_due_in_one_input() {
    // Nobody called from the admission until the wait after the lost probe was over, too.
    let rig = Rig::due(registry());
    let _probe = rig.admit();
    rig.advance(LEASE + secs(60) - NANO);
    rig.refused_for(RefusedReason::Open);
    rig.advance(NANO);
    assert!(rig.admit().is_probe());
    assert_eq!(rig.causes(), ["tripped", "wait_elapsed", "probe_lost", "wait_elapsed"]);
}

#[test]
fn r05_an_answer_at_any_time_makes_it_good() {
    for waits in [false, true] {
        let rig = Rig::due(registry());
        let probe = rig.admit();
        rig.advance(NANO);
        probe.answered();
        probe.waiting_for_client(waits);
        rig.advance(LEASE - NANO);
        rig.breaker.tick();
        assert_eq!((rig.state(), rig.last().cause.as_str()), (State::Closed, "probes_succeeded"), "waits: {waits}");
        assert_eq!(probe.settle(Verdict::failure()), Settled::Late);
    }
}

#[test]
fn r05_bytes_in_the_last_quarter_make_it_good() {
    for (at, good) in [(secs(29), false), (secs(30) - NANO, false), (secs(30), true), (LEASE - NANO, true)] {
        let rig = Rig::due(registry());
        let probe = rig.admit();
        rig.advance(at);
        probe.progress();
        rig.advance(LEASE - at - NANO);
        rig.breaker.tick();
        assert_eq!(rig.state(), State::HalfOpen, "byte at {at:?}: judged early");
        rig.advance(NANO);
        rig.breaker.tick();
        let (state, cause) = if good { (State::Closed, "probes_succeeded") } else { (State::Open, "probe_lost") };
        assert_eq!((rig.state(), rig.last().cause.as_str()), (state, cause), "byte at {at:?}");
        if good {
            let row = rig.log.probes().pop().expect("on record");
            assert_eq!(row.outcome, ProbeOutcome::Settled(Outcome::Success));
        }
        // Either way its later end is late.
        assert_eq!(probe.settle(Verdict::failure()), Settled::Late, "byte at {at:?}");
        assert_eq!(rig.state(), state);
        assert_eq!(rig.have(), 0.0);
    }
}

#[test]
fn r05_the_last_byte_counts_not_the_first() {
    let rig = Rig::due(registry());
    let probe = rig.admit();
    for _ in 0..39 {
        rig.advance(secs(1));
        probe.progress();
    }
    rig.advance(secs(1));
    rig.breaker.tick();
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn r05_an_answer_that_may_be_silent_for_hours_is_good_however_early_it_came() {
    let rig = Rig::due(half_open(1, 2));
    let probe = rig.admit();
    probe.answered();
    rig.advance(LEASE - NANO);
    rig.breaker.tick();
    assert_eq!((rig.state(), rig.snap().half_open.in_flight), (State::HalfOpen, 1), "judged early");
    rig.advance(NANO);
    rig.breaker.tick();
    let snap = rig.snap();
    assert_eq!((snap.state, snap.half_open.good, snap.half_open.in_flight), (State::HalfOpen, 1, 0));
    assert_eq!(probe.settle(Verdict::failure()), Settled::Late);

    // One that comes with the end of the lease is too late.
    let late = rig.admit();
    rig.advance(LEASE);
    late.answered();
    assert_eq!((rig.state(), rig.last().cause.as_str()), (State::Open, "probe_lost"));
}

#[test]
fn r05_a_good_probe_is_judged_once() {
    let rig = Rig::due(half_open(1, 2));
    let probe = rig.admit();
    rig.advance(secs(35));
    probe.progress();
    rig.advance(secs(5));
    rig.breaker.tick();
    let snap = rig.snap();
    assert_eq!((snap.state, snap.half_open.good, snap.half_open.in_flight), (State::HalfOpen, 1, 0));

    rig.advance(secs(35));
    probe.progress();
    rig.advance(secs(60));
    rig.breaker.tick();
    assert_eq!((rig.state(), rig.snap().half_open.good), (State::HalfOpen, 1));
    assert_eq!(probe.settle(Verdict::success()), Settled::Late);
    assert_eq!((rig.state(), rig.snap().half_open.good), (State::HalfOpen, 1));
    rig.ok();
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn r05_waiting_for_our_own_client_is_ignored() {
    let rig = Rig::due(registry());
    let probe = rig.admit();
    probe.waiting_for_client(true);
    rig.advance(LEASE - NANO);
    rig.refused_for(RefusedReason::ProbesTaken);
    rig.advance(NANO);
    rig.breaker.tick();
    let snap = rig.snap();
    assert_eq!((snap.state, snap.half_open.in_flight, snap.half_open.good), (State::HalfOpen, 0, 0));
    let row = rig.log.probes().pop().expect("on record");
    assert_eq!(row.outcome, ProbeOutcome::Settled(Outcome::Ignored));
    let next = rig.admit();
    assert_eq!(probe.settle(Verdict::failure()), Settled::Late);
    assert_eq!(rig.state(), State::HalfOpen);
    next.settle(Verdict::success());
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn r05_a_client_that_came_back_puts_the_host_on_the_clock_again() {
    let rig = Rig::due(registry());
    let probe = rig.admit();
    probe.waiting_for_client(true);
    rig.advance(secs(20));
    probe.waiting_for_client(false);
    rig.advance(secs(20));
    rig.breaker.tick();
    assert_eq!((rig.state(), rig.last().cause.as_str()), (State::Open, "probe_lost"));
}

#[test]
fn r05_moving_bytes_come_before_a_waiting_client() {
    let rig = Rig::due(registry());
    let probe = rig.admit();
    rig.advance(secs(35));
    probe.progress();
    probe.waiting_for_client(true);
    rig.advance(secs(5));
    rig.breaker.tick();
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn r05_each_probe_has_its_own_lease() {
    let rig = Rig::due(half_open(2, 2));
    let first = rig.admit();
    rig.advance(secs(10));
    let second = rig.admit();
    rig.advance(secs(29));
    assert_eq!(first.settle(Verdict::success()), Settled::Counted);
    rig.advance(secs(11) - NANO);
    rig.breaker.tick();
    assert_eq!((rig.state(), rig.snap().half_open.in_flight), (State::HalfOpen, 1));
    rig.advance(NANO);
    rig.breaker.tick();
    assert_eq!(rig.state(), State::Open);
    assert_eq!(second.settle(Verdict::success()), Settled::Late);
}

#[test]
fn r05_a_verdict_before_lease_ends_the_lease() {
    let rig = Rig::due(half_open(1, 2));
    let probe = rig.admit();
    rig.advance(LEASE - NANO);
    assert_eq!(probe.settle(Verdict::success()), Settled::Counted);
    rig.advance(secs(3600));
    rig.breaker.tick();
    assert_eq!((rig.state(), rig.snap().half_open.good), (State::HalfOpen, 1));
}

#[test]
fn r05_no_lease_in_closed() {
    let rig = Rig::new(registry());
    let call = rig.admit();
    rig.advance(secs(86_400));
    rig.breaker.tick();
    assert_eq!((rig.state(), rig.snap().in_flight), (State::Closed, 1));
    assert_eq!(call.settle(Verdict::success()), Settled::Counted);
    assert!(rig.log.events().is_empty());
}

#[test]
fn r05_tick_names_the_lease_that_is_due_next() {
    let rig = Rig::due(half_open(2, 2));
    let now = fuseboard_breaker::Clock::now(&*rig.clock);
    let first = rig.admit();
    rig.advance(secs(10));
    let _second = rig.admit();
    assert_eq!(rig.breaker.tick(), Some(now + LEASE));
    drop(first);
    assert_eq!(rig.breaker.tick(), Some(now + LEASE + secs(10)));
}

/// What a permit said of its call stands in the row, whoever ends the call and however little they know of it.
#[test]
fn a_probe_that_ends_without_a_word_keeps_what_was_known_of_it() {
    let asked = || Evidence { method: Some("GET".into()), path: Some("/x".into()), ..Evidence::default() };
    let answered = || Evidence { status: Some(200), ..asked() };
    type End = fn(&Rig, OwnedPermit);
    let lost: End = |rig, _probe| {
        rig.advance(LEASE);
        rig.breaker.tick();
    };
    let dropped: End = |_, probe| drop(probe);
    let panicked: End = |_, probe| {
        probe.settle_panic();
    };
    let late: End = |rig, probe| {
        rig.breaker.reset(ana(), "back", false).expect("it is reset");
        probe.settle(Verdict::success());
    };
    let ends = [
        (lost, ProbeOutcome::Lost),
        (dropped, ProbeOutcome::Cancelled),
        (panicked, ProbeOutcome::Settled(Outcome::Failure)),
        (late, ProbeOutcome::Late),
    ];
    for (end, outcome) in ends {
        let rig = Rig::due(registry());
        let probe = rig.admit();
        probe.describe(asked);
        probe.describe(answered);
        end(&rig, probe);
        let row = rig.log.probes().pop().expect("it is on record");
        let known = row.evidence.expect("what was known");
        assert_eq!(row.outcome, outcome);
        assert_eq!((known.method, known.path, known.status), (asked().method, asked().path, Some(200)), "{outcome:?}");
    }
    // What the call itself says stands before what was said of it.
    let rig = Rig::due(registry());
    let probe = rig.admit();
    probe.describe(answered);
    probe.settle(Verdict::failure().with_evidence(Evidence { status: Some(503), ..Evidence::default() }));
    let known = rig.log.probes().pop().and_then(|row| row.evidence).expect("what was known");
    assert_eq!((known.method, known.path, known.status), (asked().method, asked().path, Some(503)));
    // A call that is no probe is not described.
    let rig = Rig::new(registry());
    rig.admit().describe(|| unreachable!("nobody keeps it"));
}
