//! The board's files, embedded in the binary, each with its compressed forms beside it. A debug build reads them from
//! the checkout, so that a new site needs no new server.

use std::fmt::Write;

use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use rust_embed::{EmbeddedFile, RustEmbed};

#[derive(RustEmbed)]
#[folder = "../dist/site"]
#[allow_missing = true]
struct Site;

/// The compressed forms, best first: the word in `Accept-Encoding` and the ending.
const FORMS: [(&str, &str); 2] = [("br", ".br"), ("gzip", ".gz")];

/// The file at this path in the smallest form the reader takes.
pub(super) fn file(path: &str, headers: &HeaderMap) -> Option<Response> {
    let name = path.strip_prefix('/')?;
    if FORMS.iter().any(|(_, ending)| name.ends_with(ending)) {
        return None;
    }
    let plain = Site::get(name)?;
    let kind = kind(plain.metadata.mimetype());
    let form = FORMS.iter().filter(|(word, _)| takes(headers, word)).find_map(|(word, ending)| {
        let file = Site::get(&format!("{name}{ending}"))?;
        Some((*word, file))
    });
    let (encoding, file) = match form {
        Some((word, file)) => (Some(word), file),
        None => (None, plain),
    };
    Some(answer(file, encoding, &kind, headers))
}

fn answer(file: EmbeddedFile, encoding: Option<&'static str>, kind: &str, asked: &HeaderMap) -> Response {
    let tag = tag(&file.metadata.sha256_hash());
    let known = asked.get_all(header::IF_NONE_MATCH).iter().any(|known| {
        known
            .to_str()
            .is_ok_and(|known| known.split(',').map(str::trim).any(|known| known == "*" || known.ends_with(&tag)))
    });
    let mut response = if known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        Body::from(match file.data {
            std::borrow::Cow::Borrowed(data) => Bytes::from_static(data),
            std::borrow::Cow::Owned(data) => Bytes::from(data),
        })
        .into_response()
    };
    let headers = response.headers_mut();
    let mut set = |name, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    set(header::ETAG, &tag);
    // The names stay the same over versions: kept, but asked for each time.
    set(header::CACHE_CONTROL, "no-cache");
    set(header::VARY, "accept-encoding");
    if !known {
        set(header::CONTENT_TYPE, kind);
        if let Some(encoding) = encoding {
            set(header::CONTENT_ENCODING, encoding);
        }
    }
    response
}

fn kind(mime: &str) -> String {
    if mime.starts_with("text/") { format!("{mime}; charset=utf-8") } else { mime.to_owned() }
}

fn tag(hash: &[u8]) -> String {
    let mut tag = String::from("\"");
    for byte in &hash[..16.min(hash.len())] {
        let _ = write!(tag, "{byte:02x}");
    }
    tag.push('"');
    tag
}

/// Whether `Accept-Encoding` names this one, or all, without refusing it.
fn takes(headers: &HeaderMap, wanted: &str) -> bool {
    let mut any = false;
    for accept in headers.get_all(header::ACCEPT_ENCODING) {
        for one in accept.to_str().unwrap_or_default().split(',') {
            let mut parts = one.split(';').map(str::trim);
            let word = parts.next().unwrap_or_default();
            let refused = parts.any(|part| {
                part.strip_prefix("q=")
                    .and_then(|weight| weight.parse::<f32>().ok())
                    .is_some_and(|weight| weight <= 0.0)
            });
            if word.eq_ignore_ascii_case(wanted) {
                return !refused;
            }
            any |= word == "*" && !refused;
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use rust_embed::Metadata;

    use super::*;

    fn headers(name: header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_str(value).expect("a header"))])
    }

    #[test]
    fn a_reader_gets_what_it_takes() {
        let takes = |accept: &str, form: &str| takes(&headers(header::ACCEPT_ENCODING, accept), form);
        assert!(takes("gzip, deflate, br, zstd", "br") && takes("GZIP", "gzip") && takes("*", "br"));
        assert!(!takes("gzip", "br") && !takes("br;q=0, *", "br") && !takes("*;q=0", "gzip") && !takes("", "br"));
        assert!(takes("br;q=0.1", "br"));
    }

    #[test]
    fn a_file_that_is_known_is_not_sent_again() {
        let file = || EmbeddedFile {
            data: std::borrow::Cow::Borrowed(b"x"),
            metadata: Metadata::__rust_embed_new([7; 32], None, None, "text/css"),
        };
        let first = answer(file(), Some("br"), &kind("text/css"), &HeaderMap::new());
        assert_eq!(first.status(), StatusCode::OK);
        assert_eq!(first.headers()[header::CONTENT_TYPE], "text/css; charset=utf-8");
        assert_eq!(first.headers()[header::CONTENT_ENCODING], "br");
        let tag = first.headers()[header::ETAG].to_str().expect("text");
        for known in [tag.to_owned(), format!("W/{tag}"), format!("\"x\", {tag}"), "*".into()] {
            let again = answer(file(), None, "text/css", &headers(header::IF_NONE_MATCH, &known));
            assert_eq!(again.status(), StatusCode::NOT_MODIFIED, "{known}");
        }
        let other = answer(file(), None, "text/css", &headers(header::IF_NONE_MATCH, "\"x\""));
        assert_eq!(other.status(), StatusCode::OK);
    }
}
