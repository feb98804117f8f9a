//! From a request's target to the upstream's URL. The bytes of path and query are kept as received; only the prefix that
//! names the upstream is replaced.

use http::{Uri, uri::PathAndQuery};

use crate::config::upstreams::Target;

/// A path cut after the upstream's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked<'a> {
    /// The first segment.
    pub(super) upstream: &'a str,
    /// What follows it, from its slash or question mark on.
    pub(super) rest: &'a str,
}

impl<'a> Asked<'a> {
    /// The upstream's name alone.
    pub(super) fn name(self) -> &'a str {
        self.parts().0
    }

    /// Which of the upstream's hosts of files it is for, if not for the upstream itself.
    pub(super) fn files(self) -> Option<&'a str> {
        self.parts().1
    }

    /// Some clients encode the tilde.
    fn parts(self) -> (&'a str, Option<&'a str>) {
        let cut = |tilde: &str| self.upstream.find(tilde).map(|at| (at, at + tilde.len()));
        match ["~", "%7E", "%7e"].into_iter().filter_map(cut).min() {
            Some((end, start)) => (&self.upstream[..end], Some(&self.upstream[start..])),
            None => (self.upstream, None),
        }
    }

    /// The path behind the first segment.
    pub(super) fn path(self) -> &'a str {
        self.rest.split('?').next().unwrap_or_default()
    }
}

/// Cuts `/npm/lodash?x=1` into `npm` and `/lodash?x=1`.
pub(super) fn asked(path_and_query: &str) -> Asked<'_> {
    let path = path_and_query.strip_prefix('/').unwrap_or(path_and_query);
    let end = path.find(['/', '?']).unwrap_or(path.len());
    let (upstream, rest) = path.split_at(end);
    Asked { upstream, rest }
}

/// Whether the path has a `.` or `..` segment as any server behind us might read it: encoded, between encoded slashes or
/// backslashes, or with a parameter behind it.
pub(super) fn has_dot_segment(rest: &str) -> bool {
    let path = rest.split('?').next().unwrap_or_default();
    // Nearly every path ends here.
    if !path.contains("/.") && !path.contains(['%', '\\']) {
        return false;
    }
    let plain = path.replace("%2e", ".").replace("%2E", ".");
    let plain = plain.replace("%2f", "/").replace("%2F", "/").replace("%5c", "/").replace("%5C", "/");
    plain.split(['/', '\\']).any(|segment| matches!(segment.split(';').next(), Some("." | "..")))
}

/// The upstream's URL for what was asked. `None` when it is no URI, which a parsed request does not lead to.
pub(super) fn target(target: &Target, rest: &str) -> Option<Uri> {
    let path = match (target.base.is_empty(), rest) {
        (true, "") => PathAndQuery::from_static("/"),
        (true, rest) if rest.starts_with('/') => rest.parse().ok()?,
        (true, query) => format!("/{query}").parse().ok()?,
        (false, rest) => format!("{}{rest}", target.base).parse().ok()?,
    };
    let mut parts = http::uri::Parts::default();
    parts.scheme = Some(target.scheme.clone());
    parts.authority = Some(target.authority.clone());
    parts.path_and_query = Some(path);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(base: &str, rest: &str) -> String {
        let url = url::Url::parse(base).expect("a URL");
        target(&Target::new(&url).expect("a target"), rest).expect("a URI").to_string()
    }

    #[test]
    fn r35_only_the_prefix_is_replaced() {
        assert_eq!(asked("/npm/@scope%2fname//A?q=%2F"), Asked { upstream: "npm", rest: "/@scope%2fname//A?q=%2F" });
        assert_eq!(asked("/npm"), Asked { upstream: "npm", rest: "" });
        assert_eq!(asked("/npm?x"), Asked { upstream: "npm", rest: "?x" });
        assert_eq!(asked("/"), Asked { upstream: "", rest: "" });
        for path in ["/npm~https~h.example~1/a", "/npm%7Ehttps~h.example~1/a", "/npm%7ehttps~h.example~1/a"] {
            assert_eq!((asked(path).name(), asked(path).files()), ("npm", Some("https~h.example~1")), "{path}");
        }
        assert_eq!((asked("/npm/a~b").name(), asked("/npm/a~b").files()), ("npm", None));
        assert_eq!(to("http://h.example", "/@scope%2fname//A?q=%2F"), "http://h.example/@scope%2fname//A?q=%2F");
        assert_eq!(to("http://h.example/", ""), "http://h.example/");
        assert_eq!(to("http://h.example", "?x"), "http://h.example/?x");
        assert_eq!(to("https://h.example/simple/", "/pkg/"), "https://h.example/simple/pkg/");
        assert_eq!(to("https://h.example/simple", ""), "https://h.example/simple");
        assert_eq!(to("https://h.example:8443/a/b", "?x"), "https://h.example:8443/a/b?x");
    }

    #[test]
    fn r35_dot_segments_are_seen_in_every_spelling() {
        for path in [
            "/..",
            "/../x",
            "/a/./b",
            "/a/%2e%2e/b",
            "/a/%2E./b",
            "/a/.%2e",
            "/..%2fsecret",
            "/a%2f..%2fb",
            "/a/..\\b",
            "/a/%5c../b",
            "/..;x/y",
            "/.",
        ] {
            assert!(has_dot_segment(path), "{path}");
        }
        for path in ["", "/", "/a/.well-known/x", "/...", "/a..b", "/@scope%2fname", "/a?x=/../", "/.a", "/a%2e"] {
            assert!(!has_dot_segment(path), "{path}");
        }
    }
}
