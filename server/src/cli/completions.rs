//! `fuseboard completions`: for bash, zsh, fish and others.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::{Cli, Failure, say};

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub(super) fn run(self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "fuseboard", &mut script);
        say(&String::from_utf8_lossy(&script))
    }
}
