//! The breaker's part of rule 40: facts leave in the order the machine made them, and fit together.

use std::sync::{
    Arc, Barrier,
    atomic::{AtomicBool, Ordering},
};

use fuseboard_breaker::{
    Breaker, Cause, Event, EventSink, ManualClock, Mode, OverrideEnd, PolicySettings, State, Transition, Verdict,
};

use crate::harness::{Log, Rig, ana, half_open, policy, registry, secs};

/// Each row begins where the one before ended, and the last one is what stands.
#[track_caller]
fn fits(rows: &[Transition], breaker: &Breaker) {
    let (mut state, mut mode, mut generation) = (State::Closed, None, 0);
    for (n, row) in rows.iter().enumerate() {
        assert_eq!(row.from, state, "row {n} of {}: {row:?}", rows.len());
        assert!(row.generation >= generation, "row {n}: generations do not go back");
        assert_eq!((row.after.state, row.after.held.as_ref().map(|held| held.mode)), (row.to, row.mode), "row {n}");
        (state, generation) = (row.to, row.generation);
        mode = row.mode;
    }
    let snap = breaker.snapshot();
    assert_eq!((state, mode), (snap.state, snap.held.map(|held| held.mode)), "the last row is the live state");
    if !rows.is_empty() {
        assert_eq!(generation, snap.generation);
    }
}

#[test]
fn r40_each_row_begins_where_the_last_ended() {
    let rig = Rig::open(half_open(1, 2));
    rig.wait_out();
    rig.ok();
    rig.fail(1);
    rig.held(Mode::ForcedClosed, OverrideEnd::After(secs(100)));
    rig.wait_out();
    rig.ok();
    rig.ok();
    rig.advance(secs(100));
    rig.breaker.tick();
    rig.trip();
    rig.breaker.reset(ana(), "seen to", false).expect("no override");
    assert_eq!(
        rig.causes(),
        [
            "tripped",
            "wait_elapsed",
            "probe_failed",
            "override_set",
            "wait_elapsed",
            "probes_succeeded",
            "override_expired",
            "tripped",
            "reset"
        ]
    );
    fits(&rig.log.transitions(), &rig.breaker);
}

#[test]
fn r40_a_probe_is_on_record_before_what_it_led_to() {
    for (verdict, cause) in [(Verdict::success(), "probes_succeeded"), (Verdict::failure(), "probe_failed")] {
        let rig = Rig::due(registry());
        rig.call(verdict);
        let words: Vec<_> = rig
            .log
            .events()
            .iter()
            .map(|event| match event {
                Event::Transition(row) => row.cause.as_str(),
                Event::Probe(_) => "probe",
            })
            .collect();
        assert_eq!(words, ["tripped", "wait_elapsed", "probe", cause]);
    }
}

#[test]
fn r40_ordinary_calls_are_counters_not_events() {
    let rig = Rig::new(registry());
    for _ in 0..100 {
        rig.ok();
        rig.alive();
        rig.ignored();
        drop(rig.breaker.try_acquire());
    }
    rig.fail(4);
    assert!(rig.log.events().is_empty());
}

#[test]
fn r40_machine_order_holds_under_threads() {
    let mut settings = PolicySettings { alive_breaks_run: true, ..half_open(2, 2) };
    settings.wait.first = secs(1);
    for _ in 0..30 {
        let (clock, log) = (Arc::new(ManualClock::default()), Arc::new(Log::default()));
        let breaker = Breaker::new("a", policy(settings.clone()), clock.clone(), log.clone());
        let together = Barrier::new(6);
        std::thread::scope(|scope| {
            for thread in 0..4_u32 {
                let (breaker, together, clock) = (&breaker, &together, &clock);
                scope.spawn(move || {
                    together.wait();
                    for n in 0..300 {
                        match breaker.try_acquire() {
                            Ok(permit) if n % 7 == 3 => drop(permit),
                            Ok(permit) if (n / 20 + thread) % 2 == 0 => {
                                permit.settle(Verdict::failure());
                            }
                            Ok(permit) => {
                                permit.settle(Verdict::success());
                            }
                            Err(_) => clock.advance(secs(1) / 4),
                        }
                    }
                });
            }
            scope.spawn(|| {
                together.wait();
                for n in 0..60 {
                    let mode = if n % 2 == 0 { Mode::ForcedClosed } else { Mode::ForcedOpen };
                    breaker.set_override(mode, OverrideEnd::After(secs(2)), ana(), "trial");
                    let _ = breaker.release(ana(), "trial");
                }
            });
            scope.spawn(|| {
                together.wait();
                for _ in 0..60 {
                    breaker.reset(ana(), "trial", true).expect("it may end overrides");
                }
            });
        });
        let rows = log.transitions();
        assert!(rows.len() >= 120, "{}", rows.len());
        fits(&rows, &breaker);
        assert_eq!(breaker.snapshot().in_flight, 0);
        let opens = rows.iter().filter(|row| row.from != State::Open && row.to == State::Open).count();
        assert_eq!(breaker.snapshot().opens, opens as u64, "no row is missing");
    }
}

/// Asks its own breaker something whenever it is told something.
#[derive(Default)]
struct Curious {
    log: Log,
    breaker: std::sync::OnceLock<Breaker>,
    answered: AtomicBool,
}

impl EventSink for Curious {
    fn record(&self, event: Event) {
        self.log.record(event);
        if let Some(breaker) = self.breaker.get() {
            breaker.snapshot();
            drop(breaker.try_acquire());
            self.answered.store(true, Ordering::SeqCst);
        }
    }
}

#[test]
fn r40_the_sink_is_called_without_the_breakers_locks() {
    let sink = Arc::new(Curious::default());
    let breaker = Breaker::new("a", policy(registry()), Arc::new(ManualClock::default()), sink.clone());
    sink.breaker.set(breaker.clone()).expect("set once");
    for _ in 0..5 {
        breaker.try_acquire().expect("closed").settle(Verdict::failure());
    }
    assert!(sink.answered.load(Ordering::SeqCst));
    assert_eq!(sink.log.transitions().len(), 1);
}

#[test]
fn r40_a_command_answers_after_its_events_were_handed_on() {
    let rig = Rig::new(registry());
    rig.held(Mode::ForcedOpen, OverrideEnd::Never);
    assert!(matches!(rig.last().cause, Cause::OverrideSet));
    rig.release();
    assert!(matches!(rig.last().cause, Cause::OverrideCleared));
}
