//! What one breaker does and why, what comes next, and by which rules.

use super::{
    by,
    cause::{met, met_where, ms, tripped},
    closed_off, sentence,
};
use crate::{
    format::{self, Zone, duration},
    standing::Standing,
    wire::{
        breaker::{Breaker, Mode, Rule, State},
        event::{Cause, Transition},
        time::Time,
        timeline::Availability,
    },
};

/// Why it stands as it does, short enough for a row.
pub fn why(breaker: &Breaker) -> String {
    if let Some(held) = &breaker.held {
        return format!("{}: {}", by(&held.by), held.reason);
    }
    let Some(last) = &breaker.last_transition else { return String::new() };
    let cause = &last.cause;
    let met = met_after(cause);
    match (cause.kind.as_str(), breaker.state) {
        ("tripped", State::Open) => format!("{}{met}", tripped(cause)),
        ("probe_failed", State::Open) => format!("probe {} failed{met}", breaker.attempt.max(1)),
        ("probe_lost", State::Open) => {
            let lease = duration(breaker.recovery.lease_ms as i64);
            format!("probe {} had no answer in {lease}", breaker.attempt.max(1))
        }
        ("cooldown_started", State::Closed) => match ms(cause, "wait_ms") {
            Some(wait) => format!("the host asked for {}", duration(wait)),
            None => "the host asked for quiet".into(),
        },
        (_, State::HalfOpen) => {
            format!("{} of {} good probes", breaker.half_open.good, breaker.half_open.needed)
        }
        // After an override or a restart: what it was that opened it.
        (kind, State::Open) => match (&breaker.opened, kind) {
            (Some(opened), _) => format!("{}{}", tripped(opened), met_after(opened)),
            (None, "restored") => "as it was before the restart".into(),
            (None, _) => "still open after an override".into(),
        },
        (_, State::Closed) => String::new(),
    }
}

/// ` · could not connect`, behind what is counted.
fn met_after(cause: &Cause) -> String {
    met(cause).map_or(String::new(), |met| format!(" · {met}"))
}

/// What the tab says on a breaker's page.
pub fn breaker_title(id: &str, standing: Standing) -> String {
    format!("{} · {id} · Fuseboard", standing.words().0)
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
        said.push(sentence(format!(
            "{what} by {} for {}: {}",
            by(&held.by),
            since(held.since),
            closed_off(&held.reason)
        )));
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
            if let Some(cause) = trip.map(|trip| &trip.cause).or(breaker.opened.as_ref()) {
                let met = met_where(cause).map_or(String::new(), |met| format!(" ({met})"));
                said.push(format!("{}{met}.", tripped(cause)));
            }
            said.push(next_step(breaker, standing, now_ms, zone));
            if breaker.refused_since_down > 0 {
                said.push(format!("{} refused.", format::count(breaker.refused_since_down)));
            }
        }
    }
    said
}

fn next_step(breaker: &Breaker, standing: Standing, now_ms: i64, zone: Zone) -> String {
    match (standing, breaker.next_probe_at.map(Time::millis)) {
        (Standing::HalfOpen, _) => {
            let round = breaker.half_open;
            format!(
                "{} under way, {} of {} good so far.",
                format::some(u64::from(round.in_flight), "probe", "probes"),
                round.good,
                round.needed
            )
        }
        (Standing::Open, Some(at)) => format!(
            "Probe {} at {}{}, in {}.",
            breaker.attempt + 1,
            format::moment_seconds(at, now_ms, zone),
            zone.suffix(),
            format::countdown(at - now_ms)
        ),
        (Standing::Overdue, _) => {
            "Probe due, but nobody calls: the next call is the probe, or reset it by hand.".into()
        }
        _ => "Probe due: the next call is the probe.".into(),
    }
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

/// How much of a stretch of time calls got through: `Up 99.95 %, down for 23 min. Not watched for 3 h.`
pub fn availability(known: &Availability) -> String {
    let lasted = |ms: u64| duration(ms as i64);
    let Some(share) = known.share else { return "Not watched in this time.".into() };
    let mut said = format!("Up {}", uptime(share));
    if known.down_ms > 0 {
        said.push_str(&format!(", down for {}", lasted(known.down_ms)));
        match known.planned_ms {
            0 => {}
            planned if planned == known.down_ms => said.push_str(", as operators wanted"),
            planned => said.push_str(&format!(", {} of it as operators wanted", lasted(planned))),
        }
    }
    said.push('.');
    for (what, ms) in [
        ("Held closed", known.forced_closed_ms),
        ("Kept quiet as the host asked", known.cooldown_ms),
        ("Not watched", known.unknown_ms),
    ] {
        if ms > 0 {
            said.push_str(&format!(" {what} for {}.", lasted(ms)));
        }
    }
    said
}

/// Cut, never rounded up: all of it only when nothing was down.
fn uptime(share: f64) -> String {
    match (share * 10_000.0).floor() {
        hundredths if hundredths < 1.0 && share > 0.0 => "under 0.01 %".into(),
        hundredths => format!("{} %", format::number(hundredths / 100.0)),
    }
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
    let speaks = match breaker.services.as_slice() {
        _ if breaker.protocol != "grpc" => None,
        [] => Some("Speaks gRPC; a call is judged by the status at its end.".to_owned()),
        services => {
            Some(format!("Speaks gRPC for {}; a call is judged by the status at its end.", services.join(", ")))
        }
    };
    speaks
        .into_iter()
        .chain([
            format!("Opens at {}.", if rules.is_empty() { "no rule".into() } else { rules.join(", or ") }),
            waits,
            format!("{probes}; {closes}, a failed one starts the next wait."),
            format!("It never gives up: however long the host was down, it is probed within {max} of a call."),
        ])
        .collect()
}
