//! Sentences: what a breaker does and why, for people who never wired a house. Pure.

#[cfg(feature = "ssr")]
pub mod action;
#[cfg(feature = "ssr")]
pub mod incident;

use serde_json::Value;

use crate::{
    format::{self, Zone, duration},
    standing::Standing,
    wire::{
        action::ActionAnswer,
        breaker::{Breaker, Mode, Rule, State},
        event::{Actor, Audit, Cause, Finding, Probe, StoreHealth, Transition},
        time::Time,
    },
};

/// Where a call ended, in words.
pub fn phase(word: &str) -> &str {
    match word {
        "dns" => "name not resolved",
        "connect" => "could not connect",
        "tls" => "TLS handshake failed",
        "send" => "did not take the request",
        "head" => "no valid answer",
        "body" => "answer cut off",
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

fn text<'a>(cause: &'a Cause, field: &str) -> Option<&'a str> {
    cause.detail.get(field).and_then(Value::as_str)
}

fn ms(cause: &Cause, field: &str) -> Option<i64> {
    cause.detail.get(field).and_then(Value::as_i64)
}

/// What the deciding calls ran into: `could not connect`, `answered 503`. From the summary, or from the evidence. A
/// status says it all only where nothing went wrong after it.
pub fn met(cause: &Cause) -> Option<String> {
    let last = cause.detail.get("evidence").and_then(Value::as_array).and_then(|calls| calls.last());
    let field = |name: &str| cause.detail.get(name).or_else(|| last.and_then(|call| call.get(name)));
    let word = field("phase").and_then(Value::as_str);
    let code = field("code").and_then(Value::as_str);
    let status = field("status").and_then(Value::as_u64).filter(|_| matches!(word, None | Some("head")));
    answered(status, code, word).or_else(|| word.map(|word| phase(word).to_owned()))
}

/// The host's answer: a status, or a gRPC code by its name. The code of a call that ended on its way is not the host's.
pub fn answered(status: Option<u64>, code: Option<&str>, word: Option<&str>) -> Option<String> {
    match code {
        Some(code) => matches!(word, None | Some("head" | "trailers")).then(|| format!("answered {code}")),
        None => status.map(|status| format!("answered {status}")),
    }
}

/// What the deciding calls asked for, where that is one path: `all 5 on one path`. From the summary, or from the evidence.
fn on_path(cause: &Cause) -> Option<String> {
    let calls = cause.detail.get("evidence").and_then(Value::as_array);
    let deciding = cause.detail.get("deciding").and_then(Value::as_u64).or(calls.map(|calls| calls.len() as u64))?;
    let path = match (cause.detail.get("path"), calls) {
        (Some(path), _) => path.as_str()?,
        (None, Some(calls)) => {
            let path = |call: &Value| call.get("path").and_then(Value::as_str).map(str::to_owned);
            let first = calls.first().and_then(path)?;
            return calls
                .iter()
                .all(|call| path(call).as_deref() == Some(&first))
                .then(|| one_path(cause, deciding, &first));
        }
        (None, None) => return None,
    };
    Some(one_path(cause, deciding, path))
}

fn one_path(cause: &Cause, deciding: u64, path: &str) -> String {
    let have = cause.detail.get("counts").and_then(|counts| counts.get("have")).and_then(Value::as_u64);
    match (deciding, have) {
        (1, _) => format!("on {path}"),
        // No more than twenty calls are kept.
        (_, Some(have)) if have > deciding => format!("the last {deciding} on one path"),
        _ => format!("all {deciding} on one path"),
    }
}

/// What the deciding calls ran into and where: `could not connect, all 5 on one path`.
pub fn met_where(cause: &Cause) -> Option<String> {
    let said: Vec<String> = met(cause).into_iter().chain(on_path(cause)).collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// How many messages went both ways, where they were counted: `1 message sent, 2 back`.
pub fn messages(sent: Option<u64>, received: Option<u64>) -> Option<String> {
    let (sent, received) = (sent?, received?);
    Some(format!("{} sent, {} back", format::some(sent, "message", "messages"), format::count(received)))
}

/// What a rule asks for: `5 failures in 10 s`.
pub fn rule(rule: &Rule) -> String {
    let within = rule.within_ms.map_or(String::new(), |within| format!(" in {}", duration(within as i64)));
    let from = rule.min_calls.map_or(String::new(), |calls| format!(", from {calls} calls on"));
    let need = format::number(rule.need);
    match rule.rule.as_str() {
        "failures" => format!("{need} failed calls{within}"),
        "consecutive" => format!("{need} failed calls in a row{within}"),
        "failure_rate" => format!("{} of calls failed{within}{from}", format::share(rule.need)),
        "slow_rate" => {
            let slow =
                rule.slow_after_ms.map_or("slow".into(), |slow| format!("slower than {}", duration(slow as i64)));
            format!("{} of calls {slow}{within}{from}", format::share(rule.need))
        }
        other => format!("{other} {need}{within}"),
    }
}

/// Where a rule stands: `3 of 5`, `40 % of 50 %`.
pub fn rule_stands(rule: &Rule) -> String {
    let rate = matches!(rule.rule.as_str(), "failure_rate" | "slow_rate");
    match rule.have {
        None => "no data".into(),
        Some(have) if rate => format!("{} of {}", format::share(have), format::share(rule.need)),
        Some(have) => format!("{} of {}", format::number(have), format::number(rule.need)),
    }
}

/// What tripped it: `5 calls failed in 10 s`.
fn tripped(cause: &Cause) -> String {
    let number = |object: &str, field: &str| cause.detail.get(object).and_then(|value| value.get(field));
    let have = number("counts", "have").and_then(Value::as_u64);
    let calls = number("counts", "calls").and_then(Value::as_u64);
    let within = number("threshold", "within_ms").and_then(Value::as_i64);
    let within = within.map_or(String::new(), |within| format!(" in {}", duration(within)));
    match (text(cause, "rule"), have, calls) {
        (Some("failures"), Some(have), _) => format!("{} failed{within}", format::some(have, "call", "calls")),
        (Some("consecutive"), Some(have), _) => {
            format!("{} failed in a row{within}", format::some(have, "call", "calls"))
        }
        (Some("failure_rate"), Some(have), Some(calls)) => format!("{have} of {calls} calls failed{within}"),
        (Some("slow_rate"), Some(have), Some(calls)) => format!("{have} of {calls} calls were slow{within}"),
        _ => "Too many calls failed".into(),
    }
}

/// Why it stands as it does, short enough for a row.
pub fn why(breaker: &Breaker) -> String {
    if let Some(held) = &breaker.held {
        return format!("{}: {}", by(&held.by), held.reason);
    }
    let Some(last) = &breaker.last_transition else { return String::new() };
    let cause = &last.cause;
    let met = met(cause).map_or(String::new(), |met| format!(" · {met}"));
    match (cause.kind.as_str(), breaker.state) {
        ("tripped", State::Open) => format!("{}{met}", tripped(cause)),
        ("probe_failed", State::Open) => format!("probe {} failed{met}", breaker.attempt.max(1)),
        ("probe_lost", State::Open) => format!("probe {} had no answer in time", breaker.attempt.max(1)),
        ("restored", _) => "as it was before the restart".into(),
        ("cooldown_started", State::Closed) => match ms(cause, "wait_ms") {
            Some(wait) => format!("the host asked for {}", duration(wait)),
            None => "the host asked for quiet".into(),
        },
        (_, State::HalfOpen) => {
            format!("{} of {} good probes", breaker.half_open.good, breaker.half_open.needed)
        }
        (_, State::Open) => "still open after an override".into(),
        (_, State::Closed) => String::new(),
    }
}

/// What the panel says first.
pub struct Summary {
    /// Hosts whose calls are turned away.
    pub refused: u64,
    /// Calls turned away in the last minute.
    pub turned_away: u64,
    /// Since when the one that is down longest is down.
    pub longest: Option<Time>,
    /// Troubled but not refusing.
    pub watched: u64,
    /// All breakers.
    pub all: u64,
    /// Breakers nobody called yet.
    pub waiting: u64,
}

/// What the tab says.
pub fn title(refused: u64) -> String {
    match refused {
        0 => "Fuseboard".to_owned(),
        refused => format!("{refused} refused · Fuseboard"),
    }
}

/// What the tab says on a breaker's page.
pub fn breaker_title(id: &str, standing: Standing) -> String {
    format!("{} · {id} · Fuseboard", standing.words().0)
}

/// What an action on many breakers would touch: `Touches 12 breakers, 340 calls a minute; ends ana's override on 1.`
pub fn plan(answer: &ActionAnswer) -> String {
    let mut said = format!(
        "Touches {}, {} a minute",
        format::some(answer.breakers, "breaker", "breakers"),
        format::some(answer.calls_per_min, "call", "calls")
    );
    let mut whose: Vec<(String, u64)> = Vec::new();
    for held in answer.results.iter().filter_map(|one| one.replaces.as_ref()) {
        let name = held.by.strip_prefix("unverified: ").unwrap_or(&held.by);
        match whose.iter_mut().find(|one| one.0 == name) {
            Some(one) => one.1 += 1,
            None => whose.push((name.to_owned(), 1)),
        }
    }
    for (nth, (name, many)) in whose.iter().enumerate() {
        let and = if nth == 0 { "; ends" } else { " and" };
        said.push_str(&format!("{and} {name}'s override on {many}"));
    }
    said + "."
}

/// What an action on many breakers did: `Forced open: 11 breakers. 1 refused.`
pub fn done(past: &str, answer: &ActionAnswer) -> String {
    let lost = answer.results.iter().filter(|one| one.applied).count() as u64;
    let well = answer.results.iter().filter(|one| one.status < 300 || one.applied).count() as u64;
    let refused = answer.results.len() as u64 - well;
    let mut said = match answer.results.as_slice() {
        [one] if well == 1 => format!("{past}: {}.", one.breaker),
        [one] => one.detail.clone(),
        _ => format!("{past}: {}.", format::some(well, "breaker", "breakers")),
    };
    if refused > 0 && answer.results.len() > 1 {
        said.push_str(&format!(" {} refused.", format::count(refused)));
    }
    if lost > 0 {
        said.push_str(" Not stored: it would be lost at a restart.");
    }
    said
}

/// The panel's first sentence.
pub fn panel(summary: &Summary, now_ms: i64, zone: Zone) -> String {
    if summary.refused > 0 {
        let longest = summary.longest.map_or(String::new(), |since| {
            format!(
                ", {} {}{}",
                if summary.refused == 1 { "since" } else { "longest since" },
                format::moment(since.millis(), now_ms, zone),
                zone.suffix()
            )
        });
        return format!(
            "{} refused, {} a minute turned away{longest}.",
            format::some(summary.refused, "host", "hosts"),
            format::some(summary.turned_away, "call", "calls"),
        );
    }
    if summary.watched > 0 {
        return format!("No host refused; {} to watch.", format::some(summary.watched, "breaker", "breakers"),);
    }
    if summary.waiting == summary.all {
        return format!(
            "Nothing called yet; {} waiting for the first call.",
            format::some(summary.all, "host", "hosts")
        );
    }
    match summary.all {
        1 => "The one host here is closed: traffic flows.".into(),
        all => format!("All {} hosts closed: traffic flows.", format::count(all)),
    }
}

/// The prose a breaker's page opens with, one sentence each.
pub fn lead(breaker: &Breaker, trip: Option<&Transition>, now_ms: i64, zone: Zone) -> Vec<String> {
    let moment = |at: Time| format!("{}{}", format::moment(at.millis(), now_ms, zone), zone.suffix());
    let since = |at: Time| format!("{}, since {}", format::lasted(now_ms - at.millis()), moment(at));
    let standing = Standing::of(breaker, now_ms);
    let mut said = Vec::new();
    if let Some(held) = &breaker.held {
        let what = match held.mode {
            Mode::ForcedOpen => "Held open",
            Mode::ForcedClosed => "Held closed",
        };
        said.push(format!("{what} by {} for {}: {}.", by(&held.by), since(held.since), closed_off(&held.reason)));
        said.push(match held.until {
            Some(until) => {
                format!("Ends by itself at {}, in {}.", moment(until), format::countdown(until.millis() - now_ms))
            }
            None => "It has no end: it stays until somebody releases it.".into(),
        });
        if held.mode == Mode::ForcedClosed && breaker.state != State::Closed {
            said.push("Without it the breaker would be open.".into());
        }
        if held.mode == Mode::ForcedOpen && breaker.refused_since_down > 0 {
            said.push(format!("{} refused.", format::count(breaker.refused_since_down)));
        }
        return said;
    }
    match breaker.state {
        State::Closed => {
            said.push(match standing {
                Standing::Waiting => "Waiting for the first call: traffic will flow.".into(),
                Standing::CoolingDown => "The host asked for quiet; calls are answered 429 until that is over.".into(),
                _ => format!("Traffic flows for {}.", since(breaker.since)),
            });
            if let (Standing::CoolingDown, Some(until)) = (standing, breaker.cooldown_until) {
                said.push(format!("Over at {}, in {}.", moment(until), format::countdown(until.millis() - now_ms)));
            }
        }
        State::Open | State::HalfOpen => {
            let down = breaker.down_since.unwrap_or(breaker.since);
            let word = if breaker.state == State::Open { "Refusing" } else { "Probing" };
            said.push(format!("{word} for {}.", since(down)));
            if let Some(trip) = trip {
                let met = met_where(&trip.cause).map_or(String::new(), |met| format!(" ({met})"));
                said.push(format!("{}{met}.", tripped(&trip.cause)));
            }
            said.push(next_step(breaker, standing, now_ms));
            if breaker.refused_since_down > 0 {
                said.push(format!("{} refused.", format::count(breaker.refused_since_down)));
            }
        }
    }
    said
}

fn next_step(breaker: &Breaker, standing: Standing, now_ms: i64) -> String {
    let left = breaker.next_probe_at.map(|at| at.millis() - now_ms);
    match (standing, left) {
        (Standing::HalfOpen, _) => {
            let round = breaker.half_open;
            format!(
                "{} under way, {} of {} good so far.",
                format::some(u64::from(round.in_flight), "probe", "probes"),
                round.good,
                round.needed
            )
        }
        (Standing::Open, Some(left)) => {
            format!("Probe {} in {}.", breaker.attempt + 1, format::countdown(left))
        }
        (Standing::Overdue, _) => {
            "Probe due, but nobody calls: the next call is the probe, or reset it by hand.".into()
        }
        _ => "Probe due: the next call is the probe.".into(),
    }
}

/// A person's text as the middle of a sentence.
fn closed_off(text: &str) -> &str {
    text.trim().trim_end_matches(['.', '!'])
}

/// The host's own wish as it was sent, and what of it was granted: the policy's longest wait caps it.
fn wish(cause: &Cause) -> String {
    let wish = |field: &str| cause.detail.get("retry_after")?.get(field);
    let (Some(raw), Some(applied)) = (wish("raw").and_then(Value::as_str), wish("applied_ms").and_then(Value::as_i64))
    else {
        return String::new();
    };
    format!(" The host said Retry-After: {raw}, and got {}.", duration(applied))
}

/// A row of the record as a sentence, without its time.
pub fn transition(row: &Transition) -> String {
    let cause = &row.cause;
    let wait = ms(cause, "wait_ms").map_or(String::new(), |wait| format!(" Next probe after {}.", duration(wait)));
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
        "reset" => format!("{who} reset it{reason}."),
        "override_set" => format!("{who} {mode}{reason}."),
        "override_changed" => format!("{who} changed the override's end or reason{reason}."),
        "override_cleared" => format!("{who} released the override{reason}."),
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
    format!("{who} {did}{}.", reason_of(row.reason.as_deref()))
}

/// The policy in words: what trips it, one probe a wait, it never gives up.
pub fn policy(breaker: &Breaker) -> Vec<String> {
    let rules: Vec<_> = breaker.rules.iter().map(rule).collect();
    let recovery = &breaker.recovery;
    let (first, max) = (duration(recovery.first_ms as i64), duration(recovery.max_ms as i64));
    let waits = if recovery.first_ms == recovery.max_ms {
        format!("Then it refuses every call for {first}.")
    } else {
        let grown = match recovery.factor {
            2.0 => "twice".to_owned(),
            factor => format!("{} times", format::number(factor)),
        };
        format!("Then it refuses every call for {first}, and {grown} as long after each failed probe, up to {max}.")
    };
    let (permits, needed) = (breaker.half_open.permits, breaker.half_open.needed);
    let probes = if permits == 1 {
        "After each wait one call goes through as the probe".to_owned()
    } else {
        format!("After each wait up to {permits} calls at a time go through as probes")
    };
    let closes = if needed == 1 { "a good one closes it".into() } else { format!("{needed} good ones close it") };
    vec![
        format!("Opens at {}.", if rules.is_empty() { "no rule".into() } else { rules.join(", or ") }),
        waits,
        format!("{probes}; {closes}, a failed one starts the next wait."),
        format!("It never gives up: however long the host was down, it is probed within {max} of a call."),
    ]
}

/// What is wrong with the store, and that breakers go on.
pub fn store(store: &StoreHealth, now_ms: i64, zone: Zone) -> Option<String> {
    if let Some(since) = store.failing_since {
        let error = store.error.as_deref().map_or(String::new(), |error| format!(" ({error})"));
        return Some(format!(
            "History not written since {}{}{error}. Breakers still work. {} wait.",
            format::moment(since.millis(), now_ms, zone),
            zone.suffix(),
            format::some(store.waiting, "fact", "facts"),
        ));
    }
    (store.dropped > 0).then(|| {
        format!("{} of the record could not be kept; the gap is marked.", format::some(store.dropped, "fact", "facts"))
    })
}

/// What the server's watchdog found, the oldest first.
pub fn findings(found: &[Finding]) -> Option<String> {
    let first = found.first()?;
    let more = match found.len() - 1 {
        0 => String::new(),
        more => format!(" And {more} more on /health."),
    };
    Some(format!(
        "Fuseboard found a fault in itself: {}. Please report it; a restart resumes every breaker.{more}",
        first.detail
    ))
}

fn lower(text: &str) -> String {
    first(text, char::to_ascii_lowercase)
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
