//! A brotli and a gzip copy beside each file, for the server to hand out as they are.

use std::{fs, io::Write, path::Path, thread};

use super::{files, write};
use crate::Outcome;

pub(super) fn beside_each(site: &Path) -> Outcome {
    let files = files(site)?;
    thread::scope(|scope| {
        let workers: Vec<_> = files.iter().map(|file| scope.spawn(move || compress(file))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| "compression panicked".to_owned())?)
    })
}

fn compress(file: &Path) -> Outcome {
    let said = |error: std::io::Error| format!("{}: {error}", file.display());
    let bytes = fs::read(file).map_err(said)?;

    let mut brotli = Vec::new();
    let best = brotli::enc::BrotliEncoderParams { size_hint: bytes.len(), ..Default::default() };
    brotli::BrotliCompress(&mut bytes.as_slice(), &mut brotli, &best).map_err(said)?;
    write(&with_ending(file, ".br"), &brotli)?;

    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&bytes).map_err(said)?;
    write(&with_ending(file, ".gz"), &gzip.finish().map_err(said)?)
}

fn with_ending(file: &Path, ending: &str) -> std::path::PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
