//! How far something has got: deleted, kept, rolled up.

use sqlx::{SqliteConnection, SqliteExecutor};

/// Before anything; far enough from the smallest number to be rounded down.
pub(super) const NEVER: i64 = i64::MIN / 4;

/// The mark, if it was ever set.
pub(super) async fn read(reader: impl SqliteExecutor<'_>, what: &str) -> Result<Option<i64>, sqlx::Error> {
    sqlx::query_scalar("SELECT value FROM marks WHERE what = ?").bind(what).fetch_optional(reader).await
}

/// Sets it, forward only.
pub(super) async fn advance(connection: &mut SqliteConnection, what: &str, value: i64) -> Result<(), sqlx::Error> {
    sqlx::query(
        "INSERT INTO marks (what, value) VALUES (?, ?) ON CONFLICT (what) DO UPDATE SET value = max(value, excluded.value)",
    )
    .bind(what)
    .bind(value)
    .execute(connection)
    .await?;
    Ok(())
}

/// Sets it back, if it is beyond.
pub(super) async fn retreat(connection: &mut SqliteConnection, what: &str, value: i64) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE marks SET value = ?1 WHERE what = ?2 AND value > ?1")
        .bind(value)
        .bind(what)
        .execute(connection)
        .await?;
    Ok(())
}
