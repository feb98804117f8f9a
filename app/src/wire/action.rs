//! One action on many breakers: `POST /actions`.

use serde::{Deserialize, Serialize};

use super::breaker::{Breaker, Mode, Override};

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Close and forget.
    Reset,
    /// Hold open.
    ForceOpen,
    /// Hold closed.
    ForceClosed,
    /// End an override.
    Release,
    /// Probe now.
    Probe,
}

/// Which breakers, when they are not listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ActionFilter {
    /// As `GET /breakers` takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// As `GET /breakers` takes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Breakers of this configured upstream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<String>,
}

/// `POST /actions`; exactly one of `ids` and `filter`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BulkAction {
    /// What to do.
    pub action: Action,
    /// On these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<String>>,
    /// On those that match; an empty filter is all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<ActionFilter>,
    /// Why.
    #[serde(default)]
    #[cfg_attr(feature = "ssr", schema(max_length = 500))]
    pub reason: String,
    /// How long, for the two that hold; with neither this nor `until` they are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ssr", schema(minimum = 1, maximum = 31_536_000_000_u64))]
    pub for_ms: Option<u64>,
    /// Until when: outer `None` not given, inner `None` no end.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "super::command::given")]
    #[cfg_attr(feature = "ssr", schema(value_type = Option<super::time::Time>))]
    pub until: Option<Option<super::time::Time>>,
    /// For reset: also end an override that stands.
    #[serde(default)]
    pub end_override: bool,
    /// Say what it would do, and do nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ssr", schema(max_length = 80))]
    pub by: Option<String>,
}

/// What became of one breaker, or would.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct ActionResult {
    /// Which breaker.
    pub breaker: String,
    /// The status this one would have alone: 200, 404, 409, 422, 503.
    pub status: u16,
    /// Something changes, or changed.
    pub changed: bool,
    /// In a sentence.
    pub detail: String,
    /// It took effect though it could not be stored.
    #[serde(default)]
    pub applied: bool,
    /// Calls a minute it touches.
    pub calls_per_min: u64,
    /// The override it ends or replaces, if one stands.
    pub replaces: Option<Override>,
    /// The mode that stands afterwards.
    #[serde(rename = "override")]
    pub held: Option<Mode>,
    /// Pass as `seq` to `POST /undo` within 10 s; null where there is nothing to undo.
    #[serde(default)]
    pub undo: Option<u64>,
}

/// The answer of `POST /actions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct ActionAnswer {
    /// Nothing was done.
    pub dry_run: bool,
    /// Breakers the action touches.
    pub breakers: u64,
    /// Calls a minute of all of them.
    pub calls_per_min: u64,
    /// Pass as `seq` to `POST /undo` within 10 s to undo all of it; null where there is nothing to undo.
    #[serde(default)]
    pub undo: Option<u64>,
    /// One a breaker, in the order asked for.
    pub results: Vec<ActionResult>,
}

/// What a probe found that somebody asked for: the answer of `POST /breakers/{id}/probe`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct ProbeResult {
    /// success failure alive ignored cancelled lost late.
    pub outcome: String,
    /// Where it ended, if it failed.
    pub phase: Option<String>,
    /// The status, if the host answered.
    pub status: Option<u16>,
    /// What went wrong.
    pub error: Option<String>,
    /// The request's method.
    pub method: String,
    /// The request's path, query values redacted.
    pub path: String,
    /// How long it took; fractions allowed.
    pub duration_ms: f64,
    /// In a sentence.
    pub detail: String,
    /// The breaker afterwards.
    pub breaker: Breaker,
}
