//! Lanes: what a breaker was over a stretch of time, exact to the millisecond.
//!
//! Ranges so long that a pixel is an hour or more are drawn from the roll-up, save for their two ends; so is time whose
//! transitions are deleted.
//!
//! A span comes from the transition that began it. The state before the window is looked up; what no run watched, what
//! was before the breaker's first row, and what was given up, is unknown. Transitions the store has not taken yet are
//! handed in by whoever asks, so that a lane is right also while the store refuses.

mod cover;
mod draw;
pub(crate) mod rolled;

use std::collections::HashMap;

use fuseboard_app::wire::{
    breaker::{Mode, State},
    time::Time,
    timeline::{Lane, Timeline},
};
use sqlx::{SqliteConnection, SqlitePool};

use self::{
    cover::{Part, Sources},
    draw::{Strip, Totals, ms},
};
use super::{
    columns::{columns, numbers, rows_of},
    runs, unsigned,
};

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

/// A breaker the store knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::history) struct Breaker {
    pub(in crate::history) key: i64,
    pub(in crate::history) id: String,
    /// When it was first heard of.
    pub(in crate::history) first_at: i64,
}

/// What is known of a stretch of time, whatever the breaker.
struct Watched {
    runs: Vec<(i64, i64)>,
    /// Transitions were given up from when to when.
    lost: Vec<(i64, i64)>,
}

impl Watched {
    async fn read(
        reader: &mut SqliteConnection,
        (from, to): (i64, i64),
        boot: u64,
        now: i64,
    ) -> Result<Self, sqlx::Error> {
        let runs = runs::watched(&mut *reader, (from, to), boot, now).await?;
        let lost = sqlx::query_as(
            "SELECT first_at, last_at FROM gaps WHERE transitions > 0 AND first_at < ? AND last_at >= ?",
        )
        .bind(to)
        .bind(from)
        .fetch_all(reader)
        .await?;
        Ok(Self { runs, lost })
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
    let (from, to) = (window.from, end(window));
    let step = draw::step(from, to, window.width);
    let drawn = drawn(pool, &[id.to_owned()], window, step, unwritten).await?;
    let (strip, cooldowns) = drawn.into_iter().next().unwrap_or_default();
    Ok(strip.lane(id, from, to, step, &cooldowns))
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
    let drawn = drawn(pool, ids, window, step, unwritten).await?;
    let lanes = drawn.iter().zip(ids);
    let lanes = lanes.map(|((strip, cooldowns), id)| strip.lane(id, window.from, to, step, cooldowns)).collect();
    Ok(Timeline { from: window.from, to, step_ms: step, lanes, next: None })
}

fn end(window: &Window) -> Time {
    window.to.min(window.now).max(window.from)
}

type Drawn = (Strip, Vec<(u64, u64)>);

/// Each breaker's spans and cool-downs, from one view of the file.
async fn drawn(
    pool: &SqlitePool,
    ids: &[String],
    window: &Window,
    step: u64,
    unwritten: &HashMap<String, Vec<Change>>,
) -> Result<Vec<Drawn>, sqlx::Error> {
    let (from, to) = (window.from.micros(), end(window).micros());
    let mut reader = pool.begin().await?;
    let watched = Watched::read(&mut reader, (from, to), window.boot, window.now.micros()).await?;
    let breakers = known(&mut reader, ids).await?;
    let step = i64::try_from(step).unwrap_or(i64::MAX / 1_000).saturating_mul(1_000);
    let mut strips: Vec<Strip> = breakers.iter().map(|_| Strip::default()).collect();
    for part in Sources::read(&mut reader).await?.cover((from, to), step) {
        match part {
            Part::Unknown(from, to) => {
                strips.iter_mut().for_each(|strip| strip.extend_rolled(ms(to - from), Totals::default()))
            }
            Part::Exact(from, to) => {
                let exact = exact(&mut reader, &breakers, (from, to), &watched, unwritten).await?;
                strips.iter_mut().zip(exact).for_each(|(strip, exact)| strip.extend(exact));
            }
            Part::Rolled { span, count, from, to } => {
                let rolled = rolled::read(&mut reader, &breakers, (span, from, to), count).await?;
                for (strip, breaker) in strips.iter_mut().zip(&breakers) {
                    let mut at = from;
                    for totals in rolled.get(&breaker.key).into_iter().flatten() {
                        let next = (at + span * count).min(to);
                        strip.extend_rolled(ms(next - at), *totals);
                        at = next;
                    }
                }
            }
        }
    }
    let mut cooldowns = cooldowns(&mut reader, &breakers, (from, to)).await?;
    reader.rollback().await?;
    let with = |(strip, breaker): (Strip, &Breaker)| (strip, cooldowns.remove(&breaker.key).unwrap_or_default());
    Ok(strips.into_iter().zip(&breakers).map(with).collect())
}

/// Each of these, in their order. One the store has not heard of has no key.
async fn known(reader: &mut SqliteConnection, ids: &[String]) -> Result<Vec<Breaker>, sqlx::Error> {
    let packed: Option<String> = sqlx::query_scalar(
        "SELECT group_concat(one.key) || '|' || group_concat(breakers.key) || '|' || group_concat(first_at)
         FROM json_each(?) AS one CROSS JOIN breakers ON breakers.id = one.value",
    )
    .bind(serde_json::Value::from(ids).to_string())
    .fetch_one(reader)
    .await?;
    let unheard = |id: &String| Breaker { key: 0, id: id.clone(), first_at: i64::MAX };
    let mut known: Vec<Breaker> = ids.iter().map(unheard).collect();
    for [index, key, first_at] in rows_of(packed.as_deref()) {
        if let Some(breaker) = usize::try_from(index).ok().and_then(|index| known.get_mut(index)) {
            (breaker.key, breaker.first_at) = (key, first_at);
        }
    }
    Ok(known)
}

/// Every breaker heard of before then.
pub(in crate::history) async fn heard_of(
    reader: &mut SqliteConnection,
    before: i64,
) -> Result<Vec<Breaker>, sqlx::Error> {
    let rows: Vec<(i64, String, i64)> =
        sqlx::query_as("SELECT key, id, first_at FROM breakers WHERE first_at < ? ORDER BY key")
            .bind(before)
            .fetch_all(reader)
            .await?;
    Ok(rows.into_iter().map(|(key, id, first_at)| Breaker { key, id, first_at }).collect())
}

/// Spans from the transitions themselves.
async fn exact(
    reader: &mut SqliteConnection,
    breakers: &[Breaker],
    (from, to): (i64, i64),
    watched: &Watched,
    unwritten: &HashMap<String, Vec<Change>>,
) -> Result<Vec<Strip>, sqlx::Error> {
    let keys = serde_json::Value::from_iter(breakers.iter().map(|breaker| breaker.key)).to_string();
    let (before, inside): (Option<String>, Option<String>) = sqlx::query_as(
        "SELECT (
            SELECT group_concat(row.breaker) || '|' || group_concat(row.seq) || '|' || group_concat(row.at - ?2) || '|'
                || group_concat(substr(from_state, 1, 1) || substr(to_state, 1, 1) || coalesce(substr(held, 8, 1), '-'))
            FROM json_each(?1) AS one CROSS JOIN transitions AS row ON row.seq = coalesce(
                -- The newest one, also where its time is not the latest since the clock went back.
                (SELECT newest.seq FROM breakers CROSS JOIN transitions AS newest ON newest.seq = changed_seq
                 WHERE breakers.key = one.value AND newest.at <= ?2),
                (SELECT seq FROM transitions INDEXED BY transitions_lane
                 WHERE breaker = one.value AND at <= ?2 ORDER BY at DESC, seq DESC LIMIT 1))
         ), (
            SELECT group_concat(row.breaker) || '|' || group_concat(row.seq) || '|' || group_concat(row.at - ?2) || '|'
                || group_concat(substr(from_state, 1, 1) || substr(to_state, 1, 1) || coalesce(substr(held, 8, 1), '-'))
            FROM json_each(?1) AS one CROSS JOIN transitions AS row INDEXED BY transitions_lane
                ON row.breaker = one.value AND row.at > ?2 AND row.at < ?3
         )",
    )
    .bind(&keys)
    .bind(from)
    .bind(to)
    .fetch_one(reader)
    .await?;
    let mut by_key: HashMap<i64, Vec<Change>> = HashMap::new();
    for (key, change) in unpack(before.as_deref(), from) {
        by_key.insert(key, vec![change]);
    }
    for (key, change) in unpack(inside.as_deref(), from) {
        by_key.entry(key).or_default().push(change);
    }
    let strip = |breaker: &Breaker| {
        let mut changes = by_key.remove(&breaker.key).unwrap_or_default();
        // What came before the one in force is over, though the clock said a later time then.
        let in_force = changes.first().filter(|change| change.at <= from).map_or(0, |change| change.seq);
        changes.retain(|change| change.seq >= in_force);
        changes.sort_by_key(|change| change.seq);
        let newest = changes.last().map_or(0, |change| change.seq);
        let waiting = unwritten.get(&breaker.id).into_iter().flatten();
        changes.extend(waiting.filter(|change| change.seq > newest && change.at < to).cloned());
        let first_at = (breaker.first_at < i64::MAX).then_some(breaker.first_at);
        Strip::new((from, to), first_at, &changes, &watched.runs, &watched.lost)
    };
    Ok(breakers.iter().map(strip).collect())
}

/// Transitions from their breakers' keys, their numbers, their times after `from`, and the first letters of their states
/// and of the mode.
fn unpack(packed: Option<&str>, from: i64) -> impl Iterator<Item = (i64, Change)> {
    columns::<4>(packed).into_iter().flat_map(move |[keys, seqs, times, letters]| {
        let rows = numbers(keys).zip(numbers(seqs)).zip(numbers(times)).zip(letters.split(','));
        rows.filter_map(move |(((key, seq), after), letters)| {
            let state = |letter: &u8| match letter {
                b'o' => State::Open,
                b'h' => State::HalfOpen,
                _ => State::Closed,
            };
            let &[was, is, held] = letters.as_bytes().first_chunk()?;
            let held = match held {
                b'o' => Some(Mode::ForcedOpen),
                b'c' => Some(Mode::ForcedClosed),
                _ => None,
            };
            let (seq, at) = (unsigned(seq), from + after);
            Some((key, Change { seq, at, from: state(&was), to: state(&is), held }))
        })
    })
}

/// When each breaker answered for its host as that had asked, in ms after `from`.
async fn cooldowns(
    reader: &mut SqliteConnection,
    breakers: &[Breaker],
    (from, to): (i64, i64),
) -> Result<HashMap<i64, Vec<(u64, u64)>>, sqlx::Error> {
    let keys = serde_json::Value::from_iter(breakers.iter().map(|breaker| breaker.key)).to_string();
    let packed: Option<String> = sqlx::query_scalar(
        "SELECT group_concat(row.breaker) || '|' || group_concat(row.at) || '|'
            || group_concat(CASE json_extract(row.cause, '$.kind') WHEN 'cooldown_started'
                THEN 1000 * coalesce(json_extract(row.cause, '$.wait_ms'), 0) ELSE -1 END)
         FROM json_each(?1) AS one CROSS JOIN transitions AS row INDEXED BY transitions_cooldown
             ON row.breaker = one.value AND row.at < ?3 AND row.at >= coalesce((
                 SELECT max(at) FROM transitions AS earlier INDEXED BY transitions_cooldown
                 WHERE earlier.breaker = one.value AND earlier.at <= ?2
                 AND json_extract(earlier.cause, '$.kind') IN ('cooldown_started', 'cooldown_ended', 'reset', 'evicted')),
                 ?2)
         WHERE json_extract(row.cause, '$.kind') IN ('cooldown_started', 'cooldown_ended', 'reset', 'evicted')",
    )
    .bind(keys)
    .bind(from)
    .bind(to)
    .fetch_one(reader)
    .await?;
    let mut rows: Vec<[i64; 3]> = rows_of(packed.as_deref()).collect();
    rows.sort_unstable();
    let mut all: HashMap<i64, Vec<(u64, u64)>> = HashMap::new();
    for (index, &[key, start, wait]) in rows.iter().enumerate().filter(|(_, [.., wait])| *wait >= 0) {
        // It lasts as long as was asked for, beyond what is asked about too, or until the next one, its end or a reset.
        let next = rows[index..].iter().take_while(|[other, ..]| *other == key).find(|[_, at, _]| *at > start);
        let end = next.map_or(start + wait, |[_, at, _]| (start + wait).min(*at));
        if end > from {
            all.entry(key).or_default().push((ms(start - from), ms(end - from)));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
