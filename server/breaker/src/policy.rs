//! What trips a breaker, how long it waits and what closes it again. A [`Policy`] that exists can recover: everything
//! that could not is refused by [`Policy::new`] with the field's name.

use std::{fmt, sync::Arc, time::Duration};

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

/// A setting that cannot work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError {
    /// The field at fault, as it is written: `wait.max`, `trip[0].failures`.
    pub field: String,
    /// What it takes, in words.
    pub message: String,
}

impl fmt::Display for PolicyError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.field, self.message)
    }
}

impl std::error::Error for PolicyError {}

/// A checked policy. Cloning shares it.
#[derive(Clone)]
pub struct Policy(Arc<Checked>);

struct Checked {
    settings: PolicySettings,
    times_calls: bool,
    counts_successes: bool,
    counts_failures: bool,
}

impl Policy {
    /// Checks the settings.
    ///
    /// # Errors
    /// A setting could never trip, never end or never recover; the error names it.
    pub fn new(settings: PolicySettings) -> Result<Self, PolicyError> {
        check(&settings)?;
        Ok(Self::trusted(settings))
    }

    /// The built-in policy for package registries and other plain hosts.
    pub fn registry() -> Self {
        Self::trusted(PolicySettings::registry())
    }

    /// The built-in policy for service calls.
    pub fn grpc() -> Self {
        Self::trusted(PolicySettings::grpc())
    }

    /// The settings as they were given.
    pub fn settings(&self) -> &PolicySettings {
        &self.0.settings
    }

    /// Whether a rule needs to know how long a call took.
    pub(crate) fn times_calls(&self) -> bool {
        self.0.times_calls
    }

    /// Whether a rule has successes in its denominator, so that each must be counted under the lock.
    pub(crate) fn counts_successes(&self) -> bool {
        self.0.counts_successes
    }

    /// Whether a rule counts failures one by one.
    pub(crate) fn counts_failures(&self) -> bool {
        self.0.counts_failures
    }

    fn trusted(settings: PolicySettings) -> Self {
        let (mut times_calls, mut counts_successes, mut counts_failures) = (false, false, false);
        for rule in &settings.trip {
            match rule {
                TripRule::Failures { .. } | TripRule::Consecutive { .. } => counts_failures = true,
                TripRule::FailureRate { .. } => counts_successes = true,
                TripRule::SlowRate { .. } => (times_calls, counts_successes) = (true, true),
            }
        }
        Self(Arc::new(Checked { settings, times_calls, counts_successes, counts_failures }))
    }
}

impl PartialEq for Policy {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.settings() == other.settings()
    }
}

impl fmt::Debug for Policy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.settings().fmt(out)
    }
}

const SHORTEST: Duration = Duration::from_millis(1);
/// Longer than any outage anybody wants to sit out, and far from where an addition to a clock could overflow.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

fn check(settings: &PolicySettings) -> Result<(), PolicyError> {
    let PolicySettings { name, trip, wait, half_open, alive_breaks_run: _ } = settings;
    demand(!name.is_empty(), "name", "needs a name")?;
    demand(!trip.is_empty(), "trip", "needs at least one rule, else nothing ever opens the breaker")?;
    for (index, rule) in trip.iter().enumerate() {
        check_rule(rule, &format!("trip[{index}]"))?;
    }
    bounded(wait.first, "wait.first")?;
    demand(wait.factor.is_finite() && wait.factor >= 1.0, "wait.factor", "takes a number from 1 on")?;
    bounded(wait.max, "wait.max")?;
    demand(wait.max >= wait.first, "wait.max", "must not be below wait.first")?;
    demand((0.0..1.0).contains(&wait.jitter), "wait.jitter", "takes a share from 0 up to, but not including, 1")?;
    demand(half_open.probes >= 1, "half_open.probes", "needs at least 1 probe, else the breaker never recovers")?;
    demand(half_open.successes >= 1, "half_open.successes", "needs at least 1 success to close on")?;
    bounded(half_open.lease, "half_open.lease")
}

fn check_rule(rule: &TripRule, at: &str) -> Result<(), PolicyError> {
    let count = |value: u32, field: &str| demand(value >= 1, &format!("{at}.{field}"), "takes a number from 1 on");
    let share = |value: f64, field: &str| {
        demand(value > 0.0 && value <= 1.0, &format!("{at}.{field}"), "takes a share above 0 and at most 1")
    };
    let length = |value: Duration, field: &str| bounded(value, &format!("{at}.{field}"));
    match *rule {
        TripRule::Failures { failures, within } => {
            count(failures, "failures")?;
            length(within, "within")
        }
        TripRule::Consecutive { consecutive, within } => {
            count(consecutive, "consecutive")?;
            within.map_or(Ok(()), |within| length(within, "within"))
        }
        TripRule::FailureRate { failure_rate, within, min_calls } => {
            share(failure_rate, "failure_rate")?;
            length(within, "within")?;
            count(min_calls, "min_calls")
        }
        TripRule::SlowRate { slow_rate, slow_after, within, min_calls } => {
            share(slow_rate, "slow_rate")?;
            length(slow_after, "slow_after")?;
            length(within, "within")?;
            count(min_calls, "min_calls")
        }
    }
}

fn bounded(value: Duration, field: &str) -> Result<(), PolicyError> {
    demand((SHORTEST..=LONGEST).contains(&value), field, "takes a time from 1 ms to 365 days")
}

fn demand(holds: bool, field: &str, message: &str) -> Result<(), PolicyError> {
    if holds { Ok(()) } else { Err(PolicyError { field: field.into(), message: message.into() }) }
}
