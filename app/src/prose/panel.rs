//! What the panel says of all breakers, and of an action on many.

use crate::{
    format::{self, Zone, count},
    wire::{
        action::{ActionAnswer, ActionResult},
        time::Time,
    },
};

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

/// What an action on many breakers would touch: `Touches 12 breakers, 340 calls a minute; ends ana's override on 1.`
/// A reset ends one only if that is ticked.
pub fn plan(answer: &ActionAnswer, if_ticked: bool) -> String {
    let ticked = if if_ticked { ", once that is ticked" } else { "" };
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
    if let ([_], [(name, _)]) = (answer.results.as_slice(), whose.as_slice()) {
        return format!("{said}; this ends {name}'s override{ticked}.");
    }
    for (nth, (name, many)) in whose.iter().enumerate() {
        let and = if nth == 0 { "; ends" } else { " and" };
        said.push_str(&format!("{and} {name}'s override on {many}"));
    }
    if !whose.is_empty() {
        said.push_str(ticked);
    }
    said + "."
}

/// What an undo did, and where it did not.
pub fn undone(answer: &ActionAnswer) -> String {
    let left: Vec<&ActionResult> = answer.results.iter().filter(|one| one.status >= 300).collect();
    match (left.as_slice(), (answer.results.len() - left.len()) as u64) {
        ([], _) => "Undone: everything stands as it stood.".into(),
        ([one], 0) => one.detail.clone(),
        ([one], well) => format!("Undone on {}. Not on {}: {}", count(well), one.breaker, one.detail),
        ([first, others @ ..], well) => format!(
            "Undone on {}. Not on {} and {}: {}",
            count(well),
            first.breaker,
            format::some(others.len() as u64, "other", "others"),
            first.detail
        ),
    }
}

/// What an action on many breakers did: `Forced open: 11 breakers. 1 refused.`
pub fn done(past: &str, answer: &ActionAnswer) -> String {
    let lost = answer.results.iter().filter(|one| one.applied).count() as u64;
    let well = answer.results.iter().filter(|one| one.status < 300 || one.applied).count() as u64;
    let refused = answer.results.len() as u64 - well;
    let mut said = match answer.results.as_slice() {
        [one] if one.applied => return format!("{past} now, but would be lost at a restart."),
        [one] if well == 1 => format!("{past}: {}.", one.breaker),
        [one] => one.detail.clone(),
        _ => format!("{past}: {}.", format::some(well, "breaker", "breakers")),
    };
    if refused > 0 && answer.results.len() > 1 {
        said.push_str(&format!(" {} refused.", count(refused)));
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
        all => format!("All {} hosts closed: traffic flows.", count(all)),
    }
}
