//! Which incidents are asked for, and one page of them.

use fuseboard_app::wire::time::Time;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::{OPEN, Row, SELECT, Stored};
use crate::history::{PAGE, PAGE_MAX, numbered::DAY, signed};

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
pub(in crate::history) enum Part {
    /// Numbers from here on.
    From(i64),
    /// Longer than a day, numbers below.
    LongBefore(i64),
}

/// More breakers than this are picked out of all incidents, in an index that holds nothing else; of fewer, each one's are
/// looked up.
const FEW: usize = 100;

pub(in crate::history) fn statement(
    query: &IncidentQuery,
    keys: Option<&[i64]>,
    part: Part,
    rows: usize,
) -> QueryBuilder<Sqlite> {
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
            sql.push(
                " WHERE row.seq IN (SELECT row.seq FROM incidents AS row INDEXED BY incidents_in_order
                 WHERE +row.breaker IN (SELECT value FROM json_each(",
            );
            sql.push_bind(json(keys)).push("))");
            narrow(&mut sql, query, part);
            order(&mut sql, query, rows);
            sql.push(")");
        }
        None => {
            sql.push(" WHERE true");
            narrow(&mut sql, query, part);
        }
    }
    order(&mut sql, query, rows);
    sql
}

fn narrow(sql: &mut QueryBuilder<Sqlite>, query: &IncidentQuery, part: Part) {
    // One bound below: of two, SQLite would begin at whichever stands first.
    let least = query.after.map_or(0, |after| signed(after.saturating_add(1)));
    match part {
        Part::From(seq) => sql.push(" AND row.seq >= ").push_bind(seq.max(least)),
        Part::LongBefore(seq) => sql
            .push(
                " AND row.seq IN (SELECT seq FROM incidents INDEXED BY incidents_long
                 WHERE (ended_at IS NULL OR ended_at - started_at >= 86400000000) AND seq < ",
            )
            .push_bind(seq)
            .push(") AND row.seq >= ")
            .push_bind(least),
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
    if let Some(before) = query.before.filter(|_| query.after.is_none()) {
        sql.push(" AND row.seq < ").push_bind(signed(before));
    }
}

fn order(sql: &mut QueryBuilder<Sqlite>, query: &IncidentQuery, rows: usize) {
    let order = if query.after.is_some() { "ASC" } else { "DESC" };
    sql.push(" ORDER BY row.seq ").push(order).push(" LIMIT ").push_bind(signed(rows as u64));
}
