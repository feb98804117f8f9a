//! THE OPERATOR STORY: may this be done, do it, wait until it is stored, answer.
//!
//! - A reason is required, an override's end is said aloud, and nobody ends somebody else's override by accident.
//! - Actions are taken one at a time: each answer shows what its own action left, not what a second one made of it.
//! - An answer without error is durable. An action that took effect but could not be stored says both.
//! - What replaced or ended an override can be undone for 10 s; the undo is an action like any other.

mod bulk;
pub mod guard;
mod order;
mod probe;
mod reload;
mod undo;

use std::sync::Arc;

use fuseboard_app::wire::{
    breaker::Breaker as Shown,
    command::{Release, Reset, SetOverride},
};
use fuseboard_breaker::{Applied, Breaker, Snapshot};

use self::order::Order;
pub use self::{
    bulk::act,
    guard::Actor,
    probe::probe,
    reload::{on_hangup, reload},
    undo::undo,
};
use crate::{
    app::App,
    fault::Fault,
    journal::AuditDraft,
    present::{self, Detail},
    undo::{Part, Stood},
};

/// Closes the breaker and forgets what led there (rule 22).
///
/// # Errors
/// See [`Fault`].
pub async fn reset(app: &App, actor: &Actor, id: &str, command: &Reset) -> Result<Shown, Fault> {
    let reason = guard::reason(&command.reason)?;
    one(app, actor, id, reason, Order::Reset { end_override: command.end_override }).await
}

/// Holds the breaker open or closed.
///
/// # Errors
/// See [`Fault`].
pub async fn set_override(app: &App, actor: &Actor, id: &str, command: &SetOverride) -> Result<Shown, Fault> {
    let reason = guard::reason(&command.reason)?;
    one(app, actor, id, reason, Order::hold(command, app.clock.wall())?).await
}

/// Ends an override; the automatic state takes over as it stands.
///
/// # Errors
/// See [`Fault`].
pub async fn release(app: &App, actor: &Actor, id: &str, command: &Release) -> Result<Shown, Fault> {
    let reason = guard::reason(&command.reason)?;
    one(app, actor, id, reason, Order::Release).await
}

async fn one(app: &App, actor: &Actor, id: &str, reason: &str, order: Order) -> Result<Shown, Fault> {
    let (done, shown) = {
        let mut recent = app.acting.lock();
        let done = carry_out(app, actor, id, reason, order)?;
        recent.note(app.clock.now(), done.undo.clone().into_iter().collect());
        let shown = present::breaker(app, &done.breaker, Detail::Full);
        (done, shown)
    };
    let stored = app.journal.durable(done.seq).await;
    stored.map_err(|not| Fault::NotStored { did: order.did(), error: not.error })?;
    Ok(shown)
}

/// One order carried out on one breaker, not yet known to be stored.
struct Done {
    breaker: Breaker,
    before: Snapshot,
    applied: Applied,
    /// What to wait for.
    seq: u64,
    undo: Option<Part>,
}

/// While `app.acting` is held.
fn carry_out(app: &App, actor: &Actor, id: &str, reason: &str, order: Order) -> Result<Done, Fault> {
    let breaker = app.panel.get(id).ok_or_else(|| Fault::unknown(id))?;
    let before = breaker.snapshot();
    let applied = order.carry_out(&breaker, actor.by(), reason)?;
    let seq = match applied {
        // Its rows were handed to the journal before the command returned.
        Applied::Changed => app.journal.last_action(id).unwrap_or_else(|| app.journal.last_seq()),
        Applied::Quiet => app.journal.push_audit(quiet(actor, breaker.id(), reason, order)),
    };
    let undo = order.can_be_undone().then(|| Part { breaker: breaker.id().clone(), seq, before: stood(app, &before) });
    Ok(Done { breaker, before, applied, seq, undo })
}

fn stood(app: &App, before: &Snapshot) -> Option<Stood> {
    let held = before.held.clone()?;
    let ends = before.held_for.and_then(|left| app.clock.now().checked_add(left));
    Some(Stood { held, ends })
}

/// The row of an action that found nothing to do.
fn quiet(actor: &Actor, id: &Arc<str>, reason: &str, order: Order) -> AuditDraft {
    AuditDraft {
        actor: actor.shown(),
        action: order.row().into(),
        breaker: Some(id.to_string()),
        reason: Some(reason.into()),
        detail: [("changed".to_owned(), false.into())].into_iter().collect(),
    }
}
