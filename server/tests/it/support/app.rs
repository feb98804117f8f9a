//! The real server, started as the binary starts it, on free ports and a store of its own.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::Path,
    sync::Arc,
};

use fuseboard::{
    app::App,
    config::{Config, Flags},
    startup::{self, Edges, Running},
};
use fuseboard_breaker::{Breaker, By, Clock, ManualClock, SystemClock};
use tempfile::TempDir;

/// Any free port.
const FREE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

pub(crate) struct TestApp {
    running: Running,
    text: String,
    clock: Arc<dyn Clock>,
    folder: TempDir,
}

impl TestApp {
    /// With the machine's clocks. The text is a configuration; listeners and store are set here.
    pub(crate) async fn start(text: &str) -> Self {
        Self::with_clock(text, Arc::new(SystemClock)).await
    }

    /// With a clock of the test's own.
    pub(crate) async fn with_clock(text: &str, clock: Arc<dyn Clock>) -> Self {
        Self::run(text.to_owned(), clock, TempDir::new().expect("a folder")).await
    }

    /// With a clock that stands still until it is moved.
    pub(crate) async fn manual(text: &str) -> (Self, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::default());
        (Self::with_clock(text, clock.clone()).await, clock)
    }

    /// With the gateway where the text says, for a test that must know its port first.
    pub(crate) async fn where_it_says(text: &str) -> Self {
        let folder = TempDir::new().expect("a folder");
        Self::run_at(text.to_owned(), Arc::new(SystemClock), folder, None).await
    }

    async fn run(text: String, clock: Arc<dyn Clock>, folder: TempDir) -> Self {
        Self::run_at(text, clock, folder, Some(FREE)).await
    }

    async fn run_at(text: String, clock: Arc<dyn Clock>, folder: TempDir, gateway: Option<SocketAddr>) -> Self {
        let store = folder.path().join("test.db");
        let store = Some(format!("sqlite:{}", store.display()));
        let flags = Flags { gateway, admin: Some(FREE), store, ..Flags::default() };
        let config = Config::load(&text, Path::new("test.toml"), &Vec::new(), &flags);
        let config = config.unwrap_or_else(|error| panic!("{error}"));
        let edges = Edges { clock: Some(clock.clone()), ..Edges::default() };
        let running = startup::start(config, edges).await.unwrap_or_else(|error| panic!("{error}"));
        Self { running, text, clock, folder }
    }

    pub(crate) fn app(&self) -> &Arc<App> {
        &self.running.app
    }

    pub(crate) fn gateway(&self) -> SocketAddr {
        self.running.gateway_addr
    }

    pub(crate) fn admin(&self) -> SocketAddr {
        self.running.admin_addr
    }

    /// A breaker that must be there.
    pub(crate) fn breaker(&self, id: &str) -> Breaker {
        self.app().panel.get(id).unwrap_or_else(|| panic!("no breaker {id}"))
    }

    /// Ends in order and starts again on the same store.
    pub(crate) async fn restart(self) -> Self {
        let Self { running, text, clock, folder } = self;
        running.soft_stop().await.unwrap_or_else(|error| panic!("{error}"));
        Self::run(text, clock, folder).await
    }

    /// Ends in order.
    pub(crate) async fn stop(self) {
        self.running.soft_stop().await.unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Somebody who does things to breakers without asking anybody.
pub(crate) fn somebody() -> By {
    By { name: "ana".into(), verified: false, via: "api".into() }
}
