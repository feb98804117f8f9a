//! Compiles in which sources these are; see `fingerprint`.

use std::path::Path;

#[path = "fingerprint.rs"]
mod fingerprint;

fn main() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    println!("cargo:rerun-if-changed=fingerprint.rs");
    for input in fingerprint::INPUTS {
        println!("cargo:rerun-if-changed={}", root.join(input).display());
    }
    println!("cargo:rustc-env=FUSEBOARD_FINGERPRINT={}", fingerprint::of(&root)?);
    Ok(())
}
