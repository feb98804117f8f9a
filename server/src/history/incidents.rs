//! Incidents: one breaker from leaving closed to closed again, kept by the writer in the commit of the rows that make
//! them.

pub mod course;
mod kept;
pub(super) mod query;

use std::sync::Arc;

use fuseboard_app::wire::{
    event::Cause,
    incident::{Incident, IncidentKind, ProbeTally},
    time::Time,
};
use sqlx::{FromRow, QueryBuilder, Sqlite, SqliteExecutor, SqlitePool};

use self::course::{Course, Ending, Opening, SoFar};
pub(super) use self::kept::end_closed;
pub(crate) use self::kept::{end_earlier, put, put_counted, put_probes, put_upstreams};
pub use self::query::{IncidentQuery, OfUpstream, page};
use super::{runs, signed, unsigned, word_actor};
use crate::tally::Tally;

pub(super) const SELECT: &str =
    "SELECT row.seq, row.boot, runs.node, breakers.id, row.kind, row.started_at, row.ended_at,
     row.last_seq, row.marked_at, row.is_down, row.down, row.unknown, row.opens, row.good, row.bad, row.lost, row.void,
     row.overrides, row.cause, row.actor, row.actor_verified, row.actor_via, row.reason, row.ended_by, row.upstreams,
     coalesce(counted.failed, 0) AS failed, coalesce(counted.refused, 0) AS refused
     FROM incidents AS row JOIN runs USING (boot) JOIN breakers ON breakers.key = row.breaker
     LEFT JOIN incident_calls AS counted ON counted.incident = row.seq";

/// They are few, and have an index of their own.
pub(super) const OPEN: &str =
    " AND row.seq IN (SELECT seq FROM incidents INDEXED BY incidents_open WHERE ended_at IS NULL)";

#[derive(FromRow)]
struct Row {
    seq: i64,
    boot: i64,
    node: String,
    id: String,
    kind: String,
    started_at: i64,
    ended_at: Option<i64>,
    last_seq: Option<i64>,
    marked_at: i64,
    is_down: bool,
    down: i64,
    unknown: i64,
    opens: i64,
    good: i64,
    bad: i64,
    lost: i64,
    void: i64,
    overrides: i64,
    cause: String,
    actor: Option<String>,
    actor_verified: Option<bool>,
    actor_via: Option<String>,
    reason: Option<String>,
    ended_by: Option<String>,
    upstreams: Option<String>,
    failed: i64,
    refused: i64,
}

/// An incident as it was last written.
#[derive(Debug, Clone, PartialEq)]
pub struct Stored {
    /// The node that saw it.
    pub node: String,
    /// Which breaker.
    pub breaker: String,
    /// Its course.
    pub course: Course,
    /// Calls that failed in it.
    pub failed: u64,
    /// Calls refused in it.
    pub refused: u64,
}

impl From<Row> for Stored {
    fn from(row: Row) -> Self {
        let opening = Opening {
            seq: unsigned(row.seq),
            boot: unsigned(row.boot),
            kind: if row.kind == "held" { IncidentKind::Held } else { IncidentKind::Tripped },
            at: row.started_at,
            cause: readable(&row.cause),
            actor: word_actor(row.actor, row.actor_verified, row.actor_via),
            reason: row.reason,
            upstreams: row.upstreams.map(|names| serde_json::from_str(&names).unwrap_or_default()),
        };
        let so_far = SoFar {
            marked_at: row.marked_at,
            is_down: row.is_down,
            down: row.down,
            unknown: row.unknown,
            opens: unsigned(row.opens),
            probes: ProbeTally {
                good: unsigned(row.good),
                bad: unsigned(row.bad),
                lost: unsigned(row.lost),
                void: unsigned(row.void),
            },
            overrides: unsigned(row.overrides),
        };
        let ending = row.ended_at.map(|at| {
            let (seq, cause) = (unsigned(row.last_seq.unwrap_or(row.seq)), row.ended_by.as_deref().map(readable));
            Arc::new(Ending { seq, at, cause })
        });
        let course = Course { opening: Arc::new(opening), so_far, ending };
        let (failed, refused) = (unsigned(row.failed), unsigned(row.refused));
        Self { node: row.node, breaker: row.id, course, failed, refused }
    }
}

fn readable(cause: &str) -> Cause {
    serde_json::from_str(cause).unwrap_or_else(|_| Cause { kind: "unreadable".into(), detail: serde_json::Map::new() })
}

impl Stored {
    /// As the wire says it, as of its newest row; see [`go_on`] for one that lasts. `today` are the upstreams configured
    /// for its breaker, for one that was recorded without.
    pub fn shown(&self, today: impl FnOnce() -> Vec<String>) -> Incident {
        let (opening, so_far, ending) = (&self.course.opening, self.course.so_far, self.course.ending.as_deref());
        let upstreams = opening.upstreams.clone().unwrap_or_else(today);
        Incident {
            id: opening.seq,
            node: self.node.clone(),
            breaker: self.breaker.clone(),
            upstreams,
            kind: opening.kind,
            start: Time::from_micros(opening.at),
            end: ending.map(|ending| Time::from_micros(ending.at)),
            down_ms: unsigned(so_far.down / 1_000),
            unknown_ms: unsigned(so_far.unknown / 1_000),
            cause: opening.cause.clone(),
            actor: opening.actor.clone(),
            reason: opening.reason.clone(),
            ended_by: ending.and_then(|ending| ending.cause.clone()),
            last_seq: ending.map(|ending| ending.seq),
            opens: so_far.opens,
            probes: so_far.probes,
            calls_failed: self.failed,
            calls_refused: self.refused,
            overrides: so_far.overrides,
        }
    }
}

/// One incident.
///
/// # Errors
/// The store refuses.
pub async fn one(reader: impl SqliteExecutor<'_>, id: u64) -> Result<Option<Stored>, sqlx::Error> {
    let mut sql = QueryBuilder::<Sqlite>::new(SELECT);
    let row: Option<Row> =
        sql.push(" WHERE row.seq = ").push_bind(signed(id)).build_query_as().fetch_optional(reader).await?;
    Ok(row.map(Stored::from))
}

/// The breakers whose incidents were recorded under this upstream's name.
///
/// # Errors
/// The store refuses.
pub async fn breakers_of(reader: impl SqliteExecutor<'_>, upstream: &str) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT breakers.id FROM incident_upstreams JOIN breakers ON breakers.key = breaker WHERE upstream = ?",
    )
    .bind(upstream)
    .fetch_all(reader)
    .await
}

/// What an incident counted, as it was last written.
///
/// # Errors
/// The store refuses.
pub async fn counted(reader: impl SqliteExecutor<'_>, id: u64) -> Result<Tally, sqlx::Error> {
    let row: Option<(i64, i64, String, String)> =
        sqlx::query_as("SELECT failed, refused, paths, agents FROM incident_calls WHERE incident = ?")
            .bind(signed(id))
            .fetch_optional(reader)
            .await?;
    let Tally { paths, agents, .. } = Tally::default();
    Ok(row.map_or_else(Tally::default, |(failed, refused, stored_paths, stored_agents)| Tally {
        failed: unsigned(failed),
        refused: unsigned(refused),
        paths: paths.with_json(&stored_paths),
        agents: agents.with_json(&stored_agents),
    }))
}

/// Takes those that last from their newest row to `now`, the time between runs as what nobody watched. `boot` is the run
/// that watches now; 0 before it does.
///
/// # Errors
/// The store refuses.
pub async fn go_on(pool: &SqlitePool, all: &mut [Stored], boot: u64, now: i64) -> Result<(), sqlx::Error> {
    let lasting: Vec<&mut Stored> = all.iter_mut().filter(|one| one.course.ending.is_none()).collect();
    let Some(from) = lasting.iter().map(|one| one.course.so_far.marked_at).min() else { return Ok(()) };
    let watched = runs::watched(&mut *pool.acquire().await?, (from, now), boot, now).await?;
    for one in lasting {
        for &(start, end) in &watched {
            one.course.miss_until(start.min(now));
            one.course.watch_until(end.min(now));
        }
        one.course.miss_until(now);
    }
    Ok(())
}

/// The incidents an earlier run left open, as of `now`, the start of this one.
///
/// # Errors
/// The store refuses.
pub async fn open_ones(pool: &SqlitePool, now: i64) -> Result<Vec<(Stored, Tally)>, sqlx::Error> {
    let mut sql = QueryBuilder::<Sqlite>::new(SELECT);
    sql.push(" WHERE true").push(OPEN).push(" ORDER BY row.seq");
    let rows: Vec<Row> = sql.build_query_as().fetch_all(pool).await?;
    let mut rows: Vec<Stored> = rows.into_iter().map(Stored::from).collect();
    go_on(pool, &mut rows, 0, now).await?;
    let mut open = Vec::with_capacity(rows.len());
    for one in rows {
        let tally = counted(pool, one.course.opening.seq).await?;
        open.push((one, tally));
    }
    Ok(open)
}
