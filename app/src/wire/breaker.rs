//! One breaker as it stands now.

use serde::{Deserialize, Serialize, Serializer};

use super::{
    event::{Cause, Transition},
    time::Time,
};

/// The automatic state; also while an override stands (its shadow).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Traffic flows.
    Closed,
    /// Calls are refused.
    Open,
    /// A few calls probe the host.
    HalfOpen,
}

/// An operator's override.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Nothing is sent.
    ForcedOpen,
    /// Everything is sent.
    ForcedClosed,
}

/// An override in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Override {
    /// What it does.
    pub mode: Mode,
    /// Why.
    pub reason: String,
    /// Who; `unverified: ana` until somebody signs in.
    pub by: String,
    /// Since when.
    pub since: Time,
    /// Until when; no end when null.
    pub until: Option<Time>,
}

/// The half-open round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Round {
    /// Probes that may be in flight at a time.
    pub permits: u32,
    /// Probes in flight.
    pub in_flight: u32,
    /// Good verdicts so far.
    pub good: u32,
    /// Good verdicts that close.
    pub needed: u32,
}

/// Outcomes since the process started; a reset does not clear them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Counts {
    /// The host did its work.
    pub success: u64,
    /// The host failed.
    pub failure: u64,
    /// The host answered, the client or a limit is at fault.
    pub alive: u64,
    /// No evidence either way.
    pub ignored: u64,
    /// Dropped before they were settled.
    pub cancelled: u64,
    /// Failed fast.
    pub refused: u64,
    /// Verdicts from before the last change.
    pub late: u64,
}

/// How near a trip rule is to tripping.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Rule {
    /// `failures`, `consecutive`, `failure_rate` or `slow_rate`.
    pub rule: String,
    /// Where it stands: a count, or a share in [0, 1]; null for a rate without data.
    #[serde(serialize_with = "short")]
    pub have: Option<f64>,
    /// Where it trips.
    #[serde(serialize_with = "short")]
    pub need: f64,
    /// The window, if it has one.
    pub within_ms: Option<u64>,
    /// Calls a rate is judged from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_calls: Option<u32>,
    /// From where on a call is slow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_after_ms: Option<u64>,
}

/// How the policy waits and judges, so that the board can say it in words.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Recovery {
    /// The wait after the first trip.
    pub first_ms: u64,
    /// Growth with each failed round.
    pub factor: f64,
    /// No wait is longer.
    pub max_ms: u64,
    /// The largest share a wait is shortened by.
    pub jitter: f64,
    /// The longest a probe may hold its permit.
    pub lease_ms: u64,
}

/// One breaker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Breaker {
    /// Its canonical id.
    pub id: String,
    /// The configured upstreams it guards.
    pub upstreams: Vec<String>,
    /// `http` or `grpc`.
    #[serde(default = "http")]
    pub protocol: String,
    /// The gRPC services that go there, as configured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<String>,
    /// The policy's name.
    pub policy: String,
    /// The automatic state.
    pub state: State,
    /// The override in force.
    #[serde(rename = "override")]
    pub held: Option<Override>,
    /// When the state began.
    pub since: Time,
    /// Grows with each change; compare within one run only.
    pub generation: u64,
    /// Failed probe rounds since it left closed.
    pub attempt: u32,
    /// When the wait ends; null when closed or half-open.
    pub next_probe_at: Option<Time>,
    /// Open and past its wait.
    pub probe_due: bool,
    /// When a cool-down ends.
    pub cooldown_until: Option<Time>,
    /// Calls holding a permit.
    pub in_flight: u64,
    /// When it left closed.
    pub down_since: Option<Time>,
    /// Refused since it left closed or was forced open.
    pub refused_since_down: u64,
    /// How often it opened.
    pub opens: u64,
    /// The wait in force.
    pub wait_ms: Option<u64>,
    /// The half-open round.
    pub half_open: Round,
    /// Calls in the last 60 s, refused ones included.
    pub calls_per_min: u64,
    /// Refused in the last 60 s.
    pub refused_per_min: u64,
    /// Outcomes since the process started.
    pub counts: Counts,
    /// How near each rule is.
    pub rules: Vec<Rule>,
    /// How the policy waits and judges.
    pub recovery: Recovery,
    /// Share of failures in the last 60 s; null without data.
    pub failure_rate: Option<f64>,
    /// Median time to the response's head in the last 60 s.
    pub p50_ms: Option<f64>,
    /// 95th percentile of it.
    pub p95_ms: Option<f64>,
    /// What the outage that lasts began with, without its evidence, whatever came after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened: Option<Cause>,
    /// The newest change; without evidence in lists.
    pub last_transition: Option<Transition>,
    /// Whether a call was ever made; false is "waiting for the first call".
    pub called: bool,
}

impl Breaker {
    /// Since when calls have been turned away, where they are: an override on top of an outage does not begin it anew.
    pub fn refused_since(&self) -> Time {
        let held = self.held.as_ref().map(|held| held.since);
        self.down_since.into_iter().chain(held).min().unwrap_or(self.since)
    }
}

fn http() -> String {
    "http".to_owned()
}

/// `GET /api/v1/breakers`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct BreakerList {
    /// The breakers asked for.
    pub breakers: Vec<Breaker>,
    /// When this was read.
    pub as_of: Time,
    /// Where the feed goes on from here.
    pub cursor: String,
    /// Pass as `after` for the next page.
    pub next: Option<String>,
}

/// A count stands without a fraction: `5`, not `5.0`.
fn short<S: Serializer>(number: &(impl Copy + Into<Option<f64>>), out: S) -> Result<S::Ok, S::Error> {
    match (*number).into() {
        None => out.serialize_none(),
        Some(number) if number.fract() == 0.0 && number.abs() < 9e15 => out.serialize_i64(number as i64),
        Some(number) => out.serialize_f64(number),
    }
}
