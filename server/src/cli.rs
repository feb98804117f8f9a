//! Commands and flags, one file a command. Exit codes: 0, 1 failed, 2 usage or configuration.

mod backup;
mod breakers;
mod completions;
mod configuration;
mod export;
mod hash_password;
mod serve;
mod server;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::{Parser, Subcommand};

use crate::{config::ConfigError, demo::DemoError, startup::StartError, telemetry};

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
    Serve(serve::Serve),
    /// Run with local upstreams that fail on a schedule: something to look at in a minute.
    Demo(serve::Listen),
    /// Check a configuration; exit 0, or 2 and the field at fault.
    CheckConfig(configuration::Check),
    /// Read a password on standard input, print its argon2id hash for the configuration.
    HashPassword,
    /// See breakers of a running server, and act on them.
    #[command(subcommand)]
    Breakers(breakers::Breakers),
    /// Write part of a running server's record to a file.
    Export(export::Export),
    /// Copy the store, whether its server is running or not.
    Backup(backup::Backup),
    /// Print what a shell needs to complete these commands.
    Completions(completions::Completions),
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
        // With nowhere to say it, the code says it.
        let _ = writeln!(io::stderr(), "fuseboard: {text}");
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
        Command::Serve(command) => command.run(),
        Command::Demo(listen) => serve::demo(listen),
        Command::CheckConfig(command) => command.run(),
        Command::HashPassword => hash_password::run(),
        Command::Breakers(command) => on_runtime(command.run()),
        Command::Export(command) => on_runtime(command.run()),
        Command::Backup(command) => on_runtime(command.run()),
        Command::Completions(command) => command.run(),
    }
}

fn on_runtime<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    runtime.map_err(|error| Failure::Failed(format!("cannot start threads: {error}")))?.block_on(work)
}

/// Writes to standard output. A reader that has left, as `head` does, has what it wants.
fn say(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::Failed(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_commands_are_in_order() {
        Cli::command().debug_assert();
    }
}
