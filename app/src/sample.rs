//! Breakers, lanes and rows for tests.

use crate::{
    backend::About,
    wire::{
        breaker::{Breaker, Counts, Mode, Override, Recovery, Round, State},
        event::{After, Cause, StoreHealth, Transition, TransitionEvent},
        time::Time,
        timeline::Lane,
    },
};

pub(crate) fn at(ms: i64) -> Time {
    Time::from_micros(ms * 1_000)
}

pub(crate) fn about() -> About {
    About {
        node: "fuse-1".into(),
        version: "0.1.0".into(),
        demo: false,
        gateway_url: String::new(),
        store: StoreHealth::default(),
        findings: Vec::new(),
        now: at(10_000),
        started: at(0),
        cursor: "7-10".into(),
    }
}

pub(crate) fn breaker(id: &str, state: State) -> Breaker {
    Breaker {
        id: id.into(),
        upstreams: vec!["npm".into()],
        protocol: "http".into(),
        services: Vec::new(),
        policy: "registry".into(),
        state,
        held: None,
        since: at(0),
        generation: 0,
        attempt: 0,
        next_probe_at: None,
        probe_due: false,
        cooldown_until: None,
        in_flight: 0,
        down_since: None,
        refused_since_down: 0,
        opens: 0,
        wait_ms: None,
        half_open: Round { permits: 1, in_flight: 0, good: 0, needed: 1 },
        calls_per_min: 0,
        refused_per_min: 0,
        counts: Counts::default(),
        rules: vec![],
        recovery: Recovery { first_ms: 30_000, factor: 2.0, max_ms: 300_000, jitter: 0.1, lease_ms: 40_000 },
        failure_rate: None,
        p50_ms: None,
        p95_ms: None,
        opened: None,
        last_transition: None,
        called: true,
    }
}

pub(crate) fn open(id: &str, next_probe_ms: i64) -> Breaker {
    Breaker { next_probe_at: Some(at(next_probe_ms)), down_since: Some(at(0)), opens: 1, ..breaker(id, State::Open) }
}

pub(crate) fn held(mode: Mode, until_ms: Option<i64>) -> Breaker {
    let held = Override {
        mode,
        reason: "CDN move".into(),
        by: "unverified: ana".into(),
        since: at(0),
        until: until_ms.map(at),
    };
    Breaker { held: Some(held), ..breaker("held", State::Closed) }
}

pub(crate) fn transition(
    seq: u64,
    id: &str,
    at_ms: i64,
    from: State,
    to: State,
    cause: serde_json::Value,
) -> Transition {
    Transition {
        seq,
        node: "fuse-1".into(),
        breaker: id.into(),
        at: at(at_ms),
        from,
        to,
        held: None,
        generation: seq,
        cause: serde_json::from_value::<Cause>(cause).expect("a cause"),
        actor: None,
        reason: None,
    }
}

pub(crate) fn event(row: Transition) -> TransitionEvent {
    let closed = row.to == State::Closed;
    let after = After {
        since: row.at,
        attempt: 0,
        wait_ms: (!closed).then_some(30_000),
        next_probe_at: (row.to == State::Open).then(|| at(row.at.millis() + 30_000)),
        down_since: (!closed).then_some(row.at),
        opens: 1,
        held: None,
        cooldown_until: None,
    };
    TransitionEvent { row, after }
}

pub(crate) fn lane(id: &str, from_ms: i64, to_ms: i64, spans: &[(u64, char)]) -> Lane {
    Lane {
        breaker: id.into(),
        from: at(from_ms),
        to: at(to_ms),
        at: spans.iter().map(|span| span.0).collect(),
        state: spans.iter().map(|span| span.1).collect(),
        held: spans.iter().map(|_| '-').collect(),
        down: spans.iter().map(|span| if matches!(span.1, 'o' | 'h') { 1.0 } else { 0.0 }).collect(),
        cooldowns: Vec::new(),
        availability: None,
        calls: None,
        probes: None,
    }
}
