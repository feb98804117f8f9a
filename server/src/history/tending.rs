//! What the writer does for the record when nothing waits for it: rolls up what is over, deletes what is too old or too
//! much, gives room back. One slice at a time, so that a fact never waits long; how much is in one follows from how long
//! the last one took.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use sqlx::{Connection, SqliteConnection};

use super::{
    calls,
    lane::{self, rolled},
    retention::{Keep, Pass, What},
};
use crate::db::Db;

/// A slice that takes longer is followed by a smaller one; one that takes less than half of it by a larger one.
const SLICE: Duration = Duration::from_millis(15);
/// Rows of a slice, whatever the last one took.
const FEWEST: i64 = 20;
/// See [`FEWEST`].
pub const MOST: i64 = 1_000;
/// How often age and size are looked at, in microseconds.
const ROUND: i64 = 600_000_000;
/// Free pages are used again; so many, and a quarter of the file, are given back.
const FREE_KEPT: i64 = 16 * 1_024 * 1_024;
/// Pages given back in one slice.
const FREED: i64 = 200;
/// The write-ahead log is cut back beyond this.
const WAL_MAX: u64 = 32 * 1_024 * 1_024;

/// One stretch on its way into a roll-up.
struct Roll {
    of: Of,
    stretch: (i64, i64),
    breakers: Vec<lane::Breaker>,
    next: usize,
}

#[derive(Clone, Copy)]
enum Of {
    States,
    Calls,
}

impl Of {
    /// About how many rows take as long as one breaker: its states are read and written with all others', its calls for
    /// itself.
    fn rows(self) -> i64 {
        match self {
            Self::States => 2,
            Self::Calls => 10,
        }
    }
}

/// See the module.
pub struct Tending {
    rows: i64,
    roll: Option<Roll>,
    passes: VecDeque<Pass>,
    /// What was gone through since, and how far.
    ended: Vec<(What, i64)>,
    /// When age and size were last looked at.
    looked: Option<i64>,
    /// There was too much: look again when the passes are over.
    pressed: bool,
}

impl Default for Tending {
    fn default() -> Self {
        Self::new()
    }
}

impl Tending {
    /// Nothing done yet.
    pub fn new() -> Self {
        Self { rows: 200, roll: None, passes: VecDeque::new(), ended: Vec::new(), looked: None, pressed: false }
    }

    /// One slice, as of `now`; false when there is nothing left to do for now. Everything up to `now` must be written.
    ///
    /// # Errors
    /// The store refuses; what was not done is done another time.
    pub async fn slice(
        &mut self,
        db: &Db,
        writer: &mut SqliteConnection,
        keep: &Keep,
        now: i64,
    ) -> Result<bool, sqlx::Error> {
        let began = Instant::now();
        let more = self.one(db, writer, keep, now).await?;
        let took = began.elapsed();
        if took > SLICE {
            self.rows = (self.rows / 2).max(FEWEST);
        } else if took < SLICE / 2 {
            self.rows = (self.rows * 2).min(MOST);
        }
        Ok(more)
    }

    async fn one(
        &mut self,
        db: &Db,
        writer: &mut SqliteConnection,
        keep: &Keep,
        now: i64,
    ) -> Result<bool, sqlx::Error> {
        if self.roll.is_none() {
            self.roll = next_roll(writer, now).await?;
        }
        if let Some(roll) = &mut self.roll {
            let breakers = self.rows / roll.of.rows();
            if !roll.slice(writer, usize::try_from(breakers).unwrap_or(1).max(4)).await? {
                self.roll = None;
            }
            return Ok(true);
        }
        if let Some(pass) = self.passes.front_mut() {
            if !pass.slice(writer, self.rows).await? {
                self.ended.push(pass.ended());
                self.passes.pop_front();
            }
            return Ok(true);
        }
        if self.looked.is_none_or(|looked| !(looked..looked + ROUND).contains(&now)) {
            self.looked = Some(now);
            self.ended.clear();
            self.passes = Pass::by_age(keep, now).into();
            self.pressed = true;
            return Ok(true);
        }
        if self.pressed {
            let room = Room::read(writer).await?;
            let over = room.used() > i64::try_from(keep.max_size).unwrap_or(i64::MAX);
            self.passes = if over { Pass::by_size(writer, now, &self.ended).await?.into() } else { VecDeque::new() };
            self.pressed = !self.passes.is_empty();
            return Ok(true);
        }
        give_back(db, writer).await
    }
}

async fn next_roll(writer: &mut SqliteConnection, now: i64) -> Result<Option<Roll>, sqlx::Error> {
    let (of, stretch) = match rolled::due(writer, now).await? {
        Some(stretch) => (Of::States, stretch),
        None => match calls::due(writer, now).await? {
            Some(stretch) => (Of::Calls, stretch),
            None => return Ok(None),
        },
    };
    Ok(Some(Roll { of, stretch, breakers: lane::heard_of(writer, stretch.0 + stretch.1).await?, next: 0 }))
}

impl Roll {
    /// The next so many breakers; false when it is done.
    async fn slice(&mut self, writer: &mut SqliteConnection, breakers: usize) -> Result<bool, sqlx::Error> {
        let until = (self.next + breakers).min(self.breakers.len());
        let slice = &self.breakers[self.next..until];
        let mut to = writer.begin_with("BEGIN IMMEDIATE").await?;
        match self.of {
            Of::States => rolled::roll(&mut to, slice, self.stretch).await?,
            Of::Calls => calls::roll(&mut to, slice.iter().map(|breaker| breaker.key), self.stretch).await?,
        }
        let done = until == self.breakers.len();
        if done {
            match self.of {
                Of::States => rolled::done(&mut to, self.stretch).await?,
                Of::Calls => calls::done(&mut to, self.stretch).await?,
            }
        }
        to.commit().await?;
        self.next = until;
        Ok(!done)
    }
}

/// What the file is made of.
struct Room {
    page: i64,
    pages: i64,
    free: i64,
}

impl Room {
    async fn read(reader: &mut SqliteConnection) -> Result<Self, sqlx::Error> {
        Ok(Self {
            page: sqlx::query_scalar("PRAGMA page_size").fetch_one(&mut *reader).await?,
            pages: sqlx::query_scalar("PRAGMA page_count").fetch_one(&mut *reader).await?,
            free: sqlx::query_scalar("PRAGMA freelist_count").fetch_one(reader).await?,
        })
    }

    fn used(&self) -> i64 {
        (self.pages - self.free) * self.page
    }
}

/// Gives back what is far more than is used again, and cuts the log back where a long reader let it grow.
async fn give_back(db: &Db, writer: &mut SqliteConnection) -> Result<bool, sqlx::Error> {
    let room = Room::read(writer).await?;
    if room.free * room.page > FREE_KEPT && room.free > room.pages / 4 {
        sqlx::query(sqlx::AssertSqlSafe(format!("PRAGMA incremental_vacuum({FREED})"))).execute(writer).await?;
        return Ok(true);
    }
    if db.wal_bytes() > WAL_MAX {
        // A reader in the way makes it answer "busy" at once; the next round tries again.
        sqlx::query("PRAGMA busy_timeout = 0").execute(&mut *writer).await?;
        let cut = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut *writer).await;
        sqlx::query("PRAGMA busy_timeout = 250").execute(writer).await?;
        cut?;
    }
    Ok(false)
}
