//! `fuseboard backup`: a copy of the store as of one moment, checked, under its name once it is whole. It reads the file
//! itself, so it works whether the server runs or not, and slows neither its calls nor its record.

use std::{io, path::PathBuf};

use clap::Args;
use fuseboard_app::format::{count, some};

use super::{
    Failure,
    configuration::{environment, read},
    export::beside,
    say,
    serve::store_url,
};
use crate::{
    config::{Flags, Source, store_path},
    db::backup,
};

#[derive(Debug, Args)]
pub(super) struct Backup {
    /// The copy; it must not exist yet.
    file: PathBuf,
    /// The configuration that names the store; fuseboard.toml in this folder when absent and it exists.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The store itself, as in sqlite:fuseboard.db.
    #[arg(long, value_name = "URL", value_parser = store_url, conflicts_with = "config")]
    store: Option<String>,
}

impl Backup {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let Self { file, config, store } = self;
        let exists =
            || Failure::Usage(format!("{} exists; a backup replaces nothing, name another file", file.display()));
        if file.exists() {
            return Err(exists());
        }
        let store = match store.as_deref().and_then(store_path) {
            Some(path) => path,
            None => read(&Source { file: config, env: environment(), flags: Flags::default() })?.store.path,
        };
        let failed = |error: io::Error| Failure::Failed(format!("cannot write {}: {error}", file.display()));
        let copy = beside(&file).map_err(failed)?;
        let copied = backup::copy(&store, copy.path()).await.map_err(|error| Failure::Failed(error.to_string()))?;
        copy.as_file().sync_all().map_err(failed)?;
        copy.persist_noclobber(&file).map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => exists(),
            _ => failed(error.error),
        })?;
        say(&format!(
            "{}: {}, {}, the record up to number {}\n",
            file.display(),
            some(copied.bytes, "byte", "bytes"),
            some(copied.transitions, "transition", "transitions"),
            count(copied.newest),
        ))
    }
}
