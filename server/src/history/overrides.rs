//! The life of each override: set, changed, ended.

use fuseboard_app::wire::{
    breaker::Mode,
    event::{Actor, Transition},
    time::Time,
};
use sqlx::{FromRow, SqliteConnection, SqliteExecutor};

use super::{mode_word, signed, unsigned, word_actor, word_mode};

/// One step in an override's life.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverrideStep {
    /// The transition it belongs to.
    pub seq: u64,
    /// When.
    pub at: Time,
    /// `set`, `changed` or `ended`.
    pub what: String,
    /// The override's mode; of the one that ended when it ended.
    pub mode: Mode,
    /// Why.
    pub reason: Option<String>,
    /// Who; nobody when it reached its own end.
    pub actor: Option<Actor>,
    /// When it was to end, from this step on.
    pub until: Option<Time>,
}

#[derive(FromRow)]
struct Row {
    seq: i64,
    at: i64,
    what: String,
    mode: String,
    reason: Option<String>,
    actor: Option<String>,
    actor_verified: Option<bool>,
    actor_via: Option<String>,
    until: Option<i64>,
}

/// A breaker's overrides, newest first.
///
/// # Errors
/// The store refuses.
pub async fn of(reader: impl SqliteExecutor<'_>, breaker: &str, limit: u32) -> Result<Vec<OverrideStep>, sqlx::Error> {
    let rows: Vec<Row> = sqlx::query_as(
        "SELECT seq, at, what, mode, reason, actor, actor_verified, actor_via, until FROM overrides
         WHERE breaker = (SELECT key FROM breakers WHERE id = ?) ORDER BY seq DESC LIMIT ?",
    )
    .bind(breaker)
    .bind(limit)
    .fetch_all(reader)
    .await?;
    Ok(rows
        .into_iter()
        .filter_map(|row| {
            Some(OverrideStep {
                seq: unsigned(row.seq),
                at: Time::from_micros(row.at),
                mode: word_mode(&row.mode)?,
                what: row.what,
                reason: row.reason,
                actor: word_actor(row.actor, row.actor_verified, row.actor_via),
                until: row.until.map(Time::from_micros),
            })
        })
        .collect())
}

/// Writes the step a transition is, if it is one; `before` is the mode before it.
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    key: i64,
    row: &Transition,
    before: Option<Mode>,
    until: Option<i64>,
) -> Result<(), sqlx::Error> {
    let (what, mode) = match (before, row.held) {
        (None, None) => return Ok(()),
        (Some(ended), None) => ("ended", ended),
        (Some(same), Some(now)) if same == now && row.cause.kind == "override_changed" => ("changed", now),
        // Something else about a breaker that is held.
        (Some(same), Some(now)) if same == now && row.cause.kind != "override_set" => return Ok(()),
        (_, Some(now)) => ("set", now),
    };
    sqlx::query(
        "INSERT INTO overrides (seq, breaker, at, what, mode, reason, actor, actor_verified, actor_via, until)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (seq) DO NOTHING",
    )
    .bind(signed(row.seq))
    .bind(key)
    .bind(row.at.micros())
    .bind(what)
    .bind(mode_word(mode))
    .bind(&row.reason)
    .bind(row.actor.as_ref().map(|actor| &actor.name))
    .bind(row.actor.as_ref().map(|actor| actor.verified))
    .bind(row.actor.as_ref().map(|actor| &actor.via))
    .bind(until)
    .execute(connection)
    .await?;
    Ok(())
}
