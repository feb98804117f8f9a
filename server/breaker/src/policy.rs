//! What trips a breaker, how long it waits and what closes it again. A [`Policy`] that exists can recover: everything
//! that could not is refused by [`Policy::new`] with the field's name.

use std::time::Duration;

/// One reason to open. Several may stand side by side; the first that is met trips.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TripRule {
    /// `failures` failures inside a rolling `within`.
    Failures {
        /// How many trip; at least 1.
        failures: u32,
        /// The rolling window.
        within: Duration,
    },
    /// The last `consecutive` counted outcomes are failures.
    Consecutive {
        /// How many trip; at least 1.
        consecutive: u32,
        /// The oldest of them must be younger than this; any age when absent.
        within: Option<Duration>,
    },
    /// A share of failures among counted calls.
    FailureRate {
        /// The share that trips, in (0, 1].
        failure_rate: f64,
        /// The rolling window, in ten buckets.
        within: Duration,
        /// Judged from this many calls on.
        min_calls: u32,
    },
    /// A share of slow calls among counted calls.
    SlowRate {
        /// The share that trips, in (0, 1].
        slow_rate: f64,
        /// A call is slow when its response's head took at least this long.
        slow_after: Duration,
        /// The rolling window, in ten buckets.
        within: Duration,
        /// Judged from this many calls on.
        min_calls: u32,
    },
}

impl TripRule {
    /// The fixed word used in API, store and metrics.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Failures { .. } => "failures",
            Self::Consecutive { .. } => "consecutive",
            Self::FailureRate { .. } => "failure_rate",
            Self::SlowRate { .. } => "slow_rate",
        }
    }
}

/// How long an open breaker waits before it lets a probe through: `first × factor^attempt`, capped at `max`, shortened
/// by up to `jitter` of itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wait {
    /// The wait after the first trip; at least 1 ms.
    pub first: Duration,
    /// Growth with each failed round; at least 1.
    pub factor: f64,
    /// No wait is longer, whatever the host or the growth says.
    pub max: Duration,
    /// The largest share a wait is shortened by, in [0, 1).
    pub jitter: f64,
}

/// How a half-open breaker is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HalfOpen {
    /// Probes in flight at a time; at least 1.
    pub probes: u32,
    /// Good verdicts that close; at least 1.
    pub successes: u32,
    /// The longest a probe may hold its permit before it is judged.
    pub lease: Duration,
}

/// A policy as written, before it is checked.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicySettings {
    /// The policy's name, shown on the board.
    pub name: String,
    /// What opens the breaker; at least one.
    pub trip: Vec<TripRule>,
    /// How long it waits.
    pub wait: Wait,
    /// How it is judged when half-open.
    pub half_open: HalfOpen,
    /// Whether an `alive` outcome breaks a run of failures.
    pub alive_breaks_run: bool,
}

impl PolicySettings {
    /// The built-in policy for package registries and other plain hosts.
    pub fn registry() -> Self {
        Self {
            name: "registry".into(),
            trip: vec![TripRule::Failures { failures: 5, within: Duration::from_secs(10) }],
            wait: Wait { first: Duration::from_secs(30), factor: 2.0, max: Duration::from_secs(300), jitter: 0.1 },
            half_open: HalfOpen { probes: 1, successes: 1, lease: Duration::from_secs(40) },
            alive_breaks_run: false,
        }
    }

    /// The built-in policy for service calls.
    pub fn grpc() -> Self {
        Self {
            name: "grpc".into(),
            trip: vec![TripRule::Consecutive { consecutive: 5, within: Some(Duration::from_secs(30)) }],
            wait: Wait { first: Duration::from_secs(15), factor: 1.0, max: Duration::from_secs(15), jitter: 0.0 },
            half_open: HalfOpen { probes: 10, successes: 10, lease: Duration::from_secs(40) },
            alive_breaks_run: true,
        }
    }
}
