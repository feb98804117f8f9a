//! What an operator asks for.

use serde::{Deserialize, Deserializer, Serialize};

use super::breaker::Mode;

/// `POST /breakers/{id}/reset`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Reset {
    /// Why.
    #[serde(default)]
    #[cfg_attr(feature = "ssr", schema(required = true, min_length = 1, max_length = 500))]
    pub reason: String,
    /// Also end an override that stands.
    #[serde(default)]
    pub end_override: bool,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ssr", schema(max_length = 80))]
    pub by: Option<String>,
}

/// `PUT /breakers/{id}/override`; exactly one of `for_ms` and `until`, and `"until": null` is no end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SetOverride {
    /// What it does.
    pub mode: Mode,
    /// Why.
    #[serde(default)]
    #[cfg_attr(feature = "ssr", schema(required = true, min_length = 1, max_length = 500))]
    pub reason: String,
    /// How long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ssr", schema(minimum = 1, maximum = 31_536_000_000_u64))]
    pub for_ms: Option<u64>,
    /// Until when: outer `None` not given, inner `None` no end.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    #[cfg_attr(feature = "ssr", schema(value_type = Option<super::time::Time>))]
    pub until: Option<Option<super::time::Time>>,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ssr", schema(max_length = 80))]
    pub by: Option<String>,
}

/// `POST /breakers/{id}/release`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Why.
    #[serde(default)]
    #[cfg_attr(feature = "ssr", schema(required = true, min_length = 1, max_length = 500))]
    pub reason: String,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ssr", schema(max_length = 80))]
    pub by: Option<String>,
}

/// `POST /breakers/{id}/probe` and `POST /reload`; both fields, and the body, may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// Why.
    #[serde(default)]
    #[cfg_attr(feature = "ssr", schema(max_length = 500))]
    pub reason: String,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ssr", schema(max_length = 80))]
    pub by: Option<String>,
}

/// `POST /undo`: puts back what an action of the last 10 s changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Undo {
    /// The number of the action's transition, or of its audit row; of any one of a bulk action, which is undone whole.
    pub seq: u64,
    /// Why.
    #[serde(default)]
    #[cfg_attr(feature = "ssr", schema(max_length = 500))]
    pub reason: String,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "ssr", schema(max_length = 80))]
    pub by: Option<String>,
}

pub(super) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(from).map(Some)
}
