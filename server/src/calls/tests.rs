use fuseboard_breaker::clock::ManualClock;

use super::*;

const OK: ProbeOutcome = ProbeOutcome::Settled(Outcome::Success);
const BAD: ProbeOutcome = ProbeOutcome::Settled(Outcome::Failure);
const ALIVE: ProbeOutcome = ProbeOutcome::Settled(Outcome::Alive);

fn calls() -> (Arc<ManualClock>, Calls, Arc<str>) {
    let clock = Arc::new(ManualClock::default());
    (clock.clone(), Calls::new(clock), "https:registry.example".into())
}

fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

#[test]
fn r14_no_data_is_no_rate() {
    let (_, calls, id) = calls();
    assert_eq!(calls.stats(&id), CallStats::default());
    calls.refuse(&id);
    calls.settle(&id, ProbeOutcome::Cancelled, None);
    calls.settle(&id, ProbeOutcome::Settled(Outcome::Ignored), None);
    let stats = calls.stats(&id);
    assert_eq!((stats.calls_per_min, stats.refused_per_min), (3, 1));
    assert_eq!((stats.failure_rate, stats.p50_ms, stats.p95_ms), (None, None, None));
}

#[test]
fn r11_refused_calls_are_in_no_rate() {
    let (_, calls, id) = calls();
    (0..2).for_each(|_| calls.settle(&id, OK, Some(Duration::from_millis(10))));
    calls.settle(&id, ALIVE, Some(Duration::from_millis(10)));
    calls.settle(&id, BAD, Some(Duration::from_millis(800)));
    (0..10).for_each(|_| calls.refuse(&id));
    let stats = calls.stats(&id);
    assert_eq!(stats.failure_rate, Some(0.25));
    assert!((9.3..=10.7).contains(&stats.p50_ms.unwrap()), "{stats:?}");
    assert!((745.0..=856.0).contains(&stats.p95_ms.unwrap()), "{stats:?}");
}

#[test]
fn a_minute_forgets_what_is_older() {
    let (clock, calls, id) = calls();
    calls.settle(&id, BAD, None);
    clock.advance(seconds(30));
    calls.settle(&id, OK, None);
    assert_eq!(calls.stats(&id).calls_per_min, 2);
    clock.advance(seconds(30));
    let stats = calls.stats(&id);
    assert_eq!((stats.calls_per_min, stats.failure_rate), (1, Some(0.0)));
    clock.advance(seconds(30));
    assert_eq!(calls.stats(&id), CallStats::default());
}

#[test]
fn minutes_are_handed_out_whole_and_only_when_they_changed() {
    let (clock, calls, id) = calls();
    calls.settle(&id, OK, None);
    let first = calls.take_dirty();
    calls.refuse(&id);
    let second = calls.take_dirty();
    assert_eq!((first.len(), first[0].totals.success, first[0].totals.refused), (1, 1, 0));
    assert_eq!((second.len(), second[0].totals.success, second[0].totals.refused), (1, 1, 1));
    assert_eq!(second[0].at, 1_767_225_600_000_000);
    assert_eq!(calls.take_dirty(), []);
    clock.advance(seconds(60));
    calls.settle(&id, BAD, None);
    let third = calls.take_dirty();
    assert_eq!((third.len(), third[0].at - second[0].at, third[0].totals.failure), (1, MINUTE, 1));
}

#[test]
fn r15_a_wall_clock_set_back_begins_no_minute_again() {
    let (clock, calls, id) = calls();
    calls.settle(&id, OK, None);
    let began = clock.wall();
    let before = calls.take_dirty();
    // Long enough for the minute to be over and the breaker's room to be given back.
    clock.advance(seconds(120));
    assert_eq!(calls.take_dirty(), []);
    clock.set_wall(began);
    calls.settle(&id, OK, None);
    let after = calls.take_dirty();
    assert_eq!((after[0].at, after[0].totals.success), (before[0].at + 2 * MINUTE, 1));
}

#[test]
fn a_store_that_takes_nothing_for_hours_costs_bounded_room_and_no_count() {
    let (clock, calls, id) = calls();
    for _ in 0..300 {
        calls.settle(&id, OK, None);
        clock.advance(seconds(60));
    }
    let rows = calls.take_dirty();
    assert_eq!(rows.len(), MINUTES_KEPT);
    assert_eq!(rows.iter().map(|row| row.totals.success).sum::<u64>(), 300);
}

#[test]
fn room_is_given_back_after_a_quiet_minute() {
    let (clock, calls, id) = calls();
    calls.settle(&id, OK, None);
    clock.advance(seconds(64));
    calls.take_dirty();
    assert_eq!(calls.shard(&id).lock().len(), 1);
    clock.advance(seconds(1));
    calls.take_dirty();
    assert_eq!(calls.shard(&id).lock().len(), 0);
}
