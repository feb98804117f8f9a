//! Incidents: one breaker from leaving closed to closed again, kept by the writer in the commit of the rows that make
//! them.

pub mod course;

use std::sync::Arc;

use fuseboard_app::wire::{
    event::Cause,
    incident::{Incident, IncidentKind, ProbeTally},
    time::Time,
};
use sqlx::{FromRow, QueryBuilder, Sqlite, SqliteConnection, SqliteExecutor, SqlitePool};

use self::course::{Course, Ending, Opening, SoFar};
use super::{PAGE, PAGE_MAX, numbered::DAY, runs, signed, unsigned, word_actor};
use crate::tally::{Tally, TallyRow};

pub(super) const SELECT: &str =
    "SELECT row.seq, row.boot, runs.node, breakers.id, row.kind, row.started_at, row.ended_at,
     row.last_seq, row.marked_at, row.is_down, row.down, row.unknown, row.opens, row.good, row.bad, row.lost, row.void,
     row.overrides, row.cause, row.actor, row.actor_verified, row.actor_via, row.reason, row.ended_by,
     coalesce(counted.failed, 0) AS failed, coalesce(counted.refused, 0) AS refused
     FROM incidents AS row JOIN runs USING (boot) JOIN breakers ON breakers.key = row.breaker
     LEFT JOIN incident_calls AS counted ON counted.incident = row.seq";

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
    /// As the wire says it, while it lasts as of `now`.
    pub fn shown(&self, now: Time, upstreams: Vec<String>) -> Incident {
        let (opening, ending) = (&self.course.opening, self.course.ending.as_deref());
        let mut so_far = self.course.clone();
        if ending.is_none() {
            so_far.watch_until(now.micros());
        }
        let so_far = so_far.so_far;
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

/// Which incidents.
#[derive(Debug, Clone, Default)]
pub struct IncidentQuery {
    /// Of these breakers alone.
    pub breakers: Option<Vec<String>>,
    /// Not over before this.
    pub from: Option<Time>,
    /// Begun before this.
    pub to: Option<Time>,
    /// Only those that last (`true`) or are over.
    pub open: Option<bool>,
    /// Numbers below this, newest first.
    pub before: Option<u64>,
    /// Numbers above this, oldest first; wins over `before`.
    pub after: Option<u64>,
    /// At most this many; 100 when absent, never more than 1,000.
    pub limit: Option<u32>,
}

impl IncidentQuery {
    /// Rows of one page.
    pub fn limit(&self) -> usize {
        self.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX) as usize
    }

    /// Whether this one is asked for, its place aside.
    pub fn takes(&self, one: &Stored) -> bool {
        let course = &one.course;
        let ended = course.ending.as_ref().map(|ending| ending.at);
        self.breakers.as_ref().is_none_or(|ids| ids.contains(&one.breaker))
            && self.from.is_none_or(|from| ended.is_none_or(|ended| ended > from.micros()))
            && self.to.is_none_or(|to| course.opening.at < to.micros())
            && self.open.is_none_or(|open| open == ended.is_none())
    }
}

/// One page in its order, one row more than it holds if there is one.
///
/// Those that began in the range, or up to a day before it, are found by their numbers. One that began earlier still and
/// reaches into the range is longer than a day: those have an index of their own.
///
/// # Errors
/// The store refuses.
pub async fn page(reader: &mut SqliteConnection, query: &IncidentQuery) -> Result<Vec<Stored>, sqlx::Error> {
    let keys: Option<Vec<i64>> = match &query.breakers {
        Some(ids) => Some(
            sqlx::query_scalar("SELECT key FROM breakers WHERE id IN (SELECT value FROM json_each(?))")
                .bind(serde_json::Value::from(ids.as_slice()).to_string())
                .fetch_all(&mut *reader)
                .await?,
        ),
        None => None,
    };
    let edge: Option<i64> = match query.from {
        Some(from) => {
            sqlx::query_scalar("SELECT min(first) FROM numbered_days WHERE kind = 'transitions' AND day >= ?")
                .bind(from.micros().div_euclid(DAY) - 1)
                .fetch_one(&mut *reader)
                .await?
        }
        None => Some(0),
    };
    let edge = edge.unwrap_or(i64::MAX);
    // Newest first the ones by number come first, oldest first the long ones do.
    let mut parts = [Part::From(edge), Part::LongBefore(edge)];
    if query.after.is_some() {
        parts.reverse();
    }
    let wanted = query.limit() + 1;
    let mut rows: Vec<Stored> = Vec::new();
    for part in parts {
        if rows.len() < wanted && !(part == Part::LongBefore(0)) {
            let mut statement = statement(query, keys.as_deref(), part, wanted - rows.len());
            let found: Vec<Row> = statement.build_query_as().fetch_all(&mut *reader).await?;
            rows.extend(found.into_iter().map(Stored::from));
        }
    }
    Ok(rows)
}

/// Which side of the range's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    /// Numbers from here on.
    From(i64),
    /// Longer than a day, numbers below.
    LongBefore(i64),
}

/// More breakers than this are picked out of all incidents; of fewer, each one's are looked up.
const FEW: usize = 500;

pub(super) fn statement(query: &IncidentQuery, keys: Option<&[i64]>, part: Part, rows: usize) -> QueryBuilder<Sqlite> {
    let json = |keys: &[i64]| serde_json::Value::from(keys).to_string();
    let mut sql = QueryBuilder::<Sqlite>::new(SELECT);
    match keys {
        Some(keys) if keys.len() <= FEW => {
            // Of each breaker no more than the page holds.
            sql.push(" WHERE row.seq IN (SELECT one.seq FROM json_each(").push_bind(json(keys)).push(
                ") AS asked CROSS JOIN incidents AS one ON one.seq IN (
                 SELECT row.seq FROM incidents AS row WHERE row.breaker = asked.value",
            );
            narrow(&mut sql, query, part);
            order(&mut sql, query, rows);
            sql.push("))");
        }
        Some(keys) => {
            sql.push(" WHERE row.breaker IN (SELECT value FROM json_each(").push_bind(json(keys)).push("))");
            narrow(&mut sql, query, part);
        }
        None => {
            sql.push(" WHERE true");
            narrow(&mut sql, query, part);
        }
    }
    order(&mut sql, query, rows);
    sql
}

/// They are few, and have an index of their own.
pub(super) const OPEN: &str =
    " AND row.seq IN (SELECT seq FROM incidents INDEXED BY incidents_open WHERE ended_at IS NULL)";

fn narrow(sql: &mut QueryBuilder<Sqlite>, query: &IncidentQuery, part: Part) {
    match part {
        Part::From(seq) => sql.push(" AND row.seq >= ").push_bind(seq),
        Part::LongBefore(seq) => sql
            .push(
                " AND row.seq IN (SELECT seq FROM incidents INDEXED BY incidents_long
                 WHERE (ended_at IS NULL OR ended_at - started_at >= 86400000000) AND seq < ",
            )
            .push_bind(seq)
            .push(")"),
    };
    if let Some(from) = query.from {
        sql.push(" AND (row.ended_at IS NULL OR +row.ended_at > ").push_bind(from.micros()).push(")");
    }
    if let Some(to) = query.to {
        sql.push(" AND row.seq <= (SELECT max(last) FROM numbered_days WHERE kind = 'transitions' AND day <= ")
            .push_bind(to.micros().div_euclid(DAY))
            .push(") AND row.started_at < ")
            .push_bind(to.micros());
    }
    match query.open {
        Some(true) => drop(sql.push(OPEN)),
        Some(false) => drop(sql.push(" AND +row.ended_at IS NOT NULL")),
        None => {}
    }
    if let Some(after) = query.after {
        sql.push(" AND row.seq > ").push_bind(signed(after));
    } else if let Some(before) = query.before {
        sql.push(" AND row.seq < ").push_bind(signed(before));
    }
}

fn order(sql: &mut QueryBuilder<Sqlite>, query: &IncidentQuery, rows: usize) {
    let order = if query.after.is_some() { "ASC" } else { "DESC" };
    sql.push(" ORDER BY row.seq ").push(order).push(" LIMIT ").push_bind(signed(rows as u64));
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

/// The incidents an earlier run left open, as of `now`, the start of this one.
///
/// # Errors
/// The store refuses.
pub async fn open_ones(pool: &SqlitePool, now: i64) -> Result<Vec<(Stored, Tally)>, sqlx::Error> {
    let mut sql = QueryBuilder::<Sqlite>::new(SELECT);
    sql.push(" WHERE true").push(OPEN).push(" ORDER BY row.seq");
    let rows: Vec<Row> = sql.build_query_as().fetch_all(pool).await?;
    let mut open = Vec::with_capacity(rows.len());
    for mut one in rows.into_iter().map(Stored::from) {
        let course = &mut one.course;
        for (start, end) in runs::watched(pool, (course.so_far.marked_at, now), 0, now).await? {
            course.miss_until(start.min(now));
            course.watch_until(end.min(now));
        }
        course.miss_until(now);
        let tally = counted(pool, one.course.opening.seq).await?;
        open.push((one, tally));
    }
    Ok(open)
}

/// Writes an incident as it is at its newest row.
pub(crate) async fn put(connection: &mut SqliteConnection, key: i64, course: &Course) -> Result<(), sqlx::Error> {
    let (opening, so_far, ending) = (&course.opening, &course.so_far, course.ending.as_deref());
    let text = |cause: &Cause| serde_json::to_string(cause).unwrap_or_default();
    sqlx::query(
        "INSERT INTO incidents (seq, boot, breaker, kind, started_at, ended_at, last_seq, marked_at, is_down, down,
         unknown, opens, good, bad, lost, void, overrides, cause, actor, actor_verified, actor_via, reason, ended_by)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (seq) DO UPDATE SET ended_at = excluded.ended_at, last_seq = excluded.last_seq,
         marked_at = excluded.marked_at, is_down = excluded.is_down, down = excluded.down, unknown = excluded.unknown,
         opens = excluded.opens, good = excluded.good, bad = excluded.bad, lost = excluded.lost, void = excluded.void,
         overrides = excluded.overrides, ended_by = excluded.ended_by",
    )
    .bind(signed(opening.seq))
    .bind(signed(opening.boot))
    .bind(key)
    .bind(match opening.kind {
        IncidentKind::Tripped => "tripped",
        IncidentKind::Held => "held",
    })
    .bind(opening.at)
    .bind(ending.map(|ending| ending.at))
    .bind(ending.map(|ending| signed(ending.seq)))
    .bind(so_far.marked_at)
    .bind(so_far.is_down)
    .bind(so_far.down)
    .bind(so_far.unknown)
    .bind(signed(so_far.opens))
    .bind(signed(so_far.probes.good))
    .bind(signed(so_far.probes.bad))
    .bind(signed(so_far.probes.lost))
    .bind(signed(so_far.probes.void))
    .bind(signed(so_far.overrides))
    .bind(text(&opening.cause))
    .bind(opening.actor.as_ref().map(|actor| &actor.name))
    .bind(opening.actor.as_ref().map(|actor| actor.verified))
    .bind(opening.actor.as_ref().map(|actor| &actor.via))
    .bind(&opening.reason)
    .bind(ending.and_then(|ending| ending.cause.as_ref()).map(text))
    .execute(connection)
    .await?;
    Ok(())
}

/// Ends what a lost closing row left open: this breaker's next incident has begun.
pub(crate) async fn end_earlier(
    connection: &mut SqliteConnection,
    key: i64,
    seq: u64,
    at: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE incidents SET
         ended_at = max(marked_at, min(?3, coalesce((SELECT max(last_at) FROM gaps WHERE first < ?2), ?3))),
         last_seq = (SELECT max(seq) FROM transitions WHERE breaker = ?1 AND seq < ?2)
         WHERE breaker = ?1 AND ended_at IS NULL AND seq < ?2",
    )
    .bind(key)
    .bind(signed(seq))
    .bind(at)
    .execute(connection)
    .await?;
    Ok(())
}

/// Ends, at a start, what a lost closing row left open: the breaker was written closed since.
pub(super) async fn end_closed(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE incidents SET ended_at = max(marked_at, now.since), last_seq = now.changed_seq FROM breakers AS now
         WHERE seq IN (SELECT seq FROM incidents INDEXED BY incidents_open WHERE ended_at IS NULL) AND now.key = breaker AND now.state = 'closed' AND now.held_mode IS NOT 'forced_open'",
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Writes what an incident counted so far.
pub(crate) async fn put_counted(connection: &mut SqliteConnection, row: &TallyRow) -> Result<(), sqlx::Error> {
    let tally = &row.tally;
    sqlx::query(
        "INSERT OR REPLACE INTO incident_calls (incident, failed, refused, paths, agents) VALUES (?, ?, ?, ?, ?)",
    )
    .bind(signed(row.incident))
    .bind(signed(tally.failed))
    .bind(signed(tally.refused))
    .bind(tally.paths.to_json())
    .bind(tally.agents.to_json())
    .execute(connection)
    .await?;
    Ok(())
}
