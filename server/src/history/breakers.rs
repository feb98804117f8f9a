//! Every breaker ever seen, with what a restart needs of it.

use std::{collections::HashMap, sync::Arc, time::Duration};

use fuseboard_app::wire::breaker::{Mode as ShownMode, State as ShownState};
use fuseboard_breaker::event::{By, Mode, Override, Saved, State};
use sqlx::{FromRow, SqliteConnection, SqliteExecutor};

use super::{signed, unsigned, word_mode, word_state};
use crate::stamp::{from_micros, length_micros, micros};

#[derive(FromRow)]
struct Row {
    id: String,
    policy: String,
    state: String,
    since: i64,
    attempt: i64,
    wait: i64,
    next_probe_at: Option<i64>,
    down_since: Option<i64>,
    opens: i64,
    held_mode: Option<String>,
    held_reason: Option<String>,
    held_by: Option<String>,
    held_verified: Option<bool>,
    held_via: Option<String>,
    held_since: Option<i64>,
    held_length: Option<i64>,
    held_until: Option<i64>,
    cooldown_until: Option<i64>,
    called: bool,
}

/// A breaker as it was last written.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedBreaker {
    /// Its id.
    pub id: Arc<str>,
    /// Its policy's name; empty when none was ever told.
    pub policy: String,
    /// What it was.
    pub saved: Saved,
    /// Whether the record holds calls of it.
    pub called: bool,
}

impl From<Row> for SavedBreaker {
    fn from(row: Row) -> Self {
        let length = |length: i64| Duration::from_micros(unsigned(length));
        let mode = match row.held_mode.as_deref() {
            Some("forced_open") => Some(Mode::ForcedOpen),
            Some("forced_closed") => Some(Mode::ForcedClosed),
            _ => None,
        };
        let held = mode.map(|mode| Override {
            mode,
            reason: row.held_reason.unwrap_or_default().into(),
            by: By {
                name: row.held_by.unwrap_or_default().into(),
                verified: row.held_verified.unwrap_or(false),
                via: row.held_via.unwrap_or_default().into(),
            },
            since: from_micros(row.held_since.unwrap_or(row.since)),
            length: row.held_length.map(length),
            until: row.held_until.map(from_micros),
        });
        let state = match row.state.as_str() {
            "open" => State::Open,
            "half_open" => State::HalfOpen,
            _ => State::Closed,
        };
        Self {
            id: row.id.into(),
            policy: row.policy,
            called: row.called,
            saved: Saved {
                state,
                since: from_micros(row.since),
                attempt: u32::try_from(row.attempt).unwrap_or(u32::MAX),
                wait: length(row.wait),
                next_probe_at: row.next_probe_at.map(from_micros),
                down_since: row.down_since.map(from_micros),
                opens: unsigned(row.opens),
                held,
                cooldown_until: row.cooldown_until.map(from_micros),
            },
        }
    }
}

/// At most `limit` breakers to restore, those that matter most first: held ones, then those that are not closed, then
/// the most recently changed.
///
/// # Errors
/// The store refuses.
pub async fn saved(reader: impl SqliteExecutor<'_>, limit: usize) -> Result<Vec<SavedBreaker>, sqlx::Error> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT id, policy, state, since, attempt, wait, next_probe_at, down_since, opens, held_mode, held_reason,
         held_by, held_verified, held_via, held_since, held_length, held_until, cooldown_until,
         EXISTS (SELECT 1 FROM calls WHERE calls.breaker = breakers.key) AS called
         FROM breakers WHERE evicted = 0
         ORDER BY held_mode IS NULL, state = 'closed', changed_seq DESC, key LIMIT ?",
    )
    .bind(signed(limit as u64))
    .fetch_all(reader)
    .await?;
    Ok(rows.into_iter().map(SavedBreaker::from).collect())
}

/// The ids that contain this text, and those of incidents recorded under an upstream's name that does, whatever its case.
///
/// # Errors
/// The store refuses.
pub async fn named(reader: impl SqliteExecutor<'_>, text: &str) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar(
        "SELECT id FROM breakers WHERE instr(lower(id), lower(?1)) > 0
         OR key IN (SELECT breaker FROM incident_upstreams WHERE instr(lower(upstream), lower(?1)) > 0)",
    )
    .bind(text)
    .fetch_all(reader)
    .await
}

/// A breaker as its newest row and the restart's own columns have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// The newest row's number.
    pub seq: u64,
    /// State after it.
    pub to: ShownState,
    /// Override after it.
    pub held: Option<ShownMode>,
    /// State and override a restart would put back.
    pub saved: (ShownState, Option<ShownMode>),
}

/// Every breaker on the panel that has a row, by id.
///
/// # Errors
/// The store refuses.
pub async fn written(reader: impl SqliteExecutor<'_>) -> Result<HashMap<String, Written>, sqlx::Error> {
    type Row = (String, i64, String, Option<String>, String, Option<String>);
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT breakers.id, row.seq, row.to_state, row.held, breakers.state, breakers.held_mode
         FROM breakers JOIN transitions AS row ON row.seq = breakers.changed_seq WHERE breakers.evicted = 0",
    )
    .fetch_all(reader)
    .await?;
    let mode = |word: Option<String>| word.as_deref().and_then(word_mode);
    let read = |(id, seq, to, held, state, saved): Row| {
        let saved = (word_state(&state), mode(saved));
        (id, Written { seq: unsigned(seq), to: word_state(&to), held: mode(held), saved })
    };
    Ok(rows.into_iter().map(read).collect())
}

/// Whether the record has ever heard of this breaker.
///
/// # Errors
/// The store refuses.
pub async fn known(reader: impl SqliteExecutor<'_>, id: &str) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM breakers WHERE id = ?)").bind(id).fetch_one(reader).await
}

/// The key of a breaker, made when it is new; `at` is the first it was heard of.
pub(crate) async fn key(connection: &mut SqliteConnection, id: &str, at: i64) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(
        "INSERT INTO breakers (id, policy, first_at, since) VALUES (?1, '', ?2, ?2)
         ON CONFLICT (id) DO UPDATE SET first_at = min(first_at, excluded.first_at) RETURNING key",
    )
    .bind(id)
    .bind(at)
    .fetch_one(connection)
    .await
}

/// Notes which policy it has; it is on the panel again.
pub(crate) async fn note_policy(connection: &mut SqliteConnection, key: i64, policy: &str) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE breakers SET policy = ?, evicted = 0 WHERE key = ?")
        .bind(policy)
        .bind(key)
        .execute(connection)
        .await?;
    Ok(())
}

/// Writes what a restart needs, as of transition `seq`.
pub(crate) async fn save(
    connection: &mut SqliteConnection,
    key: i64,
    seq: u64,
    saved: &Saved,
    evicted: bool,
) -> Result<(), sqlx::Error> {
    let held = saved.held.as_ref();
    sqlx::query(
        "UPDATE breakers SET changed_seq = ?, evicted = ?, state = ?, since = ?, attempt = ?, wait = ?,
         next_probe_at = ?, down_since = ?, opens = ?, held_mode = ?, held_reason = ?, held_by = ?, held_verified = ?,
         held_via = ?, held_since = ?, held_length = ?, held_until = ?, cooldown_until = ? WHERE key = ?",
    )
    .bind(signed(seq))
    .bind(evicted)
    .bind(saved.state.as_str())
    .bind(micros(saved.since))
    .bind(i64::from(saved.attempt))
    .bind(length_micros(saved.wait))
    .bind(saved.next_probe_at.map(micros))
    .bind(saved.down_since.map(micros))
    .bind(signed(saved.opens))
    .bind(held.map(|held| held.mode.as_str()))
    .bind(held.map(|held| held.reason.as_ref()))
    .bind(held.map(|held| held.by.name.as_ref()))
    .bind(held.map(|held| held.by.verified))
    .bind(held.map(|held| held.by.via.as_ref()))
    .bind(held.map(|held| micros(held.since)))
    .bind(held.and_then(|held| held.length).map(length_micros))
    .bind(held.and_then(|held| held.until).map(micros))
    .bind(saved.cooldown_until.map(micros))
    .bind(key)
    .execute(connection)
    .await?;
    Ok(())
}
