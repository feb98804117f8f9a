//! The site and the migrations are embedded, so a change in either builds the server anew; a release without a site is
//! refused here and not discovered by its first visitor. Where the checkout is, cargo is asked each time: checkouts that
//! share a target directory share this program too.

use std::{env, path::PathBuf};

fn main() {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let root = manifest.expect("cargo says where the package is").join("..");
    for embedded in ["dist/site", "migrations"] {
        println!("cargo:rerun-if-changed={}", root.join(embedded).display());
    }
    let built = ["panel", "fuseboard"].iter().any(|name| root.join(format!("dist/site/pkg/{name}_bg.wasm")).exists());
    let release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    assert!(
        built || !release,
        "dist/site is empty: build the site first with `cargo xtask site`, or the whole release with `make dist`"
    );
}
