//! One action on many breakers. Each breaker's part is whole or not done at all; one that cannot be done stops no other;
//! the answer comes when everything that was done is stored, or says of which it is not.

use std::{collections::HashSet, sync::Arc};

use fuseboard_app::{
    backend::BreakerFilter,
    order as list_order,
    wire::action::{Action, ActionAnswer, ActionFilter, ActionResult, BulkAction},
};
use fuseboard_breaker::{Applied, Mode, Snapshot};
use futures_util::{StreamExt, stream};

use super::{
    Actor, carry_out, guard,
    order::Order,
    probe::{self, Sent},
};
use crate::{
    app::App,
    fault::Fault,
    journal::convert::{held, mode},
    present::{self, Ask},
};

/// Probes of one action that are out at a time.
const PROBES_AT_ONCE: usize = 16;

/// Carries the action out, or says what it would do.
///
/// # Errors
/// The action itself cannot be; what becomes of one breaker is in its result.
pub async fn act(app: &Arc<App>, actor: &Actor, asked: &BulkAction) -> Result<ActionAnswer, Fault> {
    let order = Order::of(asked, app.clock.wall())?;
    let reason = match order {
        Some(_) => guard::reason(&asked.reason)?,
        None => guard::optional_reason(&asked.reason)?,
    };
    if asked.end_override && asked.action != Action::Reset {
        return Err(Fault::field("end_override", "is for reset alone; leave it out"));
    }
    let ids = chosen(app, asked)?;
    let results = match (order, asked.dry_run) {
        (Some(order), true) => ids.iter().map(|id| foretell(app, id, order)).collect(),
        (None, true) => ids
            .iter()
            .map(|id| {
                probe::foretell(app, id)
                    .map_or_else(|fault| refused(app, id, &fault), |said| would_probe(app, id, said))
            })
            .collect(),
        (Some(order), false) => carry_out_all(app, actor, &ids, reason, order).await,
        (None, false) => probe_all(app, actor, &ids, reason).await,
    };
    Ok(answer(asked.dry_run, results))
}

pub(super) fn answer(dry_run: bool, results: Vec<ActionResult>) -> ActionAnswer {
    let touched = || results.iter().filter(|one| one.status == 200 || one.applied);
    ActionAnswer {
        dry_run,
        breakers: touched().count() as u64,
        calls_per_min: touched().map(|one| one.calls_per_min).sum(),
        undo: touched().find_map(|one| one.undo),
        results,
    }
}

/// The breakers asked for, each once: as listed, or as the list's order has them.
fn chosen(app: &App, asked: &BulkAction) -> Result<Vec<Arc<str>>, Fault> {
    match (&asked.ids, &asked.filter) {
        (Some(_), Some(_)) => Err(Fault::field("filter", "give either \"ids\" or \"filter\", not both")),
        (None, None) => Err(Fault::field("ids", "say which breakers: \"ids\" as a list, or a \"filter\"; {} is all")),
        (Some(ids), None) if ids.is_empty() => Err(Fault::field("ids", "is empty; name at least one breaker")),
        (Some(ids), None) => {
            let mut seen = HashSet::new();
            Ok(ids.iter().filter(|id| seen.insert(*id)).map(|id| id.as_str().into()).collect())
        }
        (None, Some(filter)) => filtered(app, filter),
    }
}

fn filtered(app: &App, filter: &ActionFilter) -> Result<Vec<Arc<str>>, Fault> {
    let state = filter.state.as_deref().filter(|state| !state.is_empty());
    if state.is_some_and(|state| !list_order::WORDS.contains(&state)) {
        let takes = format!("must be one of {}", list_order::WORDS.join(", "));
        return Err(Fault::field("filter.state", takes));
    }
    let upstreams = app.upstreams.load();
    if let Some(name) = &filter.upstream
        && upstreams.get(name).is_none()
    {
        let takes = format!("{name:?} is no upstream; known: {}", upstreams.names().join(", "));
        return Err(Fault::field("filter.upstream", takes));
    }
    let ask = Ask {
        filter: BreakerFilter { state: filter.state.clone(), q: filter.q.clone(), ..BreakerFilter::default() },
        ..Ask::default()
    };
    let list = present::list(app, &ask)?.breakers.into_iter();
    let of_upstream = list.filter(|one| filter.upstream.as_ref().is_none_or(|name| one.upstreams.contains(name)));
    Ok(of_upstream.map(|one| one.id.into()).collect())
}

fn foretell(app: &App, id: &str, order: Order) -> ActionResult {
    let Some(breaker) = app.panel.get(id) else { return refused(app, id, &Fault::unknown(id)) };
    let before = breaker.snapshot();
    match order.foretell(&before) {
        Ok(applied) => {
            let detail = order.said(&before, applied, true, app.clock.wall());
            let after = match order {
                Order::Hold { mode, .. } => Some(mode),
                _ => None,
            };
            result(app, id, &before, applied, detail, after)
        }
        Err(fault) => ActionResult { replaces: before.held.as_ref().map(held), ..refused(app, id, &fault) },
    }
}

async fn carry_out_all(app: &App, actor: &Actor, ids: &[Arc<str>], reason: &str, order: Order) -> Vec<ActionResult> {
    let (mut results, mut waits, mut parts) = (Vec::with_capacity(ids.len()), Vec::new(), Vec::new());
    for id in ids {
        // Let go after each, so that nobody else's action waits for all of this one.
        let recent = app.acting.lock();
        match carry_out(app, actor, id, reason, order) {
            Ok(done) => {
                let after = done.breaker.snapshot().held.map(|held| held.mode);
                let detail = order.said(&done.before, done.applied, false, app.clock.wall());
                let one = result(app, id, &done.before, done.applied, detail, after);
                waits.push((results.len(), done.seq));
                results.push(ActionResult { undo: done.undo.as_ref().map(|part| part.seq), ..one });
                parts.extend(done.undo);
            }
            Err(fault) => results.push(refused(app, id, &fault)),
        }
        drop(recent);
    }
    app.acting.lock().note(app.clock.now(), parts);
    settle(app, order.did(), &mut results, &waits).await;
    results
}

/// Waits until all of it is stored, and says of each that is not.
pub(super) async fn settle(app: &App, did: &'static str, results: &mut [ActionResult], waits: &[(usize, u64)]) {
    let seqs: Vec<u64> = waits.iter().map(|(_, seq)| *seq).collect();
    for ((at, _), stored) in waits.iter().zip(app.journal.all_durable(&seqs).await) {
        if let Err(not) = stored {
            let fault = Fault::NotStored { did, error: not.error };
            let one = &mut results[*at];
            (one.status, one.applied, one.detail) = (fault.status(), true, fault.sentence());
        }
    }
}

async fn probe_all(app: &Arc<App>, actor: &Actor, ids: &[Arc<str>], reason: &str) -> Vec<ActionResult> {
    let probes = ids.iter().cloned().map(|id| async move {
        let id = &*id;
        let calls = calls_per_min(app, id);
        match probe::send(app, actor, id, reason).await {
            Ok(Sent { result, changed }) => ActionResult {
                changed,
                detail: result.detail,
                held: result.breaker.held.map(|held| held.mode),
                calls_per_min: calls,
                ..blank(id)
            },
            Err(fault) => refused(app, id, &fault),
        }
    });
    stream::iter(probes).buffered(PROBES_AT_ONCE).collect().await
}

fn would_probe(app: &App, id: &str, detail: String) -> ActionResult {
    ActionResult { calls_per_min: calls_per_min(app, id), detail, held: standing(app, id), ..blank(id) }
}

fn standing(app: &App, id: &str) -> Option<fuseboard_app::wire::breaker::Mode> {
    app.panel.get(id).and_then(|breaker| breaker.snapshot().held).map(|held| mode(held.mode))
}

fn result(
    app: &App,
    id: &str,
    before: &Snapshot,
    applied: Applied,
    detail: String,
    after: Option<Mode>,
) -> ActionResult {
    ActionResult {
        changed: applied == Applied::Changed,
        detail,
        calls_per_min: calls_per_min(app, id),
        replaces: before.held.as_ref().map(held),
        held: after.map(mode),
        ..blank(id)
    }
}

pub(super) fn refused(app: &App, id: &str, fault: &Fault) -> ActionResult {
    ActionResult {
        status: fault.status(),
        detail: fault.sentence(),
        applied: fault.applied(),
        calls_per_min: calls_per_min(app, id),
        held: standing(app, id),
        ..blank(id)
    }
}

pub(super) fn blank(id: &str) -> ActionResult {
    ActionResult {
        breaker: id.to_owned(),
        status: 200,
        changed: false,
        detail: String::new(),
        applied: false,
        calls_per_min: 0,
        replaces: None,
        held: None,
        undo: None,
    }
}

fn calls_per_min(app: &App, id: &str) -> u64 {
    app.calls.stats(id).calls_per_min
}
