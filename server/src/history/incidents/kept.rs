//! How an incident is written: with the row that changed it, in the commit of that row.

use fuseboard_app::wire::{
    event::Cause,
    incident::{IncidentKind, ProbeTally},
};
use sqlx::SqliteConnection;

use super::course::Course;
use crate::{history::signed, tally::TallyRow};

/// Writes an incident as it is at its newest row.
pub(crate) async fn put(connection: &mut SqliteConnection, key: i64, course: &Course) -> Result<(), sqlx::Error> {
    let (opening, so_far, ending) = (&course.opening, &course.so_far, course.ending.as_deref());
    let text = |cause: &Cause| serde_json::to_string(cause).unwrap_or_default();
    sqlx::query(
        "INSERT INTO incidents (seq, boot, breaker, kind, started_at, ended_at, last_seq, marked_at, is_down, down,
         unknown, opens, good, bad, lost, void, overrides, cause, actor, actor_verified, actor_via, reason, ended_by,
         upstreams) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (seq) DO UPDATE SET ended_at = excluded.ended_at, last_seq = excluded.last_seq,
         marked_at = excluded.marked_at, is_down = excluded.is_down, down = excluded.down, unknown = excluded.unknown,
         opens = excluded.opens, good = excluded.good, bad = excluded.bad, lost = excluded.lost, void = excluded.void,
         overrides = excluded.overrides, ended_by = excluded.ended_by",
    )
    .bind(signed(opening.seq))
    .bind(signed(opening.boot))
    .bind(key)
    .bind(match opening.kind {
        IncidentKind::Tripped => "tripped",
        IncidentKind::Held => "held",
    })
    .bind(opening.at)
    .bind(ending.map(|ending| ending.at))
    .bind(ending.map(|ending| signed(ending.seq)))
    .bind(so_far.marked_at)
    .bind(so_far.is_down)
    .bind(so_far.down)
    .bind(so_far.unknown)
    .bind(signed(so_far.opens))
    .bind(signed(so_far.probes.good))
    .bind(signed(so_far.probes.bad))
    .bind(signed(so_far.probes.lost))
    .bind(signed(so_far.probes.void))
    .bind(signed(so_far.overrides))
    .bind(text(&opening.cause))
    .bind(opening.actor.as_ref().map(|actor| &actor.name))
    .bind(opening.actor.as_ref().map(|actor| actor.verified))
    .bind(opening.actor.as_ref().map(|actor| &actor.via))
    .bind(&opening.reason)
    .bind(ending.and_then(|ending| ending.cause.as_ref()).map(text))
    .bind(opening.upstreams.as_deref().map(|names| serde_json::Value::from(names).to_string()))
    .execute(connection)
    .await?;
    Ok(())
}

/// Notes that a breaker has an incident under the names of these upstreams.
pub(crate) async fn put_upstreams(
    connection: &mut SqliteConnection,
    key: i64,
    course: &Course,
) -> Result<(), sqlx::Error> {
    for upstream in course.opening.upstreams.iter().flatten() {
        sqlx::query("INSERT OR IGNORE INTO incident_upstreams (upstream, breaker) VALUES (?, ?)")
            .bind(upstream)
            .bind(key)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

/// Writes how the probes of incidents went that are in the store and did not change otherwise: all of them at once, since
/// a busy half-open breaker has many a second.
pub(crate) async fn put_probes(
    connection: &mut SqliteConnection,
    probed: &[(u64, ProbeTally)],
) -> Result<(), sqlx::Error> {
    if probed.is_empty() {
        return Ok(());
    }
    let row =
        |(seq, probes): &(u64, ProbeTally)| serde_json::json!([seq, probes.good, probes.bad, probes.lost, probes.void]);
    sqlx::query(
        "UPDATE incidents SET good = one.value ->> 1, bad = one.value ->> 2, lost = one.value ->> 3,
         void = one.value ->> 4 FROM json_each(?) AS one WHERE incidents.seq = one.value ->> 0",
    )
    .bind(serde_json::Value::from_iter(probed.iter().map(row)).to_string())
    .execute(connection)
    .await?;
    Ok(())
}

/// Ends what a lost closing row left open: this breaker's next incident has begun.
pub(crate) async fn end_earlier(
    connection: &mut SqliteConnection,
    key: i64,
    seq: u64,
    at: i64,
) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE incidents SET
         ended_at = max(marked_at, min(?3, coalesce((SELECT max(last_at) FROM gaps WHERE first < ?2), ?3))),
         last_seq = (SELECT max(seq) FROM transitions WHERE breaker = ?1 AND seq < ?2)
         WHERE breaker = ?1 AND ended_at IS NULL AND seq < ?2",
    )
    .bind(key)
    .bind(signed(seq))
    .bind(at)
    .execute(connection)
    .await?;
    Ok(())
}

/// Ends, at a start, what a lost closing row left open: the breaker was written closed since.
pub(in crate::history) async fn end_closed(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    sqlx::query(
        "UPDATE incidents SET ended_at = max(marked_at, now.since), last_seq = now.changed_seq FROM breakers AS now
         WHERE seq IN (SELECT seq FROM incidents INDEXED BY incidents_open WHERE ended_at IS NULL) AND now.key = breaker AND now.state = 'closed' AND now.held_mode IS NOT 'forced_open'",
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Writes what an incident counted so far.
pub(crate) async fn put_counted(connection: &mut SqliteConnection, row: &TallyRow) -> Result<(), sqlx::Error> {
    let tally = &row.tally;
    sqlx::query(
        "INSERT OR REPLACE INTO incident_calls (incident, failed, refused, paths, agents) VALUES (?, ?, ?, ?, ?)",
    )
    .bind(signed(row.incident))
    .bind(signed(tally.failed))
    .bind(signed(tally.refused))
    .bind(tally.paths.to_json())
    .bind(tally.agents.to_json())
    .execute(connection)
    .await?;
    Ok(())
}
