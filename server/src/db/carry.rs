//! Carries the write-ahead log over into the file, beside the writer: on a connection of its own, so that no commit
//! waits until thousands of pages are where they belong. The writer carries it over itself only when this falls behind.

use sqlx::{ConnectOptions, Connection};
use tokio::task::JoinHandle;

use super::Db;

/// Pages of the log before they are carried over: those that every commit writes anew are carried once.
const PAGES: u64 = 4_000;
/// What a commit writes beside its rows, about.
const COMMIT: u64 = 20;
/// How often it tries to catch up with a writer that goes on meanwhile: only then does the log begin anew.
const ROUNDS: usize = 5;

/// One for each writer.
#[derive(Debug)]
pub struct Carrier {
    db: Db,
    /// Pages written since, about.
    pages: u64,
    under_way: Option<JoinHandle<()>>,
}

impl Carrier {
    /// Nothing written yet.
    pub fn new(db: &Db) -> Self {
        Self { db: db.clone(), pages: 0, under_way: None }
    }

    /// So many rows were committed; never waits.
    pub fn wrote(&mut self, rows: u64) {
        self.pages = self.pages.saturating_add(rows).saturating_add(COMMIT);
        let busy = self.under_way.as_ref().is_some_and(|task| !task.is_finished());
        if busy || self.pages < PAGES {
            return;
        }
        self.pages = 0;
        let db = self.db.clone();
        self.under_way = Some(tokio::spawn(async move {
            if let Err(error) = db.carry_over().await {
                tracing::debug!(%error, "the log was not carried over; the writer does it when it must");
            }
        }));
    }

    /// Waits for what is under way.
    pub async fn end(&mut self) {
        if let Some(task) = self.under_way.take() {
            let _ = task.await;
        }
    }
}

impl Db {
    async fn carry_over(&self) -> Result<(), sqlx::Error> {
        self.is_in_place()?;
        let mut connection = self.writer.clone().connect().await?;
        for _ in 0..ROUNDS {
            let (_, log, carried): (i64, i64, i64) =
                sqlx::query_as("PRAGMA wal_checkpoint(PASSIVE)").fetch_one(&mut connection).await?;
            if carried >= log {
                break;
            }
        }
        connection.close().await
    }
}
