//! The app as wasm: compiled, bound to JavaScript, made small.
//!
//! The standard library for wasm32 comes with the rustup toolchain where that has the target. Where it could not be
//! downloaded, Debian's own Rust builds it from source along with the app.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use wasm_bindgen_cli_support::Bindgen;

use super::Effort;
use crate::{Outcome, process};

const TARGET: &str = "wasm32-unknown-unknown";

/// One by one: with all of them wasm-opt writes what browsers refuse.
const FEATURES: [&str; 6] = [
    "--enable-bulk-memory",
    "--enable-nontrapping-float-to-int",
    "--enable-sign-ext",
    "--enable-mutable-globals",
    "--enable-reference-types",
    "--enable-multivalue",
];

/// Smallest once compressed of what was tried: without nesting the second round finds more that is alike. The compiler
/// keeps nothing below the stack's end, which is what the first says.
const PASSES: [&str; 5] = ["--low-memory-unused", "--flatten", "--rereloop", "-Oz", "-Oz"];

/// The app's features that make a bundle each; the pages ask for these names.
pub(crate) const BUNDLES: [&str; 2] = ["panel", "pages"];

pub(super) fn build(root: &Path, effort: Effort, pkg: &Path) -> Outcome {
    // One after the other, since cargo writes both to one place; what follows is done side by side.
    thread::scope(|scope| {
        let mut bound = Vec::new();
        for bundle in BUNDLES {
            let compiled = compile(root, bundle, pkg)?;
            bound.push(scope.spawn(move || bind(root, effort, pkg, bundle, &compiled)));
        }
        bound.into_iter().try_for_each(|one| one.join().map_err(|_| "binding panicked".to_owned())?)
    })
}

fn bind(root: &Path, effort: Effort, pkg: &Path, bundle: &str, compiled: &Path) -> Outcome {
    Bindgen::new()
        .input_path(compiled)
        .web(true)
        .and_then(|bindgen| {
            bindgen
                .out_name(bundle)
                .typescript(false)
                .remove_name_section(effort == Effort::Full)
                .remove_producers_section(true)
                .generate(pkg)
        })
        .map_err(|error| format!("bindings for {}: {error:#}", compiled.display()))?;
    fs::remove_file(compiled).map_err(|error| format!("{}: {error}", compiled.display()))?;
    match effort {
        Effort::Full => shrink(root, &pkg.join(format!("{bundle}_bg.wasm"))),
        Effort::Fast => Ok(()),
    }
}

fn compile(root: &Path, bundle: &str, pkg: &Path) -> Outcome<PathBuf> {
    // Its own folder: other flags, and at times another compiler, than everything else.
    let (mut cargo, target_dir) = match toolchain(root)? {
        Toolchain::Rustup => (process::command("cargo", root), process::target_dir(root).join("wasm")),
        Toolchain::Debian { linker } => (debian(root, &linker), process::target_dir(root).join("wasm-debian")),
    };
    cargo
        .args(["build", "--package", "fuseboard-app", "--lib", "--target", TARGET, "--profile", "site", "--locked"])
        .args(["--no-default-features", "--features", bundle])
        .env_remove("RUSTFLAGS")
        .env("CARGO_TARGET_DIR", &target_dir);
    process::run(&mut cargo)?;
    let compiled = target_dir.join(TARGET).join("site").join("fuseboard_app.wasm");
    let own = pkg.join(format!("{bundle}.compiled"));
    fs::copy(&compiled, &own).map_err(|error| format!("{}: {error}", compiled.display()))?;
    Ok(own)
}

fn debian(root: &Path, linker: &Path) -> Command {
    let mut cargo = process::command("/usr/bin/cargo", root);
    let path = std::env::var("PATH").unwrap_or_default();
    cargo
        .args(["-Z", "build-std=std,panic_abort"])
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTC", "/usr/bin/rustc")
        .env("PATH", format!("/usr/bin:{path}"))
        .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker)
        .env_remove("RUSTUP_TOOLCHAIN");
    cargo
}

enum Toolchain {
    Rustup,
    Debian { linker: PathBuf },
}

fn toolchain(root: &Path) -> Outcome<Toolchain> {
    let sysroot = process::output(process::command("rustc", root).args(["--print", "sysroot"]))
        .map(PathBuf::from)
        .ok_or("rustc was not found: install Rust with rustup, then try again")?;
    let rustlib = sysroot.join("lib/rustlib");
    let wanted = std::env::var("FUSEBOARD_WASM_TOOLCHAIN").unwrap_or_default();
    if wanted != "debian" && rustlib.join(TARGET).join("lib").is_dir() {
        return Ok(Toolchain::Rustup);
    }
    let host = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let linker = [rustlib.join(host).join("bin/rust-lld"), PathBuf::from("/usr/bin/rust-lld")]
        .into_iter()
        .find(|linker| linker.exists());
    match linker {
        Some(linker) if Path::new("/usr/lib/rustlib/src").exists() && Path::new("/usr/bin/cargo").exists() => {
            Ok(Toolchain::Debian { linker })
        }
        _ => Err(format!(
            "the standard library for {TARGET} is missing. Run one of\n  rustup target add {TARGET}\n  \
             apt-get install rustc-web cargo-web rust-web-src\nthen try again"
        )),
    }
}

fn shrink(root: &Path, wasm: &Path) -> Outcome {
    let optimiser = root.join("xtask/node_modules/binaryen/bin/wasm-opt");
    if !optimiser.exists() {
        return Err("wasm-opt is missing: run `npm ci` in xtask/, then try again".to_owned());
    }
    process::run(process::command(optimiser, root).args(PASSES).args(FEATURES).arg(wasm).arg("-o").arg(wasm))
}
