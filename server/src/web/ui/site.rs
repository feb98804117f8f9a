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

/// Which sources the site was built from, as `cargo xtask site` wrote it down.
const FINGERPRINT: &str = "fingerprint";

/// Whether the board comes in a bundle for the panel and one for the other pages.
pub(super) fn in_bundles() -> bool {
    Site::get("pkg/panel_bg.wasm").is_some()
}

/// Whether the site's wasm may take the pages over. Asked for each page: under a debug server the site may be built anew.
pub(super) fn runs() -> bool {
    fault().is_none()
}

/// Why the pages are served without script, and what to do.
pub(super) fn fault() -> Option<String> {
    let built = Site::get(FINGERPRINT).map(|file| file.data);
    fault_of(in_bundles() || Site::get("pkg/fuseboard_bg.wasm").is_some(), built.as_deref())
}

/// A site without a fingerprint was built by other means, together with the server.
fn fault_of(wasm: bool, built: Option<&[u8]>) -> Option<String> {
    let what = match built {
        _ if !wasm => "is missing",
        Some(built) if built.trim_ascii() != fuseboard_app::FINGERPRINT.as_bytes() => {
            "was built from other sources than this server"
        }
        _ => return None,
    };
    let todo = if cfg!(debug_assertions) {
        "Run `make site`, then start a server built after it (`make run` does both)"
    } else {
        "Build both with `make dist`"
    };
    Some(format!("The board's site {what}: pages are served without script and do not change by themselves. {todo}."))
}

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
    fn only_a_site_of_the_servers_own_sources_runs() {
        let own = fuseboard_app::FINGERPRINT;
        assert_eq!(own.len(), 16, "{own}");
        assert_eq!(fault_of(true, Some(format!("{own}\n").as_bytes())), None);
        assert_eq!(fault_of(true, None), None);
        let said = |wasm, built: Option<&[u8]>| fault_of(wasm, built).expect("a fault");
        assert!(said(true, Some(b"0123456789abcdef")).contains("other sources than this server"));
        assert!(said(true, Some(b"")).contains("make site"));
        assert!(said(false, Some(own.as_bytes())).contains("is missing"));
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
