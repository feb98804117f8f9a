//! THE OPERATOR STORY: may this be done, do it, wait until it is stored, answer.
//!
//! - A reason is required, an override's end is said aloud, and nobody ends somebody else's override by accident.
//! - Actions are taken one at a time: each answer shows what its own action left, not what a second one made of it.
//! - An answer without error is durable. An action that took effect but could not be stored says both.

pub mod guard;

use fuseboard_app::wire::{
    breaker::{Breaker as Shown, Mode as ShownMode},
    command::{Release, Reset, SetOverride},
};
use fuseboard_breaker::{Applied, Breaker, Mode, OverrideEnd};

pub use self::guard::Actor;
use crate::{
    app::App,
    fault::Fault,
    journal::AuditDraft,
    present::{self, Detail},
};

/// Closes the breaker and forgets what led there (rule 22).
///
/// # Errors
/// See [`Fault`].
pub async fn reset(app: &App, actor: &Actor, id: &str, command: &Reset) -> Result<Shown, Fault> {
    let reason = guard::reason(&command.reason)?;
    let action = Action { actor, id, reason, did: "reset", row: "reset" };
    act(app, action, |breaker| {
        breaker
            .reset(actor.by(), reason, command.end_override)
            .map_err(|would_end| Fault::WouldEndOverride(Box::new(would_end.0)))
    })
    .await
}

/// Holds the breaker open or closed.
///
/// # Errors
/// See [`Fault`].
pub async fn set_override(app: &App, actor: &Actor, id: &str, command: &SetOverride) -> Result<Shown, Fault> {
    let reason = guard::reason(&command.reason)?;
    let end = guard::end(command, app.clock.wall())?;
    let (mode, did) = match command.mode {
        ShownMode::ForcedOpen => (Mode::ForcedOpen, "forced open"),
        ShownMode::ForcedClosed => (Mode::ForcedClosed, "forced closed"),
    };
    let end = match command.until {
        // The moment that was named, not one a clock read later.
        Some(Some(until)) => OverrideEnd::At(until.0.into()),
        _ => end.map_or(OverrideEnd::Never, OverrideEnd::After),
    };
    let action = Action { actor, id, reason, did, row: "override_set" };
    act(app, action, |breaker| Ok(breaker.set_override(mode, end, actor.by(), reason))).await
}

/// Ends an override; the automatic state takes over as it stands.
///
/// # Errors
/// See [`Fault`].
pub async fn release(app: &App, actor: &Actor, id: &str, command: &Release) -> Result<Shown, Fault> {
    let reason = guard::reason(&command.reason)?;
    let action = Action { actor, id, reason, did: "released", row: "release" };
    act(app, action, |breaker| breaker.release(actor.by(), reason).map_err(|_| Fault::NotOverridden)).await
}

/// What is asked for, checked.
struct Action<'a> {
    actor: &'a Actor,
    id: &'a str,
    reason: &'a str,
    /// For "… now, but it could not be stored".
    did: &'static str,
    /// The audit row's word, should the breaker itself have nothing to tell.
    row: &'static str,
}

async fn act(
    app: &App,
    action: Action<'_>,
    command: impl FnOnce(&Breaker) -> Result<Applied, Fault>,
) -> Result<Shown, Fault> {
    let breaker = app.panel.get(action.id).ok_or_else(|| Fault::unknown(action.id))?;
    let (shown, seq) = {
        let _one_at_a_time = app.acting.lock();
        let seq = match command(&breaker)? {
            // Its rows were handed to the journal before the command returned.
            Applied::Changed => app.journal.last_action(action.id).unwrap_or_else(|| app.journal.last_seq()),
            Applied::Quiet => app.journal.push_audit(quiet(&action)),
        };
        (present::breaker(app, &breaker, Detail::Full), seq)
    };
    let stored = app.journal.durable(seq).await;
    stored.map_err(|not| Fault::NotStored { did: action.did, error: not.error })?;
    Ok(shown)
}

/// The row of an action that found nothing to do.
fn quiet(action: &Action<'_>) -> AuditDraft {
    AuditDraft {
        actor: action.actor.shown(),
        action: action.row.into(),
        breaker: Some(action.id.into()),
        reason: Some(action.reason.into()),
        detail: [("changed".to_owned(), false.into())].into_iter().collect(),
    }
}
