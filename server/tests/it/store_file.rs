//! The file: schema, lock, and what is refused in words.

use std::sync::Arc;

use fuseboard::db::{Db, MIGRATIONS, StoreError};
use fuseboard_breaker::SystemClock;

use crate::support::store::{Record, connect, file, number};

#[tokio::test]
async fn the_schema_goes_up_down_and_up_again() {
    let (_folder, path) = file();
    drop(Db::open(&path, "fuse-1", "1.0").await.expect("up"));
    let mut connection = connect(&path).await;
    let tables =
        "SELECT count(*) FROM sqlite_schema WHERE name NOT LIKE '\\_sqlx%' ESCAPE '\\' AND name NOT LIKE 'sqlite%'";
    let up = number(&mut connection, tables).await;
    assert!(up > 8, "{up} tables and indexes");
    MIGRATIONS.undo(&mut connection, 0).await.expect("down");
    assert_eq!(number(&mut connection, tables).await, 0);
    sqlx::Connection::close(connection).await.expect("it closes");
    drop(Db::open(&path, "fuse-1", "1.0").await.expect("up again"));
    let mut connection = connect(&path).await;
    assert_eq!(number(&mut connection, tables).await, up);
}

#[tokio::test]
async fn the_file_is_set_up_for_a_long_life() {
    let (_folder, path) = file();
    let db = Db::open(&path, "fuse-1", "1.0").await.expect("it opens");
    let mut writer = db.connect_writer().await.expect("the writer connects");
    assert_eq!(number(&mut writer, "PRAGMA auto_vacuum").await, 2, "incremental");
    assert_eq!(number(&mut writer, "PRAGMA synchronous").await, 2, "full");
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut writer).await.expect("it runs");
    assert_eq!(mode, "wal");
    let refused = sqlx::query("DELETE FROM runs").execute(db.read()).await;
    assert!(refused.is_err(), "readers are query-only");
    assert!(db.bytes() > 4_096);
}

#[tokio::test]
async fn r43_a_second_opening_is_refused_and_names_the_first() {
    let (folder, path) = file();
    let first = Db::open(&path, "fuse-1", "1.0").await.expect("the first opens");
    // Another spelling of the same file.
    let spelled = folder.path().join(".").join("fuseboard.db");
    let error = Db::open(&spelled, "fuse-2", "1.0").await.expect_err("the second is refused");
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    let said = error.to_string();
    assert!(said.contains(&format!("process {} on node fuse-1", std::process::id())), "{said}");
    drop(first);
    Db::open(&path, "fuse-2", "1.0").await.expect("once the first is gone");
}

#[cfg(unix)]
#[tokio::test]
async fn r43_another_name_of_the_same_file_is_refused_too() {
    let (folder, path) = file();
    let first = Db::open(&path, "fuse-1", "1.0").await.expect("the first opens");
    let other = folder.path().join("other.db");
    std::fs::hard_link(&path, &other).expect("a second name");
    let error = Db::open(&other, "fuse-2", "1.0").await.expect_err("the second is refused");
    assert!(matches!(error, StoreError::InUse { .. }), "{error}");
    drop(first);
    Db::open(&other, "fuse-2", "1.0").await.expect("once the first is gone");
}

#[tokio::test]
async fn r43_a_newer_schema_is_refused_in_words() {
    let (_folder, path) = file();
    drop(Db::open(&path, "fuse-1", "1.0").await.expect("it opens"));
    let mut connection = connect(&path).await;
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'later', 1, x'00', 0)",
    )
    .execute(&mut connection)
    .await
    .expect("it runs");
    let error = Db::open(&path, "fuse-1", "1.0").await.expect_err("it is refused");
    let newest = MIGRATIONS.iter().map(|step| step.version).max().expect("steps");
    assert!(matches!(error, StoreError::Newer { found: 9999, known, .. } if known == newest), "{error}");
    assert!(error.to_string().contains("written by a newer Fuseboard (schema 9999"), "{error}");
}

#[tokio::test]
async fn another_programs_file_is_left_alone() {
    let (folder, path) = file();
    let mut other = sqlx::sqlite::SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    other = other.foreign_keys(false);
    let mut connection = sqlx::ConnectOptions::connect(&other).await.expect("it opens");
    sqlx::query("CREATE TABLE notes (text TEXT)").execute(&mut connection).await.expect("it runs");
    let error = Db::open(&path, "fuse-1", "1.0").await.expect_err("it is refused");
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    let tables = number(&mut connection, "SELECT count(*) FROM sqlite_schema").await;
    assert_eq!(tables, 1, "nothing was added to it");
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut connection).await.expect("it runs");
    assert_eq!(mode, "delete", "nothing was set on it");

    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "no database at all, just text that is long enough to be read as a header").expect("written");
    let error = Db::open(&text, "fuse-1", "1.0").await.expect_err("it is refused");
    assert!(matches!(error, StoreError::Sqlite { .. }), "{error}");
    let error = Db::open(&folder.path().join("none/fuseboard.db"), "fuse-1", "1.0").await.expect_err("no folder");
    assert!(matches!(error, StoreError::File { .. }), "{error}");
    assert!(error.to_string().contains("Check that its folder exists"), "{error}");
}

#[tokio::test]
async fn each_run_has_its_own_row() {
    let (_folder, path) = file();
    for expected in 1..=3 {
        let record = Record::open(&path, Arc::new(SystemClock), 1 << 20).await;
        assert_eq!((record.run.boot, record.run.next_seq), (expected, 1));
        assert_eq!(record.journal.cursor(), format!("{expected}-0"));
        record.close().await;
    }
    let mut connection = connect(&path).await;
    let ended = number(&mut connection, "SELECT count(*) FROM runs WHERE ended_at >= started_at").await;
    assert_eq!(ended, 3);
}

#[tokio::test]
async fn a_refused_store_is_left_as_it_was_found() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let error = Db::open(folder.path(), "fuse-1", "1.0").await.expect_err("a folder is no file");
    assert!(matches!(error, StoreError::Folder { .. }), "{error}");
    assert!(error.to_string().contains("is a folder. Name a file in it"), "{error}");
    let beside = folder.path().with_extension("lock");
    assert!(!beside.exists());
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "no database at all, just text that is long enough to be read as a header").expect("written");
    Db::open(&text, "fuse-1", "1.0").await.expect_err("it is refused");
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).expect("read").map(|one| one.expect("one").file_name()).collect();
    assert_eq!(names, ["notes.txt"], "no lock file is left behind");
    // One that was there stays: it may be another process's.
    std::fs::write(folder.path().join("notes.txt.lock"), "").expect("written");
    Db::open(&text, "fuse-1", "1.0").await.expect_err("it is refused");
    assert!(folder.path().join("notes.txt.lock").exists());
}
