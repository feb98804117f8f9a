//! Everything a request, an operator's action or the upkeep works with. Built once, by `startup`.

use std::{collections::HashSet, sync::Arc, time::SystemTime};

use arc_swap::ArcSwap;
use fuseboard_breaker::{Panel, clock::Clock};
use fuseboard_fetch::Fetcher;
use parking_lot::Mutex;
use tokio::sync::Notify;
use url::Url;

use crate::{
    calls::Calls,
    config::{Config, Source, upstreams::Upstreams},
    db::Db,
    findings::Findings,
    journal::Journal,
    lifecycle::Lifecycle,
    live::Live,
    metrics::Metrics,
    tally::Tallies,
    undo::Recent,
};

/// The running server's parts.
pub struct App {
    /// As checked at start: what only a restart changes.
    pub config: Arc<Config>,
    /// As last read.
    pub settings: ArcSwap<Config>,
    /// When it was.
    pub loaded_at: Mutex<SystemTime>,
    /// Where to read it again; absent when it came from nowhere, as the demo's.
    pub source: Option<Source>,
    /// Told after each reload.
    pub reloaded: Notify,
    /// Both times, the same the breakers are told.
    pub clock: Arc<dyn Clock>,
    /// The store.
    pub db: Db,
    /// The ordered stream of facts.
    pub journal: Journal,
    /// The live feed.
    pub live: Arc<Live>,
    /// Rates and latencies.
    pub calls: Arc<Calls>,
    /// What incidents count while they last.
    pub tallies: Arc<Tallies>,
    /// What `/metrics` counts.
    pub metrics: Arc<Metrics>,
    /// All breakers.
    pub panel: Panel,
    /// What calls the hosts.
    pub fetcher: Fetcher,
    /// What is configured, by name and by breaker.
    pub upstreams: Arc<ArcSwap<Upstreams>>,
    /// What the watchdog found.
    pub findings: Findings,
    /// When to end.
    pub lifecycle: Lifecycle,
    /// What links to the gateway start with, the port it really listens on in it.
    pub gateway_url: Url,
    /// What links to the board start with.
    pub admin_url: Url,
    /// Held while an operator's action is taken: one at a time. What of it can be undone.
    pub acting: Mutex<Recent>,
    /// Held while the configuration is read again.
    pub reloading: tokio::sync::Mutex<()>,
    /// Breakers an earlier run had calls for: they wait for no first call.
    pub called_before: HashSet<Arc<str>>,
    /// When this process started.
    pub started: SystemTime,
}
