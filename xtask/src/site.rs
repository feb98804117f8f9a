//! `dist/site`: what the server embeds. The app as wasm with its bindings, made small; one style sheet; the public
//! files; a brotli and a gzip copy beside each. It is written into a fresh folder that takes the old one's place at the
//! end, so a failed build leaves the last good site.

mod compress;
#[path = "../../app/fingerprint.rs"]
mod fingerprint;
mod stamp;
mod style;
mod wasm;

use std::{fs, path::Path, time::Instant};

pub(crate) use stamp::files;

use crate::Outcome;

/// How much work goes into making the files small.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// As released.
    Full,
    /// For the development loop.
    Fast,
}

pub(crate) fn build(root: &Path, effort: Effort) -> Outcome {
    let dist = root.join("dist");
    let (site, fresh, stamp_file) = (dist.join("site"), dist.join("site.new"), dist.join("site.stamp"));
    let stamp = stamp::of(root, effort)?;
    // Before the sources are read: a change meanwhile makes a site that the server does not take for its own.
    let fingerprint = fingerprint::of(root).map_err(|error| format!("the board's sources: {error}"))?;
    if site.is_dir() && fs::read_to_string(&stamp_file).is_ok_and(|last| last == stamp) {
        println!("site: unchanged");
        return Ok(());
    }
    let started = Instant::now();
    println!("site: building, some minutes the first time");
    remove(&fresh)?;
    let pkg = fresh.join("pkg");
    make(&pkg)?;

    wasm::build(root, effort, &pkg)?;
    write(&pkg.join("fuseboard.css"), &style::bundle(&root.join("style/main.css"))?)?;
    copy(&root.join("public"), &fresh)?;
    if effort == Effort::Full {
        compress::beside_each(&fresh)?;
    }
    write(&fresh.join("fingerprint"), fingerprint.as_bytes())?;

    // Without a stamp an interrupted swap is built again.
    remove(&stamp_file)?;
    remove(&site)?;
    fs::rename(&fresh, &site).map_err(|error| format!("{}: {error}", site.display()))?;
    write(&stamp_file, stamp.as_bytes())?;
    println!("site: dist/site in {} s", started.elapsed().as_secs());
    let bundles = wasm::BUNDLES.iter().flat_map(|bundle| [format!("pkg/{bundle}_bg.wasm"), format!("pkg/{bundle}.js")]);
    for name in bundles.chain(["pkg/fuseboard.css".to_owned()]) {
        let kb = |path: &str| fs::metadata(site.join(path)).map_or(0, |file| file.len().div_ceil(1000));
        println!("site: {name} {} kB, brotli {} kB", kb(&name), kb(&format!("{name}.br")));
    }
    Ok(())
}

/// Copies a folder's files; nothing when there is no such folder.
fn copy(from: &Path, to: &Path) -> Outcome {
    for file in files(from)? {
        let name = file.strip_prefix(from).map_err(|error| error.to_string())?;
        let target = to.join(name);
        target.parent().map_or(Ok(()), make)?;
        fs::copy(&file, &target).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

fn make(folder: &Path) -> Outcome {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

fn write(path: &Path, bytes: &[u8]) -> Outcome {
    fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

fn remove(path: &Path) -> Outcome {
    let gone = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match gone {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(format!("{}: {error}", path.display())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_says_every_change_of_a_source_and_no_other() {
        let root = std::env::temp_dir().join(format!("fuseboard-fingerprint-{}", std::process::id()));
        fs::create_dir_all(root.join("app/src/pages")).unwrap();
        let put = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
        for name in ["Cargo.lock", "Cargo.toml", "app/Cargo.toml", "app/src/lib.rs", "app/src/pages/panel.rs"] {
            put(name, "1");
        }
        let said = || fingerprint::of(&root).unwrap();
        let first = said();
        put("app/README.md", "2");
        assert_eq!(said(), first);
        let mut seen = vec![first.clone()];
        put("app/src/pages/panel.rs", "2");
        seen.push(said());
        fs::rename(root.join("app/src/pages/panel.rs"), root.join("app/src/pages/wall.rs")).unwrap();
        seen.push(said());
        fs::remove_file(root.join("app/src/pages/wall.rs")).unwrap();
        seen.push(said());
        put("Cargo.lock", "2");
        seen.push(said());
        assert_eq!(seen.iter().collect::<std::collections::HashSet<_>>().len(), seen.len(), "{seen:?}");
        fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn whatever_makes_another_fingerprint_makes_another_site() {
        for input in fingerprint::INPUTS {
            assert!(stamp::INPUTS.iter().any(|known| Path::new(input).starts_with(known)), "{input}");
        }
    }
}
