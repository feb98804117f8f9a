//! Who may use whom: the order written in the design, read from what the sources name after `crate::`. Lower never uses
//! higher.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Modules of one crate in layers, lowest first.
type Layers = &'static [&'static [&'static str]];

const SERVER: Layers = &[
    &["stamp", "lifecycle", "undo", "findings"],
    &["config", "metrics", "calls", "tally", "live", "listen"],
    &["telemetry", "db"],
    &["history", "gateway"],
    &["journal", "restore"],
    &["app", "fault"],
    &["present"],
    &["control"],
    &["upkeep", "backend", "export"],
    &["web"],
    &["startup"],
    &["demo"],
    &["cli"],
];

const BREAKER: Layers = &[
    &["sync", "clock", "outcome", "stripes"],
    &["policy"],
    &["event"],
    &["backoff", "window", "command", "refusal", "snapshot"],
    &["machine"],
    &["cell"],
    // A permit borrows its handle, a handle makes permits.
    &["permit", "handle"],
    &["panel", "tower"],
    &["grpc"],
];

const FETCH: Layers = &[
    &["error", "origin", "guard", "observe", "upstream", "headers", "timing"],
    &["classify", "queue", "budget", "upload", "redirect"],
    &["grpc"],
    &["call", "client"],
    &["body"],
    &["hop"],
    &["forward"],
    &["probe", "rpc", "retry", "coalesce"],
    &["fetcher"],
    // Tests alone.
    &["properties"],
];

const APP: Layers = &[
    &["wire", "format", "markup", "remember", "dom", "address"],
    &["range", "data"],
    &["backend", "sample", "standing", "timeline"],
    &["order", "prose"],
    &["shown", "panel", "evidence"],
    &["rows"],
    &["story", "live"],
    &["fetch", "api"],
    &["board"],
    &["components"],
    &["pages"],
    &["app"],
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The top modules that a text names after `crate::`, in `use crate::{a, b::c}` too. Tests and comments do not count.
fn used(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines: Vec<&str> = code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let code = lines.join("\n");
    let mut found = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        match after.strip_prefix('{') {
            Some(group) => found.extend(names(group)),
            None => found.extend(name(after)),
        }
    }
    found
}

fn name(text: &str) -> Option<String> {
    let name: String = text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}

/// The first name of each element of a group.
fn names(group: &str) -> Vec<String> {
    let (mut depth, mut first, mut found) = (0, true, Vec::new());
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => first = true,
            c if first && !c.is_whitespace() => {
                first = false;
                found.extend(name(&group[at..]));
            }
            _ => {}
        }
    }
    found
}

/// Each use that goes up, and each module that has no place.
fn faults(folder: &str, layers: Layers) -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let level = |module: &str| layers.iter().position(|layer| layer.contains(&module));
    let mut files = Vec::new();
    sources(&source, &mut files);
    assert!(files.len() > 3, "{folder} has no sources");
    let mut faults = Vec::new();
    for file in files {
        let inside = file.strip_prefix(&source).expect("inside");
        let module = inside.iter().next().expect("a name").to_string_lossy().trim_end_matches(".rs").to_owned();
        if matches!(&*module, "lib" | "main") || inside.ends_with("tests.rs") {
            continue;
        }
        let Some(own) = level(&module) else {
            faults.push(format!("{folder}/{}: {module} has no place in the order", inside.display()));
            continue;
        };
        for used in used(&fs::read_to_string(&file).expect("text")) {
            // What the crate's root re-exports has no layer of its own.
            if level(&used).is_some_and(|level| level > own) {
                faults.push(format!("{folder}/{}: {module} uses {used}, which stands above it", inside.display()));
            }
        }
    }
    faults
}

#[test]
fn lower_never_uses_higher() {
    let crates =
        [("server/src", SERVER), ("server/breaker/src", BREAKER), ("server/fetch/src", FETCH), ("app/src", APP)];
    let faults: Vec<String> = crates.into_iter().flat_map(|(folder, layers)| faults(folder, layers)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn the_breakers_core_brings_no_runtime() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("breaker/Cargo.toml");
    let manifest: toml::Table = toml::from_str(&fs::read_to_string(manifest).expect("text")).expect("TOML");
    let optional = |of: &toml::Value| of.get("optional").and_then(toml::Value::as_bool) == Some(true);
    let dependencies = manifest["dependencies"].as_table().expect("a table");
    let always: Vec<_> = dependencies.iter().filter(|(_, of)| !optional(of)).map(|(name, _)| name.as_str()).collect();
    assert_eq!(always, ["papaya", "parking_lot", "rand"]);
    assert!(manifest["features"].get("default").is_none(), "a feature that is always on is none");
}

#[test]
fn groups_and_paths_are_read() {
    let text = "use crate::{app::App, web::{api, ui}, live};\n// crate::hidden\nlet x = crate::db::open();\n\
                #[cfg(test)]\nuse crate::tests::x;";
    let found: Vec<String> = used(text).into_iter().collect();
    assert_eq!(found, ["app", "db", "live", "web"]);
}
