//! The one task that writes.
//!
//! The first fact wakes it; it lingers a little so that facts that come together share a commit, less when somebody
//! waits for an answer. When the store refuses it keeps the batch and tries again, less and less often, on a fresh
//! connection; nothing overtakes it.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use sqlx::{Connection, SqliteConnection};
use tokio::time::Instant;

use super::{
    Ending, Shared, Trouble,
    commit::{Commit, Known},
};
use crate::{
    db::{Db, carry::Carrier, trouble},
    history::tending::Tending,
    stamp::{self, micros},
};

/// How long a fact waits for company.
const LINGER: Duration = Duration::from_millis(200);
/// The same when somebody waits for an answer.
const LINGER_WATCHED: Duration = Duration::from_millis(10);
/// Facts of one commit. What a commit costs beside its rows (a page at the end of each breaker's indexes, what a restart
/// needs of each) is shared by all of them.
const BATCH: usize = 16_000;
/// How often call totals are written.
const TOTALS: Duration = Duration::from_secs(1);
/// How often a quiet run says that it is alive.
const ALIVE: Duration = Duration::from_secs(5);
/// How often the record is tended, between its slices, and after one that failed.
const TEND: Duration = Duration::from_secs(1);
const TEND_MORE: Duration = Duration::from_millis(20);
const TEND_AGAIN: Duration = Duration::from_secs(30);
/// Rows of such a slice, about, as the log has them: most lie side by side.
const SLICE_ROWS: u64 = 100;
/// Pauses between attempts while the store refuses.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(1);

struct Writer {
    shared: Arc<Shared>,
    db: Db,
    carrier: Carrier,
    connection: Option<SqliteConnection>,
    known: Known,
}

pub(super) async fn run(shared: Arc<Shared>, db: Db) {
    let carrier = Carrier::new(&db);
    let mut writer = Writer { shared: shared.clone(), db, carrier, connection: None, known: Known::default() };
    let mut totals_due = Instant::now() + TOTALS;
    let mut alive_due = Instant::now() + ALIVE;
    let mut tending = Tending::new();
    let mut tend_due = Instant::now() + TEND;
    let mut behind = false;
    loop {
        if !behind {
            shared.work(totals_due.min(alive_due).min(tend_due)).await;
        }
        let ending = *shared.ending.borrow() != Ending::Running;
        let now = Instant::now();
        let mut commit = shared.next_commit();
        behind = !commit.batch.drained;
        if now >= totals_due || ending {
            commit.totals = shared.calls.take_dirty();
            commit.tallies = shared.tallies.take_dirty(shared.written.borrow().max(commit.batch.upto));
            totals_due = now + TOTALS;
        }
        commit.ended = ending && commit.batch.drained;
        // Only when everything so far is written, and nobody waits.
        let tends = now >= tend_due && !ending && !behind;
        let idle = commit.batch.is_empty() && commit.totals.is_empty() && commit.tallies.is_empty();
        if !idle || commit.ended || now >= alive_due {
            writer.write(&commit).await;
            alive_due = Instant::now() + ALIVE;
        }
        if tends {
            tend_due = Instant::now() + writer.tend(&mut tending).await;
        }
        if commit.ended {
            break;
        }
    }
    writer.carrier.end().await;
    if let Some(connection) = writer.connection.take() {
        // Everything is committed; closing only tidies the file.
        let _ = connection.close().await;
    }
    drop(writer);
    shared.ending.send_replace(Ending::Done);
}

impl Shared {
    /// Returns when there is something to write and it has had its company, at `due`, or when asked to end.
    async fn work(&self, due: Instant) {
        let mut linger: Option<Instant> = None;
        loop {
            if *self.ending.borrow() != Ending::Running {
                return;
            }
            let watched = self.waiting_acks.load(Ordering::SeqCst) > 0;
            if self.inner.lock().queue.has_work() {
                let patience = if watched { LINGER_WATCHED } else { LINGER };
                let until = Instant::now() + patience;
                linger = Some(linger.map_or(until, |earlier| earlier.min(until)));
            }
            let until = linger.map_or(due, |linger| linger.min(due));
            if Instant::now() >= until {
                return;
            }
            let wait = async {
                if linger.is_some() {
                    // There is work; more of it changes nothing.
                    self.hurry.notified().await;
                } else {
                    tokio::select! {
                        () = self.wake.notified() => {}
                        () = self.hurry.notified() => {}
                    }
                }
            };
            // When the time is over it is seen at the top.
            let _ = tokio::time::timeout_at(until, wait).await;
        }
    }

    fn next_commit(&self) -> Commit {
        // Read before the batch is taken: whatever happened by then is in it, or waits in the queue.
        let now = micros(self.clock.wall());
        let mut inner = self.inner.lock();
        inner.look(&*self.clock);
        let last = inner.next - 1;
        let batch = inner.queue.take(BATCH, last);
        drop(inner);
        // A transition that came in between shows that it was alive then.
        let alive = batch.newest_transition_at().map_or(now, |newest| newest.max(now));
        let alive_at = batch.drained.then_some(alive);
        Commit { batch, totals: Vec::new(), tallies: Vec::new(), alive_at, ended: false }
    }
}

impl Writer {
    /// Writes until it is written.
    async fn write(&mut self, commit: &Commit) {
        let mut pause = FIRST_PAUSE;
        while let Err(error) = self.attempt(commit).await {
            // What the failed transaction made does not exist, and the connection may be the trouble.
            self.known = Known::default();
            self.connection = None;
            self.complain(&error);
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
        let recovered = std::mem::take(&mut *self.shared.trouble.lock());
        if let Some(since) = recovered.since {
            tracing::info!(%since, "the store takes writes again");
        }
        self.carrier.wrote(commit.rows());
        self.shared.inner.lock().queue.written(&commit.batch);
        self.shared.written.send_if_modified(|upto| {
            let moved = commit.batch.upto > *upto;
            *upto = commit.batch.upto.max(*upto);
            moved
        });
    }

    fn complain(&self, error: &sqlx::Error) {
        let mut now = self.shared.trouble.lock();
        let since = now.since.unwrap_or_else(|| {
            tracing::warn!(%error, store = %self.db.path().display(), "the store refuses writes; they are kept and tried again");
            stamp::time(self.shared.clock.wall())
        });
        let words = trouble::of(error).map_or_else(|| error.to_string(), Into::into);
        *now = Trouble { since: Some(since), error: Some(words) };
    }

    /// One slice of what the record needs; answers when the next one is due.
    async fn tend(&mut self, tending: &mut Tending) -> Duration {
        let (now, keep) = (micros(self.shared.clock.wall()), *self.shared.keep.lock());
        let tended = async {
            let mut connection = match self.connection.take() {
                Some(connection) => connection,
                None => self.db.connect_writer().await?,
            };
            let more = tending.slice(&self.db, &mut connection, &keep, now).await?;
            self.connection = Some(connection);
            if more {
                self.carrier.wrote(SLICE_ROWS);
            }
            Ok::<_, sqlx::Error>(more)
        };
        match tended.await {
            Ok(true) => TEND_MORE,
            Ok(false) => TEND,
            Err(error) => {
                tracing::warn!(%error, "rolling up or deleting old rows failed; it is tried again");
                TEND_AGAIN
            }
        }
    }

    async fn attempt(&mut self, commit: &Commit) -> Result<(), sqlx::Error> {
        self.db.is_in_place()?;
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.db.connect_writer().await?,
        };
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        self.known.fill(&mut transaction, self.shared.run.boot, commit).await?;
        // Once more: what went into a file that was taken away meanwhile is not stored.
        self.db.is_in_place()?;
        transaction.commit().await?;
        self.connection = Some(connection);
        Ok(())
    }
}
