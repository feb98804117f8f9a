//! Errors as `application/problem+json` (RFC 9457).

use serde::{Deserialize, Serialize};

/// What went wrong and what to do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Problem {
    /// A stable name, `about:blank` when the status says it all.
    #[serde(rename = "type")]
    pub kind: String,
    /// What happened, in a few words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened this time and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Where to read more: a link to the board, or the id in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The field at fault (422).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The action took effect though it could not be stored (503).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<bool>,
    /// Further fields: `breaker`, `state`, `override`, `reason`, `retry_after_ms` on refusals.
    #[serde(flatten)]
    pub more: serde_json::Map<String, serde_json::Value>,
}
