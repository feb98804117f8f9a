//! Audit rows on their way into the record.

use fuseboard_app::wire::{
    breaker::Mode,
    event::{Actor, Audit, Transition},
    time::Time,
};
use serde_json::{Map, Value, json};

/// What an operator did that is no transition: a probe, a reload, a reset with nothing to reset.
#[derive(Debug, Clone)]
pub struct AuditDraft {
    /// Who.
    pub actor: Actor,
    /// `reset`, `probe`, `reload`, …
    pub action: String,
    /// On which breaker.
    pub breaker: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// What it did.
    pub detail: Map<String, Value>,
}

impl AuditDraft {
    /// The audit row an operator's transition brings along; `before` is the override that stood until then.
    pub(super) fn of(actor: Actor, row: &Transition, before: Option<Mode>) -> Self {
        let action = match row.cause.kind.as_str() {
            "override_cleared" => "release",
            "probe_requested" => "probe",
            "policy_changed" => "reload",
            kind => kind,
        };
        let mut detail = Map::new();
        detail.insert("changed".into(), true.into());
        for (when, state, held) in [("before", row.from, before), ("after", row.to, row.held)] {
            detail.insert(when.into(), json!({ "state": state, "override": held }));
        }
        if let Some(mode) = row.held {
            let mode = if mode == Mode::ForcedOpen { "forced_open" } else { "forced_closed" };
            detail.insert("mode".into(), mode.into());
            detail.extend(row.cause.detail.get("until").map(|until| ("until".to_owned(), until.clone())));
        }
        Self {
            actor,
            action: action.to_owned(),
            breaker: Some(row.breaker.clone()),
            reason: row.reason.clone(),
            detail,
        }
    }

    pub(super) fn row(self, seq: u64, node: &str, at: Time) -> Audit {
        Audit {
            seq,
            node: node.to_owned(),
            at,
            actor: self.actor,
            action: self.action,
            breaker: self.breaker,
            reason: self.reason,
            detail: self.detail,
        }
    }
}
