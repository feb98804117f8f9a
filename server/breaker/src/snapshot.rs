//! A breaker as it stands at one moment. Reading one takes no permit and moves nothing.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::{
    event::{Override, State},
    policy::{Policy, TripRule},
};

/// Everything there is to show of a breaker.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Which breaker.
    pub id: Arc<str>,
    /// The policy in force.
    pub policy: Policy,
    /// The automatic state; while an override stands, its shadow.
    pub state: State,
    /// The override in force.
    pub held: Option<Override>,
    /// How long until the override ends by itself, on the monotonic clock; `None` without one, or without an end.
    pub held_for: Option<Duration>,
    /// When the state began.
    pub since: SystemTime,
    /// Grows with each change of state or override; compare within one run only.
    pub generation: u64,
    /// Failed probe rounds since it left closed.
    pub attempt: u32,
    /// When the wait ends, as it was written when it was drawn; only while open.
    pub next_probe_at: Option<SystemTime>,
    /// How long until then on the monotonic clock, never below zero; only while open.
    pub next_probe_in: Option<Duration>,
    /// Open and past its wait: the next call is a probe.
    pub probe_due: bool,
    /// By how much the oldest probe in flight is past its lease; a tick judges it. `None` under forced open, which judges
    /// none.
    pub lease_over_for: Option<Duration>,
    /// When the cool-down ends.
    pub cooldown_until: Option<SystemTime>,
    /// Calls holding a permit.
    pub in_flight: u64,
    /// When it left closed.
    pub down_since: Option<SystemTime>,
    /// Refused since it left closed or was forced open; zero while neither.
    pub refused_since_down: u64,
    /// How often it entered open.
    pub opens: u64,
    /// The wait as it was drawn, jitter included; also while half-open.
    pub wait: Option<Duration>,
    /// The half-open round.
    pub half_open: HalfOpenSnapshot,
    /// Outcomes since the process started; a reset does not clear them.
    pub counts: Counts,
    /// How near each rule is, in the policy's order.
    pub rules: Vec<RuleSnapshot>,
    /// Whether a call was ever made; false is "waiting for the first call".
    pub called: bool,
}

/// The half-open round; all but `permits` and `needed` are zero outside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HalfOpenSnapshot {
    /// Probes that may be in flight at a time.
    pub permits: u32,
    /// Probes in flight.
    pub in_flight: u32,
    /// Good verdicts so far.
    pub good: u32,
    /// Good verdicts that close.
    pub needed: u32,
}

/// Outcomes since the process started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// The host did its work.
    pub success: u64,
    /// The host failed; lost probes and panics among them.
    pub failure: u64,
    /// The host answered, the client or a limit is at fault.
    pub alive: u64,
    /// No evidence either way.
    pub ignored: u64,
    /// Permits dropped before they were settled.
    pub cancelled: u64,
    /// Calls failed fast.
    pub refused: u64,
    /// Verdicts that came after the breaker had moved on.
    pub late: u64,
}

/// How near one rule is to tripping.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RuleSnapshot {
    /// The rule.
    pub rule: TripRule,
    /// A count, or a share in [0, 1]; `None` for a rate without data.
    pub have: Option<f64>,
    /// Where it trips.
    pub need: f64,
}
