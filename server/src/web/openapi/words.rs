//! Which parameters take, and which fields hold, words of a fixed set. Fields stay text in the wire's types, so that an older
//! board takes a word it does not know.

use fuseboard_app::order;
use fuseboard_breaker::{Outcome, Phase, ProbeOutcome, Why, grpc::Code};
use serde_json::Value;

use super::super::api::breakers::list::{PROTOCOLS, SORTS};
use crate::{
    config::rewriting::Preset,
    export::{Format, What},
    findings::Kind,
};

const RULES: [&str; 4] = ["failures", "consecutive", "failure_rate", "slow_rate"];
const KEYS: [&str; 2] = ["origin", "upstream"];

/// Of queries, wherever they are taken.
const PARAMETERS: [(&str, &[&str]); 5] = [
    ("state", &order::WORDS),
    ("protocol", &PROTOCOLS),
    ("sort", &SORTS),
    ("what", &What::WORDS),
    ("format", &Format::WORDS),
];

/// By schema and field.
fn fields() -> Vec<(&'static str, &'static str, Vec<&'static str>)> {
    let outcomes = [Outcome::Success, Outcome::Failure, Outcome::Alive, Outcome::Ignored].map(ProbeOutcome::Settled);
    let outcomes = outcomes.into_iter().chain([ProbeOutcome::Cancelled, ProbeOutcome::Lost, ProbeOutcome::Late]);
    let outcomes: Vec<_> = outcomes.map(ProbeOutcome::as_str).collect();
    let phases = [Phase::Dns, Phase::Connect, Phase::Tls, Phase::Send, Phase::Head, Phase::Body, Phase::Trailers];
    let phases = phases.into_iter().chain([Phase::Lease, Phase::Abandoned, Phase::Deadline, Phase::Panic]);
    let phases: Vec<_> = phases.map(Phase::as_str).collect();
    let whys = [Why::ClientGone, Why::ShortDeadline, Why::OwnGuard, Why::StaleConnection].map(Why::as_str);
    // The last of them is what is said of a cause that cannot be read in the store.
    let causes = [
        "tripped",
        "probe_failed",
        "probe_lost",
        "probes_succeeded",
        "wait_elapsed",
        "probe_requested",
        "reset",
        "override_set",
        "override_changed",
        "override_cleared",
        "override_expired",
        "cooldown_started",
        "cooldown_ended",
        "restored",
        "policy_changed",
        "evicted",
        "unreadable",
    ];
    let actions = ["reset", "override_set", "override_changed", "release", "probe", "reload"];
    vec![
        ("ActionFilter", "state", order::WORDS.to_vec()),
        ("Actor", "via", vec!["board", "api", "cli", "signal"]),
        ("Audit", "action", actions.to_vec()),
        ("Breaker", "protocol", PROTOCOLS.to_vec()),
        ("Cause", "kind", causes.to_vec()),
        ("Finding", "kind", Kind::ALL.map(Kind::as_str).to_vec()),
        ("Health", "status", vec!["ok", "degraded"]),
        ("Lane", "override", vec!["-", "o", "c"]),
        ("Lane", "state", vec!["c", "o", "h", "u"]),
        ("Probe", "code", Code::ALL.map(Code::as_str).to_vec()),
        ("Probe", "outcome", outcomes.clone()),
        ("Probe", "phase", phases.clone()),
        ("Probe", "why", whys.to_vec()),
        ("ProbeResult", "outcome", outcomes),
        ("ProbeResult", "phase", phases),
        ("Rule", "rule", RULES.to_vec()),
        ("settings.Rule", "rule", RULES.to_vec()),
        ("settings.Upstream", "key", KEYS.to_vec()),
        ("settings.Upstream", "preset", Preset::NAMES.map(|(name, _)| name).to_vec()),
        ("settings.Upstream", "protocol", PROTOCOLS.to_vec()),
        ("upstreams.Upstream", "key", KEYS.to_vec()),
        ("upstreams.Upstream", "protocol", PROTOCOLS.to_vec()),
    ]
}

/// Names them in the description.
pub(super) fn name(api: &mut Value) {
    for (schema, field, words) in fields() {
        if let Some(schema) = api.pointer_mut(&format!("/components/schemas/{schema}")) {
            let flat = if schema["properties"][field].is_object() { Some(schema) } else { part(schema, field) };
            enumerate(flat.and_then(|schema| schema.pointer_mut(&format!("/properties/{field}"))), &words);
        }
    }
    let paths = api["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    for operation in paths.filter_map(Value::as_object_mut).flat_map(|item| item.values_mut()) {
        for parameter in operation["parameters"].as_array_mut().into_iter().flatten() {
            let words = PARAMETERS.iter().find(|(name, _)| parameter["in"] == "query" && parameter["name"] == *name);
            if let Some((_, words)) = words {
                enumerate(parameter.get_mut("schema"), words);
            }
        }
    }
}

/// The part of a schema with flattened ones in it that has this field.
fn part<'a>(schema: &'a mut Value, field: &str) -> Option<&'a mut Value> {
    schema["allOf"].as_array_mut()?.iter_mut().find(|part| part["properties"][field].is_object())
}

fn enumerate(schema: Option<&mut Value>, words: &[&str]) {
    let Some(Value::Object(schema)) = schema else { return };
    let schema = match schema.get_mut("items") {
        Some(Value::Object(items)) => items,
        _ => schema,
    };
    let mut all: Vec<Value> = words.iter().map(|word| Value::from(*word)).collect();
    if schema.get("type").and_then(Value::as_array).is_some_and(|kinds| kinds.contains(&"null".into())) {
        all.push(Value::Null);
    }
    schema.remove("minLength");
    schema.insert("enum".into(), all.into());
}
