//! Every interleaving (up to a bound) of acquire, settle, drop, tick, reset and override on two and three threads. Run by
//! `make loom`, that is with `--cfg fuseboard_loom`; otherwise this file is empty.
#![cfg(fuseboard_loom)]

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use fuseboard_breaker::{
    Applied, Breaker, By, Event, EventSink, ManualClock, Mode, OverrideEnd, OwnedPermit, Policy, PolicySettings,
    ProbeOutcome, RefusedReason, Settled, State, TripRule, Verdict,
};
use loom::thread;

/// Keeps what it is told. Its lock is not one of loom's: it is never held where a thread can be changed.
#[derive(Default)]
struct Log(Mutex<Vec<Event>>);

impl EventSink for Log {
    fn record(&self, event: Event) {
        self.0.lock().expect("no panic while recording").push(event);
    }
}

struct Rig {
    breaker: Breaker,
    clock: Arc<ManualClock>,
    log: Arc<Log>,
}

fn ana() -> By {
    By { name: "ana".into(), verified: true, via: "api".into() }
}

impl Rig {
    /// `failures` trip it.
    fn new(rule: TripRule, probes: u32, successes: u32) -> Self {
        let mut settings = PolicySettings { trip: vec![rule], ..PolicySettings::registry() };
        settings.wait.jitter = 0.0;
        settings.half_open.probes = probes;
        settings.half_open.successes = successes;
        let (clock, log) = (Arc::new(ManualClock::default()), Arc::new(Log::default()));
        let policy = Policy::new(settings).expect("it can recover");
        Self { breaker: Breaker::new("a", policy, clock.clone(), log.clone()), clock, log }
    }

    /// Open, its wait just over.
    fn due(probes: u32, successes: u32) -> Self {
        let rig = Self::new(FIRST_FAILURE, probes, successes);
        assert_eq!(rig.admit().settle(Verdict::failure()), Settled::Counted);
        rig.clock.advance(Duration::from_secs(30));
        rig
    }

    fn admit(&self) -> OwnedPermit {
        self.breaker.try_acquire_owned().expect("admitted")
    }

    /// Nothing is out, nothing was lost, nothing changed places; how often it opened is what the rows say.
    fn settled(&self) {
        let snap = self.breaker.snapshot();
        assert_eq!((snap.in_flight, snap.half_open.in_flight), (0, 0), "permits are all back");
        let (mut state, mut mode, mut generation, mut opens) = (State::Closed, None, 0, 0);
        for event in self.log.0.lock().expect("no panic while recording").iter() {
            if let Event::Transition(row) = event {
                assert_eq!(row.from, state, "{row:?}");
                assert!(row.generation >= generation, "{row:?}");
                opens += u64::from(row.from != State::Open && row.to == State::Open);
                (state, mode, generation) = (row.to, row.mode, row.generation);
            }
        }
        assert_eq!((state, mode), (snap.state, snap.held.map(|held| held.mode)), "the last row is what stands");
        assert_eq!((opens, generation), (snap.opens, snap.generation));
    }

    fn probes(&self) -> Vec<ProbeOutcome> {
        let events = self.log.0.lock().expect("no panic while recording");
        let probe = |event: &Event| if let Event::Probe(probe) = event { Some(probe.outcome) } else { None };
        events.iter().filter_map(probe).collect()
    }
}

const FIRST_FAILURE: TripRule = TripRule::Failures { failures: 1, within: Duration::from_secs(10) };

fn explore(scenario: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = model.preemption_bound.or(Some(2));
    model.check(scenario);
}

/// How many hold a permit now, as they count themselves: up after they got it, down before they give it back.
#[derive(Clone, Default)]
struct Holding(Arc<AtomicU32>);

impl Holding {
    fn try_once(&self, breaker: &Breaker, most: u32, back: impl FnOnce(OwnedPermit)) -> bool {
        match breaker.try_acquire_owned() {
            Ok(permit) => {
                assert!(permit.is_probe());
                assert!(self.0.fetch_add(1, Ordering::SeqCst) < most, "more than {most} permits are out");
                loom::thread::yield_now();
                self.0.fetch_sub(1, Ordering::SeqCst);
                back(permit);
                true
            }
            Err(refused) => {
                assert_eq!(refused.reason, RefusedReason::ProbesTaken);
                false
            }
        }
    }
}

#[test]
fn three_threads_never_hold_more_than_one_permit() {
    explore(|| {
        let rig = Rig::due(1, 9);
        let holding = Holding::default();
        let threads: Vec<_> = (0..2)
            .map(|n| {
                let (breaker, holding) = (rig.breaker.clone(), holding.clone());
                thread::spawn(move || {
                    holding.try_once(&breaker, 1, |permit| {
                        if n == 0 {
                            drop(permit);
                        } else {
                            assert_eq!(permit.settle(Verdict::success()), Settled::Counted);
                        }
                    });
                })
            })
            .collect();
        holding.try_once(&rig.breaker, 1, drop);
        for thread in threads {
            thread.join().expect("no panic");
        }
        assert_eq!(rig.breaker.snapshot().state, State::HalfOpen);
        rig.settled();
    });
}

#[test]
fn two_of_three_threads_get_two_permits() {
    explore(|| {
        let rig = Rig::due(2, 9);
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let breaker = rig.breaker.clone();
                thread::spawn(move || breaker.try_acquire_owned().ok())
            })
            .collect();
        let mut held: Vec<_> = rig.breaker.try_acquire_owned().ok().into_iter().collect();
        for thread in threads {
            held.extend(thread.join().expect("no panic"));
        }
        assert_eq!((held.len(), rig.breaker.snapshot().half_open.in_flight), (2, 2));
        drop(held);
        rig.settled();
    });
}

#[test]
fn a_permit_given_back_is_there_for_the_next() {
    for settle in [true, false] {
        explore(move || {
            let rig = Rig::due(1, 9);
            let probe = rig.admit();
            let other = thread::spawn(move || {
                if settle {
                    assert_eq!(probe.settle(Verdict::success()), Settled::Counted);
                } else {
                    drop(probe);
                }
            });
            let early = rig.breaker.try_acquire_owned();
            other.join().expect("no panic");
            if let Err(refused) = &early {
                assert_eq!(refused.reason, RefusedReason::ProbesTaken);
                assert!(rig.breaker.try_acquire().is_ok(), "it is back by now");
            }
            drop(early);
            rig.settled();
        });
    }
}

#[test]
fn a_verdict_against_a_reset() {
    for verdict in [Verdict::failure(), Verdict::success()] {
        explore(move || {
            let rig = Rig::due(1, 1);
            let (probe, verdict) = (rig.admit(), verdict.clone());
            let other = thread::spawn(move || probe.settle(verdict));
            let applied = rig.breaker.reset(ana(), "trial", false).expect("no override");
            let settled = other.join().expect("no panic");
            let snap = rig.breaker.snapshot();
            assert_eq!((snap.state, snap.attempt), (State::Closed, 0));
            assert_eq!(snap.counts.late, u64::from(settled == Settled::Late));
            assert!(applied == Applied::Changed || settled == Settled::Counted);
            rig.settled();
        });
    }
}

#[test]
fn a_drop_against_a_reset_and_a_call() {
    explore(|| {
        let rig = Rig::due(1, 1);
        let probe = rig.admit();
        let breaker = rig.breaker.clone();
        let dropping = thread::spawn(move || drop(probe));
        let calling = thread::spawn(move || drop(breaker.try_acquire()));
        rig.breaker.reset(ana(), "trial", false).expect("no override");
        dropping.join().expect("no panic");
        calling.join().expect("no panic");
        assert_eq!(rig.breaker.snapshot().state, State::Closed);
        rig.settled();
    });
}

#[test]
fn a_verdict_against_an_override() {
    for mode in [Mode::ForcedOpen, Mode::ForcedClosed] {
        explore(move || {
            let rig = Rig::due(1, 1);
            let probe = rig.admit();
            let other = thread::spawn(move || probe.settle(Verdict::success()));
            rig.breaker.set_override(mode, OverrideEnd::Never, ana(), "trial");
            let state = match other.join().expect("no panic") {
                Settled::Counted => State::Closed,
                Settled::Late => State::HalfOpen,
            };
            let snap = rig.breaker.snapshot();
            assert_eq!((snap.state, snap.held.map(|held| held.mode)), (state, Some(mode)));
            rig.settled();
        });
    }
}

#[test]
fn a_call_against_forced_open() {
    explore(|| {
        let rig = Rig::new(FIRST_FAILURE, 1, 1);
        let breaker = rig.breaker.clone();
        let other = thread::spawn(move || {
            breaker.try_acquire().map(|permit| permit.settle(Verdict::success())).map_err(|refused| refused.reason)
        });
        rig.breaker.set_override(Mode::ForcedOpen, OverrideEnd::Never, ana(), "trial");
        assert!(rig.breaker.try_acquire().is_err(), "from the answer on nothing is sent");
        let counts = rig.breaker.snapshot().counts;
        match other.join().expect("no panic") {
            Ok(_) => {}
            Err(reason) => assert_eq!(reason, RefusedReason::ForcedOpen),
        }
        assert!(counts.refused >= 1);
        rig.settled();
    });
}

#[test]
fn two_failures_at_once_trip_once() {
    explore(|| {
        let rig = Rig::new(FIRST_FAILURE, 1, 1);
        let (first, second) = (rig.admit(), rig.admit());
        let other = thread::spawn(move || first.settle(Verdict::failure()));
        let settled = [second.settle(Verdict::failure()), other.join().expect("no panic")];
        assert!(settled.contains(&Settled::Counted) && settled.contains(&Settled::Late), "{settled:?}");
        let snap = rig.breaker.snapshot();
        assert_eq!((snap.state, snap.opens, snap.counts.failure, snap.counts.late), (State::Open, 1, 1, 1));
        rig.settled();
    });
}

#[test]
fn a_success_breaks_a_run_or_is_late() {
    explore(|| {
        let rig = Rig::new(TripRule::Consecutive { consecutive: 2, within: None }, 1, 1);
        let (first, good, bad) = (rig.admit(), rig.admit(), rig.admit());
        first.settle(Verdict::failure());
        let other = thread::spawn(move || good.settle(Verdict::success()));
        assert_eq!(bad.settle(Verdict::failure()), Settled::Counted);
        let late = other.join().expect("no panic") == Settled::Late;
        let snap = rig.breaker.snapshot();
        assert_eq!(late, snap.state == State::Open, "a success that counts is one that broke the run");
        assert_eq!((snap.counts.success, snap.counts.late), (u64::from(!late), u64::from(late)));
        rig.settled();
    });
}

#[test]
fn successes_that_take_no_lock_are_all_counted() {
    explore(|| {
        let rig = Rig::new(FIRST_FAILURE, 1, 1);
        let threads: Vec<_> = (0..2)
            .map(|n| {
                let breaker = rig.breaker.clone();
                thread::spawn(move || match breaker.try_acquire() {
                    Ok(permit) if n == 0 => drop(permit.settle(Verdict::success())),
                    Ok(permit) => drop(permit.settle(Verdict::failure())),
                    Err(refused) => assert_eq!(refused.reason, RefusedReason::Open),
                })
            })
            .collect();
        for thread in threads {
            thread.join().expect("no panic");
        }
        let snap = rig.breaker.snapshot();
        let counts = snap.counts;
        assert_eq!(counts.success + counts.failure + counts.late + counts.refused, 2, "{counts:?}");
        assert_eq!((snap.state, counts.failure), (State::Open, 1));
        rig.settled();
    });
}

#[test]
fn a_lease_against_its_verdict() {
    explore(|| {
        let rig = Rig::due(1, 1);
        let probe = rig.admit();
        rig.clock.advance(Duration::from_secs(40));
        let breaker = rig.breaker.clone();
        let other = thread::spawn(move || {
            breaker.tick();
        });
        assert_eq!(probe.settle(Verdict::success()), Settled::Late, "whoever comes first, the lease was due before");
        other.join().expect("no panic");
        assert_eq!(rig.breaker.snapshot().state, State::Open);
        assert_eq!(rig.probes().iter().filter(|outcome| **outcome == ProbeOutcome::Lost).count(), 1);
        rig.settled();
    });
}

#[test]
fn a_command_returns_after_its_events_whoever_hands_them_on() {
    explore(|| {
        let rig = Rig::new(FIRST_FAILURE, 1, 1);
        let call = rig.admit();
        let other = thread::spawn(move || call.settle(Verdict::failure()));
        rig.breaker.set_override(Mode::ForcedClosed, OverrideEnd::Never, ana(), "trial");
        let told = rig
            .log
            .0
            .lock()
            .expect("no panic while recording")
            .iter()
            .any(|event| matches!(event, Event::Transition(row) if row.cause.as_str() == "override_set"));
        assert!(told);
        other.join().expect("no panic");
        rig.settled();
    });
}
