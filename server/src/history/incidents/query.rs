//! Which incidents are asked for, and one page of them.

use std::ops::RangeInclusive;

use fuseboard_app::wire::time::Time;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::{OPEN, Row, SELECT, Stored};
use crate::history::{PAGE, PAGE_MAX, numbered::DAY, signed};

/// Which incidents.
#[derive(Debug, Clone, Default)]
pub struct IncidentQuery {
    /// Of these breakers alone.
    pub breakers: Option<Vec<String>>,
    /// Of this upstream.
    pub upstream: Option<OfUpstream>,
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

/// An upstream whose incidents are asked for.
#[derive(Debug, Clone)]
pub struct OfUpstream {
    /// Its name.
    pub name: String,
    /// Its breaker, if it is configured: its are the incidents of that one that were recorded without names.
    pub breaker: Option<String>,
}

impl OfUpstream {
    fn takes(&self, one: &Stored) -> bool {
        match &one.course.opening.upstreams {
            Some(names) => names.contains(&self.name),
            None => self.breaker.as_ref() == Some(&one.breaker),
        }
    }
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
            && self.upstream.as_ref().is_none_or(|upstream| upstream.takes(one))
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
    let wanted = query.limit() + 1;
    let mut rows: Vec<Stored> = Vec::new();
    for part in parts(reader, query).await? {
        if rows.len() < wanted && !part.numbers.is_empty() {
            let mut statement = statement(query, keys.as_deref(), &part, wanted - rows.len());
            let found: Vec<Row> = statement.build_query_as().fetch_all(&mut *reader).await?;
            rows.extend(found.into_iter().map(Stored::from));
        }
    }
    Ok(rows)
}

/// Incidents of these numbers.
#[derive(Debug, Clone)]
pub(in crate::history) struct Part {
    pub(in crate::history) numbers: RangeInclusive<i64>,
    /// Longer than a day.
    pub(in crate::history) long: bool,
}

impl Part {
    /// Few, and picked out of an index that holds nothing else.
    pub(in crate::history) fn few(&self, query: &IncidentQuery) -> bool {
        self.long || query.open == Some(true)
    }
}

/// Where those asked for are: newest first the ones by number come first, oldest first the long ones do.
async fn parts(reader: &mut SqliteConnection, query: &IncidentQuery) -> Result<[Part; 2], sqlx::Error> {
    let (mut first, mut last, mut edge) = (0, i64::MAX, 0);
    match (query.after, query.before) {
        (Some(after), _) => first = signed(after.saturating_add(1)),
        (None, Some(before)) => last = signed(before) - 1,
        (None, None) => {}
    }
    if let Some(from) = query.from {
        let begun: Option<i64> =
            sqlx::query_scalar("SELECT min(first) FROM numbered_days WHERE kind = 'transitions' AND day >= ?")
                .bind(from.micros().div_euclid(DAY) - 1)
                .fetch_one(&mut *reader)
                .await?;
        edge = begun.unwrap_or(i64::MAX);
    }
    if let Some(to) = query.to {
        let begun: Option<i64> =
            sqlx::query_scalar("SELECT max(last) FROM numbered_days WHERE kind = 'transitions' AND day <= ?")
                .bind(to.micros().div_euclid(DAY))
                .fetch_one(&mut *reader)
                .await?;
        last = last.min(begun.unwrap_or(0));
    }
    let near = Part { numbers: first.max(edge)..=last, long: false };
    let long = Part { numbers: first..=last.min(edge - 1), long: true };
    Ok(if query.after.is_some() { [long, near] } else { [near, long] })
}

pub(in crate::history) fn statement(
    query: &IncidentQuery,
    keys: Option<&[i64]>,
    part: &Part,
    rows: usize,
) -> QueryBuilder<Sqlite> {
    let keys = keys.map(|keys| serde_json::Value::from(keys).to_string());
    let mut sql = QueryBuilder::<Sqlite>::new(SELECT);
    sql.push(" WHERE true");
    match keys {
        // Of the few the breakers' are picked.
        Some(keys) if part.few(query) => {
            sql.push(" AND +row.breaker IN (SELECT value FROM json_each(").push_bind(keys).push("))");
        }
        // Each breaker's next one stands in line with those of the others, and the first in line is taken: no more is
        // looked at than there are breakers and rows, however many incidents others have.
        Some(keys) => {
            sql.push(
                " AND row.seq IN (WITH RECURSIVE line (breaker, seq) AS (
                 SELECT asked.value, next.seq FROM json_each(",
            );
            sql.push_bind(keys).push(") AS asked CROSS JOIN incidents AS next ON next.seq = ");
            next(&mut sql, query, part, "asked.value", None);
            sql.push(" UNION ALL SELECT line.breaker, next.seq FROM line CROSS JOIN incidents AS next ON next.seq = ");
            next(&mut sql, query, part, "line.breaker", Some("line.seq"));
            order(&mut sql, query, "2", rows);
            sql.push(") SELECT seq FROM line)");
            order(&mut sql, query, "row.seq", rows);
            return sql;
        }
        None => {}
    }
    between(&mut sql, query, part, None);
    narrow(&mut sql, query, part);
    order(&mut sql, query, "row.seq", rows);
    sql
}

/// A breaker's next incident in the page's order, behind one of its own.
fn next(sql: &mut QueryBuilder<Sqlite>, query: &IncidentQuery, part: &Part, breaker: &str, behind: Option<&str>) {
    sql.push("(SELECT row.seq FROM incidents AS row WHERE row.breaker = ").push(breaker);
    between(sql, query, part, behind);
    narrow(sql, query, part);
    order(sql, query, "row.seq", 1);
    sql.push(")");
}

/// One bound each way: of two, SQLite would begin at whichever stands first. Where there are few, it is to begin at those.
fn between(sql: &mut QueryBuilder<Sqlite>, query: &IncidentQuery, part: &Part, behind: Option<&str>) {
    sql.push(if part.few(query) { " AND +row.seq BETWEEN " } else { " AND row.seq BETWEEN " });
    match behind.filter(|_| query.after.is_some()) {
        Some(seq) => sql.push(seq).push(" + 1"),
        None => sql.push_bind(*part.numbers.start()),
    };
    sql.push(" AND ");
    match behind.filter(|_| query.after.is_none()) {
        Some(seq) => sql.push(seq).push(" - 1"),
        None => sql.push_bind(*part.numbers.end()),
    };
}

fn narrow(sql: &mut QueryBuilder<Sqlite>, query: &IncidentQuery, part: &Part) {
    if part.long {
        sql.push(
            " AND row.seq IN (SELECT seq FROM incidents INDEXED BY incidents_long
             WHERE ended_at IS NULL OR ended_at - started_at >= 86400000000)",
        );
    }
    if let Some(from) = query.from {
        sql.push(" AND (row.ended_at IS NULL OR +row.ended_at > ").push_bind(from.micros()).push(")");
    }
    if let Some(to) = query.to {
        sql.push(" AND row.started_at < ").push_bind(to.micros());
    }
    match query.open {
        Some(true) => drop(sql.push(OPEN)),
        Some(false) => drop(sql.push(" AND +row.ended_at IS NOT NULL")),
        None => {}
    }
    if let Some(upstream) = &query.upstream {
        sql.push(" AND CASE WHEN row.upstreams IS NULL THEN row.breaker = (SELECT key FROM breakers WHERE id = ")
            .push_bind(upstream.breaker.clone())
            .push(") ELSE EXISTS (SELECT 1 FROM json_each(row.upstreams) WHERE value = ")
            .push_bind(upstream.name.clone())
            .push(") END");
    }
}

fn order(sql: &mut QueryBuilder<Sqlite>, query: &IncidentQuery, by: &str, rows: usize) {
    let way = if query.after.is_some() { "ASC" } else { "DESC" };
    sql.push(" ORDER BY ").push(by).push(" ").push(way).push(" LIMIT ").push_bind(signed(rows as u64));
}
