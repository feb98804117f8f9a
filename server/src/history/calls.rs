//! Call totals per minute, and the series drawn from them.

use fuseboard_app::wire::{time::Time, timeline::Calls as Series};
use sqlx::{FromRow, SqliteConnection, SqliteExecutor};

use super::{signed, unsigned};
use crate::calls::{MINUTE, MinuteRow, Totals, histogram::Histogram};

#[derive(FromRow)]
struct Row {
    at: i64,
    success: i64,
    failure: i64,
    alive: i64,
    refused: i64,
    latency: Vec<u8>,
}

/// Totals over the window in whole minutes, in at most `width` steps of equal length.
///
/// # Errors
/// The store refuses.
pub async fn series(
    reader: impl SqliteExecutor<'_>,
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
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT at, success, failure, alive, refused, latency FROM calls
         WHERE breaker = (SELECT key FROM breakers WHERE id = ?) AND at >= ? AND at < ? ORDER BY at",
    )
    .bind(breaker)
    .bind(first)
    .bind(to)
    .fetch_all(reader)
    .await?;

    let mut steps: Vec<(i64, Totals)> = Vec::new();
    for row in rows {
        let start = first + (row.at - first).div_euclid(step) * step;
        if steps.last().is_none_or(|(last, _)| *last != start) {
            steps.push((start, Totals::default()));
        }
        if let Some((_, totals)) = steps.last_mut() {
            totals.success += unsigned(row.success);
            totals.failure += unsigned(row.failure);
            totals.alive += unsigned(row.alive);
            totals.refused += unsigned(row.refused);
            totals.latency.merge(&Histogram::from_bytes(&row.latency));
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
