//! Compiles in which sources these are; see `fingerprint`. Paths are asked of cargo each time: checkouts that share a
//! target directory share this program too.

use std::{env, io, path::PathBuf};

#[path = "fingerprint.rs"]
mod fingerprint;

fn main() -> io::Result<()> {
    let app = env::var_os("CARGO_MANIFEST_DIR").ok_or(io::ErrorKind::NotFound)?;
    println!("cargo:rerun-if-changed=fingerprint.rs");
    for input in fingerprint::INPUTS {
        println!("cargo:rerun-if-changed=../{input}");
    }
    println!("cargo:rustc-env=FUSEBOARD_FINGERPRINT={}", fingerprint::of(&PathBuf::from(app).join(".."))?);
    Ok(())
}
