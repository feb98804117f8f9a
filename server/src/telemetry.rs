//! What the process says about itself: lines on stderr, level by `--log` or `RUST_LOG`. No line carries user info, query
//! values or header values; whoever logs an address redacts it first. Unexpected errors get their id in `fault`.

use std::io::IsTerminal as _;

use tracing_subscriber::{EnvFilter, fmt as lines};

/// The level when nobody says otherwise.
const DEFAULT: &str = "info";

/// Sends log lines to stderr. A second call changes nothing, so that tests may start several servers in one process.
///
/// # Errors
/// The filter cannot be read; the text says why.
pub fn init(filter: Option<&str>) -> Result<(), String> {
    let named = filter.map(str::to_owned).or_else(|| std::env::var(EnvFilter::DEFAULT_ENV).ok());
    let text = named.as_deref().filter(|text| !text.trim().is_empty()).unwrap_or(DEFAULT);
    let filter = EnvFilter::try_new(text)
        .map_err(|error| format!("log filter {text:?}: {error}; it takes e.g. \"info\" or \"fuseboard=debug\""))?;
    let colours = std::io::stderr().is_terminal();
    // A line that cannot be written is dropped: saying so on the same stderr would panic whoever logged it, shutdown included.
    let lines = lines().with_env_filter(filter).with_writer(std::io::stderr).log_internal_errors(false);
    let _ = lines.with_ansi(colours).with_target(false).try_init();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_filter_is_refused_in_words() {
        let error = init(Some("fuseboard=loudest")).expect_err("no such level");
        assert!(error.contains("loudest") && error.contains("takes"), "{error}");
    }
}
