//! Random sequences of everything that can happen to a breaker, against a reference short enough to be read. The seed is
//! printed with a failure; `FUSEBOARD_SEED=<number>` plays it again, `FUSEBOARD_CASES=<number>` plays more.

#[path = "model/reference.rs"]
mod reference;

use std::{sync::Arc, time::Duration};

use fuseboard_breaker::{
    Breaker, By, HalfOpen, ManualClock, Mode, NoSink, Outcome, OverrideEnd, OwnedPermit, Policy, PolicySettings,
    RefusedReason, Settled, State, TripRule, Verdict, Wait,
};
use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner},
};

use crate::reference::Model;

// What both sides go by; times in milliseconds.
const FAILURES: usize = 4;
const WITHIN: u64 = 10_000;
const RUN: usize = 3;
const FIRST: u64 = 5_000;
const MAX: u64 = 15_000;
const PROBES: usize = 2;
const SUCCESSES: usize = 3;
const LEASE: u64 = 8_000;
/// The moment that does not come, the generation that does not either.
const NEVER: u64 = u64::MAX;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn policy() -> Policy {
    let settings = PolicySettings {
        name: "model".into(),
        trip: vec![
            TripRule::Failures { failures: FAILURES as u32, within: ms(WITHIN) },
            TripRule::Consecutive { consecutive: RUN as u32, within: None },
        ],
        wait: Wait { first: ms(FIRST), factor: 2.0, max: ms(MAX), jitter: 0.0 },
        half_open: HalfOpen { probes: PROBES as u32, successes: SUCCESSES as u32, lease: ms(LEASE) },
        alive_breaks_run: true,
    };
    Policy::new(settings).expect("it can recover")
}

#[derive(Debug, Clone, Copy)]
enum Op {
    Acquire,
    Ask,
    Settle(usize, Outcome),
    Drop(usize),
    Progress(usize),
    Advance(u64),
    Tick,
    Reset(bool),
    Override(Mode, Option<u64>),
    Release,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let outcome = prop_oneof![
        3 => Just(Outcome::Success),
        6 => Just(Outcome::Failure),
        1 => Just(Outcome::Alive),
        1 => Just(Outcome::Ignored)
    ];
    // Steps of half a second meet every threshold exactly; an override's odd millisecond keeps its end from falling
    // together with a lease, where either order would be right.
    let step = prop_oneof![4 => 0..4_u64, 2 => 4..20_u64, 1 => 20..60_u64].prop_map(|n| n * 500);
    let mode = prop_oneof![Just(Mode::ForcedOpen), Just(Mode::ForcedClosed)];
    let end = proptest::option::of((1..60_u64).prop_map(|n| n * 500 + 1));
    let op = prop_oneof![
        12 => Just(Op::Acquire),
        2 => Just(Op::Ask),
        14 => (0..6_usize, outcome).prop_map(|(which, outcome)| Op::Settle(which, outcome)),
        2 => (0..6_usize).prop_map(Op::Drop),
        2 => (0..6_usize).prop_map(Op::Progress),
        8 => step.prop_map(Op::Advance),
        2 => Just(Op::Tick),
        1 => any::<bool>().prop_map(Op::Reset),
        1 => (mode, end).prop_map(|(mode, end)| Op::Override(mode, end)),
        1 => Just(Op::Release)
    ];
    proptest::collection::vec(op, 1..120)
}

/// The breaker under test and what it let out, index for index as in the reference.
struct Real {
    breaker: Breaker,
    clock: Arc<ManualClock>,
    out: Vec<OwnedPermit>,
}

fn ana() -> By {
    By { name: "ana".into(), verified: true, via: "api".into() }
}

/// The `which`-th call that is out, counted from the newest.
fn pick(model: &Model, which: usize) -> Option<usize> {
    (0..model.out.len()).rev().nth(which % model.out.len().max(1))
}

fn play(model: &mut Model, real: &mut Real, op: Op) -> Result<(), TestCaseError> {
    if let Op::Advance(step) = op {
        model.now += step;
        real.clock.advance(ms(step));
        return Ok(());
    }
    model.due();
    match op {
        Op::Acquire | Op::Ask => {
            let asked = matches!(op, Op::Ask);
            let (breaker, expected) = (&real.breaker, model.acquire(asked));
            let got = if asked { breaker.acquire_probe() } else { breaker.try_acquire_owned() };
            match (&expected, &got) {
                // Which words an operator's second probe gets is not the reference's business.
                (Err(reason), Err(refused)) if !asked => prop_assert_eq!(*reason, refused.reason),
                (Err(_), Err(_)) => {}
                (Ok(probe), Ok(permit)) => prop_assert_eq!(*probe, permit.is_probe()),
                _ => prop_assert!(false, "expected {:?}, got {:?}", expected, got),
            }
            real.out.extend(got.ok());
        }
        Op::Settle(which, outcome) => {
            let Some(n) = pick(model, which) else { return Ok(()) };
            let (out, permit) = (model.out.remove(n), real.out.remove(n));
            let counted = out.generation == model.generation;
            if counted && outcome != Outcome::Ignored {
                model.judge(out.lease != NEVER, outcome != Outcome::Failure, model.now);
            }
            let settled = permit.settle(Verdict::new(outcome));
            prop_assert_eq!(settled == Settled::Counted, counted);
        }
        Op::Drop(which) => {
            let Some(n) = pick(model, which) else { return Ok(()) };
            model.out.remove(n);
            drop(real.out.remove(n));
        }
        Op::Progress(which) => {
            real.breaker.tick();
            let Some(n) = pick(model, which) else { return Ok(()) };
            model.out[n].moved = model.now;
            real.out[n].progress();
        }
        Op::Tick => {
            real.breaker.tick();
        }
        Op::Reset(end_override) => {
            let refused = model.mode.is_some() && !end_override;
            let quiet = model.state == State::Closed && model.mode.is_none() && model.failed() == (0, 0);
            if !refused && !quiet {
                (model.mode, model.end) = (None, NEVER);
                model.turn(State::Closed, 0);
            }
            prop_assert_eq!(real.breaker.reset(ana(), "trial", end_override).is_err(), refused);
        }
        Op::Override(mode, end) => {
            if model.mode != Some(mode) {
                model.turn(model.state, model.attempt);
            }
            (model.mode, model.end) = (Some(mode), end.map_or(NEVER, |end| model.now + end));
            real.breaker.set_override(
                mode,
                end.map_or(OverrideEnd::Never, |end| OverrideEnd::After(ms(end))),
                ana(),
                "",
            );
        }
        Op::Release => {
            let held = model.mode.is_some();
            if held {
                (model.mode, model.end) = (None, NEVER);
                model.turn(model.state, model.attempt);
            }
            prop_assert_eq!(real.breaker.release(ana(), "").is_ok(), held);
        }
        Op::Advance(_) => {}
    }
    same(model, real)
}

fn same(model: &Model, real: &Real) -> Result<(), TestCaseError> {
    let snap = real.breaker.snapshot();
    prop_assert_eq!(snap.state, model.state);
    prop_assert_eq!(snap.generation, model.generation);
    prop_assert_eq!(snap.attempt, model.attempt);
    prop_assert_eq!(snap.held.map(|held| held.mode), model.mode);
    prop_assert_eq!(snap.in_flight as usize, model.out.len());
    let (probing, good) =
        if model.state == State::HalfOpen { (model.probes().len(), model.counted.len()) } else { (0, 0) };
    prop_assert_eq!((snap.half_open.in_flight as usize, snap.half_open.good as usize), (probing, good));
    let next = (model.state == State::Open).then(|| ms(model.next.saturating_sub(model.now)));
    prop_assert_eq!(snap.next_probe_in, next);
    if model.state == State::Closed {
        let (failed, run) = model.failed();
        prop_assert_eq!(snap.rules[0].have, Some(failed as f64));
        prop_assert_eq!(snap.rules[1].have, Some(run as f64));
    }
    Ok(())
}

fn from_environment(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} takes a number, not {text}")))
}

#[test]
fn a_breaker_does_what_the_reference_does() {
    let seed = from_environment("FUSEBOARD_SEED").unwrap_or_else(rand::random);
    let cases = from_environment("FUSEBOARD_CASES").unwrap_or(2_000);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config { cases: cases as u32, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let outcome = runner.run(&ops(), |ops| {
        let clock = Arc::new(ManualClock::default());
        let breaker = Breaker::new("model", policy(), clock.clone(), Arc::new(NoSink));
        let generation = breaker.snapshot().generation;
        let mut real = Real { breaker, clock, out: Vec::new() };
        let mut model = Model {
            now: 0,
            state: State::Closed,
            generation,
            attempt: 0,
            next: 0,
            counted: Vec::new(),
            mode: None,
            end: NEVER,
            out: Vec::new(),
        };
        for (n, op) in ops.into_iter().enumerate() {
            play(&mut model, &mut real, op).map_err(|error| match error {
                TestCaseError::Fail(reason) => TestCaseError::fail(format!("step {n}, {op:?}: {reason}")),
                rejected @ TestCaseError::Reject(_) => rejected,
            })?;
        }
        Ok(())
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, ops)) => panic!("FUSEBOARD_SEED={seed}\n{reason}\n{ops:#?}"),
        Err(TestError::Abort(reason)) => panic!("FUSEBOARD_SEED={seed} {reason}"),
    }
}
