//! A breaker as API and board show it: its snapshot, the last minute's calls and its last change in one value. Reading
//! takes no permit and moves nothing (rule 6).

pub mod incidents;
pub mod record;
pub mod settings;

use fuseboard_app::{
    backend::{BreakerFilter, Stretch},
    order,
    wire::{
        breaker as wire,
        event::{BreakerStats, Transition},
        time::Time,
        timeline::{Lane, Timeline},
    },
};
use fuseboard_breaker::{Breaker, Counts, HalfOpenSnapshot, Policy, RuleSnapshot, Snapshot, TripRule};
use fuseboard_fetch::Protocol;

use crate::{
    app::App,
    calls::CallStats,
    fault::Fault,
    history::{
        calls,
        lane::{self, Window},
        probes,
    },
    journal::convert::{held, state},
    stamp::{millis, time},
};

/// How much of the last transition is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Everything.
    Full,
    /// Without the calls that decided it: what a list needs.
    List,
}

/// One breaker.
pub fn breaker(app: &App, breaker: &Breaker, detail: Detail) -> wire::Breaker {
    let snapshot = breaker.snapshot();
    let id = snapshot.id.as_ref();
    let last = app.journal.last_transition(id).map(|last| match detail {
        Detail::Full => Transition::clone(&last),
        Detail::List => without_evidence(&last),
    });
    let called = snapshot.called || app.called_before.contains(id);
    let opened = app.journal.opened(id);
    wire::Breaker { called, opened, ..assemble(&snapshot, app.calls.stats(id), Behind::new(app, id), last) }
}

/// What is configured behind a breaker.
struct Behind {
    upstreams: Vec<String>,
    protocol: &'static str,
    services: Vec<String>,
}

impl Behind {
    fn new(app: &App, id: &str) -> Self {
        let configured = app.upstreams.load();
        let services = configured.iter().filter(|entry| &*entry.breaker == id).flat_map(|entry| &entry.services);
        let protocol = match configured.of_breaker(id).map(|entry| entry.upstream.protocol) {
            Some(Protocol::Grpc) => "grpc",
            Some(Protocol::Http) => "http",
            // One that no upstream names any more says it itself, where it can.
            None if id.starts_with("grpc:") || id.starts_with("grpcs:") => "grpc",
            None => "http",
        };
        Self {
            upstreams: configured.names_of(id),
            protocol,
            services: services.map(|service| service.as_str().to_owned()).collect(),
        }
    }
}

/// Which breakers, in which order, which page of them.
#[derive(Debug, Clone, Default)]
pub struct Ask {
    /// Which.
    pub filter: BreakerFilter,
    /// By id instead of worst first.
    pub by_id: bool,
    /// At most this many.
    pub limit: Option<usize>,
    /// Those that stand behind this one.
    pub after: Option<String>,
}

/// The breakers asked for. The cursor is read first: what the feed brings after it comes on top.
///
/// # Errors
/// `after` is a breaker that is gone.
pub fn list(app: &App, ask: &Ask) -> Result<wire::BreakerList, Fault> {
    let cursor = app.journal.cursor();
    let now = time(app.clock.wall());
    let mut all: Vec<_> = app.panel.breakers().iter().map(|one| breaker(app, one, Detail::List)).collect();
    if ask.by_id {
        all.sort_by(|a, b| a.id.cmp(&b.id));
    } else {
        order::worst_first(&mut all, now);
    }
    let behind = match &ask.after {
        // By id a place is a place even when its breaker is gone.
        Some(after) if ask.by_id => all.partition_point(|one| one.id <= *after),
        // Looked for among all, since a page's last breaker may have changed its state meanwhile.
        Some(after) => match all.iter().position(|one| one.id == *after) {
            Some(at) => at + 1,
            None => return Err(Fault::field("after", "is no breaker any more; start again without it")),
        },
        None => 0,
    };
    let mut kept = all.into_iter().skip(behind).filter(|one| order::matches(one, &ask.filter, now)).peekable();
    let breakers: Vec<_> = kept.by_ref().take(ask.limit.unwrap_or(usize::MAX)).collect();
    let next = kept.peek().and_then(|_| breakers.last()).map(|last| last.id.clone());
    Ok(wire::BreakerList { breakers, as_of: now, cursor, next })
}

/// The lanes of the breakers asked for, in the list's order.
///
/// # Errors
/// The stretch cannot be drawn, or the store refuses.
pub async fn timeline(app: &App, ask: &Ask, stretch: Stretch) -> Result<Timeline, Fault> {
    let window = window(app, stretch)?;
    let list = list(app, ask)?;
    let ids: Vec<String> = list.breakers.into_iter().map(|one| one.id).collect();
    let unwritten = app.journal.unwritten();
    let lanes = lane::lanes(app.db.read(), &ids, &window, &unwritten).await;
    Ok(Timeline { next: list.next, ..lanes.map_err(Fault::from)? })
}

/// One breaker's lane with its calls and probes.
///
/// # Errors
/// No such breaker, the stretch cannot be drawn, or the store refuses.
pub async fn lane(app: &App, id: &str, stretch: Stretch) -> Result<Lane, Fault> {
    let window = window(app, stretch)?;
    if app.panel.get(id).is_none() {
        return Err(Fault::unknown(id));
    }
    let unwritten = app.journal.unwritten();
    let read = async {
        let mut lane = lane::lane(app.db.read(), id, &window, &unwritten).await?;
        let ends = (lane.from, lane.to);
        lane.calls = Some(calls::series(app.db.read(), id, ends, window.width).await?);
        lane.probes = Some(probes::marks(app.db.read(), id, ends, window.width).await?);
        Ok::<_, sqlx::Error>(lane)
    };
    read.await.map_err(Fault::from)
}

/// The widest a lane is drawn, in pixels.
pub const WIDTH_MAX: u32 = 4_000;

fn window(app: &App, stretch: Stretch) -> Result<Window, Fault> {
    if stretch.from_ms >= stretch.to_ms {
        return Err(Fault::field("to", "must be later than from"));
    }
    if !(1..=WIDTH_MAX).contains(&stretch.width) {
        return Err(Fault::field("width", format!("must be a whole number from 1 to {WIDTH_MAX}")));
    }
    Ok(Window {
        from: Time::from_micros(stretch.from_ms.saturating_mul(1_000)),
        to: Time::from_micros(stretch.to_ms.saturating_mul(1_000)),
        width: stretch.width,
        now: time(app.clock.wall()),
        boot: app.live.cursor().boot,
    })
}

/// The numbers that move without a transition.
pub fn stats(app: &App, breaker: &Breaker) -> BreakerStats {
    let snapshot = breaker.snapshot();
    figures(&snapshot, app.calls.stats(&snapshot.id))
}

fn figures(snapshot: &Snapshot, calls: CallStats) -> BreakerStats {
    BreakerStats {
        id: snapshot.id.to_string(),
        in_flight: snapshot.in_flight,
        refused_since_down: snapshot.refused_since_down,
        half_open: round(snapshot.half_open),
        calls_per_min: calls.calls_per_min,
        refused_per_min: calls.refused_per_min,
        counts: counts(snapshot.counts),
        rules: snapshot.rules.iter().map(rule).collect(),
        failure_rate: calls.failure_rate,
        p50_ms: calls.p50_ms,
        p95_ms: calls.p95_ms,
    }
}

fn without_evidence(row: &Transition) -> Transition {
    let (node, breaker) = (row.node.clone(), row.breaker.clone());
    Transition {
        node,
        breaker,
        cause: row.cause.without_evidence(),
        actor: row.actor.clone(),
        reason: row.reason.clone(),
        ..*row
    }
}

fn assemble(
    snapshot: &Snapshot,
    calls: CallStats,
    behind: Behind,
    last_transition: Option<Transition>,
) -> wire::Breaker {
    let BreakerStats {
        id,
        in_flight,
        refused_since_down,
        half_open,
        calls_per_min,
        refused_per_min,
        counts,
        rules,
        failure_rate,
        p50_ms,
        p95_ms,
    } = figures(snapshot, calls);
    wire::Breaker {
        id,
        upstreams: behind.upstreams,
        protocol: behind.protocol.to_owned(),
        services: behind.services,
        policy: snapshot.policy.settings().name.clone(),
        recovery: recovery(&snapshot.policy),
        state: state(snapshot.state),
        held: snapshot.held.as_ref().map(held),
        since: time(snapshot.since),
        generation: snapshot.generation,
        attempt: snapshot.attempt,
        next_probe_at: snapshot.next_probe_at.map(time),
        probe_due: snapshot.probe_due,
        cooldown_until: snapshot.cooldown_until.map(time),
        in_flight,
        down_since: snapshot.down_since.map(time),
        refused_since_down,
        opens: snapshot.opens,
        wait_ms: snapshot.wait.map(millis),
        half_open,
        calls_per_min,
        refused_per_min,
        counts,
        rules,
        failure_rate,
        p50_ms,
        p95_ms,
        opened: None,
        last_transition,
        called: snapshot.called,
    }
}

fn recovery(policy: &Policy) -> wire::Recovery {
    let settings = policy.settings();
    wire::Recovery {
        first_ms: millis(settings.wait.first),
        factor: settings.wait.factor,
        max_ms: millis(settings.wait.max),
        jitter: settings.wait.jitter,
        lease_ms: millis(settings.half_open.lease),
    }
}

fn round(round: HalfOpenSnapshot) -> wire::Round {
    wire::Round { permits: round.permits, in_flight: round.in_flight, good: round.good, needed: round.needed }
}

fn counts(counts: Counts) -> wire::Counts {
    wire::Counts {
        success: counts.success,
        failure: counts.failure,
        alive: counts.alive,
        ignored: counts.ignored,
        cancelled: counts.cancelled,
        refused: counts.refused,
        late: counts.late,
    }
}

fn rule(rule: &RuleSnapshot) -> wire::Rule {
    let (within, min_calls, slow_after) = match rule.rule {
        TripRule::Failures { within, .. } => (Some(within), None, None),
        TripRule::Consecutive { within, .. } => (within, None, None),
        TripRule::FailureRate { within, min_calls, .. } => (Some(within), Some(min_calls), None),
        TripRule::SlowRate { within, min_calls, slow_after, .. } => (Some(within), Some(min_calls), Some(slow_after)),
    };
    wire::Rule {
        rule: rule.rule.as_str().into(),
        have: rule.have,
        need: rule.need,
        within_ms: within.map(millis),
        min_calls,
        slow_after_ms: slow_after.map(millis),
    }
}
