//! Undo: puts back the override that stood before an action of the last 10 s, for what is left of it. What somebody else
//! did to a breaker meanwhile stays.

use std::sync::Arc;

use fuseboard_app::wire::{
    action::{ActionAnswer, ActionResult},
    command::Undo,
};
use fuseboard_breaker::OverrideEnd;

use super::{Actor, bulk, guard};
use crate::{
    app::App,
    fault::Fault,
    journal::{
        AuditDraft,
        convert::{held, mode},
    },
    undo::Part,
};

/// Undoes the action one of whose rows has this number.
///
/// # Errors
/// There is none that can still be undone; what becomes of one breaker is in its result.
pub async fn undo(app: &App, actor: &Actor, asked: &Undo) -> Result<ActionAnswer, Fault> {
    let given = guard::optional_reason(&asked.reason)?;
    let parts = app.acting.lock().take(asked.seq, app.clock.now());
    let parts = parts.ok_or_else(|| {
        Fault::Conflict(format!(
            "no action with the number {} can be undone: it takes an override set, changed or released in the last 10 s, \
             once",
            asked.seq
        ))
    })?;
    let (mut results, mut waits) = (Vec::with_capacity(parts.len()), Vec::new());
    for part in parts {
        let _one_at_a_time = app.acting.lock();
        match put_back(app, actor, given, &part) {
            Ok((one, seq)) => {
                waits.push((results.len(), seq));
                results.push(one);
            }
            Err(fault) => results.push(bulk::refused(app, &part.breaker, &fault)),
        }
    }
    bulk::settle(app, "undone", &mut results, &waits).await;
    Ok(bulk::answer(false, results))
}

fn put_back(app: &App, actor: &Actor, given: &str, part: &Part) -> Result<(ActionResult, u64), Fault> {
    let id: &Arc<str> = &part.breaker;
    let breaker = app.panel.get(id).ok_or_else(|| Fault::unknown(id))?;
    if app.journal.last_action(id) != Some(part.seq) {
        let since = "somebody has acted on it since, and an undo would take that back; look at it and act anew";
        return Err(Fault::Conflict(since.to_owned()));
    }
    let reason = match given {
        "" => format!("undo of {}", part.seq),
        given => format!("undo of {}: {given}", part.seq),
    };
    let (now, before) = (app.clock.now(), breaker.snapshot());
    let left = part.before.as_ref().and_then(|stood| match stood.ends {
        None => Some((stood, OverrideEnd::Never)),
        // One that would have ended meanwhile has nothing left of it.
        Some(ends) => ends
            .checked_duration_since(now)
            .filter(|left| !left.is_zero())
            .map(|left| (stood, OverrideEnd::After(left))),
    });
    let seq = match (left, before.held.is_some()) {
        (Some((stood, end)), _) => {
            breaker.put_back(stood.held.clone(), end, actor.by(), &reason);
            app.journal.last_action(id)
        }
        (None, true) => {
            breaker.release(actor.by(), &reason).map_err(|_| Fault::NotOverridden)?;
            app.journal.last_action(id)
        }
        // Its own end came first: there is a row of the asking, and nothing else.
        (None, false) => None,
    };
    let changed = seq.is_some();
    let seq = seq.unwrap_or_else(|| {
        app.journal.push_audit(AuditDraft {
            actor: actor.shown(),
            action: "release".into(),
            breaker: Some(id.to_string()),
            reason: Some(reason),
            detail: [("changed".to_owned(), false.into())].into_iter().collect(),
        })
    });
    let after = breaker.snapshot().held;
    let detail = match &after {
        Some(held) => {
            let name = held.by.name.strip_prefix("unverified: ").unwrap_or(&held.by.name);
            format!("Undone; {name}'s override stands again (\"{}\").", held.reason)
        }
        None => "Undone; no override stands.".to_owned(),
    };
    let one = ActionResult {
        changed,
        detail,
        calls_per_min: app.calls.stats(id).calls_per_min,
        replaces: before.held.as_ref().map(held),
        held: after.map(|held| mode(held.mode)),
        ..bulk::blank(id)
    };
    Ok((one, seq))
}
