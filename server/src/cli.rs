//! Commands and flags. Exit codes: 0, 1 failed, 2 usage or configuration.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{Args, Parser, Subcommand};

use crate::{
    config::{Config, ConfigError, DEFAULT_FILE, Flags, Source, parse_address, store_path},
    control,
    demo::{self, DemoError},
    lifecycle,
    startup::{self, Edges, StartError},
    telemetry,
};

/// A gateway with a circuit breaker in front of every host, and a board that shows what the breakers did and why.
#[derive(Debug, Parser)]
#[command(name = "fuseboard", version, arg_required_else_help = true)]
struct Cli {
    /// How much to log on stderr, as in "info" or "fuseboard=debug"; RUST_LOG when absent.
    #[arg(long, global = true, value_name = "FILTER")]
    log: Option<String>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run gateway and board.
    Serve(Serve),
    /// Run with local upstreams that fail on a schedule: something to look at in a minute.
    Demo(Listen),
    /// Check a configuration; exit 0, or 2 and the field at fault.
    CheckConfig {
        /// The file.
        #[arg(default_value = DEFAULT_FILE)]
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
struct Serve {
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
struct Listen {
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

fn store_url(text: &str) -> Result<String, String> {
    store_path(text).map(|_| text.to_owned()).ok_or_else(|| "it takes sqlite:FILE".to_owned())
}

/// Why the process ends with something other than 0.
enum Failure {
    Config(ConfigError),
    Usage(String),
    Start(StartError),
    Failed(String),
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        Self::Start(error)
    }
}

impl From<DemoError> for Failure {
    fn from(error: DemoError) -> Self {
        match error {
            DemoError::Config(error) => Self::Config(error),
            DemoError::Start(error) => Self::Start(error),
            error @ DemoError::Hosts(_) => Self::Failed(error.to_string()),
        }
    }
}

impl Failure {
    fn report(&self) -> ExitCode {
        let (text, code) = match self {
            Self::Config(error) => (error.to_string(), 2),
            Self::Usage(error) => (error.clone(), 2),
            Self::Start(error) => (error.to_string(), error.exit_code()),
            Self::Failed(error) => (error.clone(), 1),
        };
        eprintln!("fuseboard: {text}");
        ExitCode::from(code)
    }
}

/// Runs the command on the command line.
pub fn main() -> ExitCode {
    // clap itself ends with 2 on usage and 0 on help.
    let cli = Cli::parse();
    match run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(cli: Cli) -> Result<(), Failure> {
    telemetry::init(cli.log.as_deref()).map_err(Failure::Usage)?;
    match cli.command {
        Command::CheckConfig { file } => check_config(&file),
        Command::Serve(Serve { config, upstreams, listen }) => {
            let source = Source { file: config, env: environment(), flags: listen.flags(upstreams) };
            let config = read(&source)?;
            on_runtime(async {
                let edges = Edges { source: Some(source), ..Edges::default() };
                let running = startup::start(config, edges).await?;
                finish(running).await
            })
        }
        Command::Demo(listen) => {
            let flags = listen.flags(Vec::new());
            on_runtime(async {
                let demo = demo::start(&flags, &environment()).await?;
                let ended = finish(demo.running).await;
                drop(demo.store);
                ended
            })
        }
    }
}

fn on_runtime<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| Failure::Failed(format!("cannot start threads: {error}")))?.block_on(work)
}

/// Says where it listens and serves until a signal ends it.
async fn finish(running: startup::Running) -> Result<(), Failure> {
    println!("gateway  http://{}", running.gateway_addr);
    println!("board    http://{}", running.admin_addr);
    if let Some(ops) = running.ops_addr {
        println!("ops      http://{ops}");
    }
    if running.app.upstreams.load().is_empty() {
        println!("no upstream yet: name one in {DEFAULT_FILE} or with --upstream NAME=URL; the board says how");
    }
    lifecycle::watch_signals(&running.app.lifecycle)
        .and_then(|()| control::on_hangup(&running.app))
        .map_err(|error| Failure::Failed(format!("cannot watch for signals: {error}")))?;
    running.wait().await.map_err(Failure::Start)
}

fn environment() -> Vec<(String, String)> {
    std::env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?))).collect()
}

fn read(source: &Source) -> Result<Config, Failure> {
    let config = source.read()?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    Ok(config)
}

fn read_file(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))
}

fn check_config(file: &Path) -> Result<(), Failure> {
    let config = Config::load(&read_file(file)?, file, &environment(), &Flags::default())?;
    for warning in &config.warnings {
        println!("warning: {warning}");
    }
    let count = config.upstreams.len();
    println!("{}: good, {count} {}", file.display(), if count == 1 { "upstream" } else { "upstreams" });
    Ok(())
}
