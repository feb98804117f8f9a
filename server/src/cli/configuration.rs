//! Where a configuration comes from, and `fuseboard check-config`.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, say};
use crate::config::{Config, DEFAULT_FILE, Flags, Source};

#[derive(Debug, Args)]
pub(super) struct Check {
    /// The file.
    #[arg(default_value = DEFAULT_FILE)]
    file: PathBuf,
}

impl Check {
    pub(super) fn run(self) -> Result<(), Failure> {
        let Self { file } = self;
        let source = Source { file: Some(file.clone()), env: environment(), flags: Flags::default() };
        let config = source.read()?;
        let mut text: String = config.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect();
        let count = config.upstreams.len();
        let upstreams = if count == 1 { "upstream" } else { "upstreams" };
        text.push_str(&format!("{}: good, {count} {upstreams}\n", file.display()));
        say(&text)
    }
}

pub(super) fn environment() -> Vec<(String, String)> {
    std::env::vars_os().filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?))).collect()
}

/// Reads it, and says what should be looked at.
pub(super) fn read(source: &Source) -> Result<Config, Failure> {
    let config = source.read()?;
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    Ok(config)
}
