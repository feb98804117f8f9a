//! What a report says, in words and figures, before it is anybody's markup. Pure.

use std::collections::HashMap;

use fuseboard_app::{
    format::{self, count, full_utc, lasted, some},
    prose::{self, Deciding},
    wire::{
        breaker::{Mode, State},
        event::{Probe, Transition},
        incident::{Incident, IncidentDetail, IncidentKind},
        time::Time,
    },
};

use super::{About, Only};

/// Waits told of a long row of them; of a long story's rows, twice as many.
const TOLD: usize = 20;

/// A time to the second.
pub(super) fn at(time: Time) -> String {
    full_utc(time.millis())
}

/// The range in words.
pub(super) fn range(about: &About) -> String {
    let to = at(about.to.unwrap_or(about.made_at).min(about.made_at));
    let mut said = match about.from {
        Some(from) => format!("{} to {to}", at(from)),
        None => format!("Everything up to {to}"),
    };
    let Only { upstream, q, open } = &about.only;
    if let Some(upstream) = upstream {
        said.push_str(&format!(", upstream {upstream}"));
    }
    if let Some(q) = q {
        said.push_str(&format!(", hosts and upstreams with \u{201c}{q}\u{201d}"));
    }
    said.push_str(match open {
        Some(true) => ", those that last",
        Some(false) => ", those that are over",
        None => "",
    });
    said
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

/// What a report's incidents come to, taken one after the other: of a long record only the sums are kept, and the hosts.
#[derive(Debug, Default)]
pub(super) struct Totals {
    many: u64,
    down_ms: u64,
    failed: u64,
    refused: u64,
    held: u64,
    open: u64,
    first: Option<Time>,
    longest: Option<Incident>,
    hosts: HashMap<String, u64>,
}

impl Totals {
    pub(super) fn add(&mut self, one: &Incident) {
        self.many += 1;
        self.down_ms += one.down_ms;
        self.failed += one.calls_failed;
        self.refused += one.calls_refused;
        self.held += u64::from(one.kind == IncidentKind::Held);
        self.open += u64::from(one.end.is_none());
        self.first = Some(self.first.map_or(one.start, |first| first.min(one.start)));
        if self.longest.as_ref().is_none_or(|longest| one.down_ms >= longest.down_ms) {
            self.longest = Some(one.clone());
        }
        *self.hosts.entry(one.breaker.clone()).or_default() += one.down_ms;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.many == 0
    }

    /// The report in a few sentences.
    pub(super) fn lead(&self, about: &About) -> Vec<String> {
        let mut said = match &self.longest {
            Some(longest) => self.sums(longest),
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

    fn sums(&self, longest: &Incident) -> Vec<String> {
        let mut said = vec![format!(
            "{} on {}, down for {} in all.",
            some(self.many, "incident", "incidents"),
            some(self.hosts.len() as u64, "host", "hosts"),
            lasted(self.down_ms as i64),
        )];
        if self.many > 1 {
            said.push(format!(
                "The longest: {}, {} from {}.",
                longest.breaker,
                lasted(longest.down_ms as i64),
                at(longest.start)
            ));
        }
        said.push(format!(
            "{} failed and {} refused without reaching the host.",
            some(self.failed, "call", "calls"),
            some(self.refused, "was", "were"),
        ));
        if self.held > 0 {
            said.push(format!("{} opened by an operator.", some(self.held, "was", "were")));
        }
        if self.open > 0 {
            said.push(format!("{} not over when this was written.", some(self.open, "was", "were")));
        }
        said
    }

    /// The hosts, the one that was down longest first.
    pub(super) fn hosts(&self) -> Vec<String> {
        let mut down: Vec<(&String, &u64)> = self.hosts.iter().collect();
        down.sort_by_key(|(host, down)| (std::cmp::Reverse(**down), *host));
        down.into_iter().map(|(host, _)| host.clone()).collect()
    }

    /// From when to when the lanes of a report run: the range, or what its incidents cover.
    pub(super) fn stretch(&self, about: &About) -> (Time, Time) {
        let to = about.to.unwrap_or(about.made_at).min(about.made_at);
        let from = about.from.or(self.first).unwrap_or(to);
        (from.min(to), to)
    }
}

/// From when to when an incident's own lane runs: with a little of what was before and after.
pub(super) fn around(one: &Incident, about: &About) -> (Time, Time) {
    let margin = (length_ms(one, about) / 12).clamp(10_000, 3_600_000) * 1_000;
    let end = one.end.unwrap_or(about.made_at);
    let to = Time::from_micros(end.micros().saturating_add(margin)).min(about.made_at);
    (Time::from_micros(one.start.micros().saturating_sub(margin)), to)
}

/// An incident's headline. A host is not down while an override lets its calls through, nor known to be while nobody watched.
pub(super) fn headline(one: &Incident, about: &About) -> String {
    let (down, length) = (lasted(one.down_ms as i64), lasted(length_ms(one, about)));
    match (one.kind, one.end.is_some()) {
        (IncidentKind::Tripped, true) => format!("{} was down for {down}", one.breaker),
        (IncidentKind::Tripped, false) => format!("{} has been down for {down}", one.breaker),
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
    figures.push(("Probes", prose::incident::probes(&one.probes)));
    if one.opens > 1 {
        figures.push(("Opened", format!("{} times", count(one.opens))));
    }
    if one.overrides > 0 {
        figures.push(("Overrides", count(one.overrides)));
    }
    figures.push(("Upstreams", if one.upstreams.is_empty() { "none".into() } else { one.upstreams.join(", ") }));
    figures.push(("Node", one.node.clone()));
    figures
}

/// When a deciding call ended: of a day the report names, to the millisecond.
pub(super) fn clock(call: &Deciding) -> String {
    call.at.and_then(|at| at.to_string().get(11..23).map(str::to_owned)).unwrap_or_default()
}

/// What it asked for.
pub(super) fn request(call: &Deciding) -> &str {
    if call.request.is_empty() { "not known" } else { &call.request }
}

/// The waits in a sentence.
pub(super) fn waits(detail: &IncidentDetail) -> Option<String> {
    let waits = &detail.waits;
    if waits.is_empty() {
        return None;
    }
    let said = ends(waits.iter().collect(), TOLD).into_iter().map(|wait| match wait {
        Ok(wait) => format::wait(wait.wait_ms as i64),
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
