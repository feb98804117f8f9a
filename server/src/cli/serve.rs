//! `fuseboard serve` and `fuseboard demo`.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;

use super::{
    Failure,
    configuration::{environment, read},
    on_runtime, say,
};
use crate::{
    config::{Flags, Source, parse_address, store_path},
    control, demo, lifecycle,
    startup::{self, Edges},
};

#[derive(Debug, Args)]
pub(super) struct Serve {
    /// The configuration; fuseboard.toml in this folder when absent and it exists.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// An upstream beside those of the configuration, or another address for one of them; may be given again.
    #[arg(long = "upstream", value_name = "NAME=URL", value_parser = named_url)]
    upstreams: Vec<(String, String)>,
    #[command(flatten)]
    listen: Listen,
}

#[derive(Debug, Args)]
pub(super) struct Listen {
    /// Where clients connect; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    gateway: Option<SocketAddr>,
    /// Where board and API listen; loopback only.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    admin: Option<SocketAddr>,
    /// Where the record goes, as in sqlite:fuseboard.db.
    #[arg(long, value_name = "URL", value_parser = store_url)]
    store: Option<String>,
}

impl Listen {
    fn flags(self, upstreams: Vec<(String, String)>) -> Flags {
        Flags { upstreams, gateway: self.gateway, admin: self.admin, store: self.store }
    }
}

fn named_url(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, url)) if !name.is_empty() && !url.is_empty() => Ok((name.to_owned(), url.to_owned())),
        _ => Err("it takes NAME=URL, as in npm=https://registry.example".to_owned()),
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    parse_address(text).ok_or_else(|| "it takes ADDRESS:PORT, as in 127.0.0.1:8080".to_owned())
}

pub(super) fn store_url(text: &str) -> Result<String, String> {
    store_path(text).map(|_| text.to_owned()).ok_or_else(|| "it takes sqlite:FILE".to_owned())
}

impl Serve {
    pub(super) fn run(self) -> Result<(), Failure> {
        let source = Source { file: self.config, env: environment(), flags: self.listen.flags(self.upstreams) };
        let config = read(&source)?;
        on_runtime(async {
            let running = startup::start(config, Edges { source: Some(source), ..Edges::default() }).await?;
            finish(running).await
        })
    }
}

pub(super) fn demo(listen: Listen) -> Result<(), Failure> {
    let flags = listen.flags(Vec::new());
    on_runtime(async {
        let demo = demo::start(&flags, &environment()).await?;
        let ended = finish(demo.running).await;
        drop(demo.store);
        ended
    })
}

/// Says where it listens and serves until a signal ends it.
async fn finish(running: startup::Running) -> Result<(), Failure> {
    // Before anybody knows where to find it: a signal nobody watches for ends the process as it stands.
    lifecycle::watch_signals(&running.app.lifecycle)
        .and_then(|()| control::on_hangup(&running.app))
        .map_err(|error| Failure::Failed(format!("cannot watch for signals: {error}")))?;
    let mut text = format!("gateway  http://{}\nboard    http://{}\n", running.gateway_addr, running.admin_addr);
    if let Some(ops) = running.ops_addr {
        text.push_str(&format!("ops      http://{ops}\n"));
    }
    if running.app.upstreams.load().is_empty() {
        let how = "name one in fuseboard.toml or with --upstream NAME=URL; the board says how";
        text.push_str(&format!("no upstream yet: {how}\n"));
    }
    say(&text)?;
    running.wait().await.map_err(Failure::Start)
}
