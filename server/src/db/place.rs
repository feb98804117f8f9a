//! Where the file is: by which name, held by whom, and whether it is still the one that was opened.

use std::{
    fs::{File, TryLockError},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::StoreError;
use crate::stamp;

/// Which file was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Device and number on it, where the system has such.
    #[cfg(unix)]
    number: (u64, u64),
}

impl Place {
    /// The file that is there now.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let file = std::fs::metadata(path)?;
        if file.len() == 0 {
            return Err(io::Error::other("the file was emptied; stop, restore a copy and start again"));
        }
        Ok(Self {
            #[cfg(unix)]
            number: {
                use std::os::unix::fs::MetadataExt;
                (file.dev(), file.ino())
            },
        })
    }

    /// Whether it still is.
    pub(super) fn check(&self, path: &Path) -> io::Result<()> {
        match Self::of(path) {
            Ok(there) if there == *self => Ok(()),
            Ok(_) => {
                Err(io::Error::other("another file is in its place; put the first one back, or restart on the new one"))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(io::Error::other("the file is gone; put it back, or restart to begin a new one"))
            }
            Err(error) => Err(error),
        }
    }
}

/// The same file by one name, whichever way it was spelled, so that its lock file is the same one too.
pub(super) fn whole(path: &Path) -> std::io::Result<PathBuf> {
    if let Ok(found) = path.canonicalize() {
        return Ok(found);
    }
    let name = path.file_name().ok_or_else(|| std::io::Error::other("it does not name a file"))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok(folder.canonicalize()?.join(name))
}

pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Holds the file itself, so that another name of it (a hard link) does not lead around the lock beside it. The lock of
/// the whole file is none of those SQLite takes in it; it must be kept as long as anything in this process has the file
/// open, since closing a file lets go of all of those.
pub(super) fn hold(path: &Path) -> Result<Option<File>, StoreError> {
    if !cfg!(unix) {
        // Elsewhere a lock of a file keeps its other readers out, SQLite's own among them.
        return Ok(None);
    }
    let shown = || path.display().to_string();
    let failed = |source| StoreError::File { path: shown(), source };
    let file = File::options().read(true).open(path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => {
            Err(StoreError::InUse { path: shown(), holder: "another process, which knows it by another name".into() })
        }
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

pub(super) fn take_lock(path: &Path, node: &str) -> Result<File, StoreError> {
    let shown = || path.display().to_string();
    let failed = |source| StoreError::File { path: shown(), source };
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(beside(path, ".lock"))
        .map_err(failed)?;
    match file.try_lock() {
        // One that was removed between opening and locking it locks nothing.
        Ok(()) if !beside(path, ".lock").exists() => return take_lock(path, node),
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // The other process may be between taking the lock and writing its name.
            let read = file.read_to_string(&mut holder).is_ok();
            let holder = if read && !holder.trim().is_empty() { holder.trim() } else { "another process" };
            return Err(StoreError::InUse { path: shown(), holder: holder.into() });
        }
        Err(TryLockError::Error(source)) => return Err(failed(source)),
    }
    let started = stamp::time(SystemTime::now());
    file.set_len(0).map_err(failed)?;
    file.seek(SeekFrom::Start(0)).map_err(failed)?;
    writeln!(file, "process {} on node {node}, started {started}", std::process::id()).map_err(failed)?;
    Ok(file)
}
