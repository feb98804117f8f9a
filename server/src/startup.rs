//! The one composition root: from a checked configuration and replaceable edges to a running server. Tests call the same
//! function.

use std::{fmt, io, net::SocketAddr, sync::Arc, time::Duration};

use arc_swap::ArcSwap;
use axum::Router;
use fuseboard_breaker::{Clock, EventSink, Panel, Policy, SystemClock};
use fuseboard_fetch::Fetcher;
use hyper_util::service::TowerToHyperService;
use tokio::{net::TcpListener, time::timeout};

use crate::{
    app::App,
    calls::Calls,
    config::{Config, Source, gateway::url_of},
    db::{Db, StoreError},
    gateway::{self, Gateway},
    history::{retention::Keep, runs},
    journal::{self, Journal},
    lifecycle::{DRAIN, Lifecycle},
    listen::{self, Patience},
    live::Live,
    metrics::Metrics,
    restore::{self, Restored},
    tally::Tallies,
    upkeep::{self, Watch, watchdog},
    web,
};

/// How long the last facts may take to reach the store.
const FLUSH: Duration = Duration::from_secs(10);

/// What stands around the server: where its configuration came from, and what a test replaces.
#[derive(Default)]
pub struct Edges {
    /// Where a reload reads the configuration; without it there is none.
    pub source: Option<Source>,
    /// Time; the machine's own when absent.
    pub clock: Option<Arc<dyn Clock>>,
    /// Bound already, in place of `gateway.listen`.
    pub gateway: Option<TcpListener>,
    /// Bound already, in place of `admin.listen`.
    pub admin: Option<TcpListener>,
}

impl fmt::Debug for Edges {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Edges").field("gateway", &self.gateway).field("admin", &self.admin).finish_non_exhaustive()
    }
}

/// Why the server does not run, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A listener's address cannot be had.
    #[error("{field}: cannot listen on {address}: {source}; choose another address or stop what listens there")]
    Listen {
        /// The configuration's field.
        field: &'static str,
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The end came before everything was stored.
    #[error("{}{}", unstored(*.waiting), .error.as_deref().map(|error| format!(": {error}")).unwrap_or_default())]
    NotFlushed {
        /// Facts lost.
        waiting: u64,
        /// What the store said.
        error: Option<String>,
    },
}

impl StartError {
    /// 2 for what the configuration is at fault for.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Store(StoreError::InUse { .. } | StoreError::Folder { .. }) => 2,
            _ => 1,
        }
    }
}

fn unstored(waiting: u64) -> String {
    match waiting {
        0 => "stopped before the store took the newest call totals and the mark of a clean end".to_owned(),
        1 => "stopped with 1 fact not written to the store".to_owned(),
        many => format!("stopped with {many} facts not written to the store"),
    }
}

/// A server that runs.
pub struct Running {
    /// Its parts.
    pub app: Arc<App>,
    /// Where the gateway listens.
    pub gateway_addr: SocketAddr,
    /// Where board and API listen.
    pub admin_addr: SocketAddr,
    /// Where liveness and metrics alone listen.
    pub ops_addr: Option<SocketAddr>,
    /// Looks every few seconds by itself.
    pub watchdog: watchdog::Shared,
}

/// Starts everything; when it answers, connections are served.
///
/// # Errors
/// See [`StartError`]; nothing runs then.
pub async fn start(config: Config, edges: Edges) -> Result<Running, StartError> {
    let clock = edges.clock.unwrap_or_else(|| Arc::new(SystemClock));
    let gateway = bind("gateway.listen", config.gateway.listen, edges.gateway).await?;
    let admin = bind("admin.listen", config.admin.listen, edges.admin).await?;
    let ops = match config.ops {
        Some(address) => Some(bind("ops.listen", address, None).await?),
        None => None,
    };

    let db = Db::open(&config.store.path, &config.node, env!("CARGO_PKG_VERSION")).await?;
    let started = clock.wall();
    let run = runs::begin(&db, started).await?;
    let restored = restore::read(&db, config.panel.max, started).await?;
    let calls = Arc::new(Calls::new(clock.clone()));
    let tallies = Arc::new(Tallies::default());
    let live = Arc::new(Live::new(run.boot, run.next_seq - 1, env!("CARGO_PKG_VERSION"), clock.clone()));
    let upstreams = Arc::new(ArcSwap::from_pointee(config.upstreams.clone()));
    let journal = Journal::start(journal::Start {
        db: &db,
        run,
        known: restored.newest.clone(),
        incidents: restored.incidents.clone(),
        live: Some(live.clone()),
        calls: calls.clone(),
        tallies: tallies.clone(),
        upstreams: upstreams.clone(),
        clock: clock.clone(),
        journal_max: config.store.journal_max,
        keep: Keep::from(&config.store),
    });

    let metrics = Arc::new(Metrics::new(clock.clone()));
    let watch = Watch::new(journal.clone(), metrics.clone());
    let panel = Panel::new(config.panel.max, clock.clone(), watch.clone() as Arc<dyn EventSink>);
    seat(&panel, &config, &restored);
    let fetcher = Fetcher::builder(panel.clone(), clock.clone())
        .observer(metrics.observing(tallies.observing(calls.clone())))
        // Of each process its own: two in a row are no loop.
        .via(&format!("fuseboard-{:08x}", rand::random::<u32>()))
        .build();

    let config = Arc::new(config);
    let (gateway_at, admin_at) = (gateway.1, admin.1);
    let app = Arc::new(App {
        gateway_url: config.gateway.public_url.clone().unwrap_or_else(|| url_of(gateway_at)),
        admin_url: config.admin.public_url.clone().unwrap_or_else(|| url_of(admin_at)),
        upstreams,
        lifecycle: Lifecycle::new(),
        settings: ArcSwap::new(config.clone()),
        loaded_at: started.into(),
        source: edges.source,
        findings: Default::default(),
        reloaded: Default::default(),
        reloading: Default::default(),
        config,
        clock,
        db,
        journal,
        live,
        calls,
        tallies,
        panel,
        fetcher,
        metrics,
        acting: Default::default(),
        called_before: restored.called(),
        started,
    });
    let ops_addr = ops.as_ref().map(|(_, at)| *at);
    serve(&app, watch, gateway.0, admin.0, ops.map(|(listener, _)| listener));
    let watchdog = watchdog::Shared::default();
    app.lifecycle.spawn(watchdog::run(app.clone(), watchdog.clone()));
    Ok(Running { app, gateway_addr: gateway_at, admin_addr: admin_at, ops_addr, watchdog })
}

async fn bind(
    field: &'static str,
    address: SocketAddr,
    bound: Option<TcpListener>,
) -> Result<(TcpListener, SocketAddr), StartError> {
    let fault = |source| StartError::Listen { field, address, source };
    let listener = match bound {
        Some(listener) => listener,
        None => TcpListener::bind(address).await.map_err(fault)?,
    };
    let at = listener.local_addr().map_err(fault)?;
    Ok((listener, at))
}

/// Puts back what an earlier run left, then makes sure every configured upstream has its own breaker.
fn seat(panel: &Panel, config: &Config, restored: &Restored) {
    restored.put_back(panel, |saved| match config.upstreams.of_breaker(&saved.id) {
        Some(entry) => (entry.upstream.policy.clone(), true),
        // One that no upstream names keeps the policy it had, as far as that is still configured.
        None => (config.policies.get(&saved.policy).cloned().unwrap_or_else(Policy::registry), false),
    });
    for entry in config.upstreams.iter() {
        panel.configure(&entry.breaker, entry.upstream.policy.clone());
    }
}

fn serve(app: &Arc<App>, watch: Arc<Watch>, gateway: TcpListener, admin: TcpListener, ops: Option<TcpListener>) {
    let calls = Gateway {
        fetcher: app.fetcher.clone(),
        upstreams: app.upstreams.clone(),
        lifecycle: app.lifecycle.clone(),
        own: app.gateway_url.clone(),
        public: app.config.gateway.public_url.clone(),
        board: app.admin_url.clone(),
    };
    app.lifecycle.spawn(gateway::serve(Arc::new(calls), gateway));
    app.lifecycle.spawn(upkeep::run(app.clone(), watch));
    app.lifecycle.spawn(serve_pages(app.lifecycle.clone(), admin, web::admin(app.clone())));
    if let Some(ops) = ops {
        app.lifecycle.spawn(serve_pages(app.lifecycle.clone(), ops, web::ops(app.clone())));
    }
}

/// How long whoever looks at a page may leave it unread: a tab that sleeps does not hold up a stop.
const PATIENCE: Patience = Patience { stall: Duration::from_secs(75), parting: Duration::from_secs(2) };

async fn serve_pages(lifecycle: Lifecycle, listener: TcpListener, router: Router) {
    listen::serve(lifecycle, listener, || PATIENCE, TowerToHyperService::new(router)).await;
}

impl Running {
    /// Serves until the soft step begins, then drains, writes down what is left and ends.
    ///
    /// # Errors
    /// Not everything could be stored in time.
    pub async fn wait(self) -> Result<(), StartError> {
        let app = self.app;
        app.lifecycle.soft().await;
        app.live.close();
        if !app.lifecycle.drain(DRAIN).await {
            tracing::warn!("some connections were cut off");
        }
        upkeep::take_failures(&app);
        if timeout(FLUSH, app.journal.close()).await.is_err() {
            let health = app.journal.health();
            return Err(StartError::NotFlushed { waiting: health.waiting, error: health.error });
        }
        app.db.close().await;
        Ok(())
    }

    /// Takes the soft step and waits for the end.
    ///
    /// # Errors
    /// Not everything could be stored in time.
    pub async fn soft_stop(self) -> Result<(), StartError> {
        self.app.lifecycle.begin_soft();
        self.wait().await
    }
}
