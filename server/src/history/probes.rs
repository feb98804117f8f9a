//! Probes, one row each.

use fuseboard_app::wire::{
    event::{Page, Probe},
    time::Time,
    timeline::ProbeMarks,
};
use sqlx::{FromRow, QueryBuilder, Sqlite, SqliteConnection, SqliteExecutor};

use super::{
    PageQuery, groups,
    numbered::{DAY, Kind},
    signed, unsigned,
};

pub(super) const SELECT: &str =
    "SELECT row.seq, runs.node, breakers.id, row.at, row.duration, row.generation, row.outcome, row.phase,
     row.why, row.status, row.code, row.sent, row.received, row.error, row.method, row.path, row.synthetic
     FROM probes AS row JOIN runs USING (boot) JOIN breakers ON breakers.key = row.breaker";

#[derive(FromRow)]
struct Row {
    seq: i64,
    node: String,
    id: String,
    at: i64,
    duration: i64,
    generation: i64,
    outcome: String,
    phase: Option<String>,
    why: Option<String>,
    status: Option<i64>,
    code: Option<String>,
    sent: Option<i64>,
    received: Option<i64>,
    error: Option<String>,
    method: Option<String>,
    path: Option<String>,
    synthetic: bool,
}

impl From<Row> for Probe {
    fn from(row: Row) -> Self {
        Self {
            seq: unsigned(row.seq),
            node: row.node,
            breaker: row.id,
            at: Time::from_micros(row.at),
            duration_ms: row.duration as f64 / 1_000.0,
            generation: unsigned(row.generation),
            outcome: row.outcome,
            phase: row.phase,
            why: row.why,
            status: row.status.and_then(|status| u16::try_from(status).ok()),
            code: row.code,
            sent: row.sent.map(unsigned),
            received: row.received.map(unsigned),
            error: row.error,
            method: row.method,
            path: row.path,
            synthetic: row.synthetic,
        }
    }
}

/// One page of probes.
///
/// # Errors
/// The store refuses.
pub async fn page(reader: impl SqliteExecutor<'_>, query: &PageQuery) -> Result<Page<Probe>, sqlx::Error> {
    query.page::<Row, Probe>(reader, Kind::Probes, SELECT, |row| row.seq).await
}

/// At most one mark a pixel: when, how many good and how many bad.
///
/// # Errors
/// The store refuses.
pub async fn marks(
    reader: impl SqliteExecutor<'_>,
    breaker: &str,
    (from, to): (Time, Time),
    width: u32,
) -> Result<ProbeMarks, sqlx::Error> {
    let length = (to.micros() - from.micros()).max(1);
    // Rounded up, so that the last moment still falls on the last pixel.
    let pixel = (length + i64::from(width.max(1)) - 1) / i64::from(width.max(1));
    // By number, as one index serves this and the pages: the days of the stretch say which numbers.
    let rows: Vec<(i64, i64, i64)> = sqlx::query_as(
        "SELECT min(at) - ?2, sum(outcome IN ('success', 'alive')), sum(outcome IN ('failure', 'lost'))
         FROM probes INDEXED BY probes_of_breaker WHERE breaker = (SELECT key FROM breakers WHERE id = ?1)
         AND seq >= (SELECT min(first) FROM numbered_days WHERE kind = 'probes' AND day >= ?5)
         AND seq <= (SELECT max(last) FROM numbered_days WHERE kind = 'probes' AND day <= ?6)
         AND at >= ?2 AND at < ?3 GROUP BY (at - ?2) / ?4 ORDER BY 1",
    )
    .bind(breaker)
    .bind(from.micros())
    .bind(to.micros())
    .bind(pixel)
    .bind(from.micros().div_euclid(DAY))
    .bind(to.micros().div_euclid(DAY))
    .fetch_all(reader)
    .await?;
    let count = |count: i64| u32::try_from(count).unwrap_or(u32::MAX);
    Ok(ProbeMarks {
        at: rows.iter().map(|row| unsigned(row.0 / 1_000)).collect(),
        good: rows.iter().map(|row| count(row.1)).collect(),
        bad: rows.iter().map(|row| count(row.2)).collect(),
    })
}

/// Writes probes with their breakers' keys; see [`super::transitions::insert`].
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    boot: u64,
    rows: &[(i64, &Probe)],
) -> Result<(), sqlx::Error> {
    for group in groups(rows) {
        let mut sql = QueryBuilder::<Sqlite>::new(
            "INSERT INTO probes (seq, boot, breaker, at, duration, generation, outcome, phase, why, status, code,
             sent, received, error, method, path, synthetic) ",
        );
        sql.push_values(group, |mut values, (key, row)| {
            values
                .push_bind(signed(row.seq))
                .push_bind(signed(boot))
                .push_bind(*key)
                .push_bind(row.at.micros())
                .push_bind((row.duration_ms * 1_000.0).round() as i64)
                .push_bind(signed(row.generation))
                .push_bind(row.outcome.clone())
                .push_bind(row.phase.clone())
                .push_bind(row.why.clone())
                .push_bind(row.status.map(i64::from))
                .push_bind(row.code.clone())
                .push_bind(row.sent.map(signed))
                .push_bind(row.received.map(signed))
                .push_bind(row.error.clone())
                .push_bind(row.method.clone())
                .push_bind(row.path.clone())
                .push_bind(row.synthetic);
        });
        sql.push(" ON CONFLICT (seq) DO NOTHING").build().execute(&mut *connection).await?;
    }
    Ok(())
}
