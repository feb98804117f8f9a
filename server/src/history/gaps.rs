//! What was given up because the store refused it for too long.

use fuseboard_app::wire::{event::FeedEvent, time::Time};
use sqlx::{SqliteConnection, SqliteExecutor};

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

/// How many facts of a range were given up, as far as gaps tell: a gap that reaches into it counts whole.
///
/// # Errors
/// The store refuses.
pub async fn lost(reader: impl SqliteExecutor<'_>, from: Option<Time>, to: Option<Time>) -> Result<u64, sqlx::Error> {
    let lost: i64 = sqlx::query_scalar(
        "SELECT coalesce(sum(transitions + probes + audit), 0) FROM gaps WHERE last_at >= ? AND first_at < ?",
    )
    .bind(from.map_or(i64::MIN, Time::micros))
    .bind(to.map_or(i64::MAX, Time::micros))
    .fetch_one(reader)
    .await?;
    Ok(unsigned(lost))
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
