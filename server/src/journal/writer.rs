//! The one task that writes.
//!
//! The first fact wakes it; it lingers a little so that facts that come together share a commit, less when somebody
//! waits for an answer. A commit takes transitions, what a restart needs of their breakers, overrides, audit rows,
//! probes, the incidents those are part of, the call totals that changed, and the run's alive mark, all or nothing. When the store refuses it
//! keeps the batch and tries again, less and less often, on a fresh connection; nothing overtakes it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use fuseboard_app::wire::event::{FeedEvent, Probe, Transition};
use sqlx::{Connection, SqliteConnection};
use tokio::time::Instant;

use super::{
    Ending, Shared, Trouble,
    queue::{Batch, Item, SavedWith},
};
use crate::{
    calls::MinuteRow,
    db::Db,
    history::{
        audit, breakers, calls, gaps,
        incidents::{self, course::Course},
        lane::rolled,
        numbered::{self, Kind},
        overrides, probes, runs,
        tending::Tending,
        transitions,
    },
    stamp::{self, micros},
    tally::TallyRow,
};

/// How long a fact waits for company.
const LINGER: Duration = Duration::from_millis(200);
/// The same when somebody waits for an answer.
const LINGER_WATCHED: Duration = Duration::from_millis(10);
/// Facts of one commit.
const BATCH: usize = 4_000;
/// How often call totals are written.
const TOTALS: Duration = Duration::from_secs(1);
/// How often a quiet run says that it is alive.
const ALIVE: Duration = Duration::from_secs(5);
/// How often the record is tended, between its slices, and after one that failed.
const TEND: Duration = Duration::from_secs(1);
const TEND_MORE: Duration = Duration::from_millis(20);
const TEND_AGAIN: Duration = Duration::from_secs(30);
/// Pauses between attempts while the store refuses.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(1);

/// What one commit writes.
struct Commit {
    batch: Batch,
    totals: Vec<MinuteRow>,
    tallies: Vec<TallyRow>,
    /// Everything before this is in it or was written before.
    alive_at: Option<i64>,
    ended: bool,
}

struct Writer {
    shared: Arc<Shared>,
    db: Db,
    connection: Option<SqliteConnection>,
    /// Keys of breakers known to be in the store.
    keys: HashMap<String, i64>,
}

pub(super) async fn run(shared: Arc<Shared>, db: Db) {
    let mut writer = Writer { shared: shared.clone(), db, connection: None, keys: HashMap::new() };
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
        let last = inner.next - 1;
        let batch = inner.queue.take(BATCH, last);
        drop(inner);
        let alive_at = batch.drained.then_some(now);
        Commit { batch, totals: Vec::new(), tallies: Vec::new(), alive_at, ended: false }
    }
}

impl Writer {
    /// Writes until it is written.
    async fn write(&mut self, commit: &Commit) {
        let mut pause = FIRST_PAUSE;
        while let Err(error) = self.attempt(commit).await {
            // Keys made in the failed transaction do not exist, and the connection may be the trouble.
            self.keys.clear();
            self.connection = None;
            self.complain(&error);
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
        let recovered = std::mem::take(&mut *self.shared.trouble.lock());
        if let Some(since) = recovered.since {
            tracing::info!(%since, "the store takes writes again");
        }
        self.shared.inner.lock().queue.written(&commit.batch);
        self.shared.written.send_if_modified(|upto| {
            let moved = commit.batch.upto > *upto;
            *upto = commit.batch.upto.max(*upto);
            moved
        });
    }

    fn complain(&self, error: &sqlx::Error) {
        let mut trouble = self.shared.trouble.lock();
        let since = trouble.since.unwrap_or_else(|| {
            tracing::warn!(%error, store = %self.db.path().display(), "the store refuses writes; they are kept and tried again");
            stamp::time(self.shared.clock.wall())
        });
        *trouble = Trouble { since: Some(since), error: Some(in_words(error)) };
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
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.db.connect_writer().await?,
        };
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        self.fill(&mut transaction, commit).await?;
        transaction.commit().await?;
        self.connection = Some(connection);
        Ok(())
    }

    async fn fill(&mut self, to: &mut SqliteConnection, commit: &Commit) -> Result<(), sqlx::Error> {
        let boot = self.shared.run.boot;
        for seen in &commit.batch.seen {
            let key = self.key(to, &seen.breaker, seen.at).await?;
            breakers::note_policy(to, key, &seen.policy).await?;
        }
        let mut transition_rows: Vec<(i64, &Transition)> = Vec::new();
        let mut probe_rows: Vec<(i64, &Probe)> = Vec::new();
        // Only the newest of each breaker is what a restart needs.
        let mut saves: HashMap<i64, (u64, &SavedWith)> = HashMap::new();
        let mut courses: BTreeMap<u64, (i64, &Course)> = BTreeMap::new();
        for item in &commit.batch.items {
            match &item.fact.event {
                FeedEvent::Transition(event) => {
                    let row = &event.row;
                    let key = self.key(to, &row.breaker, row.at.micros()).await?;
                    transition_rows.push((key, row));
                    courses.extend(item.incident.as_deref().map(|course| (course.opening.seq, (key, course))));
                    if let Some(saved) = &item.saved {
                        let until = saved.after.held.as_ref().and_then(|held| held.until).map(micros);
                        overrides::insert(to, key, row, saved.before, until).await?;
                        saves.insert(key, (row.seq, saved));
                    }
                }
                FeedEvent::Probe(row) => {
                    let key = self.key(to, &row.breaker, row.at.micros()).await?;
                    probe_rows.push((key, row));
                    courses.extend(item.incident.as_deref().map(|course| (course.opening.seq, (key, course))));
                }
                _ => {}
            }
            self.fill_audit(to, item).await?;
        }
        transitions::insert(to, boot, &transition_rows).await?;
        probes::insert(to, boot, &probe_rows).await?;
        numbered::note(to, Kind::Transitions, transition_rows.iter().map(|(_, row)| (row.seq, row.at))).await?;
        numbered::note(to, Kind::Probes, probe_rows.iter().map(|(_, row)| (row.seq, row.at))).await?;
        if let Some(earliest) = transition_rows.iter().map(|(_, row)| row.at.micros()).min() {
            rolled::forget_from(to, earliest).await?;
        }
        for (key, (seq, saved)) in saves {
            breakers::save(to, key, seq, &saved.after, saved.evicted).await?;
        }
        if let Some(gap) = &commit.batch.gap {
            gaps::insert(to, boot, gap).await?;
        }
        for (seq, (key, course)) in courses {
            incidents::put(to, key, course).await?;
            incidents::end_earlier(to, key, seq, course.opening.at).await?;
        }
        for row in &commit.tallies {
            incidents::put_counted(to, row).await?;
        }
        for row in &commit.totals {
            let key = self.key(to, &row.breaker, row.at).await?;
            calls::put(to, boot, key, row).await?;
        }
        if let Some(at) = commit.alive_at {
            runs::mark(to, boot, at, commit.ended).await?;
        }
        Ok(())
    }

    async fn fill_audit(&mut self, to: &mut SqliteConnection, item: &Item) -> Result<(), sqlx::Error> {
        let alone = matches!(item.fact.event, FeedEvent::Audit(_)).then_some(&item.fact);
        for fact in alone.into_iter().chain(&item.audit) {
            if let FeedEvent::Audit(row) = &fact.event {
                let key = match &row.breaker {
                    Some(breaker) => Some(self.key(to, breaker, row.at.micros()).await?),
                    None => None,
                };
                audit::insert(to, self.shared.run.boot, key, row).await?;
                numbered::note(to, Kind::Audit, std::iter::once((row.seq, row.at))).await?;
            }
        }
        Ok(())
    }

    async fn key(&mut self, to: &mut SqliteConnection, breaker: &str, at: i64) -> Result<i64, sqlx::Error> {
        if let Some(key) = self.keys.get(breaker) {
            return Ok(*key);
        }
        let key = breakers::key(to, breaker, at).await?;
        self.keys.insert(breaker.to_owned(), key);
        Ok(key)
    }
}

/// What the board says of it.
fn in_words(error: &sqlx::Error) -> String {
    let code = error.as_database_error().and_then(|error| error.code());
    // The low byte is SQLite's primary result code.
    let primary = code.and_then(|code| code.parse::<i32>().ok()).map(|code| code & 0xff);
    match primary {
        Some(5 | 6) => "locked by another process".into(),
        Some(8) => "the file is read-only".into(),
        Some(10) => format!("reading or writing the file failed: {error}"),
        Some(11 | 26) => format!("the file is damaged: {error}"),
        Some(13) => "disk full".into(),
        Some(14) => "the file cannot be opened".into(),
        _ => error.to_string(),
    }
}
