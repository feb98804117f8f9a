//! The store: one SQLite file, one process at a time, one connection that writes.
//!
//! A lock file beside the database names the process that holds it. Readers are query-only and come from a pool; the
//! writer's connection is handed out by [`Db::connect_writer`] to the one task that writes. The schema is brought up to
//! date on opening; a file from a newer version, or of another program, is refused in words.

pub mod backup;
pub mod carry;
mod place;
pub mod trouble;

use std::{
    fs::File,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use sqlx::{
    ConnectOptions, Connection, SqliteConnection, SqlitePool,
    migrate::{MigrateError, Migrator},
    sqlite::{SqliteAutoVacuum, SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use self::place::{Place, beside, hold, take_lock, whole};

/// Every step of the schema, embedded.
pub static MIGRATIONS: Migrator = sqlx::migrate!("../migrations/sqlite");

/// How long the writer waits for another process's lock before it says so and tries again.
const WRITER_BUSY: Duration = Duration::from_millis(250);
/// The same for readers and at the start.
const PATIENT_BUSY: Duration = Duration::from_secs(5);
/// How long a query waits for a reader to be free.
const READER_PATIENCE: Duration = Duration::from_secs(10);
/// What the write-ahead log is cut back to after a checkpoint.
const WAL_LIMIT: &str = "67108864";
/// Pages of the log before the writer carries them over into the file itself; see [`carry`].
const CHECKPOINT: &str = "8000";
/// KiB of pages the writer keeps at hand, so that a commit finds the ends of every breaker's indexes there.
const WRITER_CACHE: &str = "-32768";
/// "Fuse": what `PRAGMA application_id` says of our files.
const APPLICATION_ID: i64 = 0x4675_7365;

/// What to do about a file that cannot be opened, by SQLite's primary result code.
fn mend(source: &sqlx::Error) -> &'static str {
    match trouble::code(source) {
        Some(5 | 6) => "Another program holds it: end that program or wait for it, then start again",
        Some(8) => "Let this user write the file and its folder, then start again",
        Some(13) => "Make room on its disk, then start again",
        _ => "If the file is damaged, move it away and restore a copy",
    }
}

/// Why the store cannot be used, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another process holds it.
    #[error("the store {path} is in use by {holder}. Stop that process, or give this one a [store] url of its own")]
    InUse {
        /// The database file.
        path: String,
        /// The other process, as it wrote itself down.
        holder: String,
    },
    /// Written by a newer version.
    #[error(
        "the store {path} was written by a newer Fuseboard (schema {found}, this version knows up to {known}). Start \
         that version, or restore a copy made before the upgrade"
    )]
    Newer {
        /// The database file.
        path: String,
        /// The newest schema step in it.
        found: i64,
        /// The newest schema step of this binary.
        known: i64,
    },
    /// Some other program's database.
    #[error("{path} is a database of another program. Name a file that does not exist yet in [store] url")]
    Foreign {
        /// The database file.
        path: String,
    },
    /// The file or its folder cannot be used.
    #[error(
        "the store {path} cannot be opened: {source}. Check that its folder exists and that this user may write there"
    )]
    File {
        /// The database file.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A folder, not a file.
    #[error("the store {path} is a folder. Name a file in it in [store] url, such as \"sqlite:{path}/fuseboard.db\"")]
    Folder {
        /// What was named.
        path: String,
    },
    /// The database engine refuses.
    #[error("the store {path} cannot be opened: {source}. {}", mend(.source))]
    Sqlite {
        /// The database file.
        path: String,
        /// What SQLite says.
        source: sqlx::Error,
    },
    /// No copy can be written there.
    #[error("the copy {path} cannot be written: {source}. Check the space and the rights in its folder")]
    Copy {
        /// The copy.
        path: String,
        /// What SQLite says.
        source: sqlx::Error,
    },
    /// What was copied is not in order.
    #[error("the store {path} is damaged, so no copy was kept: {damage}. Restore an earlier copy")]
    CopyDamaged {
        /// The database file.
        path: String,
        /// What the check found.
        damage: String,
    },
    /// The schema cannot be brought up to date.
    #[error(
        "the schema of {path} cannot be brought up to date: {source}. Restore a copy, or start the version that wrote it"
    )]
    Schema {
        /// The database file.
        path: String,
        /// What went wrong.
        source: MigrateError,
    },
}

/// The opened store. Clones share it; the lock goes with the last one.
#[derive(Debug, Clone)]
pub struct Db {
    read: SqlitePool,
    writer: SqliteConnectOptions,
    path: Arc<Path>,
    place: Place,
    node: Arc<str>,
    version: Arc<str>,
    /// Pages the file may grow to; 0 for no bound.
    pages: Arc<AtomicU32>,
    /// Of the file beside it and of the file itself.
    _locks: Arc<(File, Option<File>)>,
}

impl Db {
    /// Opens the file, creating it when missing, and brings its schema up to date.
    ///
    /// # Errors
    /// See [`StoreError`]: each says what to do.
    pub async fn open(path: &Path, node: &str, version: &str) -> Result<Self, StoreError> {
        let path = whole(path).map_err(|source| StoreError::File { path: path.display().to_string(), source })?;
        let shown = path.display().to_string();
        if path.is_dir() {
            return Err(StoreError::Folder { path: shown });
        }
        let new = !beside(&path, ".lock").exists();
        let lock = take_lock(&path, node)?;
        let opened = Self::open_locked(path.clone(), shown, node, version, lock).await;
        if opened.is_err() && new {
            // A store that is refused is left as it was found. Nobody else can hold the lock: this process did.
            let _ = std::fs::remove_file(beside(&path, ".lock"));
        }
        opened
    }

    async fn open_locked(
        path: PathBuf,
        shown: String,
        node: &str,
        version: &str,
        lock: File,
    ) -> Result<Self, StoreError> {
        let sqlite = |source| StoreError::Sqlite { path: shown.clone(), source };

        let base = SqliteConnectOptions::new().filename(&path).foreign_keys(true).disable_statement_logging();
        let writer = base
            .clone()
            // Only takes effect before the first table exists.
            .auto_vacuum(SqliteAutoVacuum::Incremental)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .pragma("journal_size_limit", WAL_LIMIT)
            .pragma("wal_autocheckpoint", CHECKPOINT)
            .pragma("cache_size", WRITER_CACHE)
            .busy_timeout(WRITER_BUSY);

        let mut held = None;
        if std::fs::metadata(&path).is_ok_and(|file| file.len() > 0) {
            // Before anything is set on it: another program's file stays as it is.
            let mut look = base.clone().pragma("query_only", "ON").connect().await.map_err(sqlite)?;
            check_ours(&mut look, &shown).await?;
            look.close().await.map_err(sqlite)?;
            held = hold(&path)?;
        }
        let patient = writer.clone().create_if_missing(true).busy_timeout(PATIENT_BUSY);
        let mut first = patient.connect().await.map_err(sqlite)?;
        MIGRATIONS.run(&mut first).await.map_err(|source| StoreError::Schema { path: shown.clone(), source })?;
        first.close().await.map_err(sqlite)?;
        if held.is_none() {
            held = hold(&path)?;
        }

        let place = Place::of(&path).map_err(|source| StoreError::File { path: shown, source })?;
        let (path, node, version): (Arc<Path>, _, _) = (path.into(), node.into(), version.into());
        let at = path.clone();
        let read = SqlitePoolOptions::new()
            .max_connections(4)
            .min_connections(0)
            .idle_timeout(Duration::from_secs(60))
            .acquire_timeout(READER_PATIENCE)
            // A reader, too, carries the log that lies beside over into a file, once it has read from it.
            .after_connect(move |_, _| {
                let in_place = place.check(&at).map_err(sqlx::Error::Io);
                Box::pin(async move { in_place })
            })
            .connect_lazy_with(base.pragma("query_only", "ON").busy_timeout(PATIENT_BUSY));
        Ok(Self { read, writer, path, place, node, version, pages: Arc::default(), _locks: Arc::new((lock, held)) })
    }

    /// The readers: query-only.
    pub fn read(&self) -> &SqlitePool {
        &self.read
    }

    /// A connection that may write; for the writer task and for what happens before it starts.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub async fn connect_writer(&self) -> Result<SqliteConnection, sqlx::Error> {
        match self.pages.load(Ordering::Relaxed) {
            0 => self.writer.connect().await,
            pages => self.writer.clone().pragma("max_page_count", pages.to_string()).connect().await,
        }
    }

    /// Whether the file that was opened is still where it was: what is written to one that was taken away is lost, and
    /// another one in its place must not be written to.
    ///
    /// # Errors
    /// It is not; the error says what has happened and what to do.
    pub fn is_in_place(&self) -> Result<(), sqlx::Error> {
        self.place.check(&self.path).map_err(sqlx::Error::Io)
    }

    /// Lets the file grow to so many pages, or to what it has when that is more; a write that needs another one is refused
    /// as on a full disk. Holds for writers that connect from now on.
    pub fn limit_pages(&self, pages: Option<u32>) {
        self.pages.store(pages.unwrap_or(0), Ordering::Relaxed);
    }

    /// The same with more patience for a lock, for what happens before the writer starts.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) async fn connect_patient_writer(&self) -> Result<SqliteConnection, sqlx::Error> {
        self.writer.clone().busy_timeout(PATIENT_BUSY).connect().await
    }

    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// This node's name, as rows carry it.
    pub fn node(&self) -> &Arc<str> {
        &self.node
    }

    /// The version that opened the store.
    pub fn version(&self) -> &Arc<str> {
        &self.version
    }

    /// Bytes on disk, write-ahead log included.
    pub fn bytes(&self) -> u64 {
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |meta| meta.len());
        size(&self.path) + size(&beside(&self.path, "-wal"))
    }

    /// Bytes of the write-ahead log alone.
    pub fn wal_bytes(&self) -> u64 {
        std::fs::metadata(beside(&self.path, "-wal")).map_or(0, |log| log.len())
    }

    /// An error of this store in words.
    pub fn error(&self, source: sqlx::Error) -> StoreError {
        StoreError::Sqlite { path: self.path.display().to_string(), source }
    }

    /// Closes the readers; the file is in order without it, too.
    pub async fn close(&self) {
        self.read.close().await;
    }
}

async fn check_ours(connection: &mut SqliteConnection, path: &str) -> Result<(), StoreError> {
    let sqlite = |source| StoreError::Sqlite { path: path.to_owned(), source };
    let tables: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema WHERE type = 'table'")
        .fetch_one(&mut *connection)
        .await
        .map_err(sqlite)?;
    if tables == 0 {
        return Ok(());
    }
    let steps: i64 = sqlx::query_scalar("SELECT count(*) FROM sqlite_schema WHERE name = '_sqlx_migrations'")
        .fetch_one(&mut *connection)
        .await
        .map_err(sqlite)?;
    if steps == 0 {
        return Err(StoreError::Foreign { path: path.to_owned() });
    }
    let found: Option<i64> = sqlx::query_scalar("SELECT max(version) FROM _sqlx_migrations")
        .fetch_one(&mut *connection)
        .await
        .map_err(sqlite)?;
    let known = MIGRATIONS.iter().map(|step| step.version).max().unwrap_or(0);
    match found {
        // Nothing applied: an interrupted first start, or stepped down to nothing.
        None => return Ok(()),
        Some(found) if found > known => return Err(StoreError::Newer { path: path.to_owned(), found, known }),
        Some(_) => {}
    }
    let id: i64 = sqlx::query_scalar("PRAGMA application_id").fetch_one(connection).await.map_err(sqlite)?;
    if id == APPLICATION_ID { Ok(()) } else { Err(StoreError::Foreign { path: path.to_owned() }) }
}
