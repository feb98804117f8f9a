//! Has anything changed that the site is made of?

use std::{
    fs,
    hash::{DefaultHasher, Hasher},
    path::{Path, PathBuf},
};

use super::Effort;
use crate::{Outcome, process};

pub(super) const INPUTS: [&str; 8] =
    ["Cargo.lock", "Cargo.toml", "app", "public", "style", "xtask/src", "xtask/Cargo.toml", "xtask/package-lock.json"];

/// One line for all inputs, their names and the compiler.
pub(super) fn of(root: &Path, effort: Effort) -> Outcome<String> {
    let mut hasher = DefaultHasher::new();
    for input in INPUTS {
        for file in files(&root.join(input))? {
            let bytes = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            hasher.write(file.strip_prefix(root).unwrap_or(&file).as_os_str().as_encoded_bytes());
            hasher.write_usize(bytes.len());
            hasher.write(&bytes);
        }
    }
    let compiler = process::output(process::command("rustc", root).arg("-V")).unwrap_or_default();
    let effort = if effort == Effort::Full { "full" } else { "fast" };
    Ok(format!("{:016x} {effort} {compiler}\n", hasher.finish()))
}

/// Every file under a path, sorted; the path itself when it is a file, none when it is not there.
pub(crate) fn files(path: &Path) -> Outcome<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    if !path.exists() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let entries = fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
    for entry in entries {
        found.extend(files(&entry.map_err(|error| format!("{}: {error}", path.display()))?.path())?);
    }
    found.sort();
    Ok(found)
}
