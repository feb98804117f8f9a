//! Call totals of the year: minutes of two weeks, hours of half a year, days before. What failed and what was refused is
//! what the incidents say.

use std::time::Duration;

use fuseboard::calls::histogram::Histogram;
use rand::{RngExt, rngs::StdRng};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::{CHUNK, DAY, SECOND};

const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
/// Calls in a minute in which anybody calls at all.
const BUSY: f64 = 20.0;

/// What the incidents of one breaker say about its calls.
#[derive(Default)]
pub(super) struct Down {
    /// When calls failed, and how many.
    pub(super) failed: Vec<(i64, i64)>,
    /// From when until when calls were refused.
    pub(super) refusing: Vec<(i64, i64)>,
}

/// In which share of its minutes anybody calls a host.
fn busy(breaker: usize) -> f64 {
    60.0 / (breaker as f64 + 61.0)
}

/// How many are refused in so long a time.
pub(super) fn refused(breaker: usize, length: i64) -> i64 {
    (busy(breaker) * BUSY * length as f64 / MINUTE as f64) as i64
}

/// One row: start, successes, failures, refusals.
type Row = (i64, i64, i64, i64);

pub(super) async fn write(
    to: &mut SqliteConnection,
    dice: &mut StdRng,
    breaker: usize,
    down: &Down,
    (start, now): (i64, i64),
) {
    let mut latency = Histogram::default();
    let base = 8 + breaker as u64 % 50;
    (0..40).for_each(|_| latency.add(Duration::from_millis(dice.random_range(base..base * 4))));
    let latency = latency.to_bytes();
    let edge = |days: i64| (now - days * DAY) / DAY * DAY;
    let day = start / DAY * DAY;
    for (span, from, until) in [(DAY, day, edge(180)), (HOUR, edge(180), edge(14)), (MINUTE, edge(14), now)] {
        let rows = steps(dice, breaker, down, (span, from, until), start);
        for rows in rows.chunks(CHUNK) {
            let mut sql = QueryBuilder::<Sqlite>::new(match span {
                MINUTE => {
                    "INSERT INTO calls (boot, breaker, at, success, failure, alive, ignored, cancelled, refused, late, latency) "
                }
                _ => {
                    "INSERT INTO rolled_calls (span, breaker, at, success, failure, alive, ignored, cancelled, refused, late, latency) "
                }
            });
            let first = if span == MINUTE { 12 } else { span };
            sql.push_values(rows, |mut values, &(at, success, failure, refused)| {
                values.push_bind(first).push_bind(breaker as i64 + 1).push_bind(at);
                values.push_bind(success).push_bind(failure).push_bind(success / 50).push("0").push("0");
                values.push_bind(refused).push("0").push_bind(&latency[..]);
            });
            sql.build().execute(&mut *to).await.expect("they are written");
        }
    }
}

fn steps(dice: &mut StdRng, breaker: usize, down: &Down, (span, from, until): (i64, i64, i64), start: i64) -> Vec<Row> {
    let mut rows = Vec::new();
    let (mut failed, mut refusing) =
        (down.failed.partition_point(|(at, _)| *at < from), down.refusing.partition_point(|(_, until)| *until <= from));
    let mut at = from;
    while at < until {
        let end = at + span;
        let (mut failures, mut refusals, mut closed) = (0, 0, 0);
        while let Some((_, count)) = down.failed.get(failed).filter(|(when, _)| *when < end) {
            failures += count;
            failed += 1;
        }
        while let Some(&(began, ended)) = down.refusing.get(refusing).filter(|(began, _)| *began < end) {
            // Of one that reaches over the edge each side has its part.
            let (first, last) = (began.max(at), ended.min(end));
            refusals += self::refused(breaker, last - began) - self::refused(breaker, first - began);
            closed += last - first;
            if ended > end {
                break;
            }
            refusing += 1;
        }
        let expected = match span {
            MINUTE if dice.random_bool(busy(breaker)) => BUSY,
            MINUTE => 0.0,
            _ => busy(breaker) * BUSY * (end - at.max(start)) as f64 / MINUTE as f64,
        };
        let up = 1.0 - closed as f64 / span as f64;
        let success = (expected * up * dice.random_range(0.7..1.3)) as i64;
        if success + failures + refusals > 0 {
            rows.push((at, success, failures, refusals));
        }
        at = end;
    }
    rows
}
