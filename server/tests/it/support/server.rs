//! The real server, started as the binary starts it, on free ports and a store of its own.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};

use fuseboard::{
    config::{Environment, Flags, Source},
    startup::{self, Edges, Running},
};
use fuseboard_breaker::Clock;
use tempfile::TempDir;

use super::soon;

/// Any free port.
const FREE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// What a server is started with, once and again.
pub(crate) struct Place {
    clock: Arc<dyn Clock>,
    env: Environment,
    folder: TempDir,
}

impl Place {
    /// The text is a configuration; listeners and store are set here. `${SECRET}` in it is `hunter2`.
    pub(crate) fn new(text: String, clock: Arc<dyn Clock>) -> Self {
        let env = vec![("SECRET".to_owned(), "hunter2".to_owned())];
        let place = Self { clock, env, folder: TempDir::new().expect("a folder") };
        place.write(&text);
        place
    }

    /// What the next start or reload reads.
    pub(crate) fn write(&self, text: &str) {
        std::fs::write(self.file(), text).expect("written");
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("test.toml")
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
        let source = Source { file: Some(self.file()), env: self.env.clone(), flags };
        let config = source.read().unwrap_or_else(|error| panic!("{error}"));
        let edges = Edges { clock: Some(self.clock.clone()), source: Some(source), ..Edges::default() };
        soon("the server's start", startup::start(config, edges)).await.unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Ends it in order.
pub(crate) async fn stop(running: Running) {
    soon("the server's end", running.soft_stop()).await.unwrap_or_else(|error| panic!("{error}"));
}
