//! What the Makefile asks for and no shell line says well: the site, the development loop, and the checks with their
//! summary.

mod checks;
mod dev;
mod process;
mod site;

use std::{path::PathBuf, process::ExitCode};

/// Errors here are read by a person at a terminal: a sentence is enough.
type Outcome<T = ()> = Result<T, String>;

const HELP: &str = "cargo xtask site [--fast]      build dist/site; --fast leaves out wasm-opt and compression
cargo xtask seed-history FILE  write a store with a year of history: 500 breakers, 5 million transitions
cargo xtask dev [ARGS]         serve, and rebuild and restart on every change; ARGS go to the server
cargo xtask checks TARGET...   run make targets one after the other and sum them up";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("help", &[][..]),
    };
    let done = match (command, rest) {
        ("site", []) => site::build(&root(), site::Effort::Full),
        ("site", [flag]) if flag == "--fast" => site::build(&root(), site::Effort::Fast),
        ("seed-history", [file]) => seed_history(file),
        ("dev", rest) => dev::watch(&root(), rest),
        ("checks", targets) if !targets.is_empty() => checks::run(&root(), targets),
        ("help" | "--help" | "-h", _) => {
            println!("{HELP}");
            Ok(())
        }
        _ => Err(format!("no such command: {}\n\n{HELP}", arguments.join(" "))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// The server's own bench knows the store; this only finds it.
fn seed_history(file: &str) -> Outcome {
    let file = std::path::absolute(file).map_err(|error| format!("{file}: {error}"))?;
    let mut bench = process::command("cargo", &root());
    bench.args(["bench", "--package", "fuseboard", "--bench", "history", "--", "seed"]).arg(file);
    process::run(&mut bench)
}

/// The checkout, as cargo says it: checkouts that share a target directory share this program too.
fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR");
    let manifest = manifest.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.parent().map_or(manifest.clone(), PathBuf::from)
}
