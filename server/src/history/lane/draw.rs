//! From transitions and watched time to spans, and from spans to what fits on a screen. No store in here.

use fuseboard_app::wire::{
    breaker::{Mode, State},
    time::Time,
    timeline::Lane,
};

use super::Change;
use crate::history::is_down;

/// What a breaker was; `None` is unknown.
type Shown = Option<(State, Option<Mode>)>;

/// One breaker's spans, exact.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Strip {
    /// Start in ms from the window's start, ascending from 0; each lasts until the next.
    spans: Vec<(u64, Shown)>,
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

        let length = u64::try_from((to - from) / 1_000).unwrap_or(0);
        let mut strip = Self { spans: Vec::new(), length };
        let mut next = 0;
        for at in edges {
            while states.get(next).is_some_and(|(began, _)| *began <= at) {
                next += 1;
            }
            let hidden = unknown.iter().any(|&(start, end)| start <= at && at < end);
            let shown = if hidden || next == 0 { None } else { Some(states[next - 1].1) };
            strip.push(u64::try_from((at - from) / 1_000).unwrap_or(0), shown);
        }
        strip
    }

    fn push(&mut self, at: u64, shown: Shown) {
        // Two within one millisecond: the later one is what it was from there on.
        if self.spans.last().is_some_and(|(last, _)| *last == at) {
            self.spans.pop();
        }
        if self.spans.last().is_none_or(|(_, last)| *last != shown) {
            self.spans.push((at, shown));
        }
    }

    /// The lane as sent: exact while it fits, else spans shorter than `step` merged with their neighbours.
    pub(super) fn lane(&self, breaker: &str, from: Time, to: Time, step: u64) -> Lane {
        let mut lane = Lane {
            breaker: breaker.to_owned(),
            from,
            to,
            at: Vec::new(),
            state: Vec::new(),
            held: Vec::new(),
            down: Vec::new(),
            calls: None,
            probes: None,
        };
        let fits = self.spans.len() as u64 <= 2 * self.length.div_ceil(step).max(1);
        let mut heap = Heap::default();
        for (index, &(at, shown)) in self.spans.iter().enumerate() {
            let end = self.spans.get(index + 1).map_or(self.length, |next| next.0);
            if fits || end - at >= step {
                heap.flush(&mut lane);
                heap.add(at, end, shown);
                heap.flush(&mut lane);
            } else {
                heap.add(at, end, shown);
                if heap.length() >= step {
                    heap.flush(&mut lane);
                }
            }
        }
        heap.flush(&mut lane);
        lane
    }
}

/// Short neighbours on their way into one span.
#[derive(Default)]
struct Heap {
    start: Option<u64>,
    end: u64,
    down: u64,
    known: u64,
    worst: Shown,
    held: Option<Mode>,
}

impl Heap {
    fn length(&self) -> u64 {
        self.start.map_or(0, |start| self.end - start)
    }

    fn add(&mut self, at: u64, end: u64, shown: Shown) {
        self.start.get_or_insert(at);
        self.end = end;
        let Some((state, held)) = shown else { return };
        self.known += end - at;
        if is_down(state, held) {
            self.down += end - at;
        }
        if self.worst.is_none_or(|(worst, _)| badness(state) > badness(worst)) {
            self.worst = Some((state, held));
        }
        if self.held.is_none() || held == Some(Mode::ForcedOpen) {
            self.held = held.or(self.held);
        }
    }

    fn flush(&mut self, lane: &mut Lane) {
        let done = std::mem::take(self);
        let Some(start) = done.start else { return };
        lane.at.push(start);
        lane.state.push(match done.worst {
            None => 'u',
            Some((State::Closed, _)) => 'c',
            Some((State::Open, _)) => 'o',
            Some((State::HalfOpen, _)) => 'h',
        });
        lane.held.push(match done.held {
            None => '-',
            Some(Mode::ForcedOpen) => 'o',
            Some(Mode::ForcedClosed) => 'c',
        });
        let share = if done.known == 0 {
            // A lane of no length still says what it is.
            f64::from(u8::from(done.worst.is_some_and(|(state, held)| is_down(state, held))))
        } else {
            done.down as f64 / done.known as f64
        };
        lane.down.push(share);
    }
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
