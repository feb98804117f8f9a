//! What the writer does for the record when nothing waits for it: rolls up what is over, deletes what is too old or too
//! much, gives room back. One slice at a time, so that a fact never waits long: a slice ends when its time is over, looked
//! at after a few rows each, since where pages have to be read from the disk a row may take a hundred times as long.

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

/// A slice takes no more rows once this is over.
const SLICE: Duration = Duration::from_millis(8);
/// Rows of a slice, however fast they go.
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
    /// How many breakers are rolled up between two looks at the time: their states are read and written together, their
    /// calls one by one.
    fn few(self) -> usize {
        match self {
            Self::States => 32,
            Self::Calls => 8,
        }
    }
}

/// See the module.
#[derive(Default)]
pub struct Tending {
    roll: Option<Roll>,
    passes: VecDeque<Pass>,
    /// What was gone through since, and how far.
    ended: Vec<(What, i64)>,
    /// When age and size were last looked at.
    looked: Option<i64>,
    /// There was too much: look again when the passes are over.
    pressed: bool,
}

impl Tending {
    /// Nothing done yet.
    pub fn new() -> Self {
        Self::default()
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
        let until = Instant::now() + SLICE;
        if self.roll.is_none() {
            self.roll = next_roll(writer, now).await?;
        }
        if let Some(roll) = &mut self.roll {
            if !roll.slice(writer, until).await? {
                self.roll = None;
            }
            return Ok(true);
        }
        if let Some(pass) = self.passes.front_mut() {
            if !pass.slice(writer, MOST, until).await? {
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
    /// As many breakers as the time allows, and a few; false when it is done.
    async fn slice(&mut self, writer: &mut SqliteConnection, until: Instant) -> Result<bool, sqlx::Error> {
        let mut to = writer.begin_with("BEGIN IMMEDIATE").await?;
        let mut next = self.next;
        let done = loop {
            let few = &self.breakers[next..(next + self.of.few()).min(self.breakers.len())];
            match self.of {
                Of::States => rolled::roll(&mut to, few, self.stretch).await?,
                Of::Calls => calls::roll(&mut to, few.iter().map(|breaker| breaker.key), self.stretch).await?,
            }
            next += few.len();
            if next == self.breakers.len() {
                break true;
            }
            if Instant::now() >= until {
                break false;
            }
        };
        if done {
            match self.of {
                Of::States => rolled::done(&mut to, self.stretch).await?,
                Of::Calls => calls::done(&mut to, self.stretch).await?,
            }
        }
        to.commit().await?;
        self.next = next;
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
