//! Process runs: what was watched, and the number each row says it came from.

use std::time::SystemTime;

use sqlx::SqliteConnection;

use super::{incidents, signed, unsigned};
use crate::{
    db::{Db, StoreError},
    stamp::micros,
};

/// This process's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// Its row id: the first half of every cursor.
    pub boot: u64,
    /// The first number it gives out.
    pub next_seq: u64,
}

/// Begins a run, after everything an earlier one left.
///
/// # Errors
/// The store refuses.
pub async fn begin(db: &Db, now: SystemTime) -> Result<Run, StoreError> {
    let mut connection = db.connect_patient_writer().await.map_err(|error| db.error(error))?;
    let run = insert(db, &mut connection, micros(now)).await.map_err(|error| db.error(error))?;
    // Closing is a courtesy; the row is committed.
    let _ = sqlx::Connection::close(connection).await;
    Ok(run)
}

async fn insert(db: &Db, connection: &mut SqliteConnection, now: i64) -> Result<Run, sqlx::Error> {
    let newest: i64 = sqlx::query_scalar(
        "SELECT max(coalesce((SELECT max(seq) FROM transitions), 0), coalesce((SELECT max(seq) FROM probes), 0),
                    coalesce((SELECT max(seq) FROM audit), 0), coalesce((SELECT max(last) FROM gaps), 0),
                    coalesce((SELECT max(value) FROM marks WHERE what >= 'deleted:' AND what < 'deleted;'), 0))",
    )
    .fetch_one(&mut *connection)
    .await?;
    let boot: i64 = sqlx::query_scalar(
        "INSERT INTO runs (started_at, alive_at, version, pid, node) VALUES (?1, ?1, ?2, ?3, ?4) RETURNING boot",
    )
    .bind(now)
    .bind(db.version().as_ref())
    .bind(i64::from(std::process::id()))
    .bind(db.node().as_ref())
    .fetch_one(&mut *connection)
    .await?;
    incidents::end_closed(connection).await?;
    Ok(Run { boot: unsigned(boot), next_seq: unsigned(newest) + 1 })
}

/// Says how far this run's record is complete, and whether it ended in order there.
pub(crate) async fn mark(
    connection: &mut SqliteConnection,
    boot: u64,
    at: i64,
    ended: bool,
) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE runs SET alive_at = max(alive_at, ?1), ended_at = ?2 WHERE boot = ?3")
        .bind(at)
        .bind(ended.then_some(at))
        .bind(signed(boot))
        .execute(connection)
        .await?;
    Ok(())
}

/// The wall clock was set forward: nobody watched what it jumped over.
pub(crate) async fn jumped(
    connection: &mut SqliteConnection,
    boot: u64,
    (from, to): (i64, i64),
) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO jumps (boot, from_at, to_at) VALUES (?, ?, ?)")
        .bind(signed(boot))
        .bind(from)
        .bind(to)
        .execute(connection)
        .await?;
    Ok(())
}

/// Stretches that were watched, as microseconds, oldest first. The run `current` is being watched until `now`.
pub(super) async fn watched(
    reader: &mut SqliteConnection,
    (from, to): (i64, i64),
    current: u64,
    now: i64,
) -> Result<Vec<(i64, i64)>, sqlx::Error> {
    let runs: Vec<(i64, i64, i64)> = sqlx::query_as(
        "SELECT boot, started_at, CASE WHEN boot = ?3 THEN max(alive_at, ?4) ELSE coalesce(ended_at, alive_at) END AS until
         FROM runs WHERE started_at < ?2 AND until > ?1 ORDER BY boot",
    )
    .bind(from)
    .bind(to)
    .bind(signed(current))
    .bind(now)
    .fetch_all(&mut *reader)
    .await?;
    let jumps: Vec<(i64, i64, i64)> =
        sqlx::query_as("SELECT boot, from_at, to_at FROM jumps WHERE from_at < ?2 AND to_at > ?1 ORDER BY rowid")
            .bind(from)
            .bind(to)
            .fetch_all(reader)
            .await?;
    let mut watched = Vec::with_capacity(runs.len() + jumps.len());
    for (boot, started, until) in runs {
        let mut began = started;
        for &(_, from, to) in jumps.iter().filter(|(of, ..)| *of == boot) {
            watched.extend((from > began).then_some((began, from)));
            began = to.max(began);
        }
        watched.extend((until > began).then_some((began, until)));
    }
    Ok(watched)
}
