//! The record's rows, each as a sentence without its time.

use serde_json::Value;

use super::{
    actor,
    cause::{answered, messages, met_where, ms, tripped, wish},
    lower, outcome, phase, reason_of, sentence, upper, why_ignored,
};
use crate::{
    format::{self, duration},
    wire::{
        breaker::Mode,
        event::{Audit, Probe, Transition},
    },
};

/// A row of the record as a sentence, without its time.
pub fn transition(row: &Transition) -> String {
    let cause = &row.cause;
    let wait = ms(cause, "wait_ms").map_or(String::new(), |wait| format!(" Next probe after {}.", format::wait(wait)));
    let met = met_where(cause).map_or(String::new(), |met| format!(": {met}"));
    let wait = wait + &wish(cause);
    let who = row.actor.as_ref().map_or("Somebody".into(), actor);
    let reason = reason_of(row.reason.as_deref());
    let mode = match row.held {
        Some(Mode::ForcedOpen) => "forced it open",
        Some(Mode::ForcedClosed) => "forced it closed",
        None => "set an override",
    };
    match cause.kind.as_str() {
        "tripped" => format!("Opened: {}{met}.{wait}", lower(&tripped(cause))),
        "probe_failed" => format!("The probe failed{met}.{wait}"),
        "probe_lost" => format!("The probe had no answer in time.{wait}"),
        "probes_succeeded" => match cause.detail.get("good").and_then(Value::as_u64) {
            Some(good) => format!("Closed: {} good.", format::some(good, "probe was", "probes were")),
            None => "Closed: the probe was good.".into(),
        },
        "wait_elapsed" => "The wait was over, a call went through as the probe.".into(),
        "probe_requested" => "An operator's probe was good.".into(),
        "reset" => sentence(format!("{who} reset it{reason}")),
        "override_set" => sentence(format!("{who} {mode}{reason}")),
        "override_changed" => sentence(format!("{who} changed the override's end or reason{reason}")),
        "override_cleared" => sentence(format!("{who} released the override{reason}")),
        "override_expired" => "The override reached its end.".into(),
        "cooldown_started" => match ms(cause, "wait_ms") {
            Some(wait) => format!("The host asked for quiet, {} of it.{}", duration(wait), wish(cause)),
            None => "The host asked for quiet.".into(),
        },
        "cooldown_ended" => "The quiet the host asked for is over.".into(),
        "restored" => "A restart took up where the last run had stopped.".into(),
        "policy_changed" => "The configuration changed.".into(),
        "evicted" => "Dropped to make room on the panel; its history stays.".into(),
        other => format!("Changed: {}.", other.replace('_', " ")),
    }
}

/// A probe as a sentence, without its time.
pub fn probe(row: &Probe) -> String {
    let what = match row.outcome.as_str() {
        "ignored" => row.why.as_deref().map_or("no evidence", why_ignored),
        other => outcome(other),
    };
    let word = row.phase.as_deref();
    let met = match answered(row.status.map(u64::from), row.code.as_deref(), word) {
        Some(answered) => format!(", {answered}"),
        None if row.outcome == "success" => String::new(),
        None => word.map_or_else(String::new, |word| format!(", {}", phase(word))),
    };
    let met = messages(row.sent, row.received).map_or(met.clone(), |messages| format!("{met}, {messages}"));
    let sent = if row.synthetic { ", sent by Fuseboard" } else { "" };
    format!("{}{met} after {}{sent}", upper(what), format::latency(row.duration_ms))
}

/// What an operator did, as a sentence without its time.
pub fn audit(row: &Audit) -> String {
    let who = actor(&row.actor);
    let mode = match row.detail.get("mode").and_then(Value::as_str) {
        Some("forced_open") => "forced it open",
        Some("forced_closed") => "forced it closed",
        _ => "set an override",
    };
    let did = match row.action.as_str() {
        "reset" => "reset it",
        "override_set" => mode,
        "override_changed" => "changed the override",
        "release" => "released the override",
        "probe" => "asked for a probe",
        "reload" => "reloaded the configuration",
        other => other,
    };
    sentence(format!("{who} {did}{}", reason_of(row.reason.as_deref())))
}
