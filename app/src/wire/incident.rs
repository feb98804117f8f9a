//! Incidents: one breaker from leaving closed to closed again.

use serde::{Deserialize, Serialize};

use super::{
    event::{Actor, Cause, Transition},
    time::Time,
};

/// What opened an incident.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum IncidentKind {
    /// The breaker left closed.
    Tripped,
    /// An operator forced a closed breaker open.
    Held,
}

/// Probes of one incident.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct ProbeTally {
    /// Success or alive.
    pub good: u64,
    /// Failures.
    pub bad: u64,
    /// Judged at the end of their lease.
    pub lost: u64,
    /// Ignored, cancelled or late: no evidence either way.
    pub void: u64,
}

/// One incident as lists show it. It begins with the row that left closed (or set forced open on a closed breaker) and
/// ends with the row after which the breaker is closed and not forced open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Incident {
    /// The number of the opening row.
    pub id: u64,
    /// The node that saw it.
    pub node: String,
    /// Which breaker.
    pub breaker: String,
    /// The upstreams whose calls passed the breaker when it began; today's for one that was recorded before that was kept.
    pub upstreams: Vec<String>,
    /// What opened it.
    pub kind: IncidentKind,
    /// When.
    pub start: Time,
    /// When it ended; null while it lasts.
    pub end: Option<Time>,
    /// Time of it that was down: forced open, or without override open or half-open. Until now while it lasts.
    pub down_ms: u64,
    /// Time of it no process watched; in no other figure.
    pub unknown_ms: u64,
    /// The opening row's cause; in lists without `evidence`.
    pub cause: Cause,
    /// Who opened it, if somebody did.
    pub actor: Option<Actor>,
    /// Why they did.
    pub reason: Option<String>,
    /// The closing row's cause, without evidence.
    pub ended_by: Option<Cause>,
    /// The closing row's number; null while it lasts.
    pub last_seq: Option<u64>,
    /// How often it opened, the first time included.
    pub opens: u64,
    /// Probes sent in it.
    pub probes: ProbeTally,
    /// Calls that failed in it, those that tripped it included.
    pub calls_failed: u64,
    /// Calls refused in it.
    pub calls_refused: u64,
    /// Overrides set in it.
    pub overrides: u64,
}

/// How often something was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Refusals {
    /// A redacted path, or a user agent.
    pub value: String,
    /// How often.
    pub count: u64,
}

/// One wait of an incident.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Wait {
    /// When it began.
    pub at: Time,
    /// How long it was drawn for.
    pub wait_ms: u64,
    /// What it was shortened by.
    pub jitter_ms: u64,
}

/// One incident with everything known of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct IncidentDetail {
    /// The incident, its cause with `evidence`; its fields stand at the top level.
    #[serde(flatten)]
    pub incident: Incident,
    /// Its rows, oldest first, at most 1,000.
    pub transitions: Vec<Transition>,
    /// Rows beyond those, to be asked for with `GET /transitions?breaker=&after=`.
    pub more_transitions: u64,
    /// Its waits, oldest first.
    pub waits: Vec<Wait>,
    /// The paths refused most, at most 20.
    pub refused_paths: Vec<Refusals>,
    /// The user agents refused most, at most 20.
    pub refused_agents: Vec<Refusals>,
}
