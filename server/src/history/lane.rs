//! Lanes: what a breaker was over a stretch of time, exact to the millisecond.
//!
//! A span comes from the transition that began it. The state before the window is looked up; what no run watched, what
//! was before the breaker's first row, and what was given up, is unknown. Transitions the store has not taken yet are
//! handed in by whoever asks, so that a lane is right also while the store refuses.

mod draw;

use std::collections::HashMap;

use fuseboard_app::wire::{
    breaker::{Mode, State},
    time::Time,
    timeline::{Lane, Timeline},
};
use sqlx::{FromRow, SqlitePool};

use self::draw::Strip;
use super::{runs, unsigned, word_mode, word_state};

/// No answer has more spans than this.
const SPANS_MAX: usize = 20_000;

/// The stretch of time asked for, and how it is drawn.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// Start.
    pub from: Time,
    /// End; a lane never goes beyond `now`.
    pub to: Time,
    /// Pixels it is drawn on: at most two spans each.
    pub width: u32,
    /// The present.
    pub now: Time,
    /// The present run, which watches until `now`.
    pub boot: u64,
}

/// A transition, as far as a lane is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its number.
    pub seq: u64,
    /// When, microseconds since 1970.
    pub at: i64,
    /// State before.
    pub from: State,
    /// State after.
    pub to: State,
    /// Override after.
    pub held: Option<Mode>,
}

#[derive(FromRow)]
struct Row {
    breaker: i64,
    seq: i64,
    at: i64,
    from_state: String,
    to_state: String,
    held: Option<String>,
}

impl Row {
    fn change(self) -> Change {
        Change {
            seq: unsigned(self.seq),
            at: self.at,
            from: word_state(&self.from_state),
            to: word_state(&self.to_state),
            held: self.held.as_deref().and_then(word_mode),
        }
    }
}

/// One breaker's lane. `unwritten` are transitions the store may not have yet, read before this is called.
///
/// # Errors
/// The store refuses.
pub async fn lane(
    pool: &SqlitePool,
    id: &str,
    window: &Window,
    unwritten: &HashMap<String, Vec<Change>>,
) -> Result<Lane, sqlx::Error> {
    let strips = strips(pool, &[id.to_owned()], window, unwritten).await?;
    let strip = strips.into_iter().next().unwrap_or_default();
    Ok(strip.lane(id, window.from, end(window), draw::step(window.from, end(window), window.width)))
}

/// Many lanes on one axis, in the order asked for, with at most 20,000 spans in all.
///
/// # Errors
/// The store refuses.
pub async fn lanes(
    pool: &SqlitePool,
    ids: &[String],
    window: &Window,
    unwritten: &HashMap<String, Vec<Change>>,
) -> Result<Timeline, sqlx::Error> {
    let room = u32::try_from(SPANS_MAX / 2 / ids.len().max(1)).unwrap_or(u32::MAX).max(1);
    let to = end(window);
    let step = draw::step(window.from, to, window.width.min(room));
    let strips = strips(pool, ids, window, unwritten).await?;
    let lanes = strips.iter().zip(ids).map(|(strip, id)| strip.lane(id, window.from, to, step)).collect();
    Ok(Timeline { from: window.from, to, step_ms: step, lanes, next: None })
}

fn end(window: &Window) -> Time {
    window.to.min(window.now).max(window.from)
}

async fn strips(
    pool: &SqlitePool,
    ids: &[String],
    window: &Window,
    unwritten: &HashMap<String, Vec<Change>>,
) -> Result<Vec<Strip>, sqlx::Error> {
    let (from, to) = (window.from.micros(), end(window).micros());
    // One view of the file for all of it.
    let mut reader = pool.begin().await?;
    let watched = runs::watched(&mut *reader, (from, to), window.boot, window.now.micros()).await?;
    let lost: Vec<(i64, i64)> =
        sqlx::query_as("SELECT first_at, last_at FROM gaps WHERE transitions > 0 AND first_at < ? AND last_at >= ?")
            .bind(to)
            .bind(from)
            .fetch_all(&mut *reader)
            .await?;
    let known: Vec<(i64, String, i64)> = sqlx::query_as(
        "SELECT key, id, first_at FROM breakers WHERE id IN (SELECT value FROM json_each(?)) ORDER BY key",
    )
    .bind(serde_json::Value::from(ids).to_string())
    .fetch_all(&mut *reader)
    .await?;
    let keys = serde_json::Value::from_iter(known.iter().map(|(key, ..)| *key)).to_string();
    let before: Vec<Row> = sqlx::query_as(
        "SELECT row.breaker, row.seq, row.at, row.from_state, row.to_state, row.held
         FROM json_each(?1) AS one CROSS JOIN transitions AS row ON row.seq = (
             SELECT seq FROM transitions WHERE breaker = one.value AND at <= ?2 ORDER BY at DESC, seq DESC LIMIT 1)",
    )
    .bind(&keys)
    .bind(from)
    .fetch_all(&mut *reader)
    .await?;
    let inside: Vec<Row> = sqlx::query_as(
        "SELECT row.breaker, row.seq, row.at, row.from_state, row.to_state, row.held
         FROM json_each(?1) AS one CROSS JOIN transitions AS row INDEXED BY transitions_lane
             ON row.breaker = one.value AND row.at > ?2 AND row.at < ?3
         ORDER BY row.breaker, row.seq",
    )
    .bind(&keys)
    .bind(from)
    .bind(to)
    .fetch_all(&mut *reader)
    .await?;
    reader.rollback().await?;

    let mut by_key: HashMap<i64, Vec<Change>> = HashMap::with_capacity(known.len());
    for row in before.into_iter().chain(inside) {
        by_key.entry(row.breaker).or_default().push(row.change());
    }
    let mut by_id: HashMap<&str, (Option<i64>, Vec<Change>)> = HashMap::with_capacity(ids.len());
    for (key, id, first_at) in &known {
        by_id.insert(id, (Some(*first_at), by_key.remove(key).unwrap_or_default()));
    }
    let strip = |id: &String| {
        let (first_at, mut changes) = by_id.remove(id.as_str()).unwrap_or_default();
        let newest = changes.last().map_or(0, |change| change.seq);
        let waiting = unwritten.get(id).into_iter().flatten();
        changes.extend(waiting.filter(|change| change.seq > newest && change.at < to).cloned());
        Strip::new((from, to), first_at, &changes, &watched, &lost)
    };
    Ok(ids.iter().map(strip).collect())
}

#[cfg(test)]
mod tests;
