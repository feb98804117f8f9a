//! What operators did.

use fuseboard_app::wire::{
    event::{Actor, Audit, Page},
    time::Time,
};
use sqlx::{FromRow, SqliteConnection, SqliteExecutor};

use super::{PageQuery, numbered::Kind, signed, unsigned};

pub(super) const SELECT: &str =
    "SELECT row.seq, runs.node, row.at, row.actor, row.actor_verified, row.actor_via, row.action,
     breakers.id, row.reason, row.detail
     FROM audit AS row JOIN runs USING (boot) LEFT JOIN breakers ON breakers.key = row.breaker";

#[derive(FromRow)]
struct Row {
    seq: i64,
    node: String,
    at: i64,
    actor: String,
    actor_verified: bool,
    actor_via: String,
    action: String,
    id: Option<String>,
    reason: Option<String>,
    detail: String,
}

impl From<Row> for Audit {
    fn from(row: Row) -> Self {
        Self {
            seq: unsigned(row.seq),
            node: row.node,
            at: Time::from_micros(row.at),
            actor: Actor { name: row.actor, verified: row.actor_verified, via: row.actor_via },
            action: row.action,
            breaker: row.id,
            reason: row.reason,
            detail: serde_json::from_str(&row.detail).unwrap_or_default(),
        }
    }
}

/// One page of audit rows.
///
/// # Errors
/// The store refuses.
pub async fn page(reader: impl SqliteExecutor<'_>, query: &PageQuery) -> Result<Page<Audit>, sqlx::Error> {
    query.page::<Row, Audit>(reader, Kind::Audit, SELECT, |row| row.seq).await
}

/// Writes one audit row; see [`super::transitions::insert`].
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    boot: u64,
    key: Option<i64>,
    row: &Audit,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO audit (seq, boot, at, actor, actor_verified, actor_via, action, breaker, reason, detail)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (seq) DO NOTHING",
    )
    .bind(signed(row.seq))
    .bind(signed(boot))
    .bind(row.at.micros())
    .bind(&row.actor.name)
    .bind(row.actor.verified)
    .bind(&row.actor.via)
    .bind(&row.action)
    .bind(key)
    .bind(&row.reason)
    .bind(serde_json::to_string(&row.detail).unwrap_or_default())
    .execute(connection)
    .await?;
    Ok(())
}
