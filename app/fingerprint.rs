//! One line for everything the board is compiled from. The server has it compiled in and the site has it as a file: where
//! the two differ, the browser would take over a page it does not know. Part of `build.rs` and of xtask.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// What counts, from the checkout's root.
pub(crate) const INPUTS: [&str; 4] = ["Cargo.lock", "Cargo.toml", "app/Cargo.toml", "app/src"];

/// Names and contents as one number. Two compilers must find the same, so it is not the standard library's hash.
pub(crate) fn of(root: &Path) -> io::Result<String> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut take = |bytes: &[u8]| {
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    };
    for input in INPUTS {
        for file in files(root.join(input))? {
            take(file.strip_prefix(root).unwrap_or(&file).as_os_str().as_encoded_bytes());
            take(&fs::read(&file)?);
        }
    }
    Ok(format!("{hash:016x}"))
}

fn files(path: PathBuf) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path)? {
        found.extend(files(entry?.path())?);
    }
    found.sort();
    Ok(found)
}
