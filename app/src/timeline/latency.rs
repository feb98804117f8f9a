//! How long calls took, as a range a step: from the median to the 95th percentile, on a scale of powers of ten, since what
//! is looked for is a host that became ten times slower.

use super::Axis;
use crate::{format, wire::timeline::Calls};

/// One step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// Left edge.
    pub x: f64,
    /// Width.
    pub width: f64,
    /// Where the median stands, from the top.
    pub median_y: f64,
    /// Where the 95th percentile stands, from the top.
    pub p95_y: f64,
}

/// Powers of ten between which everything lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    low: i32,
    high: i32,
}

impl Scale {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Option<Self> {
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let most = values.fold(f64::NEG_INFINITY, f64::max);
        if !(least.is_finite() && most.is_finite()) {
            return None;
        }
        // Under a tenth of a millisecond nobody tells them apart.
        let power = |ms: f64| ms.max(0.1).log10();
        let low = power(least).floor() as i32;
        Some(Self { low, high: (power(most).ceil() as i32).max(low + 1) })
    }

    fn y(self, ms: f64, height: f64) -> f64 {
        let share = (ms.max(0.1).log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        (1.0 - share.clamp(0.0, 1.0)) * height
    }

    /// The lines worth a label, from the top: at most three, or their labels would touch.
    pub fn lines(self, height: f64) -> Vec<(f64, String)> {
        let step = usize::try_from((self.high - self.low + 1) / 2).unwrap_or(1).max(1);
        (self.low..=self.high)
            .rev()
            .step_by(step)
            .map(|power| {
                let ms = 10_f64.powi(power);
                let label = if ms < 1.0 { format::latency(ms) } else { format::duration(ms as i64) };
                (self.y(ms, height), label)
            })
            .collect()
    }
}

/// The steps in sight that have data, and their scale; none without any.
pub fn spreads(calls: &Calls, lane_from_ms: i64, axis: Axis, height: f64) -> Option<(Vec<Spread>, Scale)> {
    let steps = calls.at.iter().zip(calls.p50_ms.iter().zip(&calls.p95_ms));
    let steps: Vec<(i64, f64, f64)> = steps
        .filter_map(|(at, (p50, p95))| Some((lane_from_ms + at, (*p50)?, (*p95)?)))
        .filter(|(at, ..)| at + calls.step_ms as i64 > axis.from_ms && *at < axis.to_ms)
        .collect();
    let scale = Scale::of(steps.iter().flat_map(|(_, p50, p95)| [*p50, *p95]))?;
    let spreads = steps.into_iter().map(|(at, p50, p95)| {
        let x = axis.x(at);
        let width = (axis.x(at + calls.step_ms as i64) - x).max(1.0);
        Spread { x, width, median_y: scale.y(p50, height), p95_y: scale.y(p95, height) }
    });
    Some((spreads.collect(), scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60_000;

    fn calls(p50_ms: Vec<Option<f64>>, p95_ms: Vec<Option<f64>>) -> Calls {
        let steps = p50_ms.len();
        Calls {
            step_ms: MINUTE as u64,
            at: (0..steps as i64).map(|nth| nth * MINUTE).collect(),
            ok: vec![1; steps],
            failed: vec![0; steps],
            refused: vec![0; steps],
            p50_ms,
            p95_ms,
        }
    }

    #[test]
    fn steps_stand_between_powers_of_ten_and_a_step_without_data_is_a_gap() {
        let calls = calls(vec![Some(10.0), None, Some(100.0)], vec![Some(100.0), None, Some(1_000.0)]);
        let axis = Axis { from_ms: 0, to_ms: 3 * MINUTE, width: 720.0 };
        let (spreads, scale) = spreads(&calls, 0, axis, 40.0).expect("data");
        let at = |x, median_y, p95_y| Spread { x, width: 240.0, median_y, p95_y };
        assert_eq!(spreads, [at(0.0, 40.0, 20.0), at(480.0, 20.0, 0.0)]);
        let lines = scale.lines(40.0);
        let said: Vec<_> = lines.iter().map(|(y, label)| (*y, label.as_str())).collect();
        assert_eq!(said, [(0.0, "1 s"), (20.0, "100 ms"), (40.0, "10 ms")]);
    }

    #[test]
    fn what_is_out_of_sight_does_not_stretch_the_scale() {
        let calls = calls(vec![Some(9_000.0), Some(2.0)], vec![Some(9_000.0), Some(2.0)]);
        let axis = Axis { from_ms: MINUTE, to_ms: 2 * MINUTE, width: 720.0 };
        let (spreads, scale) = spreads(&calls, 0, axis, 40.0).expect("data");
        assert_eq!((spreads.len(), scale), (1, Scale { low: 0, high: 1 }));
        assert!(super::spreads(&calls, 0, Axis::last(MINUTE, 0, 720.0), 40.0).is_none(), "nothing in sight");
    }

    #[test]
    fn a_wide_scale_keeps_to_three_labels() {
        let wide = Scale::of([0.01, 60_000.0].into_iter()).expect("values");
        assert_eq!(wide, Scale { low: -1, high: 5 });
        let labels: Vec<_> = wide.lines(48.0).into_iter().map(|line| line.1).collect();
        assert_eq!(labels, ["1 min 40 s", "100 ms", "0.1 ms"]);
        assert_eq!(Scale::of(std::iter::empty::<f64>()), None);
    }
}
