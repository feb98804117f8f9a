//! Rule 21: a restart resumes.

use std::time::{Duration, SystemTime};

use fuseboard_breaker::{Clock, Mode, Override, OverrideEnd, RefusedReason, Saved, State, Transition, Verdict};

use crate::harness::{NANO, Rig, ana, half_open, registry, retry_after, secs};

/// 2026-01-01 00:00:00 UTC, where every clock of these scenarios starts.
fn start() -> SystemTime {
    SystemTime::UNIX_EPOCH + secs(1_767_225_600)
}

fn closed() -> Saved {
    Saved {
        state: State::Closed,
        since: start() - secs(1_000),
        attempt: 0,
        wait: Duration::ZERO,
        next_probe_at: None,
        down_since: None,
        opens: 0,
        held: None,
        cooldown_until: None,
    }
}

/// Open since 18 s of a wait of 30 s.
fn open() -> Saved {
    Saved {
        state: State::Open,
        since: start() - secs(18),
        wait: secs(30),
        next_probe_at: Some(start() + secs(12)),
        down_since: Some(start() - secs(18)),
        opens: 1,
        ..closed()
    }
}

fn forced(mode: Mode, length: Option<Duration>) -> Override {
    let since = start() - secs(10);
    Override { mode, reason: "CDN move".into(), by: ana(), since, length, until: length.map(|length| since + length) }
}

#[track_caller]
fn only_row(rig: &Rig) -> Transition {
    let rows = rig.log.transitions();
    assert_eq!(rows.len(), 1, "{rows:?}");
    rig.last()
}

#[test]
fn r21_twelve_seconds_left_and_five_of_downtime_are_seven() {
    let rig = Rig::restored(registry(), start() + secs(5), open());
    let snap = rig.snap();
    assert_eq!((snap.state, snap.next_probe_in, snap.wait), (State::Open, Some(secs(7)), Some(secs(30))));
    assert_eq!((snap.since, snap.down_since, snap.opens), (open().since, open().down_since, 1));
    assert!(rig.log.events().is_empty(), "nothing changed");
    rig.advance(secs(7) - NANO);
    rig.refused_for(RefusedReason::Open);
    rig.advance(NANO);
    rig.ok();
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn r21_overdue_is_probe_due_never_closed() {
    for downtime in [secs(12), secs(13), secs(60 * 86_400)] {
        let rig = Rig::restored(registry(), start() + downtime, open());
        let snap = rig.snap();
        assert_eq!((snap.state, snap.probe_due), (State::Open, true));
        assert_eq!(snap.next_probe_in.unwrap_or_default(), Duration::ZERO);
        assert!(rig.log.events().is_empty(), "nothing changed");
        let probe = rig.admit();
        assert!(probe.is_probe());
        rig.refused_for(RefusedReason::ProbesTaken);
        probe.settle(Verdict::failure());
        assert_eq!((rig.state(), rig.next_in()), (State::Open, Some(secs(60))));
    }
}

#[test]
fn r21_half_open_is_probe_due_with_all_permits() {
    let saved = Saved { state: State::HalfOpen, attempt: 2, ..open() };
    let rig = Rig::restored(half_open(3, 3), start() + secs(1), saved);
    let snap = rig.snap();
    assert_eq!((snap.state, snap.probe_due, snap.attempt), (State::Open, true, 2));
    let row = only_row(&rig);
    assert_eq!((row.cause.as_str(), row.from, row.to), ("restored", State::HalfOpen, State::Open));
    let probes: Vec<_> = (0..3).map(|_| rig.admit()).collect();
    rig.refused_for(RefusedReason::ProbesTaken);
    assert!(probes.iter().all(|probe| probe.is_probe()));
    for probe in probes {
        probe.settle(Verdict::success());
    }
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn r21_the_attempt_goes_on() {
    let rig = Rig::restored(registry(), start() + secs(20), Saved { attempt: 2, ..open() });
    rig.fail(1);
    assert_eq!((rig.snap().attempt, rig.next_in()), (3, Some(secs(240))));
}

#[test]
fn r21_a_clock_set_back_never_makes_the_wait_longer_than_max() {
    for back in [secs(60), secs(3_600), secs(1_767_225_600)] {
        let rig = Rig::restored(registry(), start() - back, open());
        let left = rig.next_in().expect("open");
        assert!(left <= secs(300), "{left:?}");
        rig.advance(secs(300));
        rig.ok();
        assert_eq!(rig.state(), State::Closed);
    }
}

#[test]
fn r21_a_max_that_was_lowered_while_down_holds() {
    let mut settings = registry();
    (settings.wait.first, settings.wait.max) = (secs(5), secs(10));
    let saved = Saved { next_probe_at: Some(start() + secs(280)), wait: secs(300), ..open() };
    let rig = Rig::restored(settings, start(), saved);
    assert!(rig.next_in().expect("open") <= secs(10));
}

#[test]
fn r21_rule_memory_starts_empty() {
    let rig = Rig::restored(registry(), start(), closed());
    assert!(rig.log.events().is_empty());
    assert_eq!(rig.snap().since, closed().since);
    rig.fail(4);
    assert_eq!(rig.state(), State::Closed);
    rig.fail(1);
    assert_eq!(rig.state(), State::Open);
}

#[test]
fn r21_overrides_stand_with_reason_and_end() {
    // 60 s from 10 s before: 50 s left, 30 of them while down.
    let held = forced(Mode::ForcedOpen, Some(secs(60)));
    let rig = Rig::restored(registry(), start() + secs(30), Saved { held: Some(held.clone()), ..closed() });
    assert_eq!(rig.snap().held, Some(held));
    assert!(rig.log.events().is_empty(), "nothing changed");
    rig.advance(secs(20) - NANO);
    rig.refused_for(RefusedReason::ForcedOpen);
    rig.advance(NANO);
    rig.ok();
    let row = only_row(&rig);
    assert_eq!((row.cause.as_str(), row.mode), ("override_expired", None));
}

#[test]
fn r21_an_override_without_end_stands() {
    for mode in [Mode::ForcedOpen, Mode::ForcedClosed] {
        let saved = Saved { held: Some(forced(mode, None)), ..open() };
        let rig = Rig::restored(registry(), start() + secs(60 * 86_400), saved.clone());
        assert_eq!((rig.snap().held, rig.state()), (saved.held, State::Open));
        assert!(rig.log.events().is_empty());
        assert_eq!(rig.breaker.try_acquire().is_ok(), mode == Mode::ForcedClosed);
    }
}

#[test]
fn r21_an_override_that_ended_while_down_is_over() {
    let saved = Saved { held: Some(forced(Mode::ForcedOpen, Some(secs(60)))), ..open() };
    let rig = Rig::restored(registry(), start() + secs(60), saved);
    rig.breaker.tick();
    assert_eq!((rig.snap().held, rig.state()), (None, State::Open));
    let row = only_row(&rig);
    assert_eq!((row.mode, row.to), (None, State::Open));
    rig.ok();
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn r21_an_override_never_lasts_longer_than_it_was_set_for() {
    let saved = Saved { held: Some(forced(Mode::ForcedOpen, Some(secs(60)))), ..closed() };
    let rig = Rig::restored(registry(), start() - secs(86_400), saved);
    rig.refused_for(RefusedReason::ForcedOpen);
    rig.advance(secs(60));
    rig.ok();
    assert_eq!(rig.snap().held, None);
}

#[test]
fn r21_a_running_override_ends_by_the_monotonic_clock() {
    let rig = Rig::new(registry());
    rig.held(Mode::ForcedOpen, OverrideEnd::After(secs(60)));
    rig.clock.set_wall(rig.wall() + secs(86_400));
    rig.breaker.tick();
    rig.refused_for(RefusedReason::ForcedOpen);
    rig.clock.set_wall(start() - secs(86_400));
    rig.advance(secs(60));
    rig.ok();
}

#[test]
fn r21_a_cool_down_goes_on() {
    let saved = Saved { cooldown_until: Some(start() + secs(20)), ..closed() };
    let rig = Rig::restored(registry(), start() + secs(5), saved.clone());
    let refused = rig.refused();
    assert_eq!((refused.reason, refused.retry_after), (RefusedReason::CoolingDown, Some(secs(15))));
    rig.advance(secs(15));
    rig.ok();
    assert_eq!(only_row(&rig).cause.as_str(), "cooldown_ended");
    // Also after a clock set back it is over within max.
    let rig = Rig::restored(registry(), start() - secs(86_400), saved);
    rig.advance(secs(300));
    rig.ok();
}

#[test]
fn r21_what_a_transition_saves_is_what_a_restart_needs() {
    let resumes = |rig: &Rig| {
        let after = rig.last().after;
        let again = Rig::restored(registry(), rig.clock.wall(), after.clone());
        let (was, is) = (rig.snap(), again.snap());
        assert_eq!((is.state, is.since, is.attempt, is.wait), (was.state, was.since, was.attempt, was.wait));
        assert_eq!((is.next_probe_at, is.next_probe_in), (was.next_probe_at, was.next_probe_in));
        assert_eq!((is.held, is.cooldown_until), (was.held, was.cooldown_until));
        assert_eq!((is.down_since, is.opens), (was.down_since, was.opens));
        assert!(again.log.events().is_empty(), "{after:?}");
    };
    let rig = Rig::open(registry());
    resumes(&rig);
    rig.held(Mode::ForcedClosed, OverrideEnd::After(secs(1_000)));
    resumes(&rig);
    rig.release();
    rig.wait_out();
    rig.fail(1);
    resumes(&rig);
    rig.wait_out();
    rig.ok();
    resumes(&rig);
    rig.call(Verdict { cooldown: true, retry_after: retry_after(secs(20)), ..Verdict::alive() });
    resumes(&rig);
    rig.breaker.reset(ana(), "seen to", false).expect("no override");
    resumes(&rig);
}
