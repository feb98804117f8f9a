//! Rules 9 and 10: failures in a rolling window, and runs of failures.

use std::{sync::Barrier, time::Duration};

use fuseboard_breaker::{PolicySettings, Settled, State, TripRule, Verdict};

use crate::harness::{NANO, Rig, registry, secs};

fn failures(failures: u32, within: Duration) -> PolicySettings {
    PolicySettings { trip: vec![TripRule::Failures { failures, within }], ..registry() }
}

fn run(consecutive: u32, within: Option<Duration>, alive_breaks_run: bool) -> PolicySettings {
    PolicySettings { trip: vec![TripRule::Consecutive { consecutive, within }], alive_breaks_run, ..registry() }
}

/// Plays `S`, `F`, `A` (alive), `I` (ignored) and `C` (cancelled) and says after which of them the breaker opened.
fn opened_at(rig: &Rig, calls: &str) -> Option<usize> {
    for (at, call) in calls.chars().enumerate() {
        match call {
            'S' => rig.ok(),
            'F' => rig.fail(1),
            'A' => rig.alive(),
            'I' => rig.ignored(),
            'C' => drop(rig.breaker.try_acquire().expect("closed")),
            other => panic!("no such call: {other}"),
        }
        if rig.state() == State::Open {
            return Some(at + 1);
        }
    }
    None
}

#[test]
fn r09_exactly_n_failures_trip() {
    for n in [1, 2, 5] {
        let rig = Rig::new(failures(n, secs(10)));
        rig.fail(n - 1);
        assert_eq!((rig.state(), rig.have()), (State::Closed, f64::from(n - 1)), "N = {n}");
        rig.fail(1);
        assert_eq!((rig.state(), rig.snap().counts.failure), (State::Open, u64::from(n)), "N = {n}");
        rig.refused();
        assert_eq!(rig.causes(), ["tripped"]);
    }
}

#[test]
fn r09_exactly_n_failing_calls_also_at_one_instant_on_several_threads() {
    for n in [1, 2, 5] {
        for _ in 0..200 {
            let rig = Rig::new(failures(n, secs(10)));
            let calls: Vec<_> = (0..8).map(|_| rig.admit()).collect();
            let together = Barrier::new(8);
            let settled: Vec<Settled> = std::thread::scope(|scope| {
                let threads: Vec<_> = calls
                    .into_iter()
                    .map(|call| {
                        scope.spawn(|| {
                            together.wait();
                            call.settle(Verdict::failure())
                        })
                    })
                    .collect();
                threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
            });
            let counted = settled.iter().filter(|settled| **settled == Settled::Counted).count();
            assert_eq!((counted, rig.state()), (n as usize, State::Open), "N = {n}");
            let counts = rig.snap().counts;
            assert_eq!((counts.failure, counts.late), (u64::from(n), u64::from(8 - n)));
            assert_eq!(rig.causes(), ["tripped"]);
        }
    }
}

#[test]
fn r09_a_failure_counts_while_it_is_younger_than_w() {
    for (gap, trips) in [(secs(10) - NANO, true), (secs(10), false), (secs(10) + NANO, false)] {
        let rig = Rig::new(failures(2, secs(10)));
        rig.fail(1);
        rig.advance(gap);
        rig.fail(1);
        assert_eq!(rig.state() == State::Open, trips, "{gap:?} apart");
    }
}

#[test]
fn r09_the_window_rolls() {
    // 4 old ones leave one by one; only five inside any 10 s trip.
    let rig = Rig::new(failures(5, secs(10)));
    for _ in 0..40 {
        rig.fail(1);
        rig.advance(Duration::from_millis(2_500));
    }
    assert_eq!((rig.state(), rig.snap().counts.failure), (State::Closed, 40));
    rig.fail(1);
    assert_eq!(rig.have(), 4.0);
    rig.fail(1);
    assert_eq!(rig.state(), State::Open);
}

#[test]
fn r09_idle_gaps_clear_what_they_passed_over() {
    for (silence, counted) in [(secs(10), 1.0), (secs(25), 1.0), (secs(3), 8.0)] {
        let rig = Rig::new(failures(1_000, secs(10)));
        for _ in 0..9 {
            rig.fail(1);
            rig.advance(secs(1));
        }
        rig.fail(1);
        rig.advance(silence);
        rig.fail(1);
        assert_eq!(rig.have(), counted, "after {silence:?} of silence");
    }
}

#[test]
fn r09_what_is_shown_ages_without_a_call() {
    let rig = Rig::new(registry());
    rig.fail(2);
    rig.advance(secs(4));
    rig.fail(1);
    assert_eq!(rig.have(), 3.0);
    rig.advance(secs(6) - NANO);
    assert_eq!(rig.have(), 3.0);
    rig.advance(NANO);
    assert_eq!(rig.have(), 1.0);
    assert_eq!(rig.snap().rules[0].need, 5.0);
}

#[test]
fn failures_in_window_not_consecutive() {
    let rig = Rig::new(registry());
    for _ in 0..4 {
        rig.fail(1);
        for _ in 0..100 {
            rig.ok();
        }
        rig.advance(secs(2));
    }
    assert_eq!(rig.state(), State::Closed);
    rig.fail(1);
    assert_eq!(rig.state(), State::Open);
}

#[test]
fn client_errors_do_not_trip() {
    let rates = PolicySettings {
        trip: vec![TripRule::FailureRate { failure_rate: 0.01, within: secs(10), min_calls: 1 }],
        ..registry()
    };
    for settings in [registry(), PolicySettings::grpc(), run(1, None, false), failures(1, secs(10)), rates] {
        let rig = Rig::new(settings);
        for _ in 0..100 {
            rig.alive();
        }
        assert_eq!((rig.state(), rig.snap().counts.alive), (State::Closed, 100));
        assert!(rig.log.events().is_empty());
    }
}

#[test]
fn r10_a_run_trips_at_n() {
    for n in [1, 2, 5] {
        let rig = Rig::new(run(n, None, false));
        rig.fail(n - 1);
        assert_eq!((rig.state(), rig.have()), (State::Closed, f64::from(n - 1)));
        rig.fail(1);
        assert_eq!(rig.state(), State::Open, "N = {n}");
    }
}

#[test]
fn r10_what_makes_and_breaks_a_run() {
    // (alive breaks the run, calls, opened at)
    let table = [
        (false, "FFFFSFFFFF", Some(10)),
        (false, "FFFFSFFFFSFFFF", None),
        (false, "FAFAFAFF", Some(8)),
        (true, "FAFAFAFFFFF", Some(11)),
        (true, "FFFFAFFFF", None),
        (true, "FFIFFIF", Some(7)),
        (true, "FFCFFCF", Some(7)),
        (false, "IIIIIIIIII", None),
        (false, "AAAAAAAAAA", None),
    ];
    for (alive_breaks_run, calls, opened) in table {
        let rig = Rig::new(run(5, Some(secs(30)), alive_breaks_run));
        assert_eq!(opened_at(&rig, calls), opened, "{calls}, alive_breaks_run = {alive_breaks_run}");
    }
}

#[test]
fn r10_statuses_of_a_failing_registry_trip() {
    let outcomes: String =
        "503,429,503,404,503,404,503,503".split(',').map(|status| if status == "503" { 'F' } else { 'A' }).collect();
    assert_eq!(opened_at(&Rig::new(run(5, Some(secs(10)), false)), &outcomes), Some(8));
    assert_eq!(opened_at(&Rig::new(registry()), &outcomes), Some(8));
}

#[test]
fn r10_five_strays_among_thirty_thousand_do_not_trip() {
    let rig = Rig::new(PolicySettings::grpc());
    for _ in 0..5 {
        for _ in 0..6_000 {
            rig.alive();
        }
        rig.fail(1);
    }
    assert_eq!((rig.state(), rig.snap().counts.alive), (State::Closed, 30_000));
}

#[test]
fn r10_the_oldest_of_the_run_is_younger_than_w() {
    for (gap, trips) in [(secs(30) - NANO, true), (secs(30), false), (secs(30) + NANO, false)] {
        let rig = Rig::new(run(5, Some(secs(30)), false));
        rig.fail(4);
        rig.advance(gap);
        rig.fail(1);
        assert_eq!(rig.state() == State::Open, trips, "{gap:?} after the oldest");
    }
}

#[test]
fn r10_the_last_n_slide() {
    let rig = Rig::new(run(5, Some(secs(30)), false));
    for _ in 0..4 {
        rig.fail(1);
        rig.advance(secs(8));
    }
    // Failures at 0, 8, 16, 24, and now 32: the oldest of the last five is 32 s old.
    rig.fail(1);
    assert_eq!(rig.state(), State::Closed);
    // At 37 it is the one of 8, 29 s old.
    rig.advance(secs(5));
    rig.fail(1);
    assert_eq!(rig.state(), State::Open);
}

#[test]
fn r10_without_within_age_does_not_matter() {
    let rig = Rig::new(run(5, None, false));
    for _ in 0..4 {
        rig.fail(1);
        rig.advance(secs(30 * 86_400));
    }
    assert_eq!(rig.state(), State::Closed);
    rig.fail(1);
    assert_eq!(rig.state(), State::Open);
}

#[test]
fn r10_a_success_on_another_thread_breaks_the_run() {
    let rig = Rig::new(run(5, None, false));
    for _ in 0..100 {
        rig.fail(4);
        std::thread::scope(|scope| scope.spawn(|| rig.ok()).join()).expect("no panic");
    }
    assert_eq!((rig.state(), rig.snap().counts.failure), (State::Closed, 400));
}
