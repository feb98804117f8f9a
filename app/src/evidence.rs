//! One point in time on a breaker's lane: which is looked at, and what is known of it, as HTML like rows and lanes. Pure.

use std::fmt::Write;

use crate::{
    format::{self, Zone, count},
    markup::escaped,
    prose,
    range::Zoom,
    timeline::{Axis, Band, Kind, Strip},
    wire::{
        event::{Cause, Probe, Transition},
        time::Time,
        timeline::{Calls, Moment},
    },
};

/// A point on the axis, as exact as a pointer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    /// Where, ms since 1970.
    pub at_ms: i64,
    /// What stands this near is meant as well.
    pub around_ms: i64,
}

/// Rows of each kind a card shows, those nearest to the point.
const FEW: usize = 3;
/// Half the width of a pointer's tip, in pixels of the axis.
const TIP: f64 = 5.0;

impl Spot {
    /// On an axis.
    pub fn on(axis: Axis, at_ms: i64) -> Self {
        let pixel = (axis.to_ms - axis.from_ms) as f64 / axis.width.max(1.0);
        Self { at_ms, around_ms: ((pixel * TIP) as i64).max(500) }
    }

    /// Where it begins.
    pub fn begins_ms(self) -> i64 {
        self.at_ms - self.around_ms
    }

    /// Where it ends.
    pub fn ends_ms(self) -> i64 {
        self.at_ms + self.around_ms
    }

    fn holds(self, at: Time) -> bool {
        (self.begins_ms()..self.ends_ms()).contains(&at.millis())
    }
}

/// The card that shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Card {
    /// There is none.
    #[default]
    Shut,
    /// It goes when the pointer does.
    Passing(Spot),
    /// It stays until somebody closes it.
    Pinned(Spot),
}

impl Card {
    /// What it shows.
    pub fn spot(self) -> Option<Spot> {
        match self {
            Self::Shut => None,
            Self::Passing(spot) | Self::Pinned(spot) => Some(spot),
        }
    }

    /// The pointer rests there, or nowhere.
    pub fn rested(self, spot: Option<Spot>) -> Self {
        match (self, spot) {
            (Self::Pinned(_), _) => self,
            (_, Some(spot)) => Self::Passing(spot),
            (_, None) => Self::Shut,
        }
    }

    /// Another stretch is shown: what is out of sight is not pointed at.
    pub fn within(self, zoom: Zoom) -> Self {
        match self.spot() {
            Some(spot) if (zoom.from_ms..zoom.to_ms).contains(&spot.at_ms) => self,
            _ => Self::Shut,
        }
    }
}

/// The times worth going to: where something changed, and the probes.
pub fn stops(strip: &Strip, probes: impl Iterator<Item = i64>, axis: Axis) -> Vec<i64> {
    let inside = |at: &i64| *at > axis.from_ms && *at < axis.to_ms;
    let mut stops: Vec<i64> = strip.bands(axis).iter().map(|band| band.from_ms).chain(probes).filter(inside).collect();
    stops.sort_unstable();
    stops.dedup();
    stops
}

/// What was found with what the page has heard since: a row may be heard of before it is written.
pub fn with_heard(found: &Moment, spot: Spot, transitions: &[Transition], probes: &[Probe]) -> Moment {
    let mut all = found.clone();
    for row in transitions.iter().filter(|row| spot.holds(row.at)) {
        if !found.transitions.iter().any(|known| known.seq == row.seq) {
            all.transitions.push(row.clone());
        }
    }
    for row in probes.iter().filter(|row| spot.holds(row.at)) {
        if !found.probes.iter().any(|known| known.seq == row.seq) {
            all.probes.push(row.clone());
        }
    }
    all
}

/// What a card is written from.
pub struct Known<'a> {
    /// What is looked at.
    pub spot: Spot,
    /// The lane.
    pub strip: &'a Strip,
    /// On this axis.
    pub axis: Axis,
    /// Its calls, with the time they count from.
    pub calls: Option<(i64, &'a Calls)>,
    /// What stands on record; none while that is asked for.
    pub moment: Option<&'a Moment>,
    /// The clock times are read on.
    pub zone: Zone,
}

impl Known<'_> {
    /// The card's content.
    pub fn html(&self) -> String {
        let mut out = self.at_hand();
        let Some(moment) = self.moment else { return out + "<p class=\"detail\">Asking the record.</p>" };
        let near = |at: Time| (at.millis() - self.spot.at_ms).abs();
        // A probe is told by its own row; what it led to is one of note.
        let mut changes: Vec<&Transition> = moment.transitions.iter().filter(|row| of_note(row)).collect();
        let mut probes: Vec<&Probe> = moment.probes.iter().collect();
        if changes.is_empty() && probes.is_empty() {
            changes.extend(moment.transitions.first());
        }
        let more = moment.more || changes.len() > FEW || probes.len() > FEW;
        changes.sort_by_key(|row| near(row.at));
        probes.sort_by_key(|row| near(row.at));
        // As it went: the oldest first.
        let mut rows: Vec<(u64, String)> = changes.iter().take(FEW).map(|row| (row.seq, self.change(row))).collect();
        rows.extend(probes.iter().take(FEW).map(|row| (row.seq, self.probe(row))));
        rows.sort_by_key(|row| row.0);
        if rows.is_empty() {
            return out + "<p class=\"detail\">Nothing on record changed here, or before.</p>";
        }
        out.push_str("<ol class=\"found\">");
        rows.into_iter().for_each(|(_, row)| out.push_str(&row));
        out.push_str("</ol>");
        if more {
            out.push_str("<p class=\"detail\">And more; zoom in to tell them apart.</p>");
        }
        out
    }

    /// The same while the record cannot be read.
    pub fn html_without(&self, why: &str) -> String {
        format!("{}<p class=\"detail\">{}</p>", self.at_hand(), escaped(why))
    }

    /// What the page knows without asking.
    fn at_hand(&self) -> String {
        let mut out = String::new();
        for (class, said) in [("was", self.was()), ("flowed", self.flowed())] {
            if let Some(said) = said {
                let _ = write!(out, "<p class=\"{class}\">{}</p>", escaped(&said));
            }
        }
        out
    }

    /// What it was there, and from when to when; an outage with its probes is one.
    fn was(&self) -> Option<String> {
        let mut bands = self.strip.bands(self.axis);
        bands.sort_by_key(|band| band.from_ms);
        let under = bands.iter().position(|band| (band.from_ms..band.to_ms).contains(&self.spot.at_ms));
        // What is narrower than the pointer is meant where it is touched.
        let narrow = |band: &Band| {
            let touched = band.from_ms < self.spot.ends_ms() && band.to_ms > self.spot.begins_ms();
            touched && down(band.kind) && band.to_ms - band.from_ms < 2 * self.spot.around_ms
        };
        let nth = match under {
            Some(nth) if down(bands[nth].kind) => nth,
            _ => bands.iter().position(narrow).or(under)?,
        };
        let joined = |one: &Band, next: &Band| down(one.kind) && down(next.kind) && one.to_ms == next.from_ms;
        let (mut first, mut last) = (nth, nth);
        while first > 0 && joined(&bands[first - 1], &bands[first]) {
            first -= 1;
        }
        while last + 1 < bands.len() && joined(&bands[last], &bands[last + 1]) {
            last += 1;
        }
        let (from_ms, to_ms) = (bands[first].from_ms, bands[last].to_ms);
        let word = match (bands[nth].kind.word(), first == last) {
            (word, true) => upper(word),
            (word, false) => format!("{}; down", upper(word)),
        };
        let when = match (from_ms > self.axis.from_ms, to_ms < self.axis.to_ms) {
            (true, true) => format!("from {} to {}", self.clock(from_ms), self.clock(to_ms)),
            (true, false) => format!("since {}", self.clock(from_ms)),
            (false, true) => format!("until {}", self.clock(to_ms)),
            (false, false) => return Some(format!("{word} all of this time.")),
        };
        let lasted =
            if from_ms > self.axis.from_ms { format!(", {}", format::lasted(to_ms - from_ms)) } else { String::new() };
        let part = match bands[nth].share {
            share if first == last && down(bands[nth].kind) && share < 1.0 => {
                format!(", for {} of it", format::share(share))
            }
            _ => String::new(),
        };
        Some(format!("{word} {when}{lasted}{part}."))
    }

    /// What flowed in the step of the charts it stands in.
    fn flowed(&self) -> Option<String> {
        let (from, calls) = self.calls?;
        let step = calls.step_ms as i64;
        let nth = calls.at.iter().position(|at| (from + at..from + at + step).contains(&self.spot.at_ms))?;
        let of = |counts: &[u64]| counts.get(nth).copied().unwrap_or(0);
        let (ok, failed, refused) = (of(&calls.ok), of(&calls.failed), of(&calls.refused));
        let took = |series: &[Option<f64>]| series.get(nth).copied().flatten().map(format::latency);
        let latency = match (took(&calls.p50_ms), took(&calls.p95_ms)) {
            (Some(p50), Some(p95)) => format!("; median {p50}, p95 {p95}"),
            _ => String::new(),
        };
        let length = if step == 60_000 { "minute".into() } else { format::duration(step) };
        Some(format!(
            "{} good, {} failed, {} refused in the {length} from {}{latency}.",
            count(ok),
            count(failed),
            count(refused),
            format::clock(from + calls.at[nth], self.zone)
        ))
    }

    /// With its day where that is not the card's own.
    fn clock(&self, ms: i64) -> String {
        format::moment_seconds(ms, self.spot.at_ms, self.zone)
    }

    fn time(&self, at: Time) -> String {
        let ms = at.millis();
        format!("<time datetime=\"{at}\" title=\"{}\">{}</time>", format::full_utc(ms), self.clock(ms))
    }

    fn change(&self, row: &Transition) -> String {
        let mut out = String::from("<li>");
        if !self.spot.holds(row.at) {
            let since = format::lasted(self.spot.at_ms - row.at.millis());
            let _ = write!(out, "<p class=\"detail\">The last change before, {since} earlier:</p>");
        }
        let _ = write!(out, "<p>{} {}</p>", self.time(row.at), escaped(&prose::transition(row)));
        // A probe's own evidence stands among the probes.
        if row.cause.kind == "tripped" {
            self.deciding(&row.cause, &mut out);
        }
        out + "</li>"
    }

    /// The calls that decided it, each on its own line.
    fn deciding(&self, cause: &Cause, out: &mut String) {
        let calls = prose::evidence(cause);
        if calls.is_empty() {
            return;
        }
        let many = format::some(calls.len() as u64, "deciding call", "deciding calls");
        let _ = write!(out, "<p class=\"detail\">{many}:</p><ul>");
        for call in calls {
            let at = call.at.map_or(String::new(), |at| self.time(at) + " ");
            let _ = write!(out, "<li>{at}{} · {}</li>", escaped(&call.outcome), escaped(&call.said()));
        }
        out.push_str("</ul>");
    }

    fn probe(&self, row: &Probe) -> String {
        let mut out = format!("<li><p>{} {}</p>", self.time(row.at), escaped(&prose::probe(row)));
        let asked = row.path.as_ref().map(|path| format!("{} {path}", row.method.as_deref().unwrap_or_default()));
        for detail in [asked, row.error.clone()].into_iter().flatten() {
            let _ = write!(out, "<p class=\"detail\">{}</p>", escaped(detail.trim()));
        }
        out + "</li>"
    }
}

/// What a probe's own row does not tell.
fn of_note(row: &Transition) -> bool {
    !matches!(row.cause.kind.as_str(), "wait_elapsed" | "probe_failed" | "probe_lost")
}

fn down(kind: Kind) -> bool {
    matches!(kind, Kind::Open | Kind::HalfOpen | Kind::ForcedOpen)
}

fn upper(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests;
