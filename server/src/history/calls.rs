//! Call totals per minute, rolled up to hours and days, and the series drawn from them.
//!
//! Minutes are kept two weeks, hours half a year, days as long as `keep_calls` says. A series takes the longest steps
//! that are no longer than its own, and longer ones only where the shorter are deleted.

use fuseboard_app::wire::{time::Time, timeline::Calls as Series};
use sqlx::{AssertSqlSafe, SqliteConnection, SqlitePool};

use super::{
    columns::{bytes, columns, numbers},
    marks,
    numbered::DAY,
    signed, unsigned,
};
use crate::calls::{MINUTE, MinuteRow, Totals, histogram::Histogram};

/// One hour.
pub(super) const HOUR: i64 = 60 * MINUTE;
/// The lengths rolled up, shortest first.
pub(super) const SPANS: [i64; 2] = [HOUR, DAY];
/// How long after its end a stretch is rolled up.
const GRACE: i64 = 2 * MINUTE;

/// One breaker's totals of a stretch, and when it began.
struct Row {
    at: i64,
    totals: Totals,
}

/// Rows from their columns; the latencies as hexadecimal digits.
fn unpack(packed: Option<&str>) -> Vec<Row> {
    let Some([at, success, failure, alive, ignored, cancelled, refused, late, latency]) = columns(packed) else {
        return Vec::new();
    };
    let mut counts = [success, failure, alive, ignored, cancelled, refused, late].map(numbers);
    let rows = numbers(at).zip(latency.split(',')).map(|(at, latency)| {
        let [success, failure, alive, ignored, cancelled, refused, late] =
            counts.each_mut().map(|column| unsigned(column.next().unwrap_or(0)));
        let latency = Histogram::from_bytes(&bytes(latency));
        Row { at, totals: Totals { success, failure, alive, ignored, cancelled, refused, late, latency } }
    });
    rows.collect()
}

/// Totals over the window in whole minutes, in at most `width` steps of equal length.
///
/// # Errors
/// The store refuses.
pub async fn series(
    pool: &SqlitePool,
    breaker: &str,
    (from, to): (Time, Time),
    width: u32,
) -> Result<Series, sqlx::Error> {
    let (from, to) = (from.micros(), to.micros());
    // A minute belongs to the step its start falls in; steps begin at whole minutes.
    let first = from.div_euclid(MINUTE) * MINUTE;
    let minutes = (to - first).div_euclid(MINUTE).max(0) + 1;
    let width = i64::from(width.max(1));
    let step = (minutes + width - 1) / width * MINUTE;

    let mut reader = pool.begin().await?;
    let key: Option<i64> =
        sqlx::query_scalar("SELECT key FROM breakers WHERE id = ?").bind(breaker).fetch_optional(&mut *reader).await?;
    let mut rows: Vec<Row> = Vec::new();
    let sources = Sources::read(&mut reader).await?;
    // Whole stretches a step, of the longest there are: else every few steps one more falls into one, or a day of the
    // oldest time stands beside hours.
    let longest = sources.cover((first, to), step).iter().map(|(span, ..)| *span).max().unwrap_or(MINUTE);
    let step = (step + longest - 1) / longest * longest;
    for part in sources.cover((first, to), step) {
        rows.extend(read(&mut reader, key.unwrap_or(0), part).await?);
    }
    reader.rollback().await?;

    let mut steps: Vec<(i64, Totals)> = Vec::new();
    for row in rows {
        // A long stretch whose parts are deleted may begin before the window.
        let start = first + (row.at - first).max(0).div_euclid(step) * step;
        if steps.last().is_none_or(|(last, _)| *last != start) {
            steps.push((start, Totals::default()));
        }
        if let Some((_, totals)) = steps.last_mut() {
            totals.merge(&row.totals);
        }
    }
    Ok(Series {
        step_ms: unsigned(step / 1_000),
        at: steps.iter().map(|(start, _)| (start - from).div_euclid(1_000)).collect(),
        ok: steps.iter().map(|(_, totals)| totals.success + totals.alive).collect(),
        failed: steps.iter().map(|(_, totals)| totals.failure).collect(),
        refused: steps.iter().map(|(_, totals)| totals.refused).collect(),
        p50_ms: steps.iter().map(|(_, totals)| totals.latency.quantile_ms(0.50)).collect(),
        p95_ms: steps.iter().map(|(_, totals)| totals.latency.quantile_ms(0.95)).collect(),
    })
}

/// Which lengths there are of which time.
struct Sources {
    /// Up to when hours and days are rolled up.
    rolled: [i64; 2],
    /// From when on minutes and hours are whole.
    kept: [i64; 2],
}

/// Totals of this length, from then until then.
type Part = (i64, i64, i64);

impl Sources {
    async fn read(reader: &mut SqliteConnection) -> Result<Self, sqlx::Error> {
        let (mut rolled, mut kept) = ([marks::NEVER; 2], [marks::NEVER; 2]);
        for (index, span) in SPANS.into_iter().enumerate() {
            rolled[index] = marks::read(&mut *reader, mark(span)).await?.unwrap_or(marks::NEVER);
            kept[index] = marks::read(&mut *reader, kept_mark(span)).await?.unwrap_or(marks::NEVER);
        }
        Ok(Self { rolled, kept })
    }

    /// The parts a window is made of, in order.
    fn cover(&self, window: (i64, i64), step: i64) -> Vec<Part> {
        let mut parts = Vec::new();
        self.add(&mut parts, window, step, SPANS.len());
        parts
    }

    fn add(&self, parts: &mut Vec<Part>, (from, to): (i64, i64), step: i64, lengths: usize) {
        if from >= to {
            return;
        }
        let Some(index) = lengths.checked_sub(1) else {
            parts.push((MINUTE, from, to));
            return;
        };
        let (span, kept) = (SPANS[index], self.kept[index]);
        let until = if span <= step { to } else { to.min(kept) };
        let until = until.min(self.rolled[index]).div_euclid(span) * span;
        // What its parts are deleted of is taken whole, also where it begins before the window.
        let start = if from < kept { from } else { from + span - 1 }.div_euclid(span) * span;
        if start >= until {
            return self.add(parts, (from, to), step, index);
        }
        self.add(parts, (from, start), step, index);
        parts.push((span, start, until));
        self.add(parts, (until.max(from), to), step, index);
    }
}

fn mark(span: i64) -> &'static str {
    if span == DAY { "rolled:calls:day" } else { "rolled:calls:hour" }
}

/// The mark of what this length is made of.
pub(super) fn kept_mark(span: i64) -> &'static str {
    if span == DAY { "kept:calls:hour" } else { "kept:calls:minute" }
}

/// Reads one part: `?1` the breaker's key, `?2` and `?3` from when to when, `?4` the length.
pub(super) fn statement(span: i64) -> String {
    let (table, meant) = if span == MINUTE { ("calls", "?4 > 0") } else { ("rolled_calls", "span = ?4") };
    let columns = ["at", "success", "failure", "alive", "ignored", "cancelled", "refused", "late", "hex(latency)"];
    let lists = columns.map(|column| format!("group_concat({column})")).join(" || '|' || ");
    format!("SELECT {lists} FROM {table} WHERE breaker = ?1 AND at >= ?2 AND at < ?3 AND {meant}")
}

async fn read(reader: &mut SqliteConnection, key: i64, (span, from, to): Part) -> Result<Vec<Row>, sqlx::Error> {
    let packed: Option<String> = sqlx::query_scalar(AssertSqlSafe(statement(span)))
        .bind(key)
        .bind(from)
        .bind(to)
        .bind(span)
        .fetch_one(reader)
        .await?;
    let mut rows = unpack(packed.as_deref());
    rows.sort_by_key(|row| row.at);
    Ok(rows)
}

/// Up to when hours are rolled up: minutes before it may go.
pub(super) async fn rolled_until(reader: &mut SqliteConnection, span: i64) -> Result<i64, sqlx::Error> {
    Ok(marks::read(reader, mark(span)).await?.unwrap_or(marks::NEVER))
}

/// The next stretch to roll up, if one is over: its length and start.
pub(super) async fn due(reader: &mut SqliteConnection, now: i64) -> Result<Option<(i64, i64)>, sqlx::Error> {
    for span in SPANS {
        let from = match marks::read(&mut *reader, mark(span)).await? {
            Some(until) => until,
            None => {
                let first: Option<i64> =
                    sqlx::query_scalar("SELECT min(at) FROM calls").fetch_one(&mut *reader).await?;
                match first {
                    Some(first) => first.div_euclid(span) * span,
                    None => continue,
                }
            }
        };
        let parts = if span == DAY { rolled_until(&mut *reader, HOUR).await? } else { now - GRACE };
        if from + span <= parts {
            return Ok(Some((span, from)));
        }
    }
    Ok(None)
}

/// Rolls up one stretch of these breakers, by their keys.
pub(super) async fn roll(
    connection: &mut SqliteConnection,
    keys: impl Iterator<Item = i64>,
    (span, from): (i64, i64),
) -> Result<(), sqlx::Error> {
    let parts = if span == DAY { HOUR } else { MINUTE };
    for key in keys {
        let mut totals = Totals::default();
        let rows = read(connection, key, (parts, from, from + span)).await?;
        if rows.is_empty() {
            continue;
        }
        rows.iter().for_each(|row| totals.merge(&row.totals));
        sqlx::query(
            "INSERT OR REPLACE INTO rolled_calls (span, breaker, at, success, failure, alive, ignored, cancelled,
             refused, late, latency) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(span)
        .bind(key)
        .bind(from)
        .bind(signed(totals.success))
        .bind(signed(totals.failure))
        .bind(signed(totals.alive))
        .bind(signed(totals.ignored))
        .bind(signed(totals.cancelled))
        .bind(signed(totals.refused))
        .bind(signed(totals.late))
        .bind(totals.latency.to_bytes())
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}

/// Everything of this stretch is rolled up.
pub(super) async fn done(connection: &mut SqliteConnection, (span, from): (i64, i64)) -> Result<(), sqlx::Error> {
    marks::advance(connection, mark(span), from + span).await
}

/// Writes one minute of this run, replacing what was there of it.
pub(crate) async fn put(
    connection: &mut SqliteConnection,
    boot: u64,
    key: i64,
    row: &MinuteRow,
) -> Result<(), sqlx::Error> {
    let totals = &row.totals;
    sqlx::query(
        "INSERT OR REPLACE INTO calls (breaker, at, boot, success, failure, alive, ignored, cancelled, refused, late,
         latency) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(key)
    .bind(row.at)
    .bind(signed(boot))
    .bind(signed(totals.success))
    .bind(signed(totals.failure))
    .bind(signed(totals.alive))
    .bind(signed(totals.ignored))
    .bind(signed(totals.cancelled))
    .bind(signed(totals.refused))
    .bind(signed(totals.late))
    .bind(totals.latency.to_bytes())
    .execute(connection)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_takes_long_steps_where_it_may_and_short_ones_at_its_ends() {
        let day = |day: i64, hour: i64, minute: i64| day * DAY + hour * HOUR + minute * MINUTE;
        let sources = Sources { rolled: [day(9, 20, 0), day(9, 0, 0)], kept: [day(5, 0, 0), day(2, 0, 0)] };
        // Finer than an hour, all of it kept.
        let window = (day(6, 3, 10), day(9, 22, 0));
        assert_eq!(sources.cover(window, 10 * MINUTE), [(MINUTE, window.0, window.1)]);
        assert_eq!(
            sources.cover(window, 2 * HOUR),
            [
                (MINUTE, day(6, 3, 10), day(6, 4, 0)),
                (HOUR, day(6, 4, 0), day(9, 20, 0)),
                (MINUTE, day(9, 20, 0), day(9, 22, 0)),
            ]
        );
        assert_eq!(
            sources.cover(window, DAY),
            [
                (MINUTE, day(6, 3, 10), day(6, 4, 0)),
                (HOUR, day(6, 4, 0), day(7, 0, 0)),
                (DAY, day(7, 0, 0), day(9, 0, 0)),
                (HOUR, day(9, 0, 0), day(9, 20, 0)),
                (MINUTE, day(9, 20, 0), day(9, 22, 0)),
            ]
        );
        // Older than the minutes, then older than the hours: whole stretches, however fine the steps.
        assert_eq!(
            sources.cover((day(1, 3, 10), day(5, 0, 30)), MINUTE),
            [
                (DAY, day(1, 0, 0), day(2, 0, 0)),
                (HOUR, day(2, 0, 0), day(5, 0, 0)),
                (MINUTE, day(5, 0, 0), day(5, 0, 30))
            ]
        );
    }
}
