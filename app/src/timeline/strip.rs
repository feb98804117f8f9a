//! One breaker's spans in absolute time: as they were loaded, then grown at the right end by the feed, whatever order that
//! comes in; cut to an axis as bands.

use std::{borrow::Cow, cmp::Reverse};

use super::{Axis, Band, Kind};
use crate::{
    format,
    wire::{
        breaker::{Mode, State},
        timeline::Lane,
    },
};

/// One stretch of one kind, from `from_ms` to the next span or the strip's end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    /// Where it starts, ms since 1970.
    pub(super) from_ms: i64,
    /// What it was.
    pub(super) kind: Kind,
    /// The share of it that was down; below 1 only where spans were merged.
    down: f64,
    /// The number of the change it began with; 0 for what was loaded.
    seq: u64,
}

/// More spans than this are merged where they are too short to be told apart.
pub(super) const MANY: usize = 2_000;
/// Steps a window is cut to when they are, as many as an axis has pixels; what is left is less than what was too much.
const STEPS: i64 = 720;

/// One breaker's spans, in order of their start and of their number alike.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Strip {
    pub(super) spans: Vec<Span>,
    /// In order of their number; seen where the breaker was closed.
    pub(super) cooldowns: Vec<Cooldown>,
}

/// Where a cool-down began or was ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Cooldown {
    /// The number of the change that did; 0 for what was loaded.
    seq: u64,
    /// When, ms since 1970.
    at_ms: i64,
    /// Until when, if nothing ends it before; none where that is what it says.
    until_ms: Option<i64>,
}

impl Strip {
    /// A lane as it came from the server.
    pub fn from_lane(lane: &Lane) -> Self {
        let from = lane.from.millis();
        let spans = lane.at.iter().enumerate().map(|(nth, at)| Span {
            from_ms: from + *at as i64,
            kind: Kind::of(lane.state.get(nth).copied().unwrap_or('u'), lane.held.get(nth).copied().unwrap_or('-')),
            down: lane.down.get(nth).copied().unwrap_or(0.0),
            seq: 0,
        });
        let cooldowns = lane.cooldowns.iter().map(|&(start, end)| Cooldown {
            seq: 0,
            at_ms: from + start as i64,
            until_ms: Some(from + end as i64),
        });
        Self { spans: spans.collect(), cooldowns: cooldowns.collect() }
    }

    /// A cool-down begins, or with no end is over; in any order and more than once, as with [`Self::push`].
    pub fn cool(&mut self, seq: u64, at_ms: i64, until_ms: Option<i64>) {
        let place = self.cooldowns.partition_point(|one| one.seq < seq);
        if self.cooldowns.get(place).is_none_or(|next| next.seq != seq) {
            self.cooldowns.insert(place, Cooldown { seq, at_ms, until_ms });
        }
    }

    /// A change as it happened. What was said before it about a later time is overwritten, and so is this one by a change
    /// with a higher number: changes may come in any order, and more than once. False when it changes nothing.
    pub fn push(&mut self, seq: u64, at_ms: i64, state: State, held: Option<Mode>) -> bool {
        let kind = match (held, state) {
            (Some(Mode::ForcedOpen), _) => Kind::ForcedOpen,
            (Some(Mode::ForcedClosed), _) => Kind::ForcedClosed,
            (None, State::Closed) => Kind::Closed,
            (None, State::Open) => Kind::Open,
            (None, State::HalfOpen) => Kind::HalfOpen,
        };
        let down = if matches!(kind, Kind::Closed | Kind::ForcedClosed) { 0.0 } else { 1.0 };
        let place = self.spans.partition_point(|span| span.seq < seq);
        if self.spans.get(place).is_some_and(|next| next.seq == seq || next.from_ms <= at_ms) {
            return false;
        }
        let earlier = self.spans[..place].partition_point(|span| span.from_ms < at_ms);
        self.spans.splice(earlier..place, [Span { from_ms: at_ms, kind, down, seq }]);
        true
    }

    /// Forgets what ended before a window, and merges what nobody can tell apart in it once there is much of that: a strip
    /// stays small however long a page is open.
    pub fn trim(&mut self, before_ms: i64, window_ms: i64) {
        let gone = self.spans.partition_point(|span| span.from_ms <= before_ms).saturating_sub(1);
        self.spans.drain(..gone);
        let over = self.cooldowns.iter().take_while(|one| one.until_ms.unwrap_or(one.at_ms) <= before_ms).count();
        self.cooldowns.drain(..over);
        if self.spans.len() > MANY {
            let step = (window_ms / STEPS).max(1) as f64;
            // The last one is still going on.
            let last = self.spans.pop();
            let until = last.map_or(i64::MAX, |last| last.from_ms);
            self.spans = merged(&self.spans, until, |at_ms| at_ms as f64 / step);
            self.spans.extend(last);
        }
    }

    /// The bands on an axis, at most two a pixel, quiet ones first so that trouble is drawn on top. A band narrower than a
    /// pixel is drawn one pixel wide: a short outage stays visible.
    pub fn bands(&self, axis: Axis) -> Vec<Band> {
        let first = self.spans.partition_point(|span| span.from_ms <= axis.from_ms).saturating_sub(1);
        let last = self.spans.partition_point(|span| span.from_ms < axis.to_ms);
        let end_ms = self.spans.get(last).map_or(i64::MAX, |next| next.from_ms);
        let spans = self.cooled(&self.spans[first.min(last)..last], end_ms);
        let spans = merged(&spans, end_ms, |at_ms| axis.x(at_ms));
        let ends = spans.iter().skip(1).map(|span| span.from_ms).chain([end_ms]);
        let mut bands: Vec<Band> = Vec::with_capacity(spans.len());
        for (span, end) in spans.iter().zip(ends) {
            let (from_ms, to_ms) = (span.from_ms.max(axis.from_ms), end.min(axis.to_ms));
            if from_ms >= to_ms {
                continue;
            }
            let share = match span.kind {
                Kind::Open | Kind::HalfOpen | Kind::ForcedOpen => span.down.clamp(0.0, 1.0),
                _ => 1.0,
            };
            let x = axis.x(from_ms);
            let width = (axis.x(to_ms) - x).max(1.0).min(axis.width);
            bands.push(Band { x: x.min(axis.width - width), width, kind: span.kind, share, from_ms, to_ms });
        }
        bands.sort_by_key(|band| band.kind);
        bands
    }

    /// Spans with their cool-downs as spans of their own; the last one ends at `end_ms`.
    fn cooled<'a>(&self, spans: &'a [Span], end_ms: i64) -> Cow<'a, [Span]> {
        if self.cooldowns.is_empty() {
            return Cow::Borrowed(spans);
        }
        let mut out: Vec<Span> = Vec::with_capacity(spans.len() + 2 * self.cooldowns.len());
        for (nth, span) in spans.iter().enumerate() {
            let end = spans.get(nth + 1).map_or(end_ms, |next| next.from_ms);
            out.push(*span);
            if span.kind != Kind::Closed {
                continue;
            }
            for (nth, one) in self.cooldowns.iter().enumerate() {
                let Some(until) = one.until_ms else { continue };
                let over = self.cooldowns.get(nth + 1).map_or(i64::MAX, |next| next.at_ms);
                let (from_ms, until) = (one.at_ms.max(span.from_ms), until.min(over).min(end));
                if from_ms >= until {
                    continue;
                }
                out.pop_if(|last| last.from_ms >= from_ms);
                out.push(Span { from_ms, kind: Kind::CoolingDown, ..*span });
                if until < end {
                    out.push(Span { from_ms: until, ..*span });
                }
            }
        }
        Cow::Owned(out)
    }

    /// What the bands say in words: `open 48 min, closed 12 min`. Of a merged one its share; the rest of it counts as closed.
    pub fn spoken(&self, axis: Axis) -> String {
        let mut sums: Vec<(Kind, i64)> = Vec::new();
        let mut add = |kind, ms| match sums.iter_mut().find(|sum| sum.0 == kind) {
            Some(sum) => sum.1 += ms,
            None => sums.push((kind, ms)),
        };
        for band in self.bands(axis) {
            let length = band.to_ms - band.from_ms;
            let own = (length as f64 * band.share) as i64;
            add(band.kind, own);
            if own < length {
                add(Kind::Closed, length - own);
            }
        }
        sums.sort_by_key(|(kind, _)| Reverse(*kind));
        let parts: Vec<_> = sums.iter().map(|(kind, ms)| format!("{} {}", kind.word(), format::lasted(*ms))).collect();
        if parts.is_empty() { "nothing recorded".into() } else { parts.join(", ") }
    }
}

/// Spans with those that are shorter than one and begin within the same one put together: the worst known kind, the share of
/// the whole that was down; and neighbours of one kind as one. `place` says where a time stands, the last one ends at
/// `end_ms`.
fn merged(spans: &[Span], end_ms: i64, place: impl Fn(i64) -> f64) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::with_capacity(spans.len().min(MANY));
    // Where the newest one put out began, if it is short and may take more.
    let mut within = None;
    for (nth, span) in spans.iter().enumerate() {
        let end = spans.get(nth + 1).map_or(end_ms, |next| next.from_ms);
        let from = place(span.from_ms);
        let own = (place(end) - from < 1.0).then_some(from as i64);
        match out.last_mut() {
            Some(last) if own.is_some() && own == within => {
                let (before, length) = ((span.from_ms - last.from_ms) as f64, (end - span.from_ms) as f64);
                last.down = (last.down * before + span.down * length) / (before + length).max(1.0);
                last.kind = match (last.kind, span.kind) {
                    (Kind::Unknown, known) | (known, Kind::Unknown) => known,
                    (one, other) => one.max(other),
                };
                last.seq = span.seq;
            }
            Some(last) if (last.kind, last.down) == (span.kind, span.down) => {
                last.seq = span.seq;
                within = None;
            }
            _ => {
                out.push(*span);
                within = own;
            }
        }
    }
    out
}
