//! What was given up because the store refused it for too long.

use fuseboard_app::wire::{event::FeedEvent, time::Time};
use serde::Serialize;
use sqlx::{FromRow, SqliteConnection, SqliteExecutor};

use super::{signed, unsigned};
use crate::live::Published;

/// A stretch of numbers some of which were given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The first number given up.
    pub first: u64,
    /// The last one.
    pub last: u64,
    /// Time of the earliest fact given up, microseconds since 1970.
    pub first_at: i64,
    /// Time of the latest one.
    pub last_at: i64,
    /// How many transitions.
    pub transitions: u64,
    /// How many probes.
    pub probes: u64,
    /// How many audit rows.
    pub audit: u64,
}

impl Gap {
    /// A gap of nothing, at this fact.
    pub(crate) fn starting(fact: &Published) -> Self {
        let at = at(fact);
        Self { first: fact.seq, last: fact.seq, first_at: at, last_at: at, transitions: 0, probes: 0, audit: 0 }
    }

    /// Adds one fact that is given up.
    pub(crate) fn add(&mut self, fact: &Published) {
        let at = at(fact);
        self.first = self.first.min(fact.seq);
        self.last = self.last.max(fact.seq);
        self.first_at = self.first_at.min(at);
        self.last_at = self.last_at.max(at);
        match fact.event {
            FeedEvent::Transition(_) => self.transitions += 1,
            FeedEvent::Probe(_) => self.probes += 1,
            _ => self.audit += 1,
        }
    }
}

fn at(fact: &Published) -> i64 {
    match &fact.event {
        FeedEvent::Transition(event) => event.row.at.micros(),
        FeedEvent::Probe(probe) => probe.at.micros(),
        FeedEvent::Audit(audit) => audit.at.micros(),
        FeedEvent::Hello(hello) | FeedEvent::Resync(hello) => hello.now.micros(),
        FeedEvent::Stats(stats) => stats.now.micros(),
    }
}

/// Numbers some of which were given up, as the API and files tell of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, utoipa::ToSchema)]
pub struct Missing {
    /// The first number given up.
    pub first: u64,
    /// The last one.
    pub last: u64,
    /// When the earliest of them happened.
    pub first_at: Time,
    /// When the latest of them happened.
    pub last_at: Time,
    /// How many of them were transitions.
    pub transitions: u64,
    /// How many were probes.
    pub probes: u64,
    /// How many were audit rows.
    pub audit: u64,
}

impl Missing {
    /// How many were given up.
    pub fn count(&self) -> u64 {
        self.transitions + self.probes + self.audit
    }
}

#[derive(FromRow)]
struct Row {
    first: i64,
    last: i64,
    first_at: i64,
    last_at: i64,
    transitions: i64,
    probes: i64,
    audit: i64,
}

impl From<Row> for Missing {
    fn from(row: Row) -> Self {
        Self {
            first: unsigned(row.first),
            last: unsigned(row.last),
            first_at: Time::from_micros(row.first_at),
            last_at: Time::from_micros(row.last_at),
            transitions: unsigned(row.transitions),
            probes: unsigned(row.probes),
            audit: unsigned(row.audit),
        }
    }
}

/// What was given up of a stretch of time: a gap that reaches into it counts whole.
///
/// # Errors
/// The store refuses.
pub async fn within(
    reader: impl SqliteExecutor<'_>,
    from: Option<Time>,
    to: Option<Time>,
) -> Result<Vec<Missing>, sqlx::Error> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT first, last, first_at, last_at, transitions, probes, audit FROM gaps
         WHERE last_at >= ? AND first_at < ? ORDER BY first",
    )
    .bind(from.map_or(i64::MIN, Time::micros))
    .bind(to.map_or(i64::MAX, Time::micros))
    .fetch_all(reader)
    .await?;
    Ok(rows.into_iter().map(Missing::from).collect())
}

/// What was given up between two numbers, both included.
///
/// # Errors
/// The store refuses.
pub async fn among(reader: impl SqliteExecutor<'_>, (low, high): (u64, u64)) -> Result<Vec<Missing>, sqlx::Error> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT first, last, first_at, last_at, transitions, probes, audit FROM gaps
         WHERE last >= ? AND first <= ? ORDER BY first",
    )
    .bind(signed(low))
    .bind(signed(high))
    .fetch_all(reader)
    .await?;
    Ok(rows.into_iter().map(Missing::from).collect())
}

pub(crate) async fn insert(connection: &mut SqliteConnection, boot: u64, gap: &Gap) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO gaps (first, last, boot, first_at, last_at, transitions, probes, audit)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (first) DO NOTHING",
    )
    .bind(signed(gap.first))
    .bind(signed(gap.last))
    .bind(signed(boot))
    .bind(gap.first_at)
    .bind(gap.last_at)
    .bind(signed(gap.transitions))
    .bind(signed(gap.probes))
    .bind(signed(gap.audit))
    .execute(connection)
    .await?;
    Ok(())
}
