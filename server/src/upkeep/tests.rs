use fuseboard_breaker::{By, Clock, ManualClock, Mode, NoSink, OverrideEnd, Policy, Verdict};

use super::*;

fn ana() -> By {
    By { name: "ana".into(), verified: false, via: "api".into() }
}

fn all(panel: &Panel) -> HashSet<Arc<str>> {
    panel.breakers().iter().map(|breaker| breaker.id().clone()).collect()
}

#[test]
fn an_override_ends_when_it_is_due_and_not_before() {
    let clock = Arc::new(ManualClock::default());
    let panel = Panel::new(10, clock.clone(), Arc::new(NoSink));
    let breaker = panel.configure("a", Policy::registry());
    panel.configure("b", Policy::registry());
    let mut due = Due::default();
    assert_eq!(due.tick(&panel, all(&panel), clock.now(), |_| None), None, "nothing is due in a quiet panel");

    breaker.set_override(Mode::ForcedOpen, OverrideEnd::After(Duration::from_secs(60)), ana(), "r");
    let next = due.tick(&panel, HashSet::from(["a".into()]), clock.now(), |_| None);
    assert_eq!(next, Some(clock.now() + Duration::from_secs(60)));
    clock.advance(Duration::from_secs(60) - Duration::from_nanos(1));
    assert_eq!(due.tick(&panel, HashSet::new(), clock.now(), |_| None), next);
    assert!(breaker.snapshot().held.is_some());
    clock.advance(Duration::from_nanos(1));
    assert_eq!(due.tick(&panel, HashSet::new(), clock.now(), |_| None), None);
    assert!(breaker.snapshot().held.is_none());
}

#[test]
fn a_probe_that_hangs_is_judged_without_traffic() {
    let clock = Arc::new(ManualClock::default());
    let panel = Panel::new(10, clock.clone(), Arc::new(NoSink));
    let breaker = panel.configure("a", Policy::registry());
    for _ in 0..5 {
        breaker.try_acquire().expect("closed").settle(Verdict::failure());
    }
    clock.advance(Duration::from_secs(30));
    let hanging = breaker.try_acquire_owned().expect("the wait is over");
    let mut due = Due::default();
    let mut ticks = 0;
    let mut next = due.tick(&panel, all(&panel), clock.now(), |_| None);
    while breaker.snapshot().state == State::HalfOpen {
        let at = next.expect("a half-open breaker is always looked at again");
        clock.advance(at - clock.now());
        next = due.tick(&panel, HashSet::new(), clock.now(), |_| None);
        ticks += 1;
        assert!(ticks <= 41, "the lease is 40 s");
    }
    assert_eq!(breaker.snapshot().state, State::Open);
    assert_eq!(breaker.snapshot().attempt, 1);
    drop(hanging);
}

#[test]
fn what_was_evicted_is_not_due() {
    let clock = Arc::new(ManualClock::default());
    let panel = Panel::new(10, clock.clone(), Arc::new(NoSink));
    let mut due = Due::default();
    due.set(&"gone".into(), Some(clock.now()));
    assert_eq!(due.tick(&panel, HashSet::new(), clock.now(), |_| None), None);
    assert!(due.of.is_empty() && due.order.is_empty());
}
