//! What an operator asks for.

use serde::{Deserialize, Deserializer, Serialize};

use super::breaker::Mode;

/// `POST /breakers/{id}/reset`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reset {
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// Also end an override that stands.
    #[serde(default)]
    pub end_override: bool,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// `PUT /breakers/{id}/override`; exactly one of `for_ms` and `until`, and `"until": null` is no end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetOverride {
    /// What it does.
    pub mode: Mode,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// How long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
    /// Until when: outer `None` not given, inner `None` no end.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "given")]
    pub until: Option<Option<super::time::Time>>,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// `POST /breakers/{id}/release`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// Who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

pub(super) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<Option<T>>, D::Error> {
    Option::<T>::deserialize(from).map(Some)
}
