//! From a stretch of time to one of numbers. Numbers are the order of the record, times are not: after the wall clock
//! went back a later row has an earlier time. So each day's first and last number are kept, and a search by time looks
//! only at the numbers of its days.

use std::collections::BTreeMap;

use fuseboard_app::wire::time::Time;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::signed;

/// One UTC day.
pub(crate) const DAY: i64 = 86_400_000_000;

/// A kind of row with days of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Transitions,
    Probes,
    Audit,
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Transitions => "transitions",
            Self::Probes => "probes",
            Self::Audit => "audit",
        }
    }

    /// Begins the conditions: numbers not below `least`, nor below those of `from`'s days, and not older than that.
    pub(super) fn number_from(self, sql: &mut QueryBuilder<Sqlite>, least: u64, from: Option<Time>) {
        let Some(from) = from else {
            sql.push(" WHERE row.seq >= ").push_bind(signed(least));
            return;
        };
        sql.push(" WHERE row.seq >= max(")
            .push_bind(signed(least))
            .push(", coalesce((SELECT min(first) FROM numbered_days WHERE kind = ")
            .push_bind(self.as_str())
            .push(" AND day >= ")
            .push_bind(day(from))
            // A sign before a column keeps its index out of it: the number's is the one to use.
            .push("), 9223372036854775807)) AND +row.at >= ")
            .push_bind(from.micros());
    }

    /// Goes on with them: numbers not above `most`, nor above those of `to`'s days, and older than that.
    pub(super) fn number_until(self, sql: &mut QueryBuilder<Sqlite>, most: u64, to: Option<Time>) {
        let Some(to) = to else {
            sql.push(" AND row.seq <= ").push_bind(signed(most));
            return;
        };
        sql.push(" AND row.seq <= min(")
            .push_bind(signed(most))
            .push(", coalesce((SELECT max(last) FROM numbered_days WHERE kind = ")
            .push_bind(self.as_str())
            .push(" AND day <= ")
            .push_bind(day(to))
            .push("), 0)) AND +row.at < ")
            .push_bind(to.micros());
    }
}

fn day(time: Time) -> i64 {
    time.micros().div_euclid(DAY)
}

/// Notes the numbers of rows written now.
pub(crate) async fn note(
    connection: &mut SqliteConnection,
    kind: Kind,
    rows: impl Iterator<Item = (u64, Time)>,
) -> Result<(), sqlx::Error> {
    let mut days: BTreeMap<i64, (u64, u64)> = BTreeMap::new();
    for (seq, at) in rows {
        let (first, last) = days.entry(at.micros().div_euclid(DAY)).or_insert((seq, seq));
        (*first, *last) = ((*first).min(seq), (*last).max(seq));
    }
    for (day, (first, last)) in days {
        sqlx::query(
            "INSERT INTO numbered_days (kind, day, first, last) VALUES (?, ?, ?, ?)
             ON CONFLICT (kind, day) DO UPDATE SET first = min(first, excluded.first), last = max(last, excluded.last)",
        )
        .bind(kind.as_str())
        .bind(day)
        .bind(signed(first))
        .bind(signed(last))
        .execute(&mut *connection)
        .await?;
    }
    Ok(())
}
