//! The development loop: build, serve, and again on every change. A build that fails leaves the last one serving.

use std::{
    path::Path,
    process::Child,
    thread,
    time::{Duration, SystemTime},
};

use crate::{Outcome, process, site};

const WATCHED: [&str; 8] =
    ["app", "server", "style", "public", "migrations", "Cargo.toml", "Cargo.lock", "fuseboard.toml"];

pub(crate) fn watch(root: &Path, arguments: &[String]) -> Outcome {
    let mut server: Option<Child> = None;
    loop {
        let seen = newest(root)?;
        match rebuilt(root) {
            Ok(()) => {
                if let Some(mut running) = server.take() {
                    stop(root, &mut running);
                }
                server = Some(serve(root, arguments)?);
            }
            Err(message) => eprintln!("{message}\ndev: waiting for the next change"),
        }
        while newest(root)? == seen {
            thread::sleep(Duration::from_millis(500));
        }
        println!("dev: changed, building");
    }
}

fn rebuilt(root: &Path) -> Outcome {
    site::build(root, site::Effort::Fast)?;
    process::run(process::command("cargo", root).args(["build", "--package", "fuseboard"]))
}

fn serve(root: &Path, arguments: &[String]) -> Outcome<Child> {
    let program = process::target_dir(root).join("debug/fuseboard");
    let mut command = process::command(&program, root);
    if arguments.is_empty() {
        command.arg("demo")
    } else {
        command.args(arguments)
    };
    command.spawn().map_err(|error| format!("{}: {error}", program.display()))
}

/// As an operator would: the server has its say in how it ends.
fn stop(root: &Path, server: &mut Child) {
    let asked = process::command("kill", root).arg(server.id().to_string()).status();
    if !asked.is_ok_and(|status| status.success()) {
        let _ = server.kill();
    }
    let _ = server.wait();
}

fn newest(root: &Path) -> Outcome<Option<SystemTime>> {
    let mut newest = None;
    for path in WATCHED {
        for file in site::files(&root.join(path))? {
            newest = newest.max(file.metadata().and_then(|file| file.modified()).ok());
        }
    }
    Ok(newest)
}
