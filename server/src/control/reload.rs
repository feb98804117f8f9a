//! Reads the configuration again, while everything goes on: counts, states and overrides stay, unchanged rules keep what
//! they have counted, a drawn wait is cut to a new `max`. One that cannot be used changes nothing. What only a restart can
//! change is named and left as it was.

use std::{collections::HashSet, sync::Arc};

use fuseboard_app::wire::{command::Said, settings::Reloaded};
use serde_json::{Map, Value};

use super::{Actor, guard};
use crate::{
    app::App,
    config::{Config, ConfigError},
    fault::Fault,
    history::retention::Keep,
    journal::AuditDraft,
};

/// Reloads, and answers once that is stored.
///
/// # Errors
/// There is nothing to read again; the field that cannot be used; or the row could not be stored.
pub async fn reload(app: &App, actor: &Actor, said: &Said) -> Result<Reloaded, Fault> {
    let reason = guard::optional_reason(&said.reason)?;
    let source = app.source.clone().ok_or_else(|| {
        Fault::Conflict("this server's configuration comes from no file, so there is nothing to read again".into())
    })?;
    let _one_at_a_time = app.reloading.lock().await;
    let config = tokio::task::spawn_blocking(move || source.read()).await.map_err(Fault::unexpected)?;
    let config = config.map_err(|ConfigError { field, message }| {
        Fault::field(if field.is_empty() { "file".to_owned() } else { field }, message)
    })?;
    // A file that is being written is empty for a moment.
    if config.upstreams.is_empty() && !app.settings.load().upstreams.is_empty() {
        let why = "is named no more, so what is at work stays; to have none, start the server without any";
        return Err(Fault::field("upstream", why));
    }
    let done = {
        let _no_action_meanwhile = app.acting.lock();
        let done = take_over(app, config);
        Reloaded { seq: app.journal.push_audit(row(actor, reason, &done)), ..done }
    };
    app.reloaded.notify_one();
    for warning in &done.warnings {
        tracing::warn!("{warning}");
    }
    let stored = app.journal.durable(done.seq).await;
    stored.map_err(|not| Fault::NotStored { did: "reloaded", error: not.error })?;
    Ok(done)
}

fn take_over(app: &App, new: Config) -> Reloaded {
    let old = app.settings.load_full();
    let (new, needs_restart) = keep_what_needs_a_restart(new, &old);
    let upstreams = new.upstreams.clone().keeping(&old.upstreams);
    let mut done = Reloaded { needs_restart, warnings: new.warnings.clone(), ..Reloaded::default() };
    for entry in upstreams.iter() {
        let name = &entry.upstream.name;
        match old.upstreams.get(name) {
            None => done.added.push(name.to_string()),
            Some(before) if !Arc::ptr_eq(&before.upstream, &entry.upstream) => done.changed.push(name.to_string()),
            Some(_) => {}
        }
    }
    let gone = old.upstreams.iter().filter(|entry| upstreams.get(&entry.upstream.name).is_none());
    done.removed = gone.map(|entry| entry.upstream.name.to_string()).collect();

    for entry in old.upstreams.iter().filter(|entry| upstreams.of_breaker(&entry.breaker).is_none()) {
        app.panel.unconfigure(&entry.breaker);
    }
    let mut own = HashSet::new();
    for entry in upstreams.iter() {
        let policy = &entry.upstream.policy;
        if own.insert(entry.breaker.clone()) {
            let differs = app.panel.get(&entry.breaker).is_some_and(|breaker| breaker.policy() != *policy);
            done.policy_changed.extend(differs.then(|| entry.breaker.to_string()));
            app.panel.configure(&entry.breaker, policy.clone());
        }
    }
    // Those no upstream names go by their policy's name, as they would after a restart.
    for breaker in app.panel.breakers().iter().filter(|breaker| !own.contains(breaker.id())) {
        let policy = breaker.policy();
        if let Some(now) = new.policies.get(&policy.settings().name).filter(|now| **now != policy) {
            breaker.set_policy(now.clone());
            done.policy_changed.push(breaker.id().to_string());
        }
    }
    app.upstreams.store(Arc::new(upstreams.clone()));
    app.journal.keep(Keep::from(&new.store));
    app.settings.store(Arc::new(Config { upstreams, ..new }));
    *app.loaded_at.lock() = app.clock.wall();
    done
}

/// Listeners, store and name stand as long as the process does.
fn keep_what_needs_a_restart(new: Config, old: &Config) -> (Config, Vec<String>) {
    let differs = [
        ("node", new.node != old.node),
        ("gateway.listen", new.gateway.listen != old.gateway.listen),
        ("gateway.public_url", new.gateway.public_url != old.gateway.public_url),
        ("admin.listen", new.admin.listen != old.admin.listen),
        ("admin.public_url", new.admin.public_url != old.admin.public_url),
        ("ops.listen", new.ops != old.ops),
        ("store.url", new.store.path != old.store.path),
        ("store.journal_max", new.store.journal_max != old.store.journal_max),
        ("panel.max", new.panel.max != old.panel.max),
    ];
    let needs_restart = differs.into_iter().filter(|(_, differs)| *differs).map(|(field, _)| field.to_owned());
    let mut kept = old.clone();
    (kept.store.keep_probes, kept.store.keep_transitions) = (new.store.keep_probes, new.store.keep_transitions);
    (kept.store.keep_calls, kept.store.keep_audit) = (new.store.keep_calls, new.store.keep_audit);
    kept.store.max_size = new.store.max_size;
    let Config { policies, upstreams, warnings, file, filled, .. } = new;
    (Config { policies, upstreams, warnings, file, filled, ..kept }, needs_restart.collect())
}

fn row(actor: &Actor, reason: &str, done: &Reloaded) -> AuditDraft {
    let mut detail = Map::new();
    let mut told = false;
    for (name, list) in [
        ("added", &done.added),
        ("removed", &done.removed),
        ("changed_upstreams", &done.changed),
        ("policy_changed", &done.policy_changed),
        ("needs_restart", &done.needs_restart),
    ] {
        if !list.is_empty() {
            detail.insert(name.into(), Value::from(list.clone()));
            told = true;
        }
    }
    detail.insert("changed".into(), told.into());
    AuditDraft {
        actor: actor.shown(),
        action: "reload".into(),
        breaker: None,
        reason: (!reason.is_empty()).then(|| reason.to_owned()),
        detail,
    }
}

/// Reloads whenever the process is sent SIGHUP; one that fails is logged and changes nothing.
///
/// # Errors
/// The signal handler cannot be installed.
#[cfg(unix)]
pub fn on_hangup(app: &Arc<App>) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut hangup = signal(SignalKind::hangup())?;
    let reloads = app.clone();
    app.lifecycle.spawn(async move {
        loop {
            tokio::select! {
                Some(()) = hangup.recv() => {}
                () = reloads.lifecycle.soft() => return,
            }
            match reload(&reloads, &Actor::signal("SIGHUP"), &Said::default()).await {
                Ok(done) => tracing::info!(
                    added = ?done.added, removed = ?done.removed, changed = ?done.changed,
                    policy_changed = done.policy_changed.len(), needs_restart = ?done.needs_restart,
                    "SIGHUP: the configuration was read again"
                ),
                Err(fault) => tracing::error!("SIGHUP: the running configuration stays: {fault}"),
            }
        }
    });
    Ok(())
}

/// There is no such signal here; `POST /reload` does the same.
///
/// # Errors
/// Never.
#[cfg(not(unix))]
pub fn on_hangup(_app: &Arc<App>) -> std::io::Result<()> {
    Ok(())
}
