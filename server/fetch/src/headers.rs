//! What travels from one side to the other: everything but the headers that speak of one connection alone. `Via` is
//! added on the way in both directions, and a request that already carries our own is going round in circles.

use http::{HeaderMap, HeaderName, HeaderValue, Version, header};

/// Headers of one connection, whether `Connection` lists them or not.
const HOP_BY_HOP: [&str; 8] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// Drops the headers that end here; `TE: trailers` alone goes on.
pub(crate) fn strip(headers: &mut HeaderMap) {
    // Most messages have none of them, and looking at each name they do have is cheaper than eight searches.
    if !headers.keys().any(|name| HOP_BY_HOP.contains(&name.as_str())) {
        return;
    }
    // RFC 9112, 6.3: a length beside a coding says nothing about what was read.
    if headers.contains_key(header::TRANSFER_ENCODING) {
        headers.remove(header::CONTENT_LENGTH);
    }
    if headers.contains_key(header::CONNECTION) {
        let listed: Vec<HeaderName> = headers
            .get_all(header::CONNECTION)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok())
            // Framing is not the peer's to switch off.
            .filter(|name| *name != header::CONTENT_LENGTH && *name != header::HOST && *name != header::TE)
            .collect();
        for name in listed {
            headers.remove(name);
        }
    }
    let trailers = headers.get_all(header::TE).iter().any(|value| {
        value.to_str().is_ok_and(|value| value.split(',').any(|one| one.trim().eq_ignore_ascii_case("trailers")))
    });
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
    if trailers {
        headers.insert(header::TE, HeaderValue::from_static("trailers"));
    }
}

/// Puts together what an h2 client may send in crumbs and nobody else may (RFC 9113, 8.2.3).
pub(crate) fn join_cookies(headers: &mut HeaderMap) {
    let crumbs: Vec<_> = headers.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes).collect();
    if crumbs.len() > 1
        && let Ok(whole) = HeaderValue::from_bytes(&crumbs.join(&b"; "[..]))
    {
        headers.insert(header::COOKIE, whole);
    }
}

/// Whether a message says that it is coded in another way than in chunks. Nobody undoes that here, and the header that says
/// so ends here, so whoever comes next would take the coded bytes for the body (RFC 9112, 6.1).
pub fn is_coded(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(header::TRANSFER_ENCODING).iter();
    let mut codings = lines.flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    codings.any(|coding| !coding.trim_ascii().eq_ignore_ascii_case(b"chunked"))
}

/// Our name in `Via`.
#[derive(Debug, Clone)]
pub(crate) struct Via {
    pseudonym: Box<str>,
    http10: HeaderValue,
    http11: HeaderValue,
    http2: HeaderValue,
}

impl Via {
    /// A pseudonym as it may stand in the header; anything else in it becomes `-`.
    pub(crate) fn new(pseudonym: &str) -> Self {
        let pseudonym: String = pseudonym
            .chars()
            .map(|char| if char.is_ascii_alphanumeric() || "-._".contains(char) { char } else { '-' })
            .collect();
        let pseudonym = if pseudonym.is_empty() { "fuseboard".to_owned() } else { pseudonym };
        let value = |version: &str| {
            HeaderValue::from_str(&format!("{version} {pseudonym}"))
                .unwrap_or_else(|_| HeaderValue::from_static("1.1 fuseboard"))
        };
        Self { http10: value("1.0"), http11: value("1.1"), http2: value("2"), pseudonym: pseudonym.into() }
    }

    /// Adds us, with the version the message came in.
    pub(crate) fn sign(&self, headers: &mut HeaderMap, version: Version) {
        let value = match version {
            Version::HTTP_2 => &self.http2,
            Version::HTTP_10 | Version::HTTP_09 => &self.http10,
            _ => &self.http11,
        };
        headers.append(header::VIA, value.clone());
    }

    /// Whether a request has been here before.
    pub(crate) fn signed(&self, headers: &HeaderMap) -> bool {
        headers.get_all(header::VIA).iter().filter_map(|value| value.to_str().ok()).any(|value| {
            value
                .split(',')
                .any(|hop| hop.split_whitespace().nth(1).is_some_and(|name| name.eq_ignore_ascii_case(&self.pseudonym)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for &(name, value) in pairs {
            map.append(name, HeaderValue::from_static(value));
        }
        map
    }

    #[test]
    fn r35_headers_of_one_connection_end_here() {
        let mut map = headers(&[
            ("connection", "close, X-Once"),
            ("connection", "x-twice, content-length"),
            ("keep-alive", "timeout=5"),
            ("proxy-authorization", "Basic x"),
            ("te", "gzip, Trailers;q=1"),
            ("te", "trailers"),
            ("upgrade", "h2c"),
            ("x-once", "1"),
            ("x-twice", "2"),
            ("content-length", "3"),
            ("range", "bytes=0-1"),
            ("trailer", "x-sum"),
        ]);
        strip(&mut map);
        assert_eq!(
            map,
            headers(&[("content-length", "3"), ("range", "bytes=0-1"), ("trailer", "x-sum"), ("te", "trailers")])
        );
    }

    #[test]
    fn r35_a_length_beside_a_coding_does_not_go_on() {
        let mut map = headers(&[("transfer-encoding", "chunked"), ("content-length", "3")]);
        strip(&mut map);
        assert!(map.is_empty(), "{map:?}");
    }

    #[test]
    fn r35_te_without_trailers_ends_here_too() {
        let mut map = headers(&[("te", "gzip")]);
        strip(&mut map);
        assert!(map.is_empty());
    }

    #[test]
    fn r34_our_own_name_in_via_is_a_loop_and_somebody_elses_is_not() {
        let via = Via::new("fuse 1");
        let mut map = headers(&[("via", "1.1 other, 1.0 fuse")]);
        assert!(!via.signed(&map));
        via.sign(&mut map, Version::HTTP_2);
        assert_eq!(map.get_all("via").iter().next_back().unwrap(), "2 fuse-1");
        assert!(via.signed(&map));
        assert!(via.signed(&headers(&[("via", "1.1 other, 1.1 FUSE-1 (comment)")])));
    }
}
