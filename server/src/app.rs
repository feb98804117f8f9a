//! Everything a request, an operator's action or the upkeep works with. Built once, by `startup`.

use std::{collections::HashSet, sync::Arc, time::SystemTime};

use arc_swap::ArcSwap;
use fuseboard_breaker::{Panel, clock::Clock};
use fuseboard_fetch::Fetcher;
use parking_lot::Mutex;
use url::Url;

use crate::{
    calls::Calls,
    config::{Config, upstreams::Upstreams},
    db::Db,
    journal::Journal,
    lifecycle::Lifecycle,
    live::Live,
    metrics::Metrics,
    tally::Tallies,
};

/// The running server's parts.
pub struct App {
    /// As checked at start.
    pub config: Arc<Config>,
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
    /// When to end.
    pub lifecycle: Lifecycle,
    /// What links to the gateway start with, the port it really listens on in it.
    pub gateway_url: Url,
    /// What links to the board start with.
    pub admin_url: Url,
    /// Held while an operator's action is taken: one at a time.
    pub acting: Mutex<()>,
    /// Breakers an earlier run had calls for: they wait for no first call.
    pub called_before: HashSet<Arc<str>>,
    /// When this process started.
    pub started: SystemTime,
}
