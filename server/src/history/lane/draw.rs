//! From transitions and watched time to spans, and from spans to what fits on a screen. No store in here.

use fuseboard_app::wire::{
    breaker::{Mode, State},
    time::Time,
    timeline::{Availability, Lane},
};

use super::Change;
use crate::history::is_down;

/// What a breaker was; `None` is unknown.
pub(super) type Shown = Option<(State, Option<Mode>)>;

/// How long a breaker was what, in ms; what is left of the stretch is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Totals {
    /// Without override.
    pub(super) closed: u64,
    pub(super) open: u64,
    pub(super) half_open: u64,
    /// Whatever its automatic state.
    pub(super) forced_open: u64,
    pub(super) forced_closed: u64,
    /// The worst automatic state.
    pub(super) worst: Option<State>,
}

impl Totals {
    pub(super) fn add(&mut self, shown: Shown, length: u64) {
        let Some((state, held)) = shown else { return };
        *match (held, state) {
            (Some(Mode::ForcedOpen), _) => &mut self.forced_open,
            (Some(Mode::ForcedClosed), _) => &mut self.forced_closed,
            (None, State::Closed) => &mut self.closed,
            (None, State::Open) => &mut self.open,
            (None, State::HalfOpen) => &mut self.half_open,
        } += length;
        if self.worst.is_none_or(|worst| badness(state) > badness(worst)) {
            self.worst = Some(state);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.closed += other.closed;
        self.open += other.open;
        self.half_open += other.half_open;
        self.forced_open += other.forced_open;
        self.forced_closed += other.forced_closed;
        if let Some(state) = other.worst
            && self.worst.is_none_or(|worst| badness(state) > badness(worst))
        {
            self.worst = Some(state);
        }
    }

    pub(super) fn known(&self) -> u64 {
        self.closed + self.open + self.half_open + self.forced_open + self.forced_closed
    }

    fn down(&self) -> u64 {
        self.open + self.half_open + self.forced_open
    }

    /// The worst of it, in state and override: what somebody has to know who sees nothing else of it.
    fn shown(&self) -> Shown {
        let worst = self.worst?;
        Some(match self {
            Self { open: 1.., .. } => (State::Open, None),
            Self { forced_open: 1.., .. } => (worst, Some(Mode::ForcedOpen)),
            Self { half_open: 1.., .. } => (State::HalfOpen, None),
            Self { forced_closed: 1.., .. } => (worst, Some(Mode::ForcedClosed)),
            _ => (worst, None),
        })
    }
}

/// One span of a strip.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Span {
    /// The same all along.
    Exact(Shown),
    /// Of several, from the roll-up.
    Rolled(Totals),
}

/// One breaker's spans.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Strip {
    /// Start in ms from the window's start, ascending from 0; each lasts until the next.
    spans: Vec<(u64, Span)>,
    /// The window's length in ms.
    length: u64,
}

/// Spans shorter than this many ms are merged when there are too many of them: one pixel.
pub(super) fn step(from: Time, to: Time, width: u32) -> u64 {
    let length = u64::try_from((to.micros() - from.micros()) / 1_000).unwrap_or(0);
    length.div_ceil(u64::from(width.max(1))).max(1)
}

impl Strip {
    /// `changes` in the record's order, the one in force at the window's start first if there is one; `first_at` is
    /// when the breaker was first heard of.
    pub(super) fn new(
        (from, to): (i64, i64),
        first_at: Option<i64>,
        changes: &[Change],
        watched: &[(i64, i64)],
        lost: &[(i64, i64)],
    ) -> Self {
        let states = states(first_at, changes);
        let known_since = states.first().map_or(to, |(at, _)| *at);
        let mut unknown = outside(watched, (from, to));
        unknown.push((from, known_since.min(to)));
        unknown.extend(lost.iter().map(|&(first, last)| (first, returned(changes, last))));

        let mut edges: Vec<i64> = states.iter().map(|(at, _)| *at).collect();
        edges.extend(unknown.iter().flat_map(|&(start, end)| [start, end]));
        edges.retain(|at| (from..to).contains(at));
        edges.push(from);
        edges.sort_unstable();
        edges.dedup();

        let mut strip = Self { spans: Vec::new(), length: ms(to - from) };
        let mut next = 0;
        for at in edges {
            while states.get(next).is_some_and(|(began, _)| *began <= at) {
                next += 1;
            }
            let hidden = unknown.iter().any(|&(start, end)| start <= at && at < end);
            let shown = if hidden || next == 0 { None } else { Some(states[next - 1].1) };
            strip.push(ms(at - from), Span::Exact(shown));
        }
        strip
    }

    fn push(&mut self, at: u64, span: Span) {
        // Two within one millisecond: the later one is what it was from there on.
        if self.spans.last().is_some_and(|(last, _)| *last == at) {
            self.spans.pop();
        }
        if !matches!((self.spans.last(), span), (Some((_, Span::Exact(last))), Span::Exact(shown)) if *last == shown) {
            self.spans.push((at, span));
        }
    }

    /// Goes on with what came after it.
    pub(super) fn extend(&mut self, after: Self) {
        if self.spans.is_empty() {
            // One of no length, too, says what it is.
            *self = after;
            return;
        }
        if after.length == 0 {
            return;
        }
        for (at, span) in after.spans {
            self.push(self.length + at, span);
        }
        self.length += after.length;
    }

    /// Goes on with a stretch of the roll-up; unknown altogether when there is nothing in it.
    pub(super) fn extend_rolled(&mut self, length: u64, totals: Totals) {
        let span = match totals.worst {
            None => Span::Exact(None),
            Some(state) if totals.closed == length => Span::Exact(Some((state, None))),
            Some(_) => Span::Rolled(totals),
        };
        self.push(self.length, span);
        self.length += length;
    }

    /// How long it was what.
    pub(super) fn totals(&self) -> Totals {
        let mut all = Totals::default();
        for (_, length, span) in self.lengths() {
            match span {
                Span::Exact(shown) => all.add(shown, length),
                Span::Rolled(totals) => all.merge(&totals),
            }
        }
        all
    }

    fn lengths(&self) -> impl Iterator<Item = (u64, u64, Span)> {
        self.spans.iter().enumerate().map(|(index, &(at, span))| {
            let end = self.spans.get(index + 1).map_or(self.length, |next| next.0);
            (at, end - at, span)
        })
    }

    /// How much of it was up; of the stretches in which it cooled down, what counts.
    fn availability(&self, cooldowns: &[(u64, u64)]) -> Availability {
        let all = self.totals();
        let (known, down) = (all.known(), all.down());
        let mut cooldown = 0;
        for (at, length, span) in self.lengths() {
            // Of a rolled span it is not known where in it the breaker was closed.
            if matches!(span, Span::Exact(Some((State::Closed, None))) | Span::Rolled(_)) {
                let inside = cooldowns.iter().map(|&(from, to)| to.min(at + length).saturating_sub(from.max(at)));
                cooldown += inside.sum::<u64>();
            }
        }
        Availability {
            share: (known > 0).then(|| (known - down) as f64 / known as f64),
            down_ms: down,
            planned_ms: all.forced_open,
            unknown_ms: self.length - known,
            forced_closed_ms: all.forced_closed,
            cooldown_ms: cooldown,
        }
    }

    /// The lane as sent: exact while it fits, else spans shorter than `step` merged with their neighbours. Cool-downs in
    /// ms from the window's start.
    pub(super) fn lane(&self, breaker: &str, from: Time, to: Time, step: u64, cooldowns: &[(u64, u64)]) -> Lane {
        let mut lane = Lane {
            breaker: breaker.to_owned(),
            from,
            to,
            at: Vec::new(),
            state: Vec::new(),
            held: Vec::new(),
            down: Vec::new(),
            cooldowns: apart(cooldowns, step),
            availability: Some(self.availability(cooldowns)),
            calls: None,
            probes: None,
        };
        let fits = self.spans.len() as u64 <= 2 * self.length.div_ceil(step).max(1);
        let mut heap = Heap::default();
        for (at, length, span) in self.lengths() {
            if fits || length >= step {
                heap.flush(&mut lane);
                heap.add(at, length, span);
                heap.flush(&mut lane);
            } else {
                heap.add(at, length, span);
                if heap.length >= step {
                    heap.flush(&mut lane);
                }
            }
        }
        heap.flush(&mut lane);
        lane
    }
}

/// Those nearer to each other than a step are one: no more of them than a lane has pixels.
fn apart(cooldowns: &[(u64, u64)], step: u64) -> Vec<(u64, u64)> {
    let mut out: Vec<(u64, u64)> = Vec::new();
    for &(from, to) in cooldowns {
        match out.last_mut() {
            Some(last) if from < last.1.saturating_add(step) => last.1 = last.1.max(to),
            _ => out.push((from, to)),
        }
    }
    out
}

/// Short neighbours on their way into one span.
#[derive(Default)]
struct Heap {
    start: Option<u64>,
    length: u64,
    totals: Totals,
    /// What the last one was, for a lane of no length.
    last: Shown,
}

impl Heap {
    fn add(&mut self, at: u64, length: u64, span: Span) {
        self.start.get_or_insert(at);
        self.length += length;
        match span {
            Span::Exact(shown) => {
                self.totals.add(shown, length);
                self.last = shown;
            }
            Span::Rolled(totals) => self.totals.merge(&totals),
        }
    }

    fn flush(&mut self, lane: &mut Lane) {
        let done = std::mem::take(self);
        let Some(start) = done.start else { return };
        let known = done.totals.known();
        let shown = if known == 0 { done.last } else { done.totals.shown() };
        lane.at.push(start);
        lane.state.push(match shown {
            None => 'u',
            Some((State::Closed, _)) => 'c',
            Some((State::Open, _)) => 'o',
            Some((State::HalfOpen, _)) => 'h',
        });
        lane.held.push(match shown.and_then(|(_, held)| held) {
            None => '-',
            Some(Mode::ForcedOpen) => 'o',
            Some(Mode::ForcedClosed) => 'c',
        });
        lane.down.push(if known == 0 {
            f64::from(u8::from(shown.is_some_and(|(state, held)| is_down(state, held))))
        } else {
            done.totals.down() as f64 / known as f64
        });
    }
}

pub(super) fn ms(micros: i64) -> u64 {
    u64::try_from(micros / 1_000).unwrap_or(0)
}

fn badness(state: State) -> u8 {
    match state {
        State::Closed => 0,
        State::HalfOpen => 1,
        State::Open => 2,
    }
}

/// When each state began. Times never go back: the number, not the clock, is the order.
fn states(first_at: Option<i64>, changes: &[Change]) -> Vec<(i64, (State, Option<Mode>))> {
    let mut states = Vec::with_capacity(changes.len() + 1);
    let began = match (first_at, changes.first()) {
        (Some(first_at), None) => Some((first_at, State::Closed)),
        (Some(first_at), Some(first)) => (first_at < first.at).then_some((first_at, first.from)),
        (None, _) => None,
    };
    states.extend(began.map(|(at, state)| (at, (state, None))));
    for change in changes {
        let at = states.last().map_or(change.at, |(last, _)| change.at.max(*last));
        states.push((at, (change.to, change.held)));
    }
    states
}

/// What no run watched.
fn outside(watched: &[(i64, i64)], (from, to): (i64, i64)) -> Vec<(i64, i64)> {
    let mut sorted = watched.to_vec();
    sorted.sort_unstable();
    let mut unknown = Vec::new();
    let mut seen = from;
    for (start, end) in sorted {
        if start > seen {
            unknown.push((seen, start.min(to)));
        }
        seen = seen.max(end);
    }
    if seen < to {
        unknown.push((seen, to));
    }
    unknown
}

/// Until when a loss that ended at `last` hides this breaker: its next row, if that does not follow from the one
/// before the loss.
fn returned(changes: &[Change], last: i64) -> i64 {
    let next = changes.iter().position(|change| change.at > last);
    match next {
        Some(next) if next > 0 && changes[next - 1].to != changes[next].from => changes[next].at.max(last),
        _ => last,
    }
}
