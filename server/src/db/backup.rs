//! A copy of a store as of one moment, taken beside whoever writes to it.
//!
//! `VACUUM INTO` reads under one snapshot, which in WAL mode neither waits for the writer nor makes it wait; the copy is
//! compact, and nothing that retention has deleted is left in its free pages. Our own lock is not taken: it guards against
//! a second writer, and this writes nothing.

use std::path::Path;

use sqlx::{ConnectOptions, Connection, sqlite::SqliteConnectOptions};

use super::{PATIENT_BUSY, StoreError, check_ours};

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Its size.
    pub bytes: u64,
    /// Transitions in it.
    pub transitions: u64,
    /// The newest number in it.
    pub newest: u64,
}

/// Copies the store to a file that is empty or does not exist, and checks the copy.
///
/// # Errors
/// There is no store of ours, or one of the two files cannot be used.
pub async fn copy(store: &Path, to: &Path) -> Result<Copied, StoreError> {
    let shown = store.display().to_string();
    let sqlite = |source| StoreError::Sqlite { path: shown.clone(), source };
    std::fs::metadata(store).map_err(|source| StoreError::File { path: shown.clone(), source })?;
    let options = SqliteConnectOptions::new().filename(store).busy_timeout(PATIENT_BUSY).disable_statement_logging();
    let mut from = options.connect().await.map_err(sqlite)?;
    check_ours(&mut from, &shown).await?;

    let copied = |source| StoreError::Copy { path: to.display().to_string(), source };
    let name = to.to_str().ok_or_else(|| copied(sqlx::Error::Configuration("SQLite takes names in UTF-8".into())))?;
    sqlx::query("VACUUM INTO ?").bind(name).execute(&mut from).await.map_err(copied)?;
    from.close().await.map_err(sqlite)?;

    let options = SqliteConnectOptions::new().filename(to).read_only(true).disable_statement_logging();
    let mut copy = options.connect().await.map_err(copied)?;
    let damage: String = sqlx::query_scalar("PRAGMA quick_check").fetch_one(&mut copy).await.map_err(copied)?;
    if damage != "ok" {
        return Err(StoreError::CopyDamaged { path: shown, damage });
    }
    let (transitions, newest): (i64, i64) = sqlx::query_as(
        "SELECT (SELECT count(*) FROM transitions),
                max(coalesce((SELECT max(seq) FROM transitions), 0), coalesce((SELECT max(seq) FROM probes), 0),
                    coalesce((SELECT max(seq) FROM audit), 0))",
    )
    .fetch_one(&mut copy)
    .await
    .map_err(copied)?;
    copy.close().await.map_err(copied)?;
    let bytes = std::fs::metadata(to).map_or(0, |file| file.len());
    Ok(Copied { bytes, transitions: transitions.unsigned_abs(), newest: newest.unsigned_abs() })
}
