//! The real server, started as the binary starts it, on free ports and a store of its own.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};

use fuseboard::{
    config::{Config, Flags},
    startup::{self, Edges, Running},
};
use fuseboard_breaker::Clock;
use tempfile::TempDir;

use super::soon;

/// Any free port.
const FREE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// What a server is started with, once and again.
pub(crate) struct Place {
    text: String,
    clock: Arc<dyn Clock>,
    folder: TempDir,
}

impl Place {
    /// The text is a configuration; listeners and store are set here.
    pub(crate) fn new(text: String, clock: Arc<dyn Clock>) -> Self {
        Self { text, clock, folder: TempDir::new().expect("a folder") }
    }

    /// The store's file.
    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("fuse.db")
    }

    /// Starts it, on free ports.
    pub(crate) async fn start(&self) -> Running {
        self.start_at(Some(FREE)).await
    }

    /// Starts it with the gateway where the text says, for a test that must know its port first.
    pub(crate) async fn start_where_it_says(&self) -> Running {
        self.start_at(None).await
    }

    async fn start_at(&self, gateway: Option<SocketAddr>) -> Running {
        let store = Some(format!("sqlite:{}", self.store().display()));
        let flags = Flags { gateway, admin: Some(FREE), store, ..Flags::default() };
        let config = Config::load(&self.text, "test.toml".as_ref(), &Vec::new(), &flags);
        let config = config.unwrap_or_else(|error| panic!("{error}"));
        let edges = Edges { clock: Some(self.clock.clone()), ..Edges::default() };
        soon("the server's start", startup::start(config, edges)).await.unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Ends it in order.
pub(crate) async fn stop(running: Running) {
    soon("the server's end", running.soft_stop()).await.unwrap_or_else(|error| panic!("{error}"));
}
