//! Rules 1 to 4: who is let in, and how a permit comes back.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    time::Duration,
};

use fuseboard_breaker::{Evidence, Outcome, Phase, ProbeOutcome, RefusedReason, Settled, State, Verdict};

use crate::harness::{NANO, Rig, half_open, registry, secs};

#[test]
fn r01_exactly_p_permits_in_half_open() {
    for permits in [1, 2, 3, 10] {
        let rig = Rig::due(half_open(permits, 1));
        let held: Vec<_> = (0..permits).map(|_| rig.admit()).collect();
        assert!(held.iter().all(|permit| permit.is_probe()));
        let refused = rig.refused();
        assert_eq!(refused.reason, RefusedReason::ProbesTaken, "P = {permits}");
        assert_eq!((refused.state, refused.mode), (State::HalfOpen, None));
        assert_eq!(&*refused.breaker, "https:registry.example");
        assert_eq!(rig.snap().half_open.in_flight, permits);

        // One back, one out.
        drop(held.into_iter().next());
        assert!(rig.breaker.try_acquire().is_ok());
    }
}

#[test]
fn r01_borrowed_and_owned_permits_are_of_one_stock() {
    let rig = Rig::due(half_open(2, 2));
    let borrowed = rig.breaker.try_acquire().expect("the first");
    let owned = rig.admit();
    rig.refused_for(RefusedReason::ProbesTaken);
    assert!(borrowed.is_probe() && owned.is_probe());
    assert_eq!(borrowed.generation(), owned.generation());
    assert_eq!((borrowed.breaker(), owned.breaker()), (rig.breaker.id(), rig.breaker.id()));
    assert_eq!(borrowed.settle(Verdict::success()), Settled::Counted);
    assert_eq!(owned.settle(Verdict::success()), Settled::Counted);
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn r01_a_refusal_says_why_and_for_how_long() {
    let rig = Rig::open(registry());
    rig.advance(secs(11));
    let refused = rig.refused();
    assert_eq!(refused.reason, RefusedReason::Open);
    assert_eq!(refused.retry_after, Some(secs(19)));
    assert_eq!(refused.state, State::Open);
    assert!(refused.to_string().contains("https:registry.example"), "{refused}");
    assert_eq!(rig.snap().counts.refused, 1);
    assert_eq!(rig.snap().refused_since_down, 1);
}

#[test]
fn r02_the_call_that_ends_the_wait_is_a_probe() {
    let rig = Rig::due(registry());
    let probe = rig.admit();
    assert!(probe.is_probe());
    let snap = rig.snap();
    assert_eq!(snap.state, State::HalfOpen);
    assert_eq!((snap.half_open.permits, snap.half_open.in_flight), (1, 1));
    assert_eq!(probe.generation(), snap.generation);
    rig.refused_for(RefusedReason::ProbesTaken);
    assert_eq!(rig.causes(), ["tripped", "wait_elapsed"]);
}

#[test]
fn r03_a_dropped_permit_is_cancelled_and_free_at_once() {
    let rig = Rig::due(registry());
    let generation = {
        let probe = rig.admit();
        rig.advance(secs(7));
        probe.generation()
    };
    let snap = rig.snap();
    assert_eq!((snap.state, snap.generation), (State::HalfOpen, generation));
    assert_eq!((snap.half_open.in_flight, snap.half_open.good, snap.in_flight), (0, 0, 0));
    assert_eq!((snap.counts.cancelled, snap.counts.success, snap.counts.failure), (1, 0, 5));

    let probe = rig.log.probes().pop().expect("a cancelled probe is on record");
    assert_eq!((probe.outcome, probe.duration), (ProbeOutcome::Cancelled, secs(7)));
    rig.ok();
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn r03_a_cancelled_call_changes_no_count() {
    let rig = Rig::new(registry());
    rig.fail(4);
    drop(rig.breaker.try_acquire().expect("closed"));
    assert_eq!((rig.state(), rig.have()), (State::Closed, 4.0));
    assert_eq!((rig.snap().counts.cancelled, rig.snap().counts.failure), (1, 4));
    rig.fail(1);
    assert_eq!(rig.state(), State::Open);
}

/// A call that holds its permit until its verdict comes.
async fn fetch(permit: fuseboard_breaker::OwnedPermit, verdict: tokio::sync::oneshot::Receiver<Verdict>) -> Settled {
    let verdict = verdict.await.expect("the scenario sends a verdict or drops the call");
    permit.settle(verdict)
}

#[tokio::test]
async fn r03_however_a_call_ends_early_its_slot_is_free() {
    let rig = Rig::due(registry());
    let next = |cancelled: u64| {
        assert_eq!(rig.snap().counts.cancelled, cancelled);
        assert_eq!(rig.snap().half_open.in_flight, 0);
        rig.admit()
    };

    // Before its first poll.
    let (_keep, verdict) = tokio::sync::oneshot::channel();
    drop(fetch(rig.admit(), verdict));

    // By a time-out around it.
    let (_keep, verdict) = tokio::sync::oneshot::channel();
    let timed_out = tokio::time::timeout(Duration::ZERO, fetch(next(1), verdict)).await;
    assert!(timed_out.is_err());

    // By the task being aborted.
    let (_keep, verdict) = tokio::sync::oneshot::channel();
    let task = tokio::spawn(fetch(next(2), verdict));
    tokio::task::yield_now().await;
    rig.refused_for(RefusedReason::ProbesTaken);
    task.abort();
    assert!(task.await.expect_err("aborted").is_cancelled());

    // Not early.
    let (send, verdict) = tokio::sync::oneshot::channel();
    let task = tokio::spawn(fetch(next(3), verdict));
    send.send(Verdict::success()).expect("the call waits for it");
    assert_eq!(task.await.expect("it ends"), Settled::Counted);
    assert_eq!((rig.state(), rig.snap().counts.cancelled), (State::Closed, 3));
}

#[test]
fn r04_unwinding_gives_the_permit_back_and_poisons_nothing() {
    let rig = Rig::due(registry());
    let unwound = catch_unwind(AssertUnwindSafe(|| {
        let _probe = rig.admit();
        std::panic::resume_unwind(Box::new("a bug in the caller"));
    }));
    assert!(unwound.is_err());
    assert_eq!((rig.state(), rig.snap().half_open.in_flight), (State::HalfOpen, 0));
    assert_eq!((rig.snap().counts.cancelled, rig.snap().counts.failure), (1, 5));
    std::thread::scope(|scope| scope.spawn(|| rig.ok()).join()).expect("others go on");
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn r04_a_panic_of_the_call_is_a_failure() {
    let rig = Rig::due(registry());
    let evidence = Evidence { phase: Some(Phase::Panic), ..Evidence::default() };
    let settled = rig.admit().settle(Verdict::failure().with_evidence(evidence));
    assert_eq!(settled, Settled::Counted);
    assert_eq!((rig.state(), rig.snap().half_open.in_flight), (State::Open, 0));
    let probe = rig.log.probes().pop().expect("on record");
    assert_eq!(probe.outcome, ProbeOutcome::Settled(Outcome::Failure));
    assert_eq!(probe.evidence.and_then(|evidence| evidence.phase).or(probe.phase), Some(Phase::Panic));
}

#[test]
fn r01_admission_at_the_end_of_a_wait_is_exact() {
    let rig = Rig::open(registry());
    rig.advance(secs(30) - NANO);
    rig.refused_for(RefusedReason::Open);
    rig.advance(NANO);
    assert!(rig.admit().is_probe());
}
