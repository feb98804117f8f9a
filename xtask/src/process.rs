//! Starting other programs.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::Outcome;

/// A command in the checkout, without what `cargo run` left in our environment: some build scripts run again when it
/// differs, and a second toolchain must not load this one's libraries.
pub(crate) fn command(program: impl AsRef<std::ffi::OsStr>, root: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root).env_remove("CARGO").env_remove("LD_LIBRARY_PATH");
    for (name, _) in env::vars_os() {
        let set_by_cargo = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_", "CARGO_BIN_", "CARGO_PRIMARY_"];
        if name.to_str().is_some_and(|name| set_by_cargo.iter().any(|prefix| name.starts_with(prefix))) {
            command.env_remove(name);
        }
    }
    command
}

/// Runs it and says what was run when it fails.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let shown = shown(command);
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{shown}\nended with {status}")),
        Err(error) => Err(format!("{shown}\ncould not be started: {error}")),
    }
}

/// Runs it and gives its standard output, trimmed; none when it fails.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Kills a process and everything it started, as Linux lists it; the rest of its terminal's group lives.
pub(crate) fn end_family(pid: u32) {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(child) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // `pid (name) state parent`, and a name may hold anything.
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse::<u32>().ok());
        parents.extend(parent.map(|parent| (child, parent)));
    }
    let mut family = vec![pid];
    let mut next = 0;
    while let Some(&member) = family.get(next) {
        family.extend(parents.iter().filter(|(_, parent)| *parent == member).map(|(child, _)| *child));
        next += 1;
    }
    let _ = Command::new("kill").arg("-KILL").args(family.iter().map(u32::to_string)).status();
}

/// Where cargo puts what it builds.
pub(crate) fn target_dir(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |dir| root.join(dir))
}

fn shown(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|argument| argument.to_string_lossy().into_owned()));
    words.join(" ")
}
