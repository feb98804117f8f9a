//! What registries answer with.

use std::io::Write;

use flate2::{Compression, write::GzEncoder};

use super::{host::Reply, http::Got};

/// A body of a media type.
pub(crate) fn with_type(media_type: &str, body: &str) -> Reply {
    Reply::text(&format!("200 OK\r\ncontent-type: {media_type}"), body)
}

/// The bytes of a gzip file.
pub(crate) fn gzipped(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).expect("memory");
    encoder.finish().expect("memory")
}

/// A body of a media type, coded.
pub(crate) fn gzip(media_type: &str, body: &[u8]) -> Reply {
    let coded = gzipped(body);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        coded.len()
    );
    Reply::Answer([head.as_bytes(), &coded].concat())
}

/// A body as its client reads it, chunked or not. One that breaks off has no end.
pub(crate) fn body_of(got: &Got) -> Vec<u8> {
    match got.header("transfer-encoding") {
        Some("chunked") => {
            whole(&got.body).unwrap_or_else(|| panic!("{:?} broke off", String::from_utf8_lossy(&got.body)))
        }
        _ => got.body.clone(),
    }
}

/// Chunks put together, if the last one is there.
pub(crate) fn whole(mut chunks: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = chunks.windows(2).position(|two| two == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&chunks[..end]).ok()?, 16).ok()?;
        let data = chunks.get(end + 2..end + 2 + size)?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(data);
        chunks = chunks.get(end + 4 + size..)?;
    }
}
