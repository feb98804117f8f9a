//! `fuseboard export`: a file from a running server's record. It has its name once it is whole, and never before.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, builder::PossibleValuesParser};
use fuseboard_app::format::{query_value, some};
use http::Method;
use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use tempfile::NamedTempFile;
use tokio::{signal::ctrl_c, time::timeout};

use super::{
    Failure,
    server::{Where, innermost},
};
use crate::export::{Format, What};

/// How long nothing may come.
const SILENCE: Duration = Duration::from_secs(120);

#[derive(Debug, Args)]
pub(super) struct Export {
    /// Which part of the record.
    #[arg(long, value_parser = PossibleValuesParser::new(What::WORDS))]
    what: String,
    /// How it is written down; md, ics and html tell of incidents alone.
    #[arg(long, value_parser = PossibleValuesParser::new(Format::WORDS))]
    format: String,
    /// Not older than this, as in 2026-01-31T12:00:00Z.
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Older than this.
    #[arg(long, value_name = "TIME")]
    to: Option<String>,
    /// Of this breaker alone.
    #[arg(long, value_name = "ID")]
    breaker: Option<String>,
    /// Incidents of this upstream alone.
    #[arg(long, value_name = "NAME")]
    upstream: Option<String>,
    /// Incidents whose breaker's id or upstream's name contains this.
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Incidents that last (true), or those that are over (false).
    #[arg(long, value_name = "WHETHER", value_parser = ["true", "false"])]
    open: Option<String>,
    /// The file; standard output when absent.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if it exists.
    #[arg(long, requires = "output")]
    force: bool,
    #[command(flatten)]
    server: Where,
}

impl Export {
    pub(super) async fn run(self) -> Result<(), Failure> {
        let Self { what, format, from, to, breaker, upstream, search, open, output, force, server } = self;
        if let Some(file) = output.as_deref().filter(|file| !force && file.exists()) {
            return Err(exists(file));
        }
        let mut path = format!("/export?what={what}&format={format}");
        let asked =
            [("from", from), ("to", to), ("breaker", breaker), ("upstream", upstream), ("q", search), ("open", open)];
        for (name, value) in asked {
            if let Some(value) = value {
                path.push_str(&format!("&{name}={}", query_value(&value)));
            }
        }
        let body = server.server()?.send(Method::GET, &path, Bytes::new()).await?.into_body();
        match output {
            None => to_stdout(body).await,
            Some(file) => {
                let bytes = tokio::select! {
                    written = to_file(body, &file, force) => written?,
                    // What is half written goes with this future.
                    _ = ctrl_c() => return Err(Failure::Failed(format!("stopped; {} is not written", file.display()))),
                };
                // Progress is no output.
                let _ = writeln!(io::stderr(), "{}: {}", file.display(), some(bytes, "byte", "bytes"));
                Ok(())
            }
        }
    }
}

fn exists(file: &Path) -> Failure {
    Failure::Usage(format!("--output: {} exists; name another file, or pass --force to replace it", file.display()))
}

async fn to_file(body: Incoming, file: &Path, force: bool) -> Result<u64, Failure> {
    let failed = |error: io::Error| Failure::Failed(format!("cannot write {}: {error}", file.display()));
    let mut whole = beside(file).map_err(failed)?;
    let written = copy(body, &mut whole, failed).await;
    let written = written.map_err(|failure| match failure {
        Failure::Failed(text) => Failure::Failed(format!("{text}; {} is not written", file.display())),
        other => other,
    })?;
    whole.as_file().sync_all().map_err(failed)?;
    let named = if force { whole.persist(file) } else { whole.persist_noclobber(file) };
    match named {
        Ok(_) => Ok(written),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Err(exists(file)),
        Err(error) => Err(failed(error.error)),
    }
}

/// A file in the same folder that is gone unless it is given its name.
pub(super) fn beside(file: &Path) -> io::Result<NamedTempFile> {
    let name = file.file_name().ok_or_else(|| io::Error::other("it does not name a file"))?;
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut prefix = std::ffi::OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".part");
    #[cfg(unix)]
    {
        // What any other new file of this user has.
        let any = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        builder.permissions(any);
    }
    builder.tempfile_in(folder)
}

async fn to_stdout(body: Incoming) -> Result<(), Failure> {
    let mut closed = false;
    let copied = copy(body, &mut io::stdout().lock(), |error| {
        closed = error.kind() == io::ErrorKind::BrokenPipe;
        Failure::Failed(format!("cannot write to standard output: {error}"))
    })
    .await;
    // A reader that has left, as `head` does, has what it wants.
    if closed { Ok(()) } else { copied.map(|_| ()) }
}

/// Everything that comes, until its proper end.
async fn copy(
    mut body: Incoming,
    to: &mut impl Write,
    failed: impl FnOnce(io::Error) -> Failure,
) -> Result<u64, Failure> {
    let mut bytes = 0_u64;
    loop {
        let frame = match timeout(SILENCE, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(None) => break,
            Ok(Some(Err(error))) => return Err(broken(bytes, &innermost(&error))),
            Err(_) => return Err(broken(bytes, &format!("nothing came for {} s", SILENCE.as_secs()))),
        };
        let Ok(chunk) = frame.into_data() else { continue };
        bytes += chunk.len() as u64;
        if let Err(error) = to.write_all(&chunk) {
            return Err(failed(error));
        }
    }
    match to.flush() {
        Ok(()) => Ok(bytes),
        Err(error) => Err(failed(error)),
    }
}

fn broken(bytes: u64, why: &str) -> Failure {
    Failure::Failed(format!(
        "the export broke off after {}: {why}; the server's log says more",
        some(bytes, "byte", "bytes")
    ))
}
