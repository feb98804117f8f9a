//! What a report says, in words and figures, before it is anybody's markup. Pure.

use fuseboard_app::{
    format::{self, count, duration, full_utc, lasted, some},
    prose,
    wire::{
        breaker::{Mode, State},
        event::{Cause, Probe, Transition},
        incident::{Incident, IncidentDetail, IncidentKind, ProbeTally},
        time::Time,
    },
};
use serde_json::Value;

use super::About;

/// Waits told of a long row of them; of a long story's rows, twice as many.
const TOLD: usize = 20;

/// A time to the second.
pub(super) fn at(time: Time) -> String {
    full_utc(time.millis())
}

/// The range in words.
pub(super) fn range(about: &About) -> String {
    let to = at(about.to.unwrap_or(about.made_at).min(about.made_at));
    match about.from {
        Some(from) => format!("{} to {to}", at(from)),
        None => format!("Everything up to {to}"),
    }
}

/// What the file is about.
pub(super) fn title(about: &About) -> String {
    match &about.breaker {
        Some(breaker) => format!("Incidents of {breaker}"),
        None => "Incident report".into(),
    }
}

/// How long it lasted; until the report was made, when it still does.
pub(super) fn length_ms(one: &Incident, about: &About) -> i64 {
    (one.end.unwrap_or(about.made_at).millis() - one.start.millis()).max(0)
}

/// How long it lasted, in words.
pub(super) fn length(one: &Incident, about: &About) -> String {
    let length = lasted(length_ms(one, about));
    if one.end.is_some() { length } else { format!("{length}, not over") }
}

/// The report in a few sentences.
pub(super) fn lead(about: &About, incidents: &[Incident]) -> Vec<String> {
    let mut said = match incidents.iter().max_by_key(|one| one.down_ms) {
        Some(longest) => sums(incidents, longest),
        None => vec!["No incident in this range: no breaker left closed.".into()],
    };
    if about.waiting > 0 {
        said.push(format!(
            "The store had not taken {} yet; they are missing here.",
            some(about.waiting, "fact", "facts")
        ));
    }
    if about.lost > 0 {
        said.push(format!("{} of this time could not be kept.", some(about.lost, "fact", "facts")));
    }
    said
}

fn sums(incidents: &[Incident], longest: &Incident) -> Vec<String> {
    let sum = |figure: fn(&Incident) -> u64| incidents.iter().map(figure).sum::<u64>();
    let hosts = hosts(incidents).len() as u64;
    let mut said = vec![format!(
        "{} on {}, down for {} in all.",
        some(incidents.len() as u64, "incident", "incidents"),
        some(hosts, "host", "hosts"),
        lasted(sum(|one| one.down_ms) as i64),
    )];
    if incidents.len() > 1 {
        said.push(format!(
            "The longest: {}, {} from {}.",
            longest.breaker,
            lasted(longest.down_ms as i64),
            at(longest.start)
        ));
    }
    said.push(format!(
        "{} failed and {} refused without reaching the host.",
        some(sum(|one| one.calls_failed), "call", "calls"),
        some(sum(|one| one.calls_refused), "was", "were"),
    ));
    let held = incidents.iter().filter(|one| one.kind == IncidentKind::Held).count() as u64;
    if held > 0 {
        said.push(format!("{} opened by an operator.", some(held, "was", "were")));
    }
    match incidents.iter().filter(|one| one.end.is_none()).count() as u64 {
        0 => {}
        open => said.push(format!("{} not over when this was written.", some(open, "was", "were"))),
    }
    said
}

/// The hosts, the one that was down longest first.
pub(super) fn hosts(incidents: &[Incident]) -> Vec<String> {
    let mut down: Vec<(&str, u64)> = Vec::new();
    for one in incidents {
        match down.iter_mut().find(|(breaker, _)| *breaker == one.breaker) {
            Some((_, sum)) => *sum += one.down_ms,
            None => down.push((&one.breaker, one.down_ms)),
        }
    }
    down.sort_by_key(|(_, sum)| std::cmp::Reverse(*sum));
    down.into_iter().map(|(breaker, _)| breaker.to_owned()).collect()
}

/// From when to when the lanes of a report run: the range, or what its incidents cover.
pub(super) fn stretch(about: &About, incidents: &[Incident]) -> (Time, Time) {
    let to = about.to.unwrap_or(about.made_at).min(about.made_at);
    let first = incidents.iter().map(|one| one.start).min().unwrap_or(to);
    let from = about.from.unwrap_or(first);
    (from.min(to), to)
}

/// From when to when an incident's own lane runs: with a little of what was before and after.
pub(super) fn around(one: &Incident, about: &About) -> (Time, Time) {
    let margin = (length_ms(one, about) / 12).clamp(10_000, 3_600_000) * 1_000;
    let end = one.end.unwrap_or(about.made_at);
    let to = Time::from_micros(end.micros().saturating_add(margin)).min(about.made_at);
    (Time::from_micros(one.start.micros().saturating_sub(margin)), to)
}

/// An incident's headline.
pub(super) fn headline(one: &Incident, about: &About) -> String {
    let length = lasted(length_ms(one, about));
    match (one.kind, one.end.is_some()) {
        (IncidentKind::Tripped, true) => format!("{} was down for {length}", one.breaker),
        (IncidentKind::Tripped, false) => format!("{} has been down for {length}", one.breaker),
        (IncidentKind::Held, true) => format!("{} was held open for {length}", one.breaker),
        (IncidentKind::Held, false) => format!("{} has been held open for {length}", one.breaker),
    }
}

/// Why it began, in a sentence.
pub(super) fn why(one: &Incident) -> String {
    let held = (one.kind == IncidentKind::Held).then_some(Mode::ForcedOpen);
    let to = if held.is_some() { State::Closed } else { State::Open };
    // How long it then waited is told elsewhere.
    let mut cause = one.cause.clone();
    cause.detail.remove("wait_ms");
    prose::transition(&Transition {
        seq: one.id,
        node: String::new(),
        breaker: String::new(),
        at: one.start,
        from: State::Closed,
        to,
        held,
        generation: 0,
        cause,
        actor: one.actor.clone(),
        reason: one.reason.clone(),
    })
}

/// Labels and figures of an incident.
pub(super) fn figures(one: &Incident, about: &About) -> Vec<(&'static str, String)> {
    let mut figures = vec![
        ("Began", at(one.start)),
        ("Ended", one.end.map_or_else(|| "not over".into(), at)),
        ("Lasted", length(one, about)),
        ("Down", lasted(one.down_ms as i64)),
    ];
    if one.unknown_ms > 0 {
        figures.push(("Not watched", lasted(one.unknown_ms as i64)));
    }
    figures.push(("Calls failed", count(one.calls_failed)));
    figures.push(("Calls refused", count(one.calls_refused)));
    figures.push(("Probes", probes(&one.probes)));
    if one.opens > 1 {
        figures.push(("Opened", format!("{} times", count(one.opens))));
    }
    if one.overrides > 0 {
        figures.push(("Overrides", count(one.overrides)));
    }
    figures.push(("Upstreams", if one.upstreams.is_empty() { "none today".into() } else { one.upstreams.join(", ") }));
    figures.push(("Node", one.node.clone()));
    figures
}

/// What became of the probes.
pub(super) fn probes(tally: &ProbeTally) -> String {
    let parts = [(tally.good, "good"), (tally.bad, "failed"), (tally.lost, "without an answer"), (tally.void, "void")];
    let parts: Vec<_> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{} {word}", count(*n))).collect();
    if parts.is_empty() { "none".into() } else { parts.join(", ") }
}

/// One call that decided.
#[derive(Debug, PartialEq)]
pub(super) struct Deciding {
    pub(super) at: String,
    pub(super) request: String,
    pub(super) met: String,
    pub(super) latency: String,
}

/// The calls that decided.
pub(super) fn evidence(cause: &Cause) -> Vec<Deciding> {
    let calls = cause.detail.get("evidence").and_then(Value::as_array);
    calls.into_iter().flatten().map(deciding).collect()
}

fn deciding(call: &Value) -> Deciding {
    let text = |name: &str| call.get(name).and_then(Value::as_str);
    let status = call.get("status").and_then(Value::as_u64).map(|status| format!("answered {status}"));
    let phase = text("phase").map(|word| prose::phase(word).to_owned());
    let error = text("error").map(str::to_owned);
    let outcome = text("outcome").map(|word| prose::outcome(word).to_owned());
    let mut met: Vec<String> = [status, phase, error].into_iter().flatten().collect();
    met.dedup();
    if met.is_empty() {
        met.extend(outcome);
    }
    let request = [text("method"), text("path")].into_iter().flatten().collect::<Vec<_>>().join(" ");
    Deciding {
        at: text("at").map(clock).unwrap_or_default(),
        request: if request.is_empty() { "not known".into() } else { request },
        met: met.join(", "),
        latency: call.get("latency_ms").and_then(Value::as_f64).map(format::latency).unwrap_or_default(),
    }
}

/// To the millisecond, of a time on the wire.
fn clock(text: &str) -> String {
    text.get(11..23).unwrap_or(text).to_owned()
}

/// What the deciding calls have in common, when that says something.
pub(super) fn in_common(calls: &[Deciding]) -> Option<String> {
    let first = calls.first()?;
    let same = calls.iter().all(|call| call.request == first.request);
    (calls.len() > 1 && same && first.request != "not known")
        .then(|| format!("All {} asked for the same: a single path may be at fault, not the host.", calls.len()))
}

/// The waits in a sentence.
pub(super) fn waits(detail: &IncidentDetail) -> Option<String> {
    let waits = &detail.waits;
    if waits.is_empty() {
        return None;
    }
    let said = ends(waits.iter().collect(), TOLD).into_iter().map(|wait| match wait {
        Ok(wait) => duration(wait.wait_ms as i64),
        Err(skipped) => format!("… {skipped} more …"),
    });
    let said: Vec<String> = said.collect();
    Some(format!("{}: {}.", some(waits.len() as u64, "wait", "waits"), said.join(", ")))
}

/// A moment of an incident's story.
pub(super) struct Moment {
    pub(super) at: String,
    pub(super) said: String,
    /// Somebody did it.
    pub(super) by_hand: bool,
}

/// Rows and probes in the order they happened; of a long story its two ends, and in between how many were left out.
pub(super) fn story(detail: &IncidentDetail, probes: &[Probe]) -> Vec<Result<Moment, usize>> {
    let rows = detail.transitions.iter().map(|row| {
        let until = until(row).unwrap_or_default();
        let moment =
            Moment { at: at(row.at), said: format!("{}{until}", prose::transition(row)), by_hand: row.actor.is_some() };
        (row.seq, moment)
    });
    let last = detail.incident.last_seq.unwrap_or(u64::MAX);
    let probes = probes.iter().filter(|probe| (detail.incident.id..last).contains(&probe.seq)).map(|probe| {
        let request = [probe.method.as_deref(), probe.path.as_deref()].into_iter().flatten();
        let request = request.collect::<Vec<_>>().join(" ");
        let request = if request.is_empty() { request } else { format!(": {request}") };
        (
            probe.seq,
            Moment {
                at: at(probe.at),
                said: format!("Probe {}{request}.", lower(&prose::probe(probe))),
                by_hand: false,
            },
        )
    });
    let mut all: Vec<(u64, Moment)> = rows.chain(probes).collect();
    all.sort_by_key(|(seq, _)| *seq);
    let all: Vec<Moment> = all.into_iter().map(|(_, moment)| moment).collect();
    let mut told = ends(all, 2 * TOLD);
    if detail.more_transitions > 0 {
        told.push(Err(detail.more_transitions as usize));
    }
    told
}

/// When an override was to end.
fn until(row: &Transition) -> Option<String> {
    if !matches!(row.cause.kind.as_str(), "override_set" | "override_changed") {
        return None;
    }
    let until = row.cause.detail.get("until")?;
    Some(match until.as_str().and_then(|text| serde_json::from_value::<Time>(text.into()).ok()) {
        Some(until) => format!(" Until {}.", at(until)),
        None => " Without an end.".into(),
    })
}

fn lower(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| format!("{}{}", first.to_lowercase(), chars.as_str()))
}

/// At most `kept` of them, from both ends, with how many are left out between.
fn ends<T>(all: Vec<T>, kept: usize) -> Vec<Result<T, usize>> {
    let skipped = all.len().saturating_sub(kept);
    let mut told = Vec::new();
    for (nth, one) in all.into_iter().enumerate() {
        if skipped == 0 || nth < kept / 2 || nth >= kept / 2 + skipped {
            told.push(Ok(one));
        } else if nth == kept / 2 {
            told.push(Err(skipped));
        }
    }
    told
}

/// Where the file comes from.
pub(super) fn colophon(about: &About) -> String {
    format!(
        "Written by {} on node {} at {}, from the record up to number {}. All times are {}.",
        about.made_by,
        about.node,
        at(about.made_at),
        count(about.up_to_seq),
        about.zone
    )
}
