//! How long each breaker was what, per hour, six hours, UTC day and week: what long ranges are drawn from, and what stays of
//! the time whose transitions are deleted.
//!
//! Hours are made of the transitions, everything longer of what is next shorter. A stretch is rolled up once everything of
//! it is written; a row that is written late, with a time inside what is rolled up already, has it rolled up again. Days
//! are UTC days: a range with other ends (a local day, of 23, 24½ or 25 hours) takes whole stretches from here, shorter
//! ones towards its ends, and the rest from the transitions.

use std::collections::HashMap;

use fuseboard_app::wire::breaker::State;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::{
    Breaker, Watched,
    draw::{Strip, Totals, ms},
};
use crate::history::{columns::rows_of, groups, marks, numbered::DAY, signed, unsigned};

/// The lengths rolled up, shortest first, and the marks of how far they are.
pub(super) const SPANS: [i64; 4] = [HOUR, 6 * HOUR, DAY, 7 * DAY];
const MARKS: [&str; SPANS.len()] =
    ["rolled:states:hour", "rolled:states:6h", "rolled:states:day", "rolled:states:week"];
const HOUR: i64 = DAY / 24;
/// How long after its end a stretch is rolled up.
const GRACE: i64 = 60_000_000;

fn mark(span: i64) -> &'static str {
    SPANS.iter().zip(MARKS).find(|(one, _)| **one == span).map_or(MARKS[0], |(_, mark)| mark)
}

/// What a stretch is made of; an hour of transitions.
fn parts(span: i64) -> Option<i64> {
    SPANS.into_iter().rev().find(|shorter| *shorter < span)
}

/// Up to when this length is rolled up.
pub(super) async fn until(reader: &mut SqliteConnection, span: i64) -> Result<i64, sqlx::Error> {
    Ok(marks::read(reader, mark(span)).await?.unwrap_or(marks::NEVER))
}

/// What is rolled up is no longer true from this time on.
pub(crate) async fn forget_from(connection: &mut SqliteConnection, at: i64) -> Result<(), sqlx::Error> {
    for span in SPANS {
        marks::retreat(connection, mark(span), at.div_euclid(span) * span).await?;
    }
    Ok(())
}

/// The totals of groups of `count` stretches each from `from` on, for each breaker: one entry a group.
pub(super) async fn read(
    reader: &mut SqliteConnection,
    breakers: &[Breaker],
    (span, from, to): (i64, i64, i64),
    count: i64,
) -> Result<HashMap<i64, Vec<Totals>>, sqlx::Error> {
    let group = span * count;
    let keys = serde_json::Value::from_iter(breakers.iter().map(|breaker| breaker.key)).to_string();
    let packed: Option<String> = sqlx::query_scalar(
        "SELECT group_concat(row.breaker) || '|' || group_concat((row.at - ?3) / ?2) || '|' || group_concat(closed)
            || '|' || group_concat(open) || '|' || group_concat(half_open) || '|' || group_concat(forced_open)
            || '|' || group_concat(forced_closed) || '|' || group_concat(worst)
         FROM json_each(?1) AS one CROSS JOIN rolled_states AS row
             ON row.span = ?2 AND row.breaker = one.value AND row.at >= ?3 AND row.at < ?4",
    )
    .bind(keys)
    .bind(span)
    .bind(from)
    .bind(to)
    .fetch_one(reader)
    .await?;
    let groups = usize::try_from((to - from + group - 1) / group).unwrap_or(0);
    // Without a row a stretch was closed all along; before the breaker was heard of it is unknown.
    let quiet = |breaker: &Breaker| -> Vec<(u64, Totals)> {
        let known_from = breaker.first_at.div_euclid(span) * span;
        let starts = (0..groups as i64).map(|index| from + group * index);
        let lengths = starts.map(|start| ms(((start + group).min(to) - start.max(known_from)).max(0)));
        lengths.map(|length| (length, Totals::default())).collect()
    };
    let mut all: HashMap<i64, Vec<(u64, Totals)>> =
        breakers.iter().map(|breaker| (breaker.key, quiet(breaker))).collect();
    for [key, index, closed, open, half_open, forced_open, forced_closed, worst] in rows_of(packed.as_deref()) {
        let stretch = all.get_mut(&key).and_then(|groups| groups.get_mut(usize::try_from(index / count).ok()?));
        let Some((quiet, totals)) = stretch else { continue };
        *quiet = quiet.saturating_sub(ms(span));
        totals.merge(&Totals {
            closed: unsigned(closed),
            open: unsigned(open),
            half_open: unsigned(half_open),
            forced_open: unsigned(forced_open),
            forced_closed: unsigned(forced_closed),
            worst: match worst {
                2 => Some(State::Open),
                1 => Some(State::HalfOpen),
                0 => Some(State::Closed),
                _ => None,
            },
        });
    }
    let whole = |(quiet, mut totals): (u64, Totals)| {
        if quiet > 0 {
            totals.add(Some((State::Closed, None)), quiet);
        }
        totals
    };
    Ok(all.into_iter().map(|(key, groups)| (key, groups.into_iter().map(whole).collect())).collect())
}

/// The next stretch to roll up, if one is over: its length and start.
pub(in crate::history) async fn due(
    reader: &mut SqliteConnection,
    now: i64,
) -> Result<Option<(i64, i64)>, sqlx::Error> {
    for span in SPANS {
        let from = match marks::read(&mut *reader, mark(span)).await? {
            Some(until) => until,
            None => {
                let first: Option<i64> =
                    sqlx::query_scalar("SELECT min(first_at) FROM breakers").fetch_one(&mut *reader).await?;
                match first {
                    Some(first) => first.div_euclid(span) * span,
                    None => continue,
                }
            }
        };
        let ready = match parts(span) {
            Some(parts) => until(&mut *reader, parts).await?,
            None => now - GRACE,
        };
        if from + span <= ready {
            return Ok(Some((span, from)));
        }
    }
    Ok(None)
}

/// Rolls up one stretch of these breakers.
pub(in crate::history) async fn roll(
    connection: &mut SqliteConnection,
    breakers: &[Breaker],
    (span, from): (i64, i64),
) -> Result<(), sqlx::Error> {
    let to = from + span;
    let totals: Vec<Totals> = match parts(span) {
        Some(parts) => {
            let mut all = read(connection, breakers, (parts, from, to), span / parts).await?;
            let whole = |breaker: &Breaker| all.remove(&breaker.key).and_then(|groups| groups.into_iter().next());
            breakers.iter().map(whole).map(Option::unwrap_or_default).collect()
        }
        None => {
            let watched = Watched::read(connection, (from, to), 0, 0).await?;
            let strips = super::exact(connection, breakers, (from, to), &watched, &HashMap::new()).await?;
            strips.iter().map(Strip::totals).collect()
        }
    };
    let keys = serde_json::Value::from_iter(breakers.iter().map(|breaker| breaker.key)).to_string();
    sqlx::query("DELETE FROM rolled_states WHERE span = ? AND breaker IN (SELECT value FROM json_each(?)) AND at = ?")
        .bind(span)
        .bind(keys)
        .bind(from)
        .execute(&mut *connection)
        .await?;
    let eventful: Vec<(i64, Totals)> = breakers
        .iter()
        .zip(totals)
        .filter(|(breaker, totals)| breaker.first_at < to && totals.closed != ms(span))
        .map(|(breaker, totals)| (breaker.key, totals))
        .collect();
    for group in groups(&eventful) {
        let mut sql = QueryBuilder::<Sqlite>::new(
            "INSERT INTO rolled_states (span, breaker, at, closed, open, half_open, forced_open, forced_closed, worst) ",
        );
        sql.push_values(group, |mut values, (key, totals)| {
            values
                .push_bind(span)
                .push_bind(*key)
                .push_bind(from)
                .push_bind(signed(totals.closed))
                .push_bind(signed(totals.open))
                .push_bind(signed(totals.half_open))
                .push_bind(signed(totals.forced_open))
                .push_bind(signed(totals.forced_closed))
                .push_bind(match totals.worst {
                    None => -1,
                    Some(State::Closed) => 0,
                    Some(State::HalfOpen) => 1,
                    Some(State::Open) => 2,
                });
        });
        sql.build().execute(&mut *connection).await?;
    }
    Ok(())
}

/// Everything of this stretch is rolled up.
pub(in crate::history) async fn done(
    connection: &mut SqliteConnection,
    (span, from): (i64, i64),
) -> Result<(), sqlx::Error> {
    marks::advance(connection, mark(span), from + span).await
}
