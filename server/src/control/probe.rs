//! Probe now (rule 20): one request on an operator's behalf, whatever the breaker's state but forced open. It runs in a task
//! of its own, so that it is judged and written down even when whoever asked has left.

use std::sync::Arc;

use fuseboard_app::wire::{action::ProbeResult, command::Said};
use fuseboard_breaker::{Outcome, Policy, ProbeOutcome, Refused, RefusedReason, Snapshot, State};
use fuseboard_fetch::{CallError, Key, ProbeAnswer, Upstream};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use super::{Actor, guard};
use crate::{
    app::App,
    fault::Fault,
    journal::AuditDraft,
    present::{self, Detail},
};

/// Sends it and answers what it found.
///
/// # Errors
/// No such breaker; it refuses; nobody knows what to ask the host; or the row could not be stored.
pub async fn probe(app: &Arc<App>, actor: &Actor, id: &str, said: &Said) -> Result<ProbeResult, Fault> {
    let reason = guard::optional_reason(&said.reason)?;
    send(app, actor, id, reason).await.map(|sent| sent.result)
}

/// What became of it.
pub(super) struct Sent {
    pub(super) result: ProbeResult,
    pub(super) changed: bool,
}

pub(super) async fn send(app: &Arc<App>, actor: &Actor, id: &str, reason: &str) -> Result<Sent, Fault> {
    let (upstream, before) = asked(app, id)?;
    let (answer, answered) = oneshot::channel();
    let work = Work { app: app.clone(), actor: actor.clone(), id: id.into(), reason: reason.into(), before, upstream };
    app.lifecycle.spawn(async move {
        // Whoever asked may have left.
        let _ = answer.send(work.run().await);
    });
    let stopping =
        || Fault::Conflict("Fuseboard is stopping and the probe was dropped; ask again once it is back".into());
    answered.await.unwrap_or_else(|_| Err(stopping()))
}

/// What a probe would do.
pub(super) fn foretell(app: &App, id: &str) -> Result<String, Fault> {
    let (_, before) = asked(app, id)?;
    let taken = before.half_open.in_flight >= before.half_open.permits;
    match (&before.held, before.state) {
        (Some(held), _) if held.mode == fuseboard_breaker::Mode::ForcedOpen => Err(refusal(RefusedReason::ForcedOpen)),
        (_, State::HalfOpen) if taken => Err(refusal(RefusedReason::ProbesTaken)),
        (_, State::Closed) if before.cooldown_until.is_some() => Err(refusal(RefusedReason::CoolingDown)),
        (_, State::Open) => {
            Ok("Would be probed once; a good one begins the half-open round, a bad one changes nothing.".into())
        }
        _ => Ok("Would be probed once.".into()),
    }
}

fn asked(app: &App, id: &str) -> Result<(Arc<Upstream>, Snapshot), Fault> {
    let breaker = app.panel.get(id).ok_or_else(|| Fault::unknown(id))?;
    let upstreams = app.upstreams.load();
    let configured = upstreams.of_breaker(id).map(|entry| entry.upstream.clone());
    let upstream = configured.or_else(|| origin(id, breaker.policy()).map(Arc::new)).ok_or_else(|| {
        Fault::Conflict("its id names no host, so there is nothing to ask; its next call is the probe".into())
    })?;
    Ok((upstream, breaker.snapshot()))
}

/// A host that redirects led to: it is asked for its root.
fn origin(id: &str, policy: Policy) -> Option<Upstream> {
    let (scheme, host) = id.split_once(':')?;
    // No configured upstream can have this name.
    let upstream = Upstream::plain(".", &format!("{scheme}://{host}")).ok()?;
    let upstream = Upstream { key: Key::Origin, policy, ..upstream };
    (upstream.breaker_id() == id).then_some(upstream)
}

fn refusal(reason: RefusedReason) -> Fault {
    Fault::Conflict(
        match reason {
            RefusedReason::ForcedOpen => "it is held open, and then nothing is sent; release it first",
            RefusedReason::ProbesTaken => "a probe is out already; wait for what it finds",
            RefusedReason::CoolingDown => "the host asked for quiet; wait until its cool-down is over, or reset it",
            RefusedReason::Open => "it refuses; try again",
        }
        .into(),
    )
}

struct Work {
    app: Arc<App>,
    actor: Actor,
    id: Arc<str>,
    reason: Arc<str>,
    before: Snapshot,
    upstream: Arc<Upstream>,
}

impl Work {
    async fn run(self) -> Result<Sent, Fault> {
        let app = &self.app;
        let answer = match app.fetcher.probe(&self.upstream).await {
            Ok(answer) => answer,
            Err(CallError::Refused(Refused { reason, .. })) => return Err(refusal(reason)),
            Err(error) => return Err(Fault::Conflict(format!("nothing was sent: {error}"))),
        };
        let breaker = app.panel.get(&self.id).ok_or_else(|| Fault::unknown(&self.id))?;
        let (seq, breaker) = {
            let _one_at_a_time = app.acting.lock();
            let shown = present::breaker(app, &breaker, Detail::Full);
            let changed = shown.generation != self.before.generation;
            (app.journal.push_audit(self.row(&answer, changed)), shown)
        };
        let stored = app.journal.durable(seq).await;
        stored.map_err(|not| Fault::NotStored { did: "probed", error: not.error })?;
        let changed = breaker.generation != self.before.generation;
        let result = ProbeResult {
            outcome: answer.outcome.as_str().into(),
            phase: answer.phase.map(|phase| phase.as_str().into()),
            status: answer.status,
            detail: found(&answer, self.before.state) + &led_to(self.before.state, &breaker),
            error: answer.error,
            method: answer.method.to_string(),
            path: answer.path,
            duration_ms: answer.duration.as_micros() as f64 / 1_000.0,
            breaker,
        };
        Ok(Sent { result, changed })
    }

    fn row(&self, answer: &ProbeAnswer, changed: bool) -> AuditDraft {
        let mut detail = Map::new();
        detail.insert("changed".into(), changed.into());
        detail.insert("outcome".into(), answer.outcome.as_str().into());
        detail.extend(answer.status.map(|status| ("status".to_owned(), Value::from(status))));
        detail.extend(answer.phase.map(|phase| ("phase".to_owned(), Value::from(phase.as_str()))));
        AuditDraft {
            actor: self.actor.shown(),
            action: "probe".into(),
            breaker: Some(self.id.to_string()),
            reason: (!self.reason.is_empty()).then(|| self.reason.to_string()),
            detail,
        }
    }
}

/// What a good probe changed.
fn led_to(before: State, breaker: &fuseboard_app::wire::breaker::Breaker) -> String {
    use fuseboard_app::wire::breaker::State as Shown;

    let round = breaker.half_open;
    match (before, breaker.state) {
        (State::Open | State::HalfOpen, Shown::Closed) => " The breaker closed: traffic flows again.".into(),
        (State::Open, Shown::HalfOpen) => format!(" {} of {} good probes so far.", round.good, round.needed),
        _ => String::new(),
    }
}

fn found(answer: &ProbeAnswer, before: State) -> String {
    let ms = answer.duration.as_millis();
    let why = || answer.error.clone().or_else(|| answer.phase.map(|phase| phase.as_str().to_owned()));
    match (answer.outcome, answer.status) {
        (ProbeOutcome::Settled(Outcome::Success | Outcome::Alive), Some(status)) => {
            format!("It answered {status} in {ms} ms.")
        }
        (ProbeOutcome::Settled(Outcome::Success | Outcome::Alive), None) => format!("It answered in {ms} ms."),
        (ProbeOutcome::Settled(Outcome::Failure), status) => {
            let why = status
                .map(|status| format!("status {status}"))
                .or_else(why)
                .unwrap_or_else(|| "no reason given".into());
            let stays = if before == State::Open { " The wait goes on as it was." } else { "" };
            format!("It failed after {ms} ms: {why}.{stays}")
        }
        (ProbeOutcome::Lost, _) => "It did not end within its lease and counts as failed.".into(),
        (ProbeOutcome::Late, _) => "The breaker changed while it was out, so it counts for nothing.".into(),
        _ => format!("It proved nothing either way{}.", why().map(|why| format!(": {why}")).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_no_upstream_names_is_asked_by_its_id() {
        let url = |id: &str| origin(id, Policy::registry()).map(|upstream| upstream.url.to_string());
        assert_eq!(url("https:files.example").as_deref(), Some("https://files.example/"));
        assert_eq!(url("http:[::1]:9001").as_deref(), Some("http://[::1]:9001/"));
        assert_eq!(url("grpc:accounts.example:50051").as_deref(), Some("grpc://accounts.example:50051"));
        for id in ["accounts", "https:", "ftp:files.example", "https:Files.example", "https:files.example:443"] {
            assert_eq!(url(id), None, "{id}");
        }
    }
}
