//! Sentences: what a breaker does and why, for people who never wired a house. Pure.

#[cfg(feature = "ssr")]
pub mod action;
mod breaker;
mod cause;
mod health;
#[cfg(feature = "ssr")]
pub mod incident;
mod panel;
mod record;

pub use self::{
    breaker::{availability, breaker_title, lead, policy, rule, rule_stands, why},
    cause::{Deciding, answered, evidence, messages, met, met_where},
    health::{findings, store},
    panel::{Summary, done, panel, plan, title, undone},
    record::{audit, probe, transition},
};
use crate::wire::event::Actor;

/// Where a call ended, in words.
pub fn phase(word: &str) -> &str {
    match word {
        "dns" => "name not resolved",
        "connect" => "could not connect",
        "tls" => "TLS handshake failed",
        "send" => "did not take the request",
        "head" => "no valid answer",
        "body" => "answer not complete",
        "trailers" => "no status at the end",
        "lease" => "no answer in time",
        "abandoned" => "silent until clients left",
        "deadline" => "missed the deadline",
        "panic" => "call broke off",
        other => other,
    }
}

/// What became of a probe, in words.
pub fn outcome(word: &str) -> &str {
    match word {
        "success" => "good",
        "failure" => "failed",
        "alive" => "answered, client at fault",
        "ignored" => "no evidence",
        "cancelled" => "cancelled",
        "lost" => "no answer in time",
        "late" => "too late to count",
        other => other,
    }
}

/// Why a call counts for nothing, in words.
pub fn why_ignored(word: &str) -> &str {
    match word {
        "client_gone" => "the client left",
        "short_deadline" => "the caller's deadline was too short",
        "own_guard" => "stopped by our own guard",
        "stale_connection" => "the pooled connection was closed",
        other => other,
    }
}

/// Who did it: the name, and that nobody vouched for it.
pub fn actor(actor: &Actor) -> String {
    let name = actor.name.strip_prefix("unverified: ").unwrap_or(&actor.name);
    if actor.verified { name.to_owned() } else { format!("{name} (unverified)") }
}

/// An override's author as its wire text says it.
pub fn by(text: &str) -> String {
    text.strip_prefix("unverified: ").map_or_else(|| text.to_owned(), |name| format!("{name} (unverified)"))
}

/// A person's text as the middle of a sentence.
fn closed_off(text: &str) -> &str {
    text.trim().trim_end_matches(['.', '!'])
}

fn lower(text: &str) -> String {
    first(text, char::to_ascii_lowercase)
}

/// A sentence with its full stop; what ends with a person's question keeps the mark they gave it.
pub(crate) fn sentence(text: String) -> String {
    if text.ends_with(['?', '\u{2026}']) { text } else { text + "." }
}

/// `: reason`, as the middle of a sentence; nothing where none was given.
fn reason_of(reason: Option<&str>) -> String {
    let reason = reason.map(closed_off).filter(|reason| !reason.is_empty());
    reason.map_or(String::new(), |reason| format!(": {reason}"))
}

pub(crate) fn upper(text: &str) -> String {
    first(text, char::to_ascii_uppercase)
}

fn first(text: &str, case: fn(&char) -> char) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |head| format!("{}{}", case(&head), chars.as_str()))
}

#[cfg(test)]
mod tests;
