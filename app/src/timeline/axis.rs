//! The axis lanes and charts share, and its round times.

use crate::format::{self, Zone};

/// The stretch of time that is drawn, and on how many pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    /// Left end, ms since 1970.
    pub from_ms: i64,
    /// Right end.
    pub to_ms: i64,
    /// Pixels between them.
    pub width: f64,
}

/// A round time on an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Where, in pixels of the axis.
    pub x: f64,
    /// When, ms since 1970.
    pub at_ms: i64,
    /// As it is written there.
    pub label: String,
}

impl Axis {
    /// The last `range_ms` before `now_ms`.
    pub fn last(range_ms: i64, now_ms: i64, width: f64) -> Self {
        Self { from_ms: now_ms - range_ms, to_ms: now_ms, width }
    }

    /// Where a time stands.
    pub fn x(&self, at_ms: i64) -> f64 {
        let length = (self.to_ms - self.from_ms).max(1) as f64;
        (at_ms.clamp(self.from_ms, self.to_ms) - self.from_ms) as f64 * self.width / length
    }

    /// Round times on it, three to seven of them, with their labels.
    pub fn ticks(&self, zone: Zone) -> Vec<Tick> {
        const MINUTES: [i64; 12] = [1, 3, 5, 15, 60, 180, 360, 720, 1_440, 2_880, 10_080, 129_600];
        let length = self.to_ms - self.from_ms;
        let step = MINUTES.iter().map(|minutes| minutes * 60_000).find(|step| length / step <= 6);
        let step = step.unwrap_or(365 * 86_400_000);
        let ahead = zone.ahead_at(self.to_ms) * 60_000;
        let first = (self.from_ms + ahead).div_euclid(step) * step + step - ahead;
        (0..)
            .map(|nth| first + nth * step)
            .take_while(|at| *at < self.to_ms)
            .map(|at_ms| {
                let label = if step >= 86_400_000 { format::day(at_ms, zone) } else { format::clock(at_ms, zone) };
                Tick { x: self.x(at_ms), at_ms, label }
            })
            .collect()
    }
}
