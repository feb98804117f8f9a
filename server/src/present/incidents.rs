//! Incidents as API and board show them: what is stored, what waits for the store, and what is counted at this moment.

use std::collections::HashMap;

use fuseboard_app::{
    backend::IncidentFilter,
    wire::{
        event::{Page, Transition},
        incident::{Incident, IncidentDetail, Refusals, Wait},
    },
};

use super::record;
use crate::{
    app::App,
    fault::Fault,
    history::{
        PAGE_MAX, PageQuery, breakers,
        incidents::{self, IncidentQuery, OfUpstream, Stored},
        transitions,
    },
    stamp::micros,
    tally::{Tally, top::Top},
};

/// Refused paths and user agents shown of one incident.
const TOP: usize = 20;

/// One page of the incidents asked for.
///
/// # Errors
/// No such upstream, or the store refuses.
pub async fn list(app: &App, filter: &IncidentFilter) -> Result<Page<Incident>, Fault> {
    let query = query(app, filter).await?;
    let now = micros(app.clock.wall());
    // Read before the store: what is written meanwhile is then in both.
    let waiting = app.journal.unwritten_incidents();
    let read = async {
        let mut reader = app.db.read().begin().await?;
        incidents::page(&mut reader, &query).await
    };
    let stored = read.await.map_err(Fault::from)?;
    let mut rows = overlay(stored, waiting, &query);
    let more = rows.len() > query.limit();
    rows.truncate(query.limit());
    incidents::go_on(app.db.read(), &mut rows, app.live.cursor().boot, now).await.map_err(Fault::from)?;
    let next = rows.last().filter(|_| more).map(|last| last.course.opening.seq);
    let rows = rows.into_iter().map(|one| shown(app, one).0).collect();
    Ok(Page { rows, next })
}

/// One incident with everything known of it.
///
/// # Errors
/// No such incident, or the store refuses.
pub async fn one(app: &App, id: u64) -> Result<IncidentDetail, Fault> {
    let unknown = || Fault::UnknownIncident { id: id.to_string() };
    let now = micros(app.clock.wall());
    let waiting = app.journal.unwritten_incidents().remove(&id);
    let read = async {
        let stored = incidents::one(app.db.read(), id).await?;
        let Some(mut one) = newer(stored, waiting) else { return Ok(None) };
        incidents::go_on(app.db.read(), std::slice::from_mut(&mut one), app.live.cursor().boot, now).await?;
        let rows = PageQuery {
            breaker: Some(one.breaker.clone()),
            after: Some(id.saturating_sub(1)),
            until: one.course.ending.as_ref().map(|ending| ending.seq),
            limit: Some(PAGE_MAX),
            ..PageQuery::default()
        };
        let tally = incidents::counted(app.db.read(), id).await?;
        Ok::<_, sqlx::Error>(Some((one, rows, tally)))
    };
    let (one, rows, stored) = read.await.map_err(Fault::from)?.ok_or_else(unknown)?;
    let Page { rows: transitions, next } = record::transitions(app, &rows).await?;
    let more_transitions = match next {
        Some(last) => {
            let rest = PageQuery { after: Some(last), ..rows };
            let waiting = app.journal.unwritten_rows::<Transition>(&rest).len() as u64;
            waiting + transitions::count(app.db.read(), &rest).await.map_err(Fault::from)?
        }
        None => 0,
    };
    let (mut incident, live) = shown(app, one);
    let tally = live.unwrap_or(stored);
    if let Some(opening) = transitions.first().filter(|opening| opening.seq == id) {
        incident.cause = opening.cause.clone();
    }
    let waits = transitions.iter().filter_map(wait).collect();
    let (refused_paths, refused_agents) = (refusals(&tally.paths), refusals(&tally.agents));
    Ok(IncidentDetail { incident, transitions, more_transitions, waits, refused_paths, refused_agents })
}

async fn query(app: &App, filter: &IncidentFilter) -> Result<IncidentQuery, Fault> {
    let mut breakers = filter.breaker.clone().map(|id| vec![id]);
    let upstreams = app.upstreams.load_full();
    let mut upstream = None;
    if let Some(name) = &filter.upstream {
        let mut found = incidents::breakers_of(app.db.read(), name).await.map_err(Fault::from)?;
        let breaker = upstreams.get(name).map(|entry| entry.breaker.to_string());
        found.extend(breaker.clone());
        if found.is_empty() {
            let names = upstreams.names().join(", ");
            let why = format!("has no incident on record and is none of those configured: {names}");
            return Err(Fault::field("upstream", why));
        }
        narrow(&mut breakers, found);
        upstream = Some(OfUpstream { name: name.clone(), breaker });
    }
    if let Some(text) = &filter.q {
        let mut found = breakers::named(app.db.read(), text).await.map_err(Fault::from)?;
        let text = text.to_lowercase();
        let by_name = upstreams.iter().filter(|entry| entry.upstream.name.to_lowercase().contains(&text));
        found.extend(by_name.map(|entry| entry.breaker.to_string()));
        narrow(&mut breakers, found);
    }
    Ok(IncidentQuery {
        breakers,
        upstream,
        from: filter.from,
        to: filter.to,
        open: filter.open,
        before: filter.before,
        after: filter.after,
        limit: filter.limit,
    })
}

/// Keeps what is in both.
fn narrow(breakers: &mut Option<Vec<String>>, found: Vec<String>) {
    match breakers {
        Some(kept) => kept.retain(|id| found.contains(id)),
        None => *breakers = Some(found),
    }
}

/// Puts what waits for the store over what is stored, in the page's order.
fn overlay(stored: Vec<Stored>, mut waiting: HashMap<u64, Stored>, query: &IncidentQuery) -> Vec<Stored> {
    let mut rows: Vec<Stored> = stored
        .into_iter()
        .filter_map(|one| {
            let waiting = waiting.remove(&one.course.opening.seq);
            newer(Some(one), waiting)
        })
        .collect();
    let seq = |one: &Stored| one.course.opening.seq;
    let full = rows.len() > query.limit();
    let edge = rows.last().map(seq).filter(|_| full);
    rows.extend(waiting.into_values().filter(|one| match (query.after, query.before) {
        (Some(after), _) => seq(one) > after && edge.is_none_or(|edge| seq(one) < edge),
        (None, before) => before.is_none_or(|before| seq(one) < before) && edge.is_none_or(|edge| seq(one) > edge),
    }));
    rows.retain(|one| query.takes(one));
    rows.sort_by_key(seq);
    if query.after.is_none() {
        rows.reverse();
    }
    rows
}

/// The one that knows more; what is counted stands with the stored one.
fn newer(stored: Option<Stored>, waiting: Option<Stored>) -> Option<Stored> {
    match (stored, waiting) {
        (Some(stored), Some(waiting)) => Some(Stored { course: waiting.course, ..stored }),
        (stored, waiting) => stored.or(waiting),
    }
}

/// With what is counted at this moment, if it still is.
fn shown(app: &App, mut one: Stored) -> (Incident, Option<Tally>) {
    if let Some(breaker) = app.panel.get(&one.breaker) {
        app.tallies.failures(&one.breaker, breaker.snapshot().counts.failure);
    }
    let live = app.tallies.of(&one.breaker, one.course.opening.seq);
    if let Some(tally) = &live {
        (one.failed, one.refused) = (tally.failed, tally.refused);
    }
    let shown = one.shown(|| app.upstreams.load().names_of(&one.breaker));
    (shown, live)
}

fn wait(row: &Transition) -> Option<Wait> {
    if row.cause.kind == "cooldown_started" {
        return None;
    }
    let ms = |field: &str| row.cause.detail.get(field).and_then(serde_json::Value::as_u64);
    Some(Wait { at: row.at, wait_ms: ms("wait_ms")?, jitter_ms: ms("jitter_ms").unwrap_or(0) })
}

fn refusals(top: &Top) -> Vec<Refusals> {
    top.most(TOP).into_iter().map(|(value, count)| Refusals { value: value.to_owned(), count }).collect()
}
