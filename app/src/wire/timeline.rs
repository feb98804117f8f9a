//! Lanes: what a breaker was over a stretch of time.

use serde::{Deserialize, Serialize};

use super::{
    event::{Probe, Transition},
    time::Time,
};

/// One breaker's strip, columnar: span `i` runs from `at[i]` to `at[i + 1]`, the last to the lane's end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Lane {
    /// Which breaker.
    pub breaker: String,
    /// Start of the lane.
    pub from: Time,
    /// End of the lane, never later than now.
    pub to: Time,
    /// Start of each span in ms from `from`.
    pub at: Vec<u64>,
    /// `c` closed, `o` open, `h` half-open, `u` unknown; a merged span shows its worst known state.
    pub state: Vec<char>,
    /// `-` none, `o` forced open, `c` forced closed.
    #[serde(rename = "override")]
    pub held: Vec<char>,
    /// The share of the span that was down: 0 or 1 unless spans were merged.
    #[serde(serialize_with = "ten_thousandths")]
    pub down: Vec<f64>,
    /// When it answered for its host as that had asked (429), as start and end in ms from `from`: what counts of it is
    /// where it was closed. One that goes on ends after the lane.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cooldowns: Vec<(u64, u64)>,
    /// How much of the lane it was up; its lengths are exact, whatever was merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub availability: Option<Availability>,
    /// Call totals over the same time; on the single-breaker timeline only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<Calls>,
    /// Probe marks over the same time; on the single-breaker timeline only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<ProbeMarks>,
}

/// More is smaller than a pixel; but a short outage is never nothing, and a moment up is never all down.
fn ten_thousandths<S: serde::Serializer>(shares: &[f64], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(shares.iter().map(|share| match *share {
        whole if whole <= 0.0 || whole >= 1.0 => whole,
        part => (part * 10_000.0).round().clamp(1.0, 9_999.0) / 10_000.0,
    }))
}

/// How much of a stretch of time a breaker let calls through, weighted by time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Availability {
    /// 1 only when nothing was down; null when nothing is known.
    pub share: Option<f64>,
    /// Forced open, or without override open or half-open.
    pub down_ms: u64,
    /// The part of it an operator wanted: forced open.
    pub planned_ms: u64,
    /// Not watched; in no share.
    pub unknown_ms: u64,
    /// Held closed by an operator; counts as up.
    pub forced_closed_ms: u64,
    /// Closed, but calls were answered 429 as the host had asked; counts as up.
    pub cooldown_ms: u64,
}

/// Call totals in steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Calls {
    /// Length of a step.
    pub step_ms: u64,
    /// Start of each step in ms from the lane's `from`.
    pub at: Vec<i64>,
    /// Calls that were good (success, alive).
    pub ok: Vec<u64>,
    /// Calls that failed.
    pub failed: Vec<u64>,
    /// Calls refused.
    pub refused: Vec<u64>,
    /// Median time to the head; null without data.
    pub p50_ms: Vec<Option<f64>>,
    /// 95th percentile of it.
    pub p95_ms: Vec<Option<f64>>,
}

/// Probes, merged to at most one mark a pixel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct ProbeMarks {
    /// Time of each mark in ms from the lane's `from`.
    pub at: Vec<u64>,
    /// Good probes in it.
    pub good: Vec<u32>,
    /// Bad probes in it.
    pub bad: Vec<u32>,
}

/// Many lanes on one axis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Timeline {
    /// Start of the axis.
    pub from: Time,
    /// End of the axis.
    pub to: Time,
    /// Spans shorter than this were merged.
    pub step_ms: u64,
    /// The lanes.
    pub lanes: Vec<Lane>,
    /// Pass as `after` for the next page.
    pub next: Option<String>,
}

/// What stands on record around one point in time of one breaker.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// The changes in it, newest first; where there is none, the last one before it.
    pub transitions: Vec<Transition>,
    /// The probes in it, newest first.
    pub probes: Vec<Probe>,
    /// There are more than these.
    pub more: bool,
}
