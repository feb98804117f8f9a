//! The statements that write what happened, many rows each.

use fuseboard::history::incidents::course::Course;
use fuseboard_app::wire::{
    breaker::{Mode, State},
    incident::IncidentKind,
};
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use super::life::HELD;

pub(super) const REASON: &str = "mirror was replaced";

/// A transition on its way into the store.
pub(super) struct Row {
    pub(super) seq: u64,
    pub(super) boot: i64,
    pub(super) key: i64,
    pub(super) at: i64,
    pub(super) from: State,
    pub(super) to: State,
    /// The override before and after.
    pub(super) before: Option<Mode>,
    pub(super) held: Option<Mode>,
    pub(super) generation: i64,
    pub(super) cause: String,
    /// What an operator did, as the audit says it.
    pub(super) action: Option<&'static str>,
}

/// A probe on its way into the store.
pub(super) struct Probe {
    pub(super) seq: u64,
    pub(super) boot: i64,
    pub(super) key: i64,
    pub(super) at: i64,
    pub(super) generation: i64,
    pub(super) good: bool,
}

/// An incident, of which breaker, and how many calls it refused.
pub(super) type Counted = (usize, Course, i64);

/// Writes what has gathered.
pub(super) async fn flush(
    store: &mut SqliteConnection,
    rows: &mut Vec<Row>,
    probes: &mut Vec<Probe>,
    incidents: &mut Vec<Counted>,
) {
    transitions(store, rows).await;
    for row in rows.iter().filter(|row| row.before != row.held) {
        held(store, row).await;
    }
    for row in rows.iter() {
        if let Some(action) = row.action {
            audit(store, row, action).await;
        }
    }
    if !probes.is_empty() {
        write_probes(store, probes).await;
    }
    if !incidents.is_empty() {
        write_incidents(store, incidents).await;
    }
    rows.clear();
    probes.clear();
    incidents.clear();
}

async fn transitions(store: &mut SqliteConnection, rows: &[Row]) {
    let mut sql = QueryBuilder::<Sqlite>::new(
        "INSERT INTO transitions (seq, boot, breaker, at, from_state, to_state, held, generation, cause, actor,
         actor_verified, actor_via, reason) ",
    );
    sql.push_values(rows, |mut values, row| {
        let by = |text: &'static str| row.action.map(|_| text);
        values.push_bind(row.seq.cast_signed()).push_bind(row.boot).push_bind(row.key).push_bind(row.at);
        values.push_bind(state_word(row.from)).push_bind(state_word(row.to)).push_bind(row.held.map(mode_word));
        values.push_bind(row.generation).push_bind(row.cause.as_str());
        values.push_bind(by("ana")).push_bind(row.action.map(|_| false)).push_bind(by("board")).push_bind(by(REASON));
    });
    sql.build().execute(store).await.expect("they are written");
}

async fn held(store: &mut SqliteConnection, row: &Row) {
    let (what, mode) = match (row.before, row.held) {
        (_, Some(mode)) => ("set", mode),
        (Some(mode), None) => ("ended", mode),
        (None, None) => return,
    };
    sqlx::query(
        "INSERT INTO overrides (seq, breaker, at, what, mode, reason, actor, actor_verified, actor_via, until)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(row.seq.cast_signed())
    .bind(row.key)
    .bind(row.at)
    .bind(what)
    .bind(mode_word(mode))
    .bind(row.action.map(|_| REASON))
    .bind(row.action.map(|_| "ana"))
    .bind(row.action.map(|_| false))
    .bind(row.action.map(|_| "board"))
    .bind(row.held.map(|_| row.at + HELD))
    .execute(store)
    .await
    .expect("it is written");
}

async fn audit(store: &mut SqliteConnection, row: &Row, action: &str) {
    let mut detail = serde_json::json!({ "changed": true });
    if let Some(mode) = row.held {
        detail["mode"] = mode_word(mode).into();
    }
    sqlx::query(
        "INSERT INTO audit (seq, boot, at, actor, actor_verified, actor_via, action, breaker, reason, detail)
         VALUES (?, ?, ?, 'ana', 0, 'board', ?, ?, ?, ?)",
    )
    .bind(row.seq.cast_signed() + 1)
    .bind(row.boot)
    .bind(row.at)
    .bind(action)
    .bind(row.key)
    .bind(REASON)
    .bind(detail.to_string())
    .execute(store)
    .await
    .expect("it is written");
}

async fn write_probes(store: &mut SqliteConnection, rows: &[Probe]) {
    let mut sql = QueryBuilder::<Sqlite>::new(
        "INSERT INTO probes (seq, boot, breaker, at, duration, generation, outcome, phase, status, method, path, synthetic) ",
    );
    sql.push_values(rows, |mut values, row| {
        let (outcome, phase, status) = if row.good { ("success", None, 200) } else { ("failure", Some("head"), 503) };
        values.push_bind(row.seq.cast_signed()).push_bind(row.boot).push_bind(row.key).push_bind(row.at);
        values.push("18000").push_bind(row.generation).push_bind(outcome).push_bind(phase).push_bind(status);
        values.push("'GET'").push("'/lodash'").push("0");
    });
    sql.build().execute(store).await.expect("they are written");
}

async fn write_incidents(store: &mut SqliteConnection, incidents: &[Counted]) {
    let text = |cause| serde_json::to_string(cause).expect("it is written");
    let mut sql = QueryBuilder::<Sqlite>::new(
        "INSERT INTO incidents (seq, boot, breaker, kind, started_at, ended_at, last_seq, marked_at, is_down, down,
         unknown, opens, good, bad, lost, void, overrides, cause, actor, actor_verified, actor_via, reason, ended_by) ",
    );
    sql.push_values(incidents, |mut values, (breaker, course, _)| {
        let (opening, so_far, ending) = (&course.opening, &course.so_far, course.ending.as_deref());
        let kind = if opening.kind == IncidentKind::Held { "held" } else { "tripped" };
        values
            .push_bind(opening.seq.cast_signed())
            .push_bind(opening.boot.cast_signed())
            .push_bind(*breaker as i64 + 1);
        values.push_bind(kind).push_bind(opening.at).push_bind(ending.map(|ending| ending.at));
        values.push_bind(ending.map(|ending| ending.seq.cast_signed())).push_bind(so_far.marked_at);
        values.push_bind(so_far.is_down).push_bind(so_far.down).push_bind(so_far.unknown);
        values.push_bind(so_far.opens.cast_signed()).push_bind(so_far.probes.good.cast_signed());
        values.push_bind(so_far.probes.bad.cast_signed()).push("0").push("0").push_bind(so_far.overrides.cast_signed());
        values.push_bind(text(&opening.cause)).push_bind(opening.actor.as_ref().map(|_| "ana"));
        values.push_bind(opening.actor.as_ref().map(|_| false)).push_bind(opening.actor.as_ref().map(|_| "board"));
        values.push_bind(opening.reason.as_ref().map(|_| REASON));
        values.push_bind(ending.and_then(|ending| ending.cause.as_ref()).map(text));
    });
    sql.build().execute(&mut *store).await.expect("they are written");
    let mut sql = QueryBuilder::<Sqlite>::new("INSERT INTO incident_calls (incident, failed, refused, paths, agents) ");
    sql.push_values(incidents, |mut values, (_, course, refused)| {
        let tripped = if course.opening.kind == IncidentKind::Tripped { 5 } else { 0 };
        let most =
            |name: &str| if *refused > 0 { serde_json::json!([[name, refused]]).to_string() } else { "[]".into() };
        values.push_bind(course.opening.seq.cast_signed()).push_bind(tripped + course.so_far.probes.bad.cast_signed());
        values.push_bind(*refused).push_bind(most("/lodash")).push_bind(most("npm/10"));
    });
    sql.build().execute(store).await.expect("they are written");
}

pub(super) fn state_word(state: State) -> &'static str {
    match state {
        State::Closed => "closed",
        State::Open => "open",
        State::HalfOpen => "half_open",
    }
}

pub(super) fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::ForcedOpen => "forced_open",
        Mode::ForcedClosed => "forced_closed",
    }
}
