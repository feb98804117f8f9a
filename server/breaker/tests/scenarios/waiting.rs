//! Rules 15 to 19: how long it waits.

use std::time::{Duration, SystemTime};

use fuseboard_breaker::{Cause, DrawnWait, PolicySettings, RefusedReason, RetryAfter, State, Verdict, Wait};

use crate::harness::{NANO, Rig, registry, retry_after, secs};

fn waiting(first: Duration, factor: f64, max: Duration, jitter: f64) -> PolicySettings {
    PolicySettings { wait: Wait { first, factor, max, jitter }, ..registry() }
}

/// The wait that the last transition says began with it.
fn drawn(rig: &Rig) -> DrawnWait {
    match rig.last().cause {
        Cause::Tripped { wait, .. } | Cause::ProbeFailed { wait, .. } | Cause::ProbeLost { wait } => wait,
        other => panic!("no wait begins with {other:?}"),
    }
}

#[test]
fn r16_waits_grow_to_max_and_start_again_after_a_close() {
    let rig = Rig::open(registry());
    for outage in 0..2 {
        for (attempt, wait) in [30, 60, 120, 240, 300, 300, 300].into_iter().enumerate() {
            let snap = rig.snap();
            assert_eq!((snap.wait, snap.next_probe_in), (Some(secs(wait)), Some(secs(wait))), "outage {outage}");
            assert_eq!(snap.attempt as usize, attempt);
            assert_eq!(drawn(&rig).wait, secs(wait));
            rig.wait_out();
            rig.fail(1);
        }
        rig.wait_out();
        rig.ok();
        assert_eq!(rig.snap().attempt, 0);
        rig.trip();
    }
}

#[test]
fn r16_growth_cannot_overflow() {
    let year = secs(365 * 86_400);
    for (first, factor, max) in [
        (secs(30), 2.0, secs(300)),
        (Duration::from_millis(1), 1e300, year),
        (year, 1e9, year),
        (secs(1), 1.0, secs(1)),
        (Duration::from_millis(1), 1.5, year),
    ] {
        let rig = Rig::open(waiting(first, factor, max, 0.0));
        let mut last = first;
        for _ in 0..2_000 {
            let wait = rig.snap().wait.expect("open");
            assert!(wait >= last && wait <= max, "{wait:?} after {last:?}, factor {factor}");
            last = wait;
            rig.advance(wait);
            rig.fail(1);
        }
        if factor > 1.0 {
            assert_eq!(last, max);
        }
    }
}

#[test]
fn r16_jitter_shortens_by_up_to_its_share_and_never_lengthens() {
    let (mut least, mut most) = (Duration::MAX, Duration::ZERO);
    for _ in 0..300 {
        let rig = Rig::open(waiting(secs(100), 4.0, secs(300), 0.1));
        let wait = rig.snap().wait.expect("open");
        assert!(wait >= secs(90) && wait <= secs(100), "{wait:?}");
        (least, most) = (least.min(wait), most.max(wait));
        rig.wait_out();
        rig.fail(1);
        let wait = rig.snap().wait.expect("open");
        assert!(wait >= secs(270) && wait <= secs(300), "{wait:?}");
    }
    // 300 draws that all fall into one half would be no jitter.
    assert!(least < secs(95) && most > secs(95), "{least:?} to {most:?}");
}

#[test]
fn r17_the_jitter_is_drawn_once_stored_and_shown() {
    let rig = Rig::open(waiting(secs(100), 1.0, secs(100), 0.1));
    let (wait, next) = (drawn(&rig), rig.snap().next_probe_at);
    assert_eq!(wait.wait + wait.jitter, secs(100));
    assert_eq!(rig.last().after.wait, wait.wait);
    assert_eq!(rig.last().after.next_probe_at, next);
    assert_eq!(next, Some(rig.wall() + wait.wait));
    for _ in 0..100 {
        rig.refused();
        rig.breaker.tick();
        assert_eq!((rig.snap().wait, rig.snap().next_probe_at), (Some(wait.wait), next));
    }
    rig.advance(wait.wait - NANO);
    rig.refused_for(RefusedReason::Open);
    rig.advance(NANO);
    assert!(rig.admit().is_probe());
}

#[test]
fn r18_at_exactly_next_probe_at_a_call_is_a_probe() {
    for (early, admitted) in [(NANO, false), (Duration::ZERO, true)] {
        let rig = Rig::open(registry());
        rig.advance(secs(30) - early);
        match rig.breaker.try_acquire() {
            Ok(probe) => assert!(admitted && probe.is_probe()),
            Err(refused) => {
                assert!(!admitted);
                assert_eq!((refused.reason, refused.retry_after), (RefusedReason::Open, Some(NANO)));
            }
        }
    }
    let rig = Rig::open(registry());
    rig.advance(secs(30) + NANO);
    assert!(rig.admit().is_probe());
}

#[test]
fn r19_retry_after_is_a_floor_capped_at_max() {
    for (wish, wait) in [(0, 30), (29, 30), (30, 30), (31, 31), (299, 299), (300, 300), (301, 300), (u64::MAX, 300)] {
        // On the call that trips.
        let rig = Rig::new(registry());
        rig.fail(4);
        rig.call(Verdict { retry_after: retry_after(secs(wish)), ..Verdict::failure() });
        assert_eq!(rig.snap().wait, Some(secs(wait)), "Retry-After: {wish}");
        assert_eq!(drawn(&rig).wait, secs(wait));
        if wish > 30 {
            let shown = drawn(&rig).retry_after.expect("the wish was a floor");
            assert_eq!((shown.wait, &*shown.raw), (secs(wish), &*wish.to_string()));
        }
        // On a probe that fails; its own wait would be 60 s.
        let rig = Rig::due(registry());
        rig.call(Verdict { retry_after: retry_after(secs(wish)), ..Verdict::failure() });
        assert_eq!(rig.snap().wait, Some(secs(wait.max(60))), "Retry-After: {wish}");
    }
}

#[test]
fn r19_only_the_response_that_decided_counts() {
    let rig = Rig::new(registry());
    for _ in 0..4 {
        rig.call(Verdict { retry_after: retry_after(secs(200)), ..Verdict::failure() });
    }
    rig.fail(1);
    assert_eq!(rig.snap().wait, Some(secs(30)));
    assert_eq!(drawn(&rig).retry_after, None);
    // Nor does a late one.
    let rig = Rig::new(registry());
    let slow = rig.admit();
    rig.trip();
    slow.settle(Verdict { retry_after: retry_after(secs(200)), ..Verdict::failure() });
    assert_eq!(rig.next_in(), Some(secs(30)));
}

#[test]
fn r19_jitter_does_not_undercut_the_floor() {
    for _ in 0..50 {
        let rig = Rig::new(waiting(secs(100), 1.0, secs(300), 0.5));
        rig.fail(4);
        rig.call(Verdict { retry_after: retry_after(secs(99)), ..Verdict::failure() });
        let wait = rig.snap().wait.expect("open");
        assert!(wait >= secs(99) && wait <= secs(100), "{wait:?}");
    }
}

#[test]
fn r19_a_wish_does_not_change_the_growth() {
    let rig = Rig::new(registry());
    rig.fail(4);
    let wish = Some(Box::new(RetryAfter { raw: "Wed, 21 Oct 2026 07:28:00 GMT".into(), wait: secs(200) }));
    rig.call(Verdict { retry_after: wish, ..Verdict::failure() });
    assert_eq!(&*drawn(&rig).retry_after.expect("a floor").raw, "Wed, 21 Oct 2026 07:28:00 GMT");
    rig.wait_out();
    rig.fail(1);
    assert_eq!(rig.snap().wait, Some(secs(60)));
}

/// Everything a caller can see of one outage with a lost probe, an override and a cool-down in it.
fn decisions(step_wall: impl Fn(&Rig)) -> Vec<String> {
    let rig = Rig::new(registry());
    let mut seen = Vec::new();
    let mut out = Vec::new();
    for second in 0..400 {
        step_wall(&rig);
        match rig.breaker.try_acquire_owned() {
            Err(refused) => seen.push(format!("{second} {:?} {:?}", refused.reason, refused.retry_after)),
            Ok(permit) if second == 40 => out.push(permit),
            Ok(permit) => {
                let cool = second == 250;
                let verdict = if second < 200 { Verdict::failure() } else { Verdict::alive() };
                let wish = if cool { retry_after(secs(20)) } else { None };
                let settled = permit.settle(Verdict { cooldown: cool, retry_after: wish, ..verdict });
                seen.push(format!("{second} {settled:?}"));
            }
        }
        if second == 300 {
            rig.held(fuseboard_breaker::Mode::ForcedOpen, fuseboard_breaker::OverrideEnd::After(secs(50)));
        }
        let snap = rig.snap();
        seen.push(format!("{:?} {} {:?} {:?}", snap.state, snap.attempt, snap.next_probe_in, snap.wait));
        rig.advance(secs(1));
    }
    for probe in rig.log.probes() {
        assert!(probe.duration <= secs(40));
        seen.push(format!("{:?} {:?}", probe.outcome, probe.duration));
    }
    seen
}

#[test]
fn r15_stepping_the_wall_clock_changes_no_decision() {
    let undisturbed = decisions(|_| {});
    assert!(undisturbed.iter().any(|line| line.contains("CoolingDown")));
    assert!(undisturbed.iter().any(|line| line.contains("ForcedOpen")));
    let hour = secs(3_600);
    let forward = decisions(|rig| rig.clock.set_wall(rig.wall() + hour));
    let back = decisions(|rig| rig.clock.set_wall(rig.wall() - hour));
    let before_time = decisions(|rig| rig.clock.set_wall(SystemTime::UNIX_EPOCH - hour));
    for stepped in [forward, back, before_time] {
        assert_eq!(stepped, undisturbed);
    }
}

#[test]
fn r15_the_record_has_wall_time_and_durations_do_not() {
    let rig = Rig::due(registry());
    let admitted = rig.wall();
    let probe = rig.admit();
    rig.advance(secs(5));
    rig.clock.set_wall(admitted - secs(3_600));
    probe.settle(Verdict::success());
    let row = rig.log.probes().pop().expect("on record");
    assert_eq!((row.at, row.duration), (admitted, secs(5)));
    assert_eq!((rig.last().at, rig.state()), (admitted - secs(3_600), State::Closed));
}
