//! What the board asks of the server. `server::backend` implements it, bound to the caller.

#[cfg(feature = "ssr")]
use crate::wire::{
    action::{ActionAnswer, BulkAction},
    breaker::{Breaker, BreakerList},
    command::{Said, Undo},
    event::{Audit, Page, Probe, Transition},
    incident::{Incident, IncidentDetail},
    settings::{Reloaded, Settings},
    timeline::{Lane, Moment, Timeline},
};
use crate::wire::{
    event::{Finding, StoreHealth},
    time::Time,
};

/// Which breakers, as the panel's address says it.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BreakerFilter {
    /// `closed`, `open`, `half_open`, `forced_open`, `forced_closed`, `latched`, `cooling_down`, `down`; all when absent.
    pub state: Option<String>,
    /// Text that the id, an upstream's name or a service of it contains.
    pub q: Option<String>,
    /// `http` or `grpc`; both when absent.
    pub protocol: Option<String>,
    /// The name of an upstream it guards.
    pub upstream: Option<String>,
    /// A gRPC service that goes there, as in `accounts.v1.Accounts`.
    pub service: Option<String>,
}

/// Which incidents.
#[cfg(feature = "ssr")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IncidentFilter {
    /// Of this breaker.
    pub breaker: Option<String>,
    /// Text that the breaker's id or an upstream's name contains.
    pub q: Option<String>,
    /// Of this upstream's own breaker.
    pub upstream: Option<String>,
    /// Not over before this.
    pub from: Option<Time>,
    /// Begun before this.
    pub to: Option<Time>,
    /// Those that last (`true`), or those that are over.
    pub open: Option<bool>,
    /// Ids below this, newest first.
    pub before: Option<u64>,
    /// Ids above this, oldest first.
    pub after: Option<u64>,
    /// At most this many; 100 when absent.
    pub limit: Option<u32>,
}

/// A stretch of time: the last `range`, or exact ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Stretch {
    /// Start, ms since 1970.
    pub from_ms: i64,
    /// End, ms since 1970.
    pub to_ms: i64,
    /// Pixels it is drawn on.
    pub width: u32,
}

/// What every page must say beyond its breakers.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct About {
    /// The node's name.
    pub node: String,
    /// The server's version.
    pub version: String,
    /// The demo's upstreams are running.
    pub demo: bool,
    /// What links in the gateway start with.
    pub gateway_url: String,
    /// How the store is doing.
    pub store: StoreHealth,
    /// What the watchdog sees broken in the server itself.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// The server's time; countdowns are measured against it.
    pub now: Time,
    /// Since when this process watches.
    pub started: Time,
    /// `<boot>-<seq>`, read before everything else a page shows: what the feed brings after it is applied on top.
    pub cursor: String,
}

impl About {
    /// How long this process has watched.
    pub fn watched_ms(&self) -> i64 {
        self.now.millis() - self.started.millis()
    }
}

/// An answer that is not what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, serde::Serialize, serde::Deserialize)]
#[error("{detail}")]
pub struct Refusal {
    /// The HTTP status it would have over the API.
    pub status: u16,
    /// What happened and what to do.
    pub detail: String,
    /// The field at fault.
    pub field: Option<String>,
    /// The action took effect though it could not be stored.
    pub applied: bool,
}

/// The server as the board sees it.
#[cfg(feature = "ssr")]
#[async_trait::async_trait]
pub trait Backend: Send + Sync + 'static {
    /// Node, version, store health.
    async fn about(&self) -> About;
    /// All breakers that match, worst first.
    async fn breakers(&self, filter: BreakerFilter) -> Result<BreakerList, Refusal>;
    /// One breaker.
    async fn breaker(&self, id: String) -> Result<Breaker, Refusal>;
    /// Lanes of all breakers that match, in the list's order.
    async fn timeline(&self, filter: BreakerFilter, stretch: Stretch) -> Result<Timeline, Refusal>;
    /// One breaker's lane with calls and probes.
    async fn lane(&self, id: String, stretch: Stretch) -> Result<Lane, Refusal>;
    /// A breaker's transitions, newest first.
    async fn transitions(&self, id: String, limit: u32) -> Result<Page<Transition>, Refusal>;
    /// A breaker's probes, newest first.
    async fn probes(&self, id: String, limit: u32) -> Result<Page<Probe>, Refusal>;
    /// What operators did to a breaker, newest first.
    async fn audit(&self, id: Option<String>, before: Option<u64>, limit: u32) -> Result<Page<Audit>, Refusal>;
    /// Incidents, newest first.
    async fn incidents(&self, filter: IncidentFilter) -> Result<Page<Incident>, Refusal>;
    /// One incident with everything known of it.
    async fn incident(&self, id: u64) -> Result<IncidentDetail, Refusal>;
    /// What is on record between two times of one breaker, and else what came last before.
    async fn moment(&self, id: String, from: Time, to: Time) -> Result<Moment, Refusal>;
    /// One action on one breaker or many, or what it would do.
    async fn act(&self, action: BulkAction) -> Result<ActionAnswer, Refusal>;
    /// Puts back what an action of the last 10 s changed.
    async fn undo(&self, command: Undo) -> Result<ActionAnswer, Refusal>;
    /// What is configured, secrets masked.
    async fn settings(&self) -> Result<Settings, Refusal>;
    /// Reads the configuration again.
    async fn reload(&self, command: Said) -> Result<Reloaded, Refusal>;
}

/// What a page or function may say about the HTTP answer it becomes part of. The server provides it as a context;
/// where it is missing, the status stays 200 and a plain form goes back to where it came from.
#[cfg(feature = "ssr")]
pub trait Answer: Send + Sync + 'static {
    /// Sets the status.
    fn status(&self, status: u16);
    /// Sets the status of a refused form; a browser without script is sent back to the form at `again` instead.
    fn refuse(&self, status: u16, again: &str);
    /// Where the browser goes after a form posted without script; ignored for calls from the running board.
    fn land(&self, path: &str);
}
