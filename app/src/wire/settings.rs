//! The configuration in force, secrets masked: `GET /config`. A text that was filled from the environment is shown as it
//! was written, `${VAR}` in it; a header's value never is.

use serde::{Deserialize, Serialize};

use super::time::Time;

/// Everything that is configured, defaults filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Settings {
    /// The node's name.
    pub node: String,
    /// The file it was read from; null when there was none.
    pub file: Option<String>,
    /// When it was last read.
    pub loaded_at: Time,
    /// The gateway.
    pub gateway: Listener,
    /// Board and API.
    pub admin: Listener,
    /// The listener for watchers alone; null when off.
    pub ops: Option<String>,
    /// The record.
    pub store: Store,
    /// How many breakers there may be.
    pub panel_max: u64,
    /// Policies by name, the built-in ones among them.
    pub policies: Vec<Policy>,
    /// Upstreams in the order they are configured.
    pub upstreams: Vec<Upstream>,
    /// What works but should be looked at.
    pub warnings: Vec<String>,
    /// Streams of the live feed that are open now.
    pub feed_streams: u64,
}

/// Where something listens and what links to it say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema), schema(as = settings::Listener))]
pub struct Listener {
    /// `ADDRESS:PORT` as configured.
    pub listen: String,
    /// What links say, user info masked; null when none is configured.
    pub public_url: Option<String>,
}

/// The record's store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema), schema(as = settings::Store))]
pub struct Store {
    /// `sqlite:FILE`.
    pub url: String,
    /// How long single probes are kept.
    pub keep_probes_ms: u64,
    /// How long transitions are kept.
    pub keep_transitions_ms: u64,
    /// How long call totals are kept.
    pub keep_calls_ms: u64,
    /// How long operators' actions are kept.
    pub keep_audit_ms: u64,
    /// Bytes of facts that may wait for the store.
    pub journal_max_bytes: u64,
    /// Bytes the store may take.
    pub max_size_bytes: u64,
    /// Bytes its files take now.
    pub size_bytes: u64,
}

/// How breakers trip and recover.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema), schema(as = settings::Policy))]
pub struct Policy {
    /// Its name.
    pub name: String,
    /// What opens the breaker.
    pub trip: Vec<Rule>,
    /// The wait after the first trip.
    pub wait_first_ms: u64,
    /// Growth with each failed round.
    pub wait_factor: f64,
    /// No wait is longer.
    pub wait_max_ms: u64,
    /// The largest share a wait is shortened by.
    pub wait_jitter: f64,
    /// Probes in flight at a time.
    pub probes: u32,
    /// Good verdicts that close.
    pub successes: u32,
    /// The longest a probe may hold its permit.
    pub lease_ms: u64,
    /// Whether an answer for which the client is at fault breaks a run of failures.
    pub alive_breaks_run: bool,
}

/// One reason to open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema), schema(as = settings::Rule))]
pub struct Rule {
    /// `failures`, `consecutive`, `failure_rate` or `slow_rate`.
    pub rule: String,
    /// Where it trips: a count, or a share in (0, 1].
    pub need: f64,
    /// The window; null when age does not matter.
    pub within_ms: Option<u64>,
    /// Calls a rate is judged from.
    pub min_calls: Option<u32>,
    /// From where on a call is slow.
    pub slow_after_ms: Option<u64>,
}

/// One upstream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema), schema(as = settings::Upstream))]
pub struct Upstream {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub url: String,
    /// `http` or `grpc`.
    pub protocol: String,
    /// The gRPC services that go there; none for `http`.
    pub services: Vec<String>,
    /// Its policy's name.
    pub policy: String,
    /// `origin` or `upstream`.
    pub key: String,
    /// The breaker in front of it.
    pub breaker: String,
    /// DNS, TCP and TLS together.
    pub connect_ms: u64,
    /// From the last request byte to the response's head.
    pub first_byte_ms: u64,
    /// The longest pause of the host.
    pub between_bytes_ms: u64,
    /// The longest pause of our client.
    pub client_idle_ms: u64,
    /// The whole call.
    pub total_ms: u64,
    /// Calls in flight at most.
    pub concurrent: u64,
    /// Calls waiting at most.
    pub waiting: u64,
    /// Whether addresses inside our own network may be called.
    pub allow_private: bool,
    /// Whether redirects are followed.
    pub follow: bool,
    /// Hosts they may lead to.
    pub redirect_hosts: Vec<String>,
    /// Whether 429 is a failure.
    pub count_429: bool,
    /// Whether 429 with `Retry-After` starts a cool-down.
    pub cooldown: bool,
    /// A client that leaves after this long without a byte from the host makes it a failure.
    pub abandoned_after_ms: u64,
    /// A gRPC deadline shorter than this is no evidence.
    pub min_budget_ms: u64,
    /// Statuses that are failures.
    pub failures: String,
    /// Statuses that are none although `failures` has them.
    pub alive: String,
    /// Attempts of one call, the first among them.
    pub retry_attempts: u32,
    /// The wait before the second.
    pub retry_base_ms: u64,
    /// No wait between attempts is longer.
    pub retry_max_ms: u64,
    /// Whether identical calls at a time share one attempt.
    pub coalesce: bool,
    /// The probe sent where nobody calls, as in `HEAD /` or `Check accounts.v1.Accounts`; null when off.
    pub active_probe: Option<String>,
    /// What kind of clients it serves: `npm`, `pypi`, `cargo`, `maven` or `generic`.
    pub preset: String,
    /// Breakers of the hosts whose links lead back to the gateway beside its own.
    pub rewrite: Vec<String>,
    /// Names of the headers sent to it, each with `***` for its value.
    pub headers: Vec<Header>,
}

/// A configured header; its value is never told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema), schema(as = settings::Header))]
pub struct Header {
    /// Its name.
    pub name: String,
    /// `***`.
    pub value: String,
}

/// What a reload did: the answer of `POST /reload`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Reloaded {
    /// Upstreams that are new.
    pub added: Vec<String>,
    /// Upstreams that are gone.
    pub removed: Vec<String>,
    /// Upstreams that are not what they were.
    pub changed: Vec<String>,
    /// Breakers whose policy changed; each has its row.
    pub policy_changed: Vec<String>,
    /// Settings that take effect at the next start.
    pub needs_restart: Vec<String>,
    /// What works but should be looked at.
    pub warnings: Vec<String>,
    /// The audit row's number.
    pub seq: u64,
}
