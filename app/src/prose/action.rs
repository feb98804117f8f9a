//! What operators did, beyond the sentence: how it stood before and after, and what came of it.

use serde_json::Value;

use super::{answered, outcome, phase, upper};
use crate::wire::event::Audit;

/// How a breaker stood before an action and after it: `closed` and `forced open`. None for what changed none.
pub fn before_and_after(row: &Audit) -> Option<(String, String)> {
    let stood = |name: &str| row.detail.get(name).and_then(standing);
    Some((stood("before")?, stood("after")?))
}

fn standing(at: &Value) -> Option<String> {
    let state = match at.get("state")?.as_str()? {
        "half_open" => "half-open",
        other => other,
    };
    Some(match at.get("override").and_then(Value::as_str) {
        // What goes on beneath an override is said where it is not what everybody expects.
        Some(mode) if state == "closed" => mode.replace('_', " "),
        Some(mode) => format!("{} over {state}", mode.replace('_', " ")),
        None => state.to_owned(),
    })
}

/// What came of it, where that is no change of a breaker.
pub fn came_of(row: &Audit) -> Option<String> {
    match row.action.as_str() {
        "probe" => {
            let text = |name: &str| row.detail.get(name).and_then(Value::as_str);
            let status = row.detail.get("status").and_then(Value::as_u64);
            let word = text("phase");
            let met = answered(status, text("code"), word).or_else(|| word.map(|word| phase(word).to_owned()));
            let met = met.map_or(String::new(), |met| format!(": {met}"));
            text("outcome").map(|word| format!("{}{met}.", upper(outcome(word))))
        }
        "reload" => {
            let lists = [
                ("added", "upstreams added"),
                ("removed", "upstreams removed"),
                ("changed_upstreams", "upstreams changed"),
                ("policy_changed", "policy changed of"),
                ("needs_restart", "waiting for a restart"),
            ];
            let told = lists.iter().filter_map(|(name, words)| {
                let list: Vec<&str> = row.detail.get(*name)?.as_array()?.iter().filter_map(Value::as_str).collect();
                Some(format!("{words}: {}", list.join(", ")))
            });
            let told: Vec<String> = told.collect();
            Some(if told.is_empty() { "Nothing had changed.".into() } else { format!("{}.", upper(&told.join("; "))) })
        }
        _ => (row.detail.get("changed") == Some(&Value::Bool(false))).then(|| "There was nothing to change.".into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(action: &str, detail: Value) -> Audit {
        let row = json!({"seq": 9, "node": "fuse-1", "at": "2026-11-30T01:12:07.000000Z", "action": action,
            "actor": {"name": "unverified: ana", "verified": false, "via": "api"}, "breaker": null, "reason": null,
            "detail": detail});
        serde_json::from_value(row).expect("a row")
    }

    #[test]
    fn an_action_says_how_it_stood_before_and_after() {
        let said = |before: Value, after: Value| {
            before_and_after(&row("reset", json!({"changed": true, "before": before, "after": after})))
        };
        let at = |state: &str, held: Option<&str>| json!({"state": state, "override": held});
        let pair = |before: &str, after: &str| Some((before.to_owned(), after.to_owned()));
        assert_eq!(said(at("half_open", None), at("closed", None)), pair("half-open", "closed"));
        assert_eq!(said(at("closed", None), at("closed", Some("forced_open"))), pair("closed", "forced open"));
        assert_eq!(said(at("open", Some("forced_closed")), at("open", None)), pair("forced closed over open", "open"));
        assert_eq!(before_and_after(&row("override_set", json!({"changed": true, "mode": "forced_open"}))), None);
    }

    #[test]
    fn what_came_of_it_is_said_where_no_breaker_changed() {
        let said = |action: &str, detail: Value| came_of(&row(action, detail));
        let probe = said("probe", json!({"outcome": "failure", "status": 503, "changed": false}));
        assert_eq!(probe.as_deref(), Some("Failed: answered 503."));
        let reload = json!({"changed": true, "added": ["a", "b"], "needs_restart": ["admin.listen"]});
        assert_eq!(
            said("reload", reload).as_deref(),
            Some("Upstreams added: a, b; waiting for a restart: admin.listen.")
        );
        assert_eq!(said("reload", json!({"changed": false})).as_deref(), Some("Nothing had changed."));
        assert_eq!(said("reset", json!({"changed": false})).as_deref(), Some("There was nothing to change."));
        assert_eq!(said("reset", json!({"changed": true})), None);
    }
}
