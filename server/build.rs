//! The site and the migrations are embedded, so a change in either builds the server anew; a release without a site is
//! refused here and not discovered by its first visitor.

use std::path::Path;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for embedded in ["dist/site", "migrations"] {
        println!("cargo:rerun-if-changed={}", root.join(embedded).display());
    }
    let built = root.join("dist/site/pkg/fuseboard_bg.wasm").exists();
    let release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    assert!(
        built || !release,
        "dist/site is empty: build the site first with `cargo xtask site`, or the whole release with `make dist`"
    );
}
