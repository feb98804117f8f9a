//! A store on a real file, with everything that writes to it and reads from it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use fuseboard::{
    calls::Calls,
    db::{Db, MIGRATIONS},
    history::{
        incidents::{
            self, IncidentQuery, Stored,
            course::{Course, Opening},
        },
        retention::Keep,
        runs::{self, Run},
    },
    journal::{self, Journal, NotStored},
    live::Live,
    restore::{self, Restored},
};
use fuseboard_breaker::{
    By, Cause, Clock, DrawnWait, Event, ManualClock, Mode, Probe, ProbeOutcome, Saved, State, Transition,
};
use sqlx::SqliteConnection;

use super::soon;

/// A run of the record.
pub(crate) struct Record {
    pub(crate) db: Db,
    pub(crate) run: Run,
    pub(crate) restored: Restored,
    pub(crate) live: Arc<Live>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) journal: Journal,
}

impl Record {
    /// Opens the file as the server does.
    pub(crate) async fn open(path: &Path, clock: Arc<dyn Clock>, journal_max: u64) -> Self {
        let opening = async {
            let db = Db::open(path, "fuse-1", "1.0").await.expect("the store opens");
            let run = runs::begin(&db, clock.wall()).await.expect("the run begins");
            let restored = restore::read(&db, 10_000, clock.wall()).await.expect("the store is read");
            (db, run, restored)
        };
        let (db, run, restored) = soon("the store", opening).await;
        let live = Arc::new(Live::new(run.boot, run.next_seq - 1, "1.0", clock.clone()));
        let calls = Arc::new(Calls::new(clock.clone()));
        let journal = Journal::start(journal::Start {
            db: &db,
            run,
            known: restored.newest.clone(),
            incidents: restored.incidents.clone(),
            live: Some(live.clone()),
            calls: calls.clone(),
            tallies: Arc::default(),
            upstreams: Arc::default(),
            clock,
            journal_max,
            keep: Keep::ALL,
        });
        Self { db, run, restored, live, calls, journal }
    }

    /// Ends the run in order.
    pub(crate) async fn close(self) {
        soon("the journal's end", self.journal.close()).await;
        soon("the store's end", self.db.close()).await;
    }

    /// Waits until everything pushed is in the store.
    pub(crate) async fn flush(&self) {
        soon("the journal's writing", self.journal.flush()).await;
    }

    /// Waits until this number is in the store, or is known not to get there.
    pub(crate) async fn durable(&self, seq: u64) -> Result<(), NotStored> {
        soon("the word of the writer", self.journal.durable(seq)).await
    }
}

/// What a test with chance in it starts from, printed so that a failure can be had again.
pub(crate) fn seed() -> u64 {
    let given = std::env::var("FUSEBOARD_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = given.unwrap_or_else(|| {
        SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64)
    });
    println!("FUSEBOARD_TEST_SEED={seed}");
    seed
}

/// A folder of its own and the file in it.
pub(crate) fn file() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("fuseboard.db");
    (folder, path)
}

/// Another program's connection to the file.
pub(crate) async fn connect(path: &Path) -> SqliteConnection {
    use sqlx::ConnectOptions;
    sqlx::sqlite::SqliteConnectOptions::new().filename(path).connect().await.expect("the file opens")
}

/// One number out of the file.
pub(crate) async fn number(connection: &mut SqliteConnection, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(connection).await.expect("the query runs")
}

/// 2026-01-01 00:00:00 UTC and so many milliseconds.
pub(crate) fn at(millis: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600) + Duration::from_millis(millis)
}

/// Time goes on to then, on both clocks.
pub(crate) fn go_to(clock: &ManualClock, then: SystemTime) {
    clock.advance(then.duration_since(clock.wall()).expect("it lies ahead"));
}

/// An operator.
pub(crate) fn ana() -> By {
    By { name: "unverified: ana".into(), verified: false, via: "api".into() }
}

/// What a restart needs of a breaker that is closed.
pub(crate) fn closed(since: SystemTime) -> Saved {
    Saved {
        state: State::Closed,
        since,
        attempt: 0,
        wait: Duration::ZERO,
        next_probe_at: None,
        down_since: None,
        opens: 0,
        held: None,
        cooldown_until: None,
    }
}

/// A probe that was good.
pub(crate) fn probe(id: &Arc<str>, at: SystemTime) -> Event {
    Event::Probe(Probe {
        breaker: id.clone(),
        at,
        duration: Duration::from_micros(1_500),
        generation: 1,
        outcome: ProbeOutcome::Settled(fuseboard_breaker::Outcome::Success),
        phase: None,
        evidence: None,
    })
}

/// A stand-in for a breaker: makes transitions that follow from one another.
pub(crate) struct Chain {
    pub(crate) id: Arc<str>,
    pub(crate) saved: Saved,
    pub(crate) generation: u64,
}

impl Chain {
    pub(crate) fn new(id: &str, since: SystemTime) -> Self {
        Self { id: id.into(), saved: closed(since), generation: 0 }
    }

    /// Goes on from what the store knows of it.
    pub(crate) fn restored(id: &str, since: SystemTime, from: &Restored) -> Self {
        let mut chain = Self::new(id, since);
        if let Some(known) = from.breakers.iter().find(|known| *known.id == *id) {
            chain.saved = known.saved.clone();
        }
        chain
    }

    /// closed → open → half-open → closed.
    pub(crate) fn step(&mut self, at: SystemTime) -> Event {
        let wait = DrawnWait { wait: Duration::from_secs(30), jitter: Duration::ZERO, retry_after: None };
        let (to, cause) = match self.saved.state {
            State::Closed => (State::Open, Cause::ProbeLost { wait }),
            State::Open => (State::HalfOpen, Cause::WaitElapsed),
            State::HalfOpen => (State::Closed, Cause::ProbesSucceeded { good: 1 }),
        };
        self.change(to, cause, at, None)
    }

    /// An operator's reset.
    pub(crate) fn reset(&mut self, at: SystemTime, reason: &str) -> Event {
        self.saved.held = None;
        self.change(State::Closed, Cause::Reset, at, Some(reason))
    }

    /// An operator's override.
    pub(crate) fn hold(&mut self, mode: Mode, length: Option<Duration>, at: SystemTime, reason: &str) -> Event {
        let until = length.map(|length| at + length);
        let cause = if self.saved.held.is_some() { Cause::OverrideChanged } else { Cause::OverrideSet };
        let held = fuseboard_breaker::Override { mode, reason: reason.into(), by: ana(), since: at, length, until };
        self.saved.held = Some(held);
        self.change(self.saved.state, cause, at, Some(reason))
    }

    /// Its override ends by itself.
    pub(crate) fn expire(&mut self, at: SystemTime) -> Event {
        self.saved.held = None;
        self.change(self.saved.state, Cause::OverrideExpired, at, None)
    }

    pub(crate) fn change(&mut self, to: State, cause: Cause, at: SystemTime, reason: Option<&str>) -> Event {
        let from = self.saved.state;
        self.generation += 1;
        self.saved.state = to;
        if from != to {
            self.saved.since = at;
        }
        Event::Transition(Box::new(Transition {
            breaker: self.id.clone(),
            at,
            from,
            to,
            mode: self.saved.held.as_ref().map(|held| held.mode),
            generation: self.generation,
            cause,
            by: reason.map(|_| ana()),
            reason: reason.map(Into::into),
            failures: 0,
            after: self.saved.clone(),
        }))
    }
}

/// Every number in the file is there once, none is missing outside gaps, and each breaker's rows follow from one
/// another. Answers the newest number.
pub(crate) async fn check_sequence(path: &Path) -> i64 {
    let mut reader = connect(path).await;
    let damage: String = sqlx::query_scalar("PRAGMA integrity_check").fetch_one(&mut reader).await.expect("it runs");
    assert_eq!(damage, "ok");
    let numbers: Vec<i64> = sqlx::query_scalar(
        "SELECT seq FROM transitions UNION ALL SELECT seq FROM probes UNION ALL SELECT seq FROM audit ORDER BY 1",
    )
    .fetch_all(&mut reader)
    .await
    .expect("the numbers are read");
    let gaps: Vec<(i64, i64)> =
        sqlx::query_as("SELECT first, last FROM gaps").fetch_all(&mut reader).await.expect("the gaps are read");
    let in_gap = |number: i64| gaps.iter().any(|(first, last)| (*first..=*last).contains(&number));
    let newest = numbers.iter().chain(gaps.iter().map(|(_, last)| last)).copied().max().unwrap_or(0);
    let mut next = numbers.iter().copied().peekable();
    for number in 1..=newest {
        let there = next.next_if_eq(&number).is_some();
        assert!(there || in_gap(number), "number {number} of {newest} is nowhere");
        assert_ne!(next.peek(), Some(&number), "number {number} is there twice");
    }
    let breaks: Vec<(i64, i64)> = sqlx::query_as(
        "SELECT seq, earlier FROM (
             SELECT seq, from_state, lag(to_state) OVER chain AS was, lag(seq) OVER chain AS earlier FROM transitions
             WINDOW chain AS (PARTITION BY breaker ORDER BY seq)) AS one
         WHERE was <> from_state
           AND NOT EXISTS (SELECT 1 FROM gaps WHERE gaps.first < one.seq AND gaps.last > one.earlier)",
    )
    .fetch_all(&mut reader)
    .await
    .expect("the chains are read");
    assert_eq!(breaks, [], "rows that do not follow from the one before them");
    let stale = number(
        &mut reader,
        "SELECT count(*) FROM breakers JOIN transitions ON transitions.breaker = breakers.key
         WHERE seq = (SELECT max(seq) FROM transitions WHERE breaker = breakers.key)
           AND (breakers.changed_seq <> seq OR breakers.state <> to_state OR breakers.held_mode IS NOT held)",
    )
    .await;
    assert_eq!(stale, 0, "breakers whose saved row is not what their newest transition left");
    newest
}

/// Every incident in the file, oldest first.
pub(crate) async fn incidents_in(path: &Path) -> Vec<Stored> {
    let mut reader = connect(path).await;
    let query = IncidentQuery { after: Some(0), limit: Some(1_000), ..IncidentQuery::default() };
    incidents::page(&mut reader, &query).await.expect("they are read")
}

/// The same made anew from the rows: the schema of a copy is stepped down to before there were incidents, and up again.
pub(crate) async fn incidents_made_anew(path: &Path) -> Vec<Stored> {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("copy.db");
    for suffix in ["", "-wal"] {
        let beside = |path: &Path| PathBuf::from(format!("{}{suffix}", path.display()));
        // Without a log there is nothing in it.
        let copied = std::fs::copy(beside(path), beside(&copy));
        assert!(copied.is_ok() || !suffix.is_empty(), "{copied:?}");
    }
    let mut writer = connect(&copy).await;
    MIGRATIONS.undo(&mut writer, 1).await.expect("the step down");
    MIGRATIONS.run(&mut writer).await.expect("the step up");
    incidents_in(&copy).await
}

/// What is kept of each incident is what its rows say. Answers how many there are.
pub(crate) async fn check_incidents(path: &Path) -> usize {
    let (kept, anew) = (incidents_in(path).await, incidents_made_anew(path).await);
    assert_eq!(kept.len(), anew.len(), "incidents");
    for (kept, anew) in kept.iter().zip(&anew) {
        // Rows do not say whose they were.
        let opening = Arc::new(Opening { upstreams: None, ..Opening::clone(&kept.course.opening) });
        assert_eq!(Course { opening, ..kept.course.clone() }, anew.course);
        assert_eq!((&kept.breaker, &kept.node), (&anew.breaker, &anew.node));
    }
    kept.len()
}
