//! Changes of state, override or cool-down.

use fuseboard_app::wire::{
    event::{Cause, Page, Transition},
    time::Time,
};
use sqlx::{FromRow, QueryBuilder, Sqlite, SqliteConnection, SqliteExecutor};

use super::{
    PageQuery, groups, mode_word, numbered::Kind, signed, state_word, unsigned, word_actor, word_mode, word_state,
};

pub(super) const SELECT: &str =
    "SELECT row.seq, runs.node, breakers.id, row.at, row.from_state, row.to_state, row.held,
     row.generation, row.cause, row.actor, row.actor_verified, row.actor_via, row.reason
     FROM transitions AS row JOIN runs USING (boot) JOIN breakers ON breakers.key = row.breaker";

#[derive(FromRow)]
struct Row {
    seq: i64,
    node: String,
    id: String,
    at: i64,
    from_state: String,
    to_state: String,
    held: Option<String>,
    generation: i64,
    cause: String,
    actor: Option<String>,
    actor_verified: Option<bool>,
    actor_via: Option<String>,
    reason: Option<String>,
}

impl From<Row> for Transition {
    fn from(row: Row) -> Self {
        let unreadable = |_| Cause { kind: "unreadable".into(), detail: serde_json::Map::new() };
        Self {
            seq: unsigned(row.seq),
            node: row.node,
            breaker: row.id,
            at: Time::from_micros(row.at),
            from: word_state(&row.from_state),
            to: word_state(&row.to_state),
            held: row.held.as_deref().and_then(word_mode),
            generation: unsigned(row.generation),
            cause: serde_json::from_str(&row.cause).unwrap_or_else(unreadable),
            actor: word_actor(row.actor, row.actor_verified, row.actor_via),
            reason: row.reason,
        }
    }
}

/// One page of transitions.
///
/// # Errors
/// The store refuses.
pub async fn page(reader: impl SqliteExecutor<'_>, query: &PageQuery) -> Result<Page<Transition>, sqlx::Error> {
    query.page::<Row, Transition>(reader, Kind::Transitions, SELECT, |row| row.seq).await
}

/// How many of one breaker there are between `after` and `until`.
///
/// # Errors
/// The store refuses.
pub async fn count(reader: impl SqliteExecutor<'_>, query: &PageQuery) -> Result<u64, sqlx::Error> {
    let count: i64 = sqlx::query_scalar(
        "SELECT count(*) FROM transitions
         WHERE breaker = (SELECT key FROM breakers WHERE id = ?) AND seq > ? AND seq <= ?",
    )
    .bind(&query.breaker)
    .bind(signed(query.after.unwrap_or(0)))
    .bind(signed(query.until.unwrap_or(u64::MAX)))
    .fetch_one(reader)
    .await?;
    Ok(unsigned(count))
}

/// The transition each breaker stood in just before a time, by breaker, those behind this one.
///
/// # Errors
/// The store refuses.
pub async fn in_force(
    reader: impl SqliteExecutor<'_>,
    breaker: Option<&str>,
    before: Time,
    after: &str,
    limit: u32,
) -> Result<Vec<Transition>, sqlx::Error> {
    let mut sql = QueryBuilder::<Sqlite>::new(SELECT);
    sql.push(" WHERE breakers.id > ").push_bind(after);
    if let Some(breaker) = breaker {
        sql.push(" AND breakers.id = ").push_bind(breaker);
    }
    sql.push(" AND row.seq = (SELECT seq FROM transitions WHERE breaker = breakers.key AND at < ")
        .push_bind(before.micros())
        .push(" ORDER BY at DESC, seq DESC LIMIT 1) ORDER BY breakers.id LIMIT ")
        .push_bind(limit);
    let rows: Vec<Row> = sql.build_query_as().fetch_all(reader).await?;
    Ok(rows.into_iter().map(Transition::from).collect())
}

/// Few numbers to look up, instead of every row.
pub(super) const NEWEST: &str =
    " WHERE row.seq IN (SELECT changed_seq FROM breakers) AND breakers.changed_seq = row.seq";

/// The newest transition of every breaker that has one.
///
/// # Errors
/// The store refuses.
pub async fn newest_of_each(reader: impl SqliteExecutor<'_>) -> Result<Vec<Transition>, sqlx::Error> {
    let mut sql = QueryBuilder::<Sqlite>::new(SELECT);
    sql.push(NEWEST);
    let rows: Vec<Row> = sql.build_query_as().fetch_all(reader).await?;
    Ok(rows.into_iter().map(Transition::from).collect())
}

/// Writes transitions with their breakers' keys. A number already there is the same row, from a commit whose answer got
/// lost.
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    boot: u64,
    rows: &[(i64, &Transition)],
) -> Result<(), sqlx::Error> {
    for group in groups(rows) {
        let mut sql = QueryBuilder::<Sqlite>::new(
            "INSERT INTO transitions (seq, boot, breaker, at, from_state, to_state, held, generation, cause, actor,
             actor_verified, actor_via, reason) ",
        );
        sql.push_values(group, |mut values, (key, row)| {
            let cause = serde_json::to_string(&row.cause).unwrap_or_default();
            values
                .push_bind(signed(row.seq))
                .push_bind(signed(boot))
                .push_bind(*key)
                .push_bind(row.at.micros())
                .push_bind(state_word(row.from))
                .push_bind(state_word(row.to))
                .push_bind(row.held.map(mode_word))
                .push_bind(signed(row.generation))
                .push_bind(cause)
                .push_bind(row.actor.as_ref().map(|actor| actor.name.clone()))
                .push_bind(row.actor.as_ref().map(|actor| actor.verified))
                .push_bind(row.actor.as_ref().map(|actor| actor.via.clone()))
                .push_bind(row.reason.clone());
        });
        sql.push(" ON CONFLICT (seq) DO NOTHING").build().execute(&mut *connection).await?;
    }
    Ok(())
}
