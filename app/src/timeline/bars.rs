//! Calls a step as stacked bars.

use super::Axis;
use crate::wire::timeline::Calls;

/// One step of calls as three stacked heights.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    /// Left edge.
    pub x: f64,
    /// Width.
    pub width: f64,
    /// Height of the good calls.
    pub ok: f64,
    /// Height of the failed ones.
    pub failed: f64,
    /// Height of the refused ones.
    pub refused: f64,
    /// Start, ms since 1970.
    pub at_ms: i64,
    /// Good, failed and refused calls.
    pub counts: [u64; 3],
}

/// The bars of a lane's calls on its axis, and the count the full height stands for. Anything that happened is at least
/// a pixel high.
pub fn bars(calls: &Calls, lane_from_ms: i64, axis: Axis, height: f64) -> (Vec<Bar>, u64) {
    let rows = calls.at.iter().zip(&calls.ok).zip(calls.failed.iter().zip(&calls.refused));
    let rows: Vec<(i64, [u64; 3])> =
        rows.map(|((at, ok), (failed, refused))| (lane_from_ms + at, [*ok, *failed, *refused])).collect();
    let top = rows.iter().map(|row| row.1.iter().sum()).max().unwrap_or(0).max(1);
    let high = |n: u64| if n == 0 { 0.0 } else { (n as f64 / top as f64 * height).max(1.0) };
    let bars = rows.into_iter().filter_map(|(at_ms, counts)| {
        let end = at_ms + calls.step_ms as i64;
        if counts == [0; 3] || end <= axis.from_ms || at_ms >= axis.to_ms {
            return None;
        }
        let x = axis.x(at_ms);
        let width = (axis.x(end) - x).max(1.0);
        let [ok, failed, refused] = counts.map(high);
        Some(Bar { x, width, ok, failed, refused, at_ms, counts })
    });
    (bars.collect(), top)
}
