//! `[store]` and `[panel]`: where the record goes, how much of it is kept, how many breakers there may be.

use std::{path::PathBuf, time::Duration};

use super::reader::{ConfigError, Section};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// humantime's year.
const YEAR: Duration = Duration::from_secs(31_557_600);

/// The record's store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// The SQLite file.
    pub path: PathBuf,
    /// How long single probes are kept.
    pub keep_probes: Duration,
    /// How long transitions are kept.
    pub keep_transitions: Duration,
    /// How long call totals are kept.
    pub keep_calls: Duration,
    /// How long operators' actions are kept.
    pub keep_audit: Duration,
    /// Bytes of facts that may wait for the store.
    pub journal_max: u64,
    /// Bytes the store may take.
    pub max_size: u64,
}

impl StoreSettings {
    /// All defaults, at this file.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            keep_probes: 30 * DAY,
            keep_transitions: 3 * YEAR,
            keep_calls: YEAR,
            keep_audit: 3 * YEAR,
            journal_max: 64 * 1000 * 1000,
            max_size: 10 * 1000 * 1000 * 1000,
        }
    }
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self::at("fuseboard.db")
    }
}

pub(super) fn read_store(mut section: Section) -> Result<StoreSettings, ConfigError> {
    let default = StoreSettings::default();
    let path = match section.text("url")? {
        Some(url) => store_path(&url)
            .ok_or_else(|| section.error("url", format!("{url:?} is no store; it takes \"sqlite:FILE\"")))?,
        None => default.path,
    };
    let settings = StoreSettings {
        path,
        keep_probes: kept(&mut section, "keep_probes", default.keep_probes)?,
        keep_transitions: kept(&mut section, "keep_transitions", default.keep_transitions)?,
        keep_calls: kept(&mut section, "keep_calls", default.keep_calls)?,
        keep_audit: kept(&mut section, "keep_audit", default.keep_audit)?,
        journal_max: section.size("journal_max", default.journal_max)?,
        max_size: default.max_size,
    };
    for (key, kept) in [
        ("keep_probes", settings.keep_probes),
        ("keep_transitions", settings.keep_transitions),
        ("keep_calls", settings.keep_calls),
        ("keep_audit", settings.keep_audit),
    ] {
        if kept < Duration::from_secs(3600) {
            return Err(section.error(key, "keeps less than an hour; it takes \"1h\" or more"));
        }
    }
    if settings.journal_max < 1_000_000 {
        return Err(section.error("journal_max", "is too small to hold a burst; it takes \"1MB\" or more"));
    }
    section.finish()?;
    Ok(settings)
}

/// How long something is kept; who means for ever is told how to say it.
fn kept(section: &mut Section, key: &'static str, default: Duration) -> Result<Duration, ConfigError> {
    section.duration(key, default).map_err(|error| error.adding("; to keep all of it say \"1000y\""))
}

/// `sqlite:FILE`, `sqlite://FILE`.
pub(crate) fn store_path(url: &str) -> Option<PathBuf> {
    let path = url.strip_prefix("sqlite:")?;
    let path = path.strip_prefix("//").unwrap_or(path);
    // A memory store or options would break the promise that a restart resumes.
    (!path.is_empty() && !path.contains([':', '?'])).then(|| path.into())
}

/// The panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PanelSettings {
    /// How many breakers there may be.
    pub max: usize,
}

impl Default for PanelSettings {
    fn default() -> Self {
        Self { max: 10_000 }
    }
}

/// `[panel]`; `max_size` bounds the store's file and is handed to it.
pub(super) fn read_panel(mut section: Section, store: &mut StoreSettings) -> Result<PanelSettings, ConfigError> {
    let max = section.count("max")?.map_or(PanelSettings::default().max, |max| max as usize);
    store.max_size = section.size("max_size", store.max_size)?;
    if store.max_size < 10_000_000 {
        return Err(section.error("max_size", "is too small for a record; it takes \"10MB\" or more"));
    }
    section.finish()?;
    Ok(PanelSettings { max })
}
