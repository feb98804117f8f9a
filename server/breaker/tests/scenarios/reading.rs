//! Rules 6 and 14: looking changes nothing, and no data is no number.

use fuseboard_breaker::{Applied, Mode, OverrideEnd, PolicySettings, State, TripRule, Verdict};

use crate::harness::{Rig, half_open, registry, retry_after, secs};

fn rate() -> PolicySettings {
    let mut settings = registry();
    settings.trip = vec![TripRule::FailureRate { failure_rate: 0.5, within: secs(10), min_calls: 4 }];
    settings
}

#[test]
fn r06_a_thousand_reads_leave_every_field_as_it_was() {
    let mut jittered = registry();
    jittered.wait.jitter = 0.1;
    let closed = Rig::new(registry());
    closed.fail(4);
    let open = Rig::open(jittered.clone());
    let due = Rig::due(jittered);
    let lapsed = Rig::due(registry());
    let probe = lapsed.admit();
    lapsed.advance(secs(41));
    let held = Rig::new(registry());
    held.held(Mode::ForcedOpen, OverrideEnd::After(secs(5)));
    held.advance(secs(6));
    let cooling = Rig::new(registry());
    cooling.call(Verdict { cooldown: true, retry_after: retry_after(secs(20)), ..Verdict::alive() });
    cooling.advance(secs(21));

    for rig in [closed, open, due, lapsed, held, cooling, Rig::new(rate())] {
        let (before, events) = (format!("{:?}", rig.snap()), rig.log.events());
        for _ in 0..1_000 {
            assert_eq!(format!("{:?}", rig.snap()), before);
        }
        assert_eq!(rig.log.events(), events, "reading is no event");
    }
    drop(probe);
}

#[test]
fn r06_reading_an_overdue_breaker_does_not_spend_its_probe() {
    let rig = Rig::due(registry());
    rig.advance(secs(1_000));
    for _ in 0..1_000 {
        assert!(rig.snap().probe_due);
    }
    assert_eq!((rig.state(), rig.snap().half_open.in_flight), (State::Open, 0));
    assert!(rig.admit().is_probe());
}

#[test]
fn r06_reads_do_not_draw_a_back_off_step() {
    let (read, unread) = (Rig::open(registry()), Rig::open(registry()));
    for round in 1..=5 {
        for _ in 0..100 {
            read.snap();
        }
        for rig in [&read, &unread] {
            rig.wait_out();
            rig.fail(1);
        }
        assert_eq!(read.next_in(), unread.next_in());
        assert_eq!(read.snap().attempt, round);
    }
}

#[test]
fn r06_a_breaker_nobody_called_says_so() {
    let rig = Rig::new(registry());
    assert!(!rig.snap().called);
    rig.ok();
    assert!(rig.snap().called);
}

#[test]
fn r14_no_data_is_no_number() {
    let rig = Rig::new(rate());
    assert_eq!(rig.snap().rules[0].have, None);
    assert_eq!(rig.snap().rules[0].need, 0.5);
    rig.ok();
    assert_eq!(rig.snap().rules[0].have, Some(0.0));
    rig.fail(1);
    assert_eq!(rig.snap().rules[0].have, Some(0.5));
    rig.advance(secs(10));
    assert_eq!(rig.snap().rules[0].have, None);
}

#[test]
fn r14_lifetime_counts_are_exact() {
    let rig = Rig::new(registry());
    for _ in 0..10_000 {
        rig.ok();
    }
    rig.alive();
    rig.ignored();
    drop(rig.breaker.try_acquire());
    rig.trip();
    rig.refused();
    let counts: [u64; 7] = {
        let c = rig.snap().counts;
        [c.success, c.failure, c.alive, c.ignored, c.cancelled, c.refused, c.late]
    };
    assert_eq!(counts, [10_000, 5, 1, 1, 1, 1, 0]);
}

#[test]
fn r14_in_flight_is_what_is_out() {
    let rig = Rig::new(half_open(1, 1));
    let out: Vec<_> = (0..100).map(|_| rig.admit()).collect();
    assert_eq!(rig.snap().in_flight, 100);
    for (back, permit) in out.into_iter().enumerate() {
        if back % 2 == 0 {
            drop(permit);
        } else {
            permit.settle(Verdict::success());
        }
        assert_eq!(rig.snap().in_flight, 99 - back as u64);
    }
    assert_eq!(rig.breaker.reset(crate::harness::ana(), "nothing to do", false), Ok(Applied::Quiet));
}
