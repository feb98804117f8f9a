//! The breaker's facts in the words of the wire. One place, so that feed, store and API cannot disagree.

use std::time::Duration;

use fuseboard_app::wire::{
    breaker::{Mode as WireMode, Override as WireOverride, State as WireState},
    event::{Actor, After, Cause as WireCause, Probe as WireProbe, Transition as WireTransition},
};
use fuseboard_breaker::{
    event::{By, Cause, DecidingCall, DrawnWait, Mode, Override, Probe, Saved, State, Transition},
    outcome::{Outcome, RetryAfter},
    policy::TripRule,
};
use serde_json::{Map, Value, json};

pub use crate::stamp::{millis, time};

/// The automatic state.
pub fn state(state: State) -> WireState {
    match state {
        State::Closed => WireState::Closed,
        State::Open => WireState::Open,
        State::HalfOpen => WireState::HalfOpen,
    }
}

/// An override's mode.
pub fn mode(mode: Mode) -> WireMode {
    match mode {
        Mode::ForcedOpen => WireMode::ForcedOpen,
        Mode::ForcedClosed => WireMode::ForcedClosed,
    }
}

/// Who did it.
pub fn actor(by: &By) -> Actor {
    Actor { name: by.name.to_string(), verified: by.verified, via: by.via.to_string() }
}

/// An override in force.
pub fn held(held: &Override) -> WireOverride {
    WireOverride {
        mode: mode(held.mode),
        reason: held.reason.to_string(),
        by: held.by.name.to_string(),
        since: time(held.since),
        until: held.until.map(time),
    }
}

/// A transition row; its number is put in when it has one.
pub fn transition(seq: u64, node: &str, from: &Transition) -> WireTransition {
    WireTransition {
        seq,
        node: node.to_owned(),
        breaker: from.breaker.to_string(),
        at: time(from.at),
        from: state(from.from),
        to: state(from.to),
        held: from.mode.map(mode),
        generation: from.generation,
        cause: cause(&from.cause, &from.after),
        actor: from.by.as_ref().map(actor),
        reason: from.reason.as_deref().map(str::to_owned),
    }
}

/// What a transition left behind.
pub fn after(saved: &Saved) -> After {
    After {
        since: time(saved.since),
        attempt: saved.attempt,
        wait_ms: (saved.wait > Duration::ZERO).then(|| millis(saved.wait)),
        next_probe_at: saved.next_probe_at.map(time),
        down_since: saved.down_since.map(time),
        opens: saved.opens,
        held: saved.held.as_ref().map(held),
        cooldown_until: saved.cooldown_until.map(time),
    }
}

/// A probe row.
pub fn probe(seq: u64, node: &str, from: &Probe) -> WireProbe {
    let evidence = from.evidence.as_deref().cloned().unwrap_or_default();
    WireProbe {
        seq,
        node: node.to_owned(),
        breaker: from.breaker.to_string(),
        at: time(from.at),
        duration_ms: from.duration.as_micros() as f64 / 1_000.0,
        generation: from.generation,
        outcome: from.outcome.as_str().to_owned(),
        phase: from.phase.or(evidence.phase).map(|phase| phase.as_str().to_owned()),
        why: evidence.why.map(|why| why.as_str().to_owned()),
        status: evidence.status,
        code: evidence.code.map(str::to_owned),
        sent: evidence.sent,
        received: evidence.received,
        error: evidence.error.map(Into::into),
        method: evidence.method.map(Into::into),
        path: evidence.path.map(Into::into),
        synthetic: evidence.synthetic,
    }
}

fn cause(cause: &Cause, after: &Saved) -> WireCause {
    let mut detail = Map::new();
    match cause {
        Cause::Tripped { rule, have, calls, evidence, wait } => {
            detail.insert("rule".into(), rule.as_str().into());
            detail.insert("counts".into(), json!({ "have": have, "calls": calls }));
            detail.insert("threshold".into(), threshold(rule));
            add_evidence(&mut detail, evidence);
            add_wait(&mut detail, wait);
        }
        Cause::ProbeFailed { evidence, wait } => {
            add_evidence(&mut detail, evidence.as_deref().map_or(&[][..], std::slice::from_ref));
            add_wait(&mut detail, wait);
        }
        Cause::ProbeLost { wait } => add_wait(&mut detail, wait),
        Cause::ProbesSucceeded { good } => {
            detail.insert("good".into(), (*good).into());
        }
        Cause::CooldownStarted { retry_after, applied } => {
            detail.insert("retry_after".into(), retry(retry_after, *applied));
            detail.insert("wait_ms".into(), millis(*applied).into());
        }
        Cause::OverrideSet | Cause::OverrideChanged => {
            let until = after.held.as_ref().and_then(|held| held.until);
            detail.insert("until".into(), until.map_or(Value::Null, |until| time(until).to_string().into()));
        }
        Cause::WaitElapsed
        | Cause::ProbeRequested
        | Cause::Reset
        | Cause::OverrideCleared
        | Cause::OverrideExpired
        | Cause::CooldownEnded
        | Cause::Restored
        | Cause::PolicyChanged
        | Cause::Evicted => {}
    }
    WireCause { kind: cause.as_str().to_owned(), detail }
}

fn threshold(rule: &TripRule) -> Value {
    match *rule {
        TripRule::Failures { failures, within } => json!({ "need": failures, "within_ms": millis(within) }),
        TripRule::Consecutive { consecutive, within } => {
            json!({ "need": consecutive, "within_ms": within.map(millis) })
        }
        TripRule::FailureRate { failure_rate, within, min_calls } => {
            json!({ "need": failure_rate, "within_ms": millis(within), "min_calls": min_calls })
        }
        TripRule::SlowRate { slow_rate, slow_after, within, min_calls } => json!({
            "need": slow_rate, "within_ms": millis(within), "min_calls": min_calls, "slow_after_ms": millis(slow_after)
        }),
    }
}

fn add_wait(detail: &mut Map<String, Value>, wait: &DrawnWait) {
    detail.insert("wait_ms".into(), millis(wait.wait).into());
    detail.insert("jitter_ms".into(), millis(wait.jitter).into());
    if let Some(wish) = &wait.retry_after {
        detail.insert("retry_after".into(), retry(wish, wish.wait.min(wait.wait)));
    }
}

fn retry(wish: &RetryAfter, applied: Duration) -> Value {
    json!({ "raw": wish.raw, "applied_ms": millis(applied) })
}

/// The calls that decided, and beside them what they have in common, for lists that leave the calls out.
fn add_evidence(detail: &mut Map<String, Value>, calls: &[DecidingCall]) {
    let phases = calls.iter().filter_map(|call| call.evidence.phase.map(|phase| phase.as_str()));
    detail.insert("phase".into(), commonest(phases).into());
    detail.insert("status".into(), commonest(calls.iter().filter_map(|call| call.evidence.status)).into());
    if let Some(code) = commonest(calls.iter().filter_map(|call| call.evidence.code)) {
        detail.insert("code".into(), code.into());
    }
    let error = calls.iter().rev().find_map(|call| call.evidence.error.as_deref());
    detail.insert("error".into(), error.into());
    detail.insert("deciding".into(), calls.len().into());
    let mut paths = calls.iter().map(|call| call.evidence.path.as_deref());
    let first = paths.next().flatten();
    detail.insert("path".into(), first.filter(|first| paths.all(|path| path == Some(*first))).into());
    detail.insert("evidence".into(), calls.iter().map(deciding).collect());
}

fn commonest<T: PartialEq + Copy>(values: impl Iterator<Item = T>) -> Option<T> {
    let values: Vec<T> = values.collect();
    let count = |value: &T| values.iter().filter(|other| *other == value).count();
    values.iter().copied().max_by_key(count)
}

fn deciding(call: &DecidingCall) -> Value {
    let outcome = match call.outcome {
        Outcome::Success => "success",
        Outcome::Failure => "failure",
        Outcome::Alive => "alive",
        Outcome::Ignored => "ignored",
    };
    let seen = &call.evidence;
    let mut shown = json!({
        "at": time(call.at).to_string(),
        "outcome": outcome,
        "status": seen.status,
        "latency_ms": call.latency.map(|latency| latency.as_micros() as f64 / 1_000.0),
        "phase": seen.phase.map(|phase| phase.as_str()),
        "error": seen.error,
        "method": seen.method,
        "path": seen.path,
        "synthetic": seen.synthetic,
    });
    // What a gRPC call alone has.
    for (key, value) in [
        ("code", seen.code.map(Value::from)),
        ("sent", seen.sent.map(Value::from)),
        ("received", seen.received.map(Value::from)),
    ] {
        if let Some(value) = value {
            shown[key] = value;
        }
    }
    shown
}
