//! Rules 11 and 12: shares of calls, several rules side by side, and the evidence a trip carries.

use std::time::Duration;

use fuseboard_breaker::{Cause, Evidence, Outcome, PolicySettings, State, TripRule, Verdict};

use crate::harness::{NANO, Rig, registry, secs};

fn failure_rate(failure_rate: f64, min_calls: u32) -> PolicySettings {
    PolicySettings { trip: vec![TripRule::FailureRate { failure_rate, within: secs(10), min_calls }], ..registry() }
}

fn slow_rate(slow_rate: f64, min_calls: u32) -> PolicySettings {
    let rule = TripRule::SlowRate { slow_rate, slow_after: secs(2), within: secs(10), min_calls };
    PolicySettings { trip: vec![rule], ..registry() }
}

fn took(latency: Duration) -> Verdict {
    Verdict { latency: Some(latency), ..Verdict::success() }
}

/// `S`, `F`, `A`, `I`, and `L` for a success whose head took 2 s.
fn play(rig: &Rig, calls: &str) -> State {
    for call in calls.chars() {
        let verdict = match call {
            'S' => took(NANO),
            'L' => took(secs(2)),
            'F' => Verdict { latency: Some(NANO), ..Verdict::failure() },
            'A' => Verdict { latency: Some(NANO), ..Verdict::alive() },
            'I' => Verdict::ignored(),
            other => panic!("no such call: {other}"),
        };
        assert_eq!(rig.state(), State::Closed, "opened before the last call of {calls}");
        rig.call(verdict);
    }
    rig.state()
}

#[test]
fn r11_judged_when_a_failure_is_counted_from_m_calls_on() {
    let table = [
        (0.5, 4, "FFSS", State::Closed),
        (0.5, 4, "FSSF", State::Open),
        (0.5, 4, "FSF", State::Closed),
        (0.5, 4, "FSFF", State::Open),
        (0.5, 4, "FFSSF", State::Open),
        (0.5, 4, "SSSFFF", State::Open),
        (0.5, 4, "SSSSFFF", State::Closed),
        (0.5, 4, "AAAAFFF", State::Closed),
        (0.5, 4, "AAAAFFFF", State::Open),
        (0.5, 4, "FIIIIF", State::Closed),
        (1.0, 4, "FFF", State::Closed),
        (1.0, 4, "FFFF", State::Open),
        (1.0, 4, "SFFFFFFFF", State::Closed),
        (0.5, 1, "F", State::Open),
    ];
    for (rate, min_calls, calls, state) in table {
        assert_eq!(
            play(&Rig::new(failure_rate(rate, min_calls)), calls),
            state,
            "{calls}, R = {rate}, M = {min_calls}"
        );
    }
}

#[test]
fn r11_the_share_is_compared_exactly() {
    for (failures, state) in [(19, State::Closed), (20, State::Open)] {
        // R = 0.2 of 100: 80 successes and 20 failures.
        let rig = Rig::new(failure_rate(0.2, 20));
        for _ in 0..100 - failures {
            rig.ok();
        }
        rig.fail(failures);
        assert_eq!(rig.state(), state, "{failures} of 100");
    }
}

#[test]
fn r11_refused_and_cancelled_calls_are_in_no_rate() {
    let rig = Rig::new(failure_rate(0.5, 4));
    rig.fail(1);
    for _ in 0..10 {
        drop(rig.breaker.try_acquire());
    }
    assert_eq!(rig.snap().rules[0].have, Some(1.0));
    assert_eq!(play(&rig, "SS"), State::Closed);
    rig.fail(1);
    assert_eq!(rig.state(), State::Open);
    for _ in 0..10 {
        rig.refused();
    }
    rig.wait_out();
    rig.ok();
    assert_eq!((rig.state(), rig.snap().rules[0].have), (State::Closed, None), "a new window");
}

#[test]
fn r11_buckets_of_a_tenth_leave_one_by_one() {
    // A call is counted for at least 9 s and never for 10.
    for (gap, state) in [(Duration::from_millis(8_900), State::Closed), (secs(10), State::Open)] {
        let rig = Rig::new(failure_rate(0.6, 4));
        play(&rig, "SSS");
        rig.advance(gap);
        // With the three successes 4 of 7 are failures, without them all four are.
        play(&rig, "FFFF");
        assert_eq!(rig.state(), state, "after {gap:?}");
    }
}

#[test]
fn r11_an_idle_gap_clears_the_window() {
    for gap in [secs(10), secs(11), secs(25), secs(1_000_000)] {
        let rig = Rig::new(failure_rate(0.5, 4));
        play(&rig, "FFF");
        rig.advance(gap);
        assert_eq!(play(&rig, "F"), State::Closed, "after {gap:?}");
        assert_eq!(rig.snap().rules[0].have, Some(1.0));
    }
}

#[test]
fn r11_slow_calls_trip_like_failing_ones() {
    let table = [
        (0.5, 4, "LLSS", State::Closed),
        (0.5, 4, "SSLL", State::Open),
        (0.5, 4, "SLL", State::Closed),
        (0.5, 4, "FFFF", State::Closed),
        (0.5, 4, "SSSSLLL", State::Closed),
        (1.0, 3, "LLL", State::Open),
    ];
    for (rate, min_calls, calls, state) in table {
        assert_eq!(play(&Rig::new(slow_rate(rate, min_calls)), calls), state, "{calls}, R = {rate}, M = {min_calls}");
    }
}

#[test]
fn r11_slow_begins_at_slow_after() {
    for (latency, state) in [(secs(2) - NANO, State::Closed), (secs(2), State::Open), (secs(2) + NANO, State::Open)] {
        let rig = Rig::new(slow_rate(1.0, 1));
        rig.call(took(latency));
        assert_eq!(rig.state(), state, "{latency:?}");
    }
}

#[test]
fn r11_without_a_latency_the_time_the_permit_was_held_counts() {
    for (held, state) in [(secs(2) - NANO, State::Closed), (secs(2), State::Open)] {
        let rig = Rig::new(slow_rate(1.0, 1));
        let call = rig.admit();
        rig.advance(held);
        call.settle(Verdict::success());
        assert_eq!(rig.state(), state, "{held:?}");
    }
}

#[test]
fn r11_slow_is_good_in_half_open() {
    let rig = Rig::new(slow_rate(1.0, 1));
    rig.call(took(secs(5)));
    rig.wait_out();
    rig.call(took(secs(39)));
    assert_eq!(rig.state(), State::Closed);
}

#[test]
fn r12_the_transition_names_the_rule_that_tripped() {
    let rules = [
        TripRule::Failures { failures: 3, within: secs(10) },
        TripRule::Consecutive { consecutive: 2, within: None },
        TripRule::FailureRate { failure_rate: 0.9, within: secs(10), min_calls: 100 },
        TripRule::SlowRate { slow_rate: 1.0, slow_after: secs(2), within: secs(10), min_calls: 2 },
    ];
    for (calls, rule, have) in [("FSFSF", rules[0], 3), ("SFF", rules[1], 2), ("LL", rules[3], 2)] {
        let rig = Rig::new(PolicySettings { trip: rules.to_vec(), ..registry() });
        assert_eq!(play(&rig, calls), State::Open, "{calls}");
        let Cause::Tripped { rule: named, have: counted, .. } = rig.last().cause else { panic!("{:?}", rig.last()) };
        assert_eq!((named, counted), (rule, have), "{calls}");
    }
}

#[test]
fn r12_the_evidence_is_the_calls_that_decided() {
    let rig = Rig::new(registry());
    let start = rig.wall();
    for n in 0..5_u16 {
        rig.ok();
        let evidence =
            Evidence { status: Some(500 + n), path: Some(format!("/lodash?v={n}").into()), ..Evidence::default() };
        let verdict = Verdict { latency: Some(Duration::from_millis(n.into())), ..Verdict::failure() };
        rig.call(verdict.with_evidence(evidence));
        rig.advance(secs(2));
    }
    let Cause::Tripped { evidence, have, calls, .. } = rig.last().cause else { panic!("{:?}", rig.last()) };
    assert_eq!(have, 5);
    assert!(calls >= have);
    assert_eq!(evidence.len(), 5);
    for (n, call) in evidence.iter().enumerate() {
        assert_eq!(call.at, start + secs(2 * n as u64), "oldest first");
        assert_eq!((call.outcome, call.latency), (Outcome::Failure, Some(Duration::from_millis(n as u64))));
        assert_eq!(call.evidence.status, Some(500 + n as u16));
        assert_eq!(call.evidence.path.as_deref(), Some(&*format!("/lodash?v={n}")));
    }
}

#[test]
fn r12_the_evidence_is_the_newest_twenty() {
    for rule in [
        TripRule::Failures { failures: 30, within: secs(100) },
        TripRule::Consecutive { consecutive: 30, within: None },
        TripRule::FailureRate { failure_rate: 1.0, within: secs(100), min_calls: 30 },
    ] {
        let rig = Rig::new(PolicySettings { trip: vec![rule], ..registry() });
        for status in 1..=30 {
            rig.advance(secs(1));
            rig.call(Verdict::failure().with_evidence(Evidence { status: Some(status), ..Evidence::default() }));
        }
        let Cause::Tripped { evidence, have, .. } = rig.last().cause else { panic!("{:?}", rig.last()) };
        assert_eq!(have, 30);
        let statuses: Vec<_> = evidence.iter().filter_map(|call| call.evidence.status).collect();
        assert_eq!(statuses, (11..=30).collect::<Vec<_>>(), "{rule:?}");
    }
}

#[test]
fn r12_rates_carry_both_counts() {
    let rig = Rig::new(failure_rate(0.5, 4));
    play(&rig, "SFSF");
    let Cause::Tripped { have, calls, rule, .. } = rig.last().cause else { panic!("{:?}", rig.last()) };
    assert_eq!((have, calls), (2, 4));
    assert_eq!(rule, TripRule::FailureRate { failure_rate: 0.5, within: secs(10), min_calls: 4 });
}
