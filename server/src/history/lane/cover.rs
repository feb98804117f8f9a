//! What a window is drawn from: the longest roll-up that is no longer than a pixel, shorter ones towards its ends, and the
//! transitions themselves where not even an hour is whole.

use sqlx::SqliteConnection;

use super::rolled::{self, SPANS};
use crate::history::marks;

/// One part of a window, as microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Nothing is kept of it.
    Unknown(i64, i64),
    /// From transitions.
    Exact(i64, i64),
    /// From stretches of this length, so many a group.
    Rolled { span: i64, count: i64, from: i64, to: i64 },
}

/// What is rolled up and kept.
pub(super) struct Sources {
    /// Up to when each length is rolled up.
    rolled: [i64; SPANS.len()],
    /// From when on transitions are whole.
    kept: i64,
    /// Nothing that began before is kept of what was rolled up.
    gone: i64,
}

impl Sources {
    pub(super) async fn read(reader: &mut SqliteConnection) -> Result<Self, sqlx::Error> {
        let mut rolled = [marks::NEVER; SPANS.len()];
        for (until, span) in rolled.iter_mut().zip(SPANS) {
            *until = rolled::until(&mut *reader, span).await?;
        }
        let kept = marks::read(&mut *reader, "kept:transitions").await?.unwrap_or(marks::NEVER);
        let gone = marks::read(reader, "kept:states").await?.unwrap_or(marks::NEVER);
        Ok(Self { rolled, kept, gone })
    }

    /// The parts in order; `step` is a pixel's length.
    pub(super) fn cover(&self, window: (i64, i64), step: i64) -> Vec<Part> {
        if window.0 >= window.1 {
            return vec![Part::Exact(window.0, window.1)];
        }
        let mut parts = Vec::new();
        // The hour it falls into went with it; the transitions tell the rest of that hour where they are whole.
        let hour = SPANS[0];
        let known = if self.kept <= self.gone { self.gone } else { (self.gone + hour - 1).div_euclid(hour) * hour };
        let known = known.clamp(window.0, window.1);
        if known > window.0 {
            parts.push(Part::Unknown(window.0, known));
        }
        self.add(&mut parts, (known, window.1), step, SPANS.len());
        parts
    }

    fn add(&self, parts: &mut Vec<Part>, (from, to): (i64, i64), step: i64, lengths: usize) {
        if from >= to {
            return;
        }
        let Some(index) = lengths.checked_sub(1) else {
            parts.push(Part::Exact(from, to));
            return;
        };
        let span = SPANS[index];
        let up = |at: i64| (at + span - 1).div_euclid(span) * span;
        let wanted = match span <= step {
            true => to,
            // Drawn finer than it is kept.
            false if index == 0 && from < self.kept => to.min(up(self.kept)),
            false => from,
        };
        let (start, until) = (up(from), wanted.min(self.rolled[index]).div_euclid(span) * span);
        if start >= until {
            return self.add(parts, (from, to), step, index);
        }
        self.add(parts, (from, start), step, index);
        parts.push(Part::Rolled { span, count: (step / span).max(1), from: start, to: until });
        self.add(parts, (until, to), step, index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::numbered::DAY;

    const HOUR: i64 = DAY / 24;

    #[test]
    fn a_window_takes_long_stretches_in_its_middle_and_shorter_ones_at_its_ends() {
        let now = 100 * DAY + 5 * HOUR + 7;
        let sources = Sources {
            rolled: [now - 7 - HOUR, 100 * DAY, 100 * DAY, 98 * DAY],
            kept: marks::NEVER,
            gone: marks::NEVER,
        };
        let rolled = |span, count, from, to| Part::Rolled { span, count, from, to };
        assert_eq!(sources.cover((now - HOUR, now), HOUR - 1), [Part::Exact(now - HOUR, now)]);
        assert_eq!(
            sources.cover((99 * DAY + 30, now), 2 * HOUR),
            [
                Part::Exact(99 * DAY + 30, 99 * DAY + HOUR),
                rolled(HOUR, 2, 99 * DAY + HOUR, 100 * DAY + 4 * HOUR),
                Part::Exact(100 * DAY + 4 * HOUR, now),
            ]
        );
        assert_eq!(
            sources.cover((6 * DAY - 1, now), 9 * DAY),
            [
                Part::Exact(6 * DAY - 1, 6 * DAY),
                rolled(DAY, 9, 6 * DAY, 7 * DAY),
                rolled(7 * DAY, 1, 7 * DAY, 98 * DAY),
                rolled(DAY, 9, 98 * DAY, 100 * DAY),
                rolled(HOUR, 216, 100 * DAY, 100 * DAY + 4 * HOUR),
                Part::Exact(100 * DAY + 4 * HOUR, now),
            ]
        );
    }

    #[test]
    fn r44_what_nothing_is_kept_of_is_unknown_whatever_a_pixel_is() {
        let gone = 2 * DAY + 7;
        let steps = [1_000, HOUR, 6 * HOUR, DAY, 7 * DAY];
        let cases = [(gone, gone), (9 * DAY, 2 * DAY + HOUR)].map(|case| steps.map(|step| (case, step)));
        for ((kept, known), step) in cases.into_iter().flatten() {
            let sources = Sources { rolled: [30 * DAY; 4], kept, gone };
            let parts = sources.cover((DAY, 20 * DAY), step);
            assert_eq!(parts[0], Part::Unknown(DAY, known));
            let starts = |part: &Part| match *part {
                Part::Unknown(from, _) | Part::Exact(from, _) | Part::Rolled { from, .. } => from,
            };
            assert!(parts[1..].iter().all(|part| starts(part) >= known), "{step}: {parts:?}");
            assert_eq!(sources.cover((DAY, 2 * DAY), step), [Part::Unknown(DAY, 2 * DAY)]);
        }
    }

    #[test]
    fn what_is_deleted_is_drawn_from_hours_however_fine_it_is_asked_for() {
        let sources = Sources { rolled: [9 * DAY; 4], kept: 2 * DAY + 1, gone: marks::NEVER };
        assert_eq!(
            sources.cover((DAY, 3 * DAY), 1_000),
            [
                Part::Rolled { span: HOUR, count: 1, from: DAY, to: 2 * DAY + HOUR },
                Part::Exact(2 * DAY + HOUR, 3 * DAY)
            ]
        );
    }
}
