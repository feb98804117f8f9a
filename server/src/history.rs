//! The record's tables, one module each: how a row is written, and how it is read back as the wire says it.
//!
//! Rows are written by the journal's writer alone; everything that reads goes through the query-only pool.

pub mod audit;
pub mod breakers;
pub mod calls;
mod columns;
pub mod gaps;
pub mod incidents;
pub mod lane;
mod marks;
pub(crate) mod numbered;
pub mod overrides;
pub mod probes;
pub mod retention;
pub mod runs;
pub mod tending;
pub mod transitions;

use self::numbered::Kind;
use fuseboard_app::wire::{
    breaker::{Mode, State},
    event::{Actor, Page},
    time::Time,
};
use sqlx::{FromRow, QueryBuilder, Sqlite, SqliteExecutor, sqlite::SqliteRow};

/// The page size when none is asked for, and the largest there is.
pub const PAGE: u32 = 100;
/// See [`PAGE`].
pub const PAGE_MAX: u32 = 1_000;

/// Which rows of one kind: newest first below `before`, or ascending above `after`.
#[derive(Debug, Clone, Default)]
pub struct PageQuery {
    /// Of this breaker alone.
    pub breaker: Option<String>,
    /// Not older than this.
    pub from: Option<Time>,
    /// Older than this.
    pub to: Option<Time>,
    /// Numbers below this, newest first.
    pub before: Option<u64>,
    /// Numbers above this, oldest first; wins over `before`.
    pub after: Option<u64>,
    /// Numbers up to this one.
    pub until: Option<u64>,
    /// At most this many; 100 when absent, never more than 1,000.
    pub limit: Option<u32>,
}

impl PageQuery {
    /// How many rows a page holds.
    pub fn limit(&self) -> usize {
        self.limit.unwrap_or(PAGE).clamp(1, PAGE_MAX) as usize
    }

    /// Whether a row is one of those asked for.
    pub fn takes(&self, breaker: Option<&str>, seq: u64, at: Time) -> bool {
        self.breaker.as_deref().is_none_or(|asked| breaker == Some(asked))
            && self.from.is_none_or(|from| at >= from)
            && self.to.is_none_or(|to| at < to)
            && self.until.is_none_or(|until| seq <= until)
            && match self.after {
                Some(after) => seq > after,
                None => self.before.is_none_or(|before| seq < before),
            }
    }

    /// Adds the conditions and the order to `SELECT … FROM <table> AS row …`; one row more than the page holds is asked
    /// for, to know whether there is a next one.
    fn narrow(&self, kind: Kind, sql: &mut QueryBuilder<Sqlite>) {
        // One bound below and one above: of two, SQLite would begin at whichever stands first.
        kind.number_from(sql, self.after.map_or(1, |after| after.saturating_add(1)), self.from);
        let below = self.after.map_or(self.before, |_| None).map_or(u64::MAX, |before| before.saturating_sub(1));
        kind.number_until(sql, self.until.map_or(below, |until| until.min(below)), self.to);
        if let Some(breaker) = &self.breaker {
            sql.push(" AND row.breaker = (SELECT key FROM breakers WHERE id = ").push_bind(breaker.clone()).push(")");
        }
        let order = if self.after.is_some() { "ASC" } else { "DESC" };
        sql.push(" ORDER BY row.seq ").push(order).push(" LIMIT ").push_bind(signed(self.limit() as u64 + 1));
    }

    fn statement(&self, kind: Kind, select: &'static str) -> QueryBuilder<Sqlite> {
        let mut sql = QueryBuilder::<Sqlite>::new(select);
        self.narrow(kind, &mut sql);
        sql
    }

    /// Reads one page with a `SELECT` as [`Self::narrow`] takes it.
    async fn page<Stored, Shown>(
        &self,
        reader: impl SqliteExecutor<'_>,
        kind: Kind,
        select: &'static str,
        seq: impl Fn(&Shown) -> u64,
    ) -> Result<Page<Shown>, sqlx::Error>
    where
        Stored: for<'row> FromRow<'row, SqliteRow> + Send + Unpin,
        Shown: From<Stored>,
    {
        let stored: Vec<Stored> = self.statement(kind, select).build_query_as().fetch_all(reader).await?;
        let more = stored.len() > self.limit();
        let rows: Vec<Shown> = stored.into_iter().take(self.limit()).map(Shown::from).collect();
        let next = if more { rows.last().map(seq) } else { None };
        Ok(Page { rows, next })
    }
}

/// A number as SQLite keeps it.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number as SQLite kept it.
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// The fixed word for a state.
pub(crate) fn state_word(state: State) -> &'static str {
    match state {
        State::Closed => "closed",
        State::Open => "open",
        State::HalfOpen => "half_open",
    }
}

/// The state a fixed word stands for.
pub(crate) fn word_state(word: &str) -> State {
    match word {
        "open" => State::Open,
        "half_open" => State::HalfOpen,
        _ => State::Closed,
    }
}

/// The fixed word for a mode.
pub(crate) fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::ForcedOpen => "forced_open",
        Mode::ForcedClosed => "forced_closed",
    }
}

/// The mode a fixed word stands for.
pub(crate) fn word_mode(word: &str) -> Option<Mode> {
    match word {
        "forced_open" => Some(Mode::ForcedOpen),
        "forced_closed" => Some(Mode::ForcedClosed),
        _ => None,
    }
}

/// Whether calls are turned away: forced open, or without override not closed.
pub(crate) fn is_down(state: State, held: Option<Mode>) -> bool {
    match held {
        Some(Mode::ForcedOpen) => true,
        Some(Mode::ForcedClosed) => false,
        None => state != State::Closed,
    }
}

fn word_actor(name: Option<String>, verified: Option<bool>, via: Option<String>) -> Option<Actor> {
    Some(Actor { name: name?, verified: verified.unwrap_or(false), via: via.unwrap_or_default() })
}

/// Cuts rows into groups of few fixed sizes, so that few statements are prepared and each is used often.
fn groups<T>(mut rows: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let size = [64, 8, 1].into_iter().find(|size| rows.len() >= *size)?;
        let (group, rest) = rows.split_at(size);
        rows = rest;
        Some(group)
    })
}

#[cfg(test)]
mod plans;
