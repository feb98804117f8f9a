//! What a breaker tells its one observer: transitions and probes, in the order the machine made them.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use crate::{
    outcome::{Evidence, Outcome, Phase, RetryAfter},
    policy::TripRule,
};

/// The automatic state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Traffic flows.
    Closed,
    /// Calls are refused.
    Open,
    /// A few calls probe the host.
    HalfOpen,
}

impl State {
    /// The fixed word used in API, store and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half_open",
        }
    }
}

/// An operator's override.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Nothing is sent.
    ForcedOpen,
    /// Everything is sent.
    ForcedClosed,
}

impl Mode {
    /// The fixed word used in API, store and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ForcedOpen => "forced_open",
            Self::ForcedClosed => "forced_closed",
        }
    }
}

/// Who asked for a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct By {
    /// The name as shown.
    pub name: Arc<str>,
    /// Whether somebody vouched for it.
    pub verified: bool,
    /// The door it came through: `board`, `api`, `cli`.
    pub via: Arc<str>,
}

/// An override as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// What it does.
    pub mode: Mode,
    /// Why it was set.
    pub reason: Arc<str>,
    /// Who set it.
    pub by: By,
    /// When it was set.
    pub since: SystemTime,
    /// How long it was set for, from when it (or its end) was last set; no end when absent.
    pub length: Option<Duration>,
    /// When it ends; no end when absent.
    pub until: Option<SystemTime>,
}

/// A wait as it was drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DrawnWait {
    /// How long nothing is sent.
    pub wait: Duration,
    /// How much the jitter shortened it.
    pub jitter: Duration,
    /// The host's wish that was a floor for it.
    pub retry_after: Option<RetryAfter>,
}

/// One of the calls that decided a trip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidingCall {
    /// When it was settled.
    pub at: SystemTime,
    /// What it proved.
    pub outcome: Outcome,
    /// Time to the response's head.
    pub latency: Option<Duration>,
    /// What is known of it.
    pub evidence: Evidence,
}

/// Why a breaker changed.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// A rule was met.
    Tripped {
        /// The rule, with its thresholds.
        rule: TripRule,
        /// Failures (or slow calls) counted.
        have: u64,
        /// Calls counted in all.
        calls: u64,
        /// At most 20, oldest first.
        evidence: Vec<DecidingCall>,
        /// The wait that begins.
        wait: DrawnWait,
    },
    /// A probe failed.
    ProbeFailed {
        /// The probe.
        evidence: Option<Box<DecidingCall>>,
        /// The wait that begins.
        wait: DrawnWait,
    },
    /// A probe held its permit longer than the lease.
    ProbeLost {
        /// The wait that begins.
        wait: DrawnWait,
    },
    /// Enough probes were good.
    ProbesSucceeded {
        /// How many.
        good: u32,
    },
    /// The wait was over and a call came.
    WaitElapsed,
    /// An operator's probe was good.
    ProbeRequested,
    /// An operator reset it.
    Reset,
    /// An operator set an override.
    OverrideSet,
    /// An operator changed an override's end or reason.
    OverrideChanged,
    /// An operator ended an override.
    OverrideCleared,
    /// An override reached its end.
    OverrideExpired,
    /// The host asked for quiet.
    CooldownStarted {
        /// The host's wish.
        retry_after: RetryAfter,
        /// What was applied of it.
        applied: Duration,
    },
    /// The quiet is over.
    CooldownEnded,
    /// A restart changed what had been written.
    Restored,
    /// The configuration changed.
    PolicyChanged,
    /// The panel made room.
    Evicted,
}

impl Cause {
    /// The fixed word used in API, store and metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Tripped { .. } => "tripped",
            Self::ProbeFailed { .. } => "probe_failed",
            Self::ProbeLost { .. } => "probe_lost",
            Self::ProbesSucceeded { .. } => "probes_succeeded",
            Self::WaitElapsed => "wait_elapsed",
            Self::ProbeRequested => "probe_requested",
            Self::Reset => "reset",
            Self::OverrideSet => "override_set",
            Self::OverrideChanged => "override_changed",
            Self::OverrideCleared => "override_cleared",
            Self::OverrideExpired => "override_expired",
            Self::CooldownStarted { .. } => "cooldown_started",
            Self::CooldownEnded => "cooldown_ended",
            Self::Restored => "restored",
            Self::PolicyChanged => "policy_changed",
            Self::Evicted => "evicted",
        }
    }
}

/// Everything a restart needs; written with each transition. Wall-clock times, since no other survives a restart.
#[derive(Debug, Clone, PartialEq)]
pub struct Saved {
    /// The automatic state.
    pub state: State,
    /// When it began.
    pub since: SystemTime,
    /// Failed probe rounds since it left closed.
    pub attempt: u32,
    /// The wait in force, as drawn; zero when closed.
    pub wait: Duration,
    /// When the wait ends.
    pub next_probe_at: Option<SystemTime>,
    /// When it left closed.
    pub down_since: Option<SystemTime>,
    /// How often it opened.
    pub opens: u64,
    /// The override in force.
    pub held: Option<Override>,
    /// When a cool-down ends.
    pub cooldown_until: Option<SystemTime>,
}

/// A change of state, override or cool-down.
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    /// Which breaker.
    pub breaker: Arc<str>,
    /// When; for what was due earlier (an override's end), when it was due.
    pub at: SystemTime,
    /// State before.
    pub from: State,
    /// State after.
    pub to: State,
    /// Override after.
    pub mode: Option<Mode>,
    /// Generation after.
    pub generation: u64,
    /// Why.
    pub cause: Cause,
    /// Who asked for it.
    pub by: Option<By>,
    /// Why they asked.
    pub reason: Option<Arc<str>>,
    /// Calls that failed since the breaker was made, one that brought this about included.
    pub failures: u64,
    /// What a restart would need from here on.
    pub after: Saved,
}

/// What became of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProbeOutcome {
    /// It was settled with this outcome and counted.
    Settled(Outcome),
    /// It was dropped before it was settled.
    Cancelled,
    /// It outlived its lease.
    Lost,
    /// Its verdict came after the breaker had moved on.
    Late,
}

impl ProbeOutcome {
    /// The fixed word used in API, store and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Settled(Outcome::Success) => "success",
            Self::Settled(Outcome::Failure) => "failure",
            Self::Settled(Outcome::Alive) => "alive",
            Self::Settled(Outcome::Ignored) => "ignored",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
            Self::Late => "late",
        }
    }
}

/// One probe, from admission to verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// Which breaker.
    pub breaker: Arc<str>,
    /// When it was admitted.
    pub at: SystemTime,
    /// How long until it was judged.
    pub duration: Duration,
    /// The generation it was admitted in.
    pub generation: u64,
    /// What became of it.
    pub outcome: ProbeOutcome,
    /// Where it ended, when that is not in the evidence (lease, panic).
    pub phase: Option<Phase>,
    /// What is known of the call.
    pub evidence: Option<Box<Evidence>>,
}

/// A fact on its way to the record.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// Boxed: far larger than a probe.
    Transition(Box<Transition>),
    /// A probe was judged.
    Probe(Probe),
}

/// The one observer of a breaker. It is called without any of the breaker's locks, one event at a time per breaker, in
/// the order the machine made them; it must not block.
pub trait EventSink: Send + Sync + 'static {
    /// Takes one event.
    fn record(&self, event: Event);
}

/// Takes nothing down.
#[derive(Debug, Default, Clone, Copy)]
pub struct NoSink;

impl EventSink for NoSink {
    fn record(&self, _event: Event) {}
}
