//! Rule 16, the case the product exists for: it never gives up.

use std::time::Duration;

use fuseboard_breaker::{RefusedReason, Settled, State, Verdict};

use crate::harness::{Rig, registry, secs};

const STEP: Duration = secs(600);

/// Five failures in 10 s, then a failing probe every ten minutes for as long as the outage lasts.
fn outage(lasts: Duration) -> Rig {
    let mut settings = registry();
    settings.wait.jitter = 0.1;
    let rig = Rig::new(settings);
    for n in 0..5 {
        assert_eq!(rig.state(), State::Closed);
        rig.fail(1);
        if n < 4 {
            rig.advance(secs(2));
        }
    }
    assert_eq!(rig.state(), State::Open);
    for round in 1..=lasts.as_secs() / STEP.as_secs() {
        rig.advance(STEP);
        rig.fail(1);
        assert_eq!((rig.state(), u64::from(rig.snap().attempt)), (State::Open, round));
    }
    rig
}

#[test]
fn outage_longer_than_any_timer() {
    for lasts in [secs(3_600), secs(24 * 3_600), secs(60 * 86_400)] {
        let rig = outage(lasts);
        // The host returns; the next call is let through, however long it took.
        rig.advance(STEP);
        assert_eq!(rig.call(Verdict::success()), Settled::Counted);
        assert_eq!((rig.state(), rig.snap().attempt), (State::Closed, 0), "after {lasts:?}");
        rig.ok();
    }
}

#[test]
fn r16_recovers_after_a_silence_of_any_length() {
    for silence in [secs(3_600), secs(24 * 3_600), secs(60 * 86_400), secs(10 * 365 * 86_400)] {
        let rig = Rig::due(registry());
        rig.advance(silence);
        rig.ok();
        assert_eq!(rig.state(), State::Closed, "after {silence:?}");
    }
}

#[test]
fn r16_is_probed_within_one_max_of_the_hosts_return() {
    // A call a second throughout; the host is back 7 s after any of its failed probes.
    for rounds in [0, 1, 5, 50] {
        let rig = Rig::open(registry());
        for _ in 0..rounds {
            rig.wait_out();
            rig.fail(1);
        }
        rig.advance(secs(7));
        let mut waited = 7;
        while let Err(refused) = rig.breaker.try_acquire().map(|probe| probe.settle(Verdict::success())) {
            assert_eq!(refused.reason, RefusedReason::Open);
            rig.advance(secs(1));
            waited += 1;
        }
        assert!(waited <= 300, "{waited} s after the last failed probe");
        assert_eq!(rig.state(), State::Closed);
    }
}

#[test]
fn one_probe_per_wait() {
    let rig = Rig::open(registry());
    let mut reached = Vec::new();
    for second in 0..=20 * 60 {
        match rig.breaker.try_acquire() {
            Ok(probe) => {
                assert!(probe.is_probe());
                assert_eq!(probe.settle(Verdict::failure()), Settled::Counted);
                reached.push(second);
            }
            Err(refused) => {
                assert_eq!(refused.reason, RefusedReason::Open);
                assert!(refused.retry_after.is_some_and(|left| left > Duration::ZERO && left <= secs(300)));
            }
        }
        rig.advance(secs(1));
    }
    let waits = [30, 60, 120, 240, 300, 300];
    let due: Vec<u64> = waits
        .iter()
        .scan(0, |at, wait| {
            *at += wait;
            Some(*at)
        })
        .collect();
    assert_eq!(reached, due);
    let snap = rig.snap();
    assert_eq!((snap.attempt, snap.counts.failure), (6, 5 + 6));
    assert_eq!(snap.counts.refused, 1_201 - 6);
    assert_eq!(snap.refused_since_down, 1_201 - 6);
}

#[test]
fn r16_what_it_says_of_the_outage_starts_afresh_with_the_next() {
    let rig = Rig::new(registry());
    assert_eq!((rig.snap().down_since, rig.snap().opens), (None, 0));
    rig.trip();
    let down = Some(rig.wall());
    rig.refused();
    rig.wait_out();
    rig.fail(1);
    rig.refused();
    let snap = rig.snap();
    assert_eq!((snap.down_since, snap.refused_since_down), (down, 2));
    rig.wait_out();
    rig.ok();
    assert_eq!((rig.snap().down_since, rig.snap().next_probe_at, rig.snap().wait), (None, None, None));
    let opens = rig.snap().opens;
    rig.trip();
    let snap = rig.snap();
    assert_eq!((snap.down_since, snap.refused_since_down), (Some(rig.wall()), 0));
    assert!(snap.opens > opens);
    assert_eq!(snap.counts.refused, 2);
}
