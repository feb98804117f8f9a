//! Breakers as a person at a terminal reads them, in the board's words. Pure.

use comfy_table::{CellAlignment, Table, presets::NOTHING};
use fuseboard_app::{
    format::{self, Zone, count, full_utc},
    prose,
    standing::Standing,
    wire::breaker::{Breaker, BreakerList, Mode},
};

use super::super::server::plain;

fn table() -> Table {
    let mut table = Table::new();
    table.load_preset(NOTHING);
    table
}

/// No blanks at the end of lines, and none before the first column.
fn drawn(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(&line).trim_end())).collect()
}

/// How it stands, in the board's words.
pub(super) fn standing(breaker: &Breaker, now_ms: i64) -> String {
    Standing::of(breaker, now_ms).said()
}

/// The list.
pub(super) fn list(list: &BreakerList) -> String {
    if list.breakers.is_empty() {
        return "No breaker matches.\n".into();
    }
    let now = list.as_of.millis();
    let mut table = table();
    table.set_header(["BREAKER", "STATE", "SINCE (UTC)", "CALLS/MIN", "REFUSED/MIN", "NEXT PROBE", "WHY"]);
    for number in [3, 4] {
        if let Some(column) = table.column_mut(number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for one in &list.breakers {
        let standing = Standing::of(one, now);
        let down = one.down_since.filter(|_| standing.refuses()).unwrap_or(one.since);
        let since = one.held.as_ref().map_or(down, |held| held.since);
        let probe = match one.next_probe_at {
            Some(at) if at.millis() > now => format!("in {}", format::countdown(at.millis() - now)),
            Some(_) => "due".into(),
            None => String::new(),
        };
        table.add_row([
            plain(&one.id),
            standing.said(),
            full_utc(since.millis()).trim_end_matches(" UTC").to_owned(),
            count(one.calls_per_min),
            count(one.refused_per_min),
            probe,
            plain(&prose::why(one)),
        ]);
    }
    drawn(&table)
}

/// One breaker: what it does and why, then its figures.
pub(super) fn story(breaker: &Breaker, now_ms: i64) -> String {
    let last = breaker.last_transition.as_ref();
    let trip = last.filter(|row| row.cause.kind == "tripped");
    let lead = prose::lead(breaker, trip, now_ms, Zone::Utc).join(" ");
    let mut table = table();
    let mut row = |label: &str, value: String| {
        table.add_row([label.to_owned(), plain(&value)]);
    };
    row("upstreams", if breaker.upstreams.is_empty() { "none".into() } else { breaker.upstreams.join(", ") });
    row("policy", breaker.policy.clone());
    row("state since", full_utc(breaker.since.millis()));
    if let Some(held) = &breaker.held {
        let until = held.until.map_or("without an end".into(), |until| format!("until {}", full_utc(until.millis())));
        row("override", format!("{} by {} {until}: {}", mode(held.mode), prose::by(&held.by), held.reason));
    }
    row("calls a minute", format!("{}, {} refused", count(breaker.calls_per_min), count(breaker.refused_per_min)));
    row("failure rate", breaker.failure_rate.map_or("no data".into(), format::share));
    if let (Some(p50), Some(p95)) = (breaker.p50_ms, breaker.p95_ms) {
        row("latency", format!("p50 {}, p95 {}", format::latency(p50), format::latency(p95)));
    }
    row("in flight", count(breaker.in_flight));
    row("opened", format::some(breaker.opens, "time", "times"));
    if let Some(wait) = breaker.wait_ms {
        row("wait", format::wait(wait as i64));
    }
    for rule in &breaker.rules {
        row("rule", format!("{}: {}", prose::rule(rule), prose::rule_stands(rule)));
    }
    if let Some(last) = last {
        row("last change", format!("{} {}", full_utc(last.at.millis()), prose::transition(last)));
    }
    format!("{}: {}\n{}\n\n{}", plain(&breaker.id), standing(breaker, now_ms), plain(&lead), drawn(&table))
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::ForcedOpen => "forced open",
        Mode::ForcedClosed => "forced closed",
    }
}

/// What an override now does, and until when.
pub(super) fn forced(breaker: &Breaker, mode: Mode) -> String {
    let does = match mode {
        Mode::ForcedOpen => format!(
            "is forced open: nothing is sent to its host, {} turned away",
            format::some(breaker.calls_per_min, "call a minute is", "calls a minute are")
        ),
        Mode::ForcedClosed => "is forced closed: everything is sent, whatever its host does".into(),
    };
    let end = match breaker.held.as_ref().and_then(|held| held.until) {
        Some(until) => format!("Ends by itself at {}.", full_utc(until.millis())),
        None => "It has no end: it stays until somebody releases it.".into(),
    };
    format!("{} {does}. {end}", breaker.id)
}
