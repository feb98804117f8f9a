//! The same answer for people alone: what a client that reads no JSON is told.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use http_body_util::Full;

use super::Own;

/// The words, kept beside an answer until it is known who reads them.
#[derive(Debug, Clone)]
pub(super) struct Words(pub(super) String);

/// Whether a client takes text and nothing that JSON could be. Cargo is one, and prints whatever comes.
pub(in crate::gateway) fn wants_text(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges = lines.flat_map(|line| line.split(',')).map(|range| range.split(';').next().unwrap_or_default().trim());
    let mut text = false;
    for range in ranges {
        match range {
            "text/plain" | "text/*" => text = true,
            "*/*" | "application/*" | "application/json" | "application/problem+json" => return false,
            _ => {}
        }
    }
    text
}

/// The answer in words alone.
pub(in crate::gateway) fn in_words(mut response: Own) -> Own {
    if let Some(Words(words)) = response.extensions_mut().remove() {
        *response.body_mut() = Full::new(Bytes::from(words));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_for_those_who_take_nothing_else() {
        let wants = |accept: &[&'static str]| {
            let lines = accept.iter().map(|line| (header::ACCEPT, HeaderValue::from_static(line)));
            wants_text(&lines.collect())
        };
        assert!(wants(&["text/plain"]) && wants(&["text/html, text/*;q=0.5"]) && wants(&["text/html", "text/plain"]));
        for json in [&[][..], &["*/*"], &["text/plain, application/json"], &["text/plain", "*/*;q=0.1"], &["text/html"]]
        {
            assert!(!wants(json), "{json:?}");
        }
    }
}
