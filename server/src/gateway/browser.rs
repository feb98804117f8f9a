//! Guards for upstreams with configured `headers`: their secrets are for the gateway's own clients, not for any page a
//! browser on the same machine happens to have open.

use http::{HeaderMap, HeaderName, Request, header};
use url::{Host, Url};

use super::reject;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Why a request may not use the upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// A page of another site sent it.
    CrossSite,
    /// It calls the gateway by a name that anybody's DNS may have pointed here.
    ForeignName,
}

impl Found {
    pub(super) fn reject(self, board: &Url, upstream: &str) -> reject::Own {
        match self {
            Self::CrossSite => reject::cross_site(board, upstream),
            Self::ForeignName => reject::misdirected(board, upstream),
        }
    }
}

/// Lets a request through that no page of another site can have sent.
pub(super) fn check<B>(request: &Request<B>, public: Option<&Url>) -> Result<(), Found> {
    // HTTP/2 says it in the target, HTTP/1.1 in a header.
    let host = request.uri().authority().map(http::uri::Authority::as_str);
    let host = host.or_else(|| request.headers().get(header::HOST).and_then(|host| host.to_str().ok()));
    check_parts(request.headers(), host, public)
}

fn check_parts(headers: &HeaderMap, host: Option<&str>, public: Option<&Url>) -> Result<(), Found> {
    if headers.get(SEC_FETCH_SITE).is_some_and(|site| site == "cross-site") {
        return Err(Found::CrossSite);
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().ok().and_then(|origin| Url::parse(origin).ok());
        let same = origin.is_some_and(|origin| {
            public.is_some_and(|public| public.origin() == origin.origin()) || same_host(&origin, host)
        });
        if !same {
            return Err(Found::CrossSite);
        }
    }
    // Only a browser lets a stranger choose the name, and browsers always send one.
    let Some(host) = host else { return Ok(()) };
    if is_own_name(host, public) { Ok(()) } else { Err(Found::ForeignName) }
}

fn same_host(origin: &Url, host: Option<&str>) -> bool {
    let host = host.and_then(|host| Url::parse(&format!("{}://{host}/", origin.scheme())).ok());
    host.is_some_and(|host| host.origin() == origin.origin())
}

/// Addresses, names without a dot and the configured name cannot be pointed here from outside.
fn is_own_name(host: &str, public: Option<&Url>) -> bool {
    let Ok(url) = Url::parse(&format!("http://{host}/")) else { return false };
    if public.is_some_and(|public| public.host() == url.host()) {
        return true;
    }
    match url.host() {
        Some(Host::Domain(name)) => !name.contains('.') || name.ends_with(".localhost"),
        Some(Host::Ipv4(_) | Host::Ipv6(_)) => true,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&'static str, &'static str)], host: &str, public: Option<&str>) -> Result<(), Found> {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), http::HeaderValue::from_static(value)))
            .collect();
        let public = public.map(|url| Url::parse(url).expect("a URL"));
        check_parts(&headers, Some(host), public.as_ref())
    }

    #[test]
    fn pages_of_other_sites_are_turned_away() {
        let own = "127.0.0.1:8080";
        assert_eq!(check(&[], own, None), Ok(()));
        assert_eq!(check(&[("sec-fetch-site", "cross-site")], own, None), Err(Found::CrossSite));
        assert_eq!(check(&[("sec-fetch-site", "same-origin")], own, None), Ok(()));
        assert_eq!(check(&[("origin", "https://evil.example")], own, None), Err(Found::CrossSite));
        assert_eq!(check(&[("origin", "null")], own, None), Err(Found::CrossSite));
        assert_eq!(check(&[("origin", "http://127.0.0.1:3000")], own, None), Err(Found::CrossSite));
        assert_eq!(check(&[("origin", "http://127.0.0.1:8080")], own, None), Ok(()));
        let public = Some("https://fuse.example");
        assert_eq!(check(&[("origin", "https://fuse.example")], "fuse.example", public), Ok(()));
    }

    #[test]
    fn names_anybody_can_point_here_are_turned_away() {
        for own in ["127.0.0.1:8080", "[::1]:8080", "localhost:8080", "fuseboard:8080", "10.0.0.7", "a.localhost:1"] {
            assert_eq!(check(&[], own, None), Ok(()), "{own}");
        }
        assert_eq!(check(&[], "rebound.example:8080", None), Err(Found::ForeignName));
        assert_eq!(check(&[], "fuse.example", Some("https://fuse.example")), Ok(()));
        assert_eq!(check(&[], "not a host", None), Err(Found::ForeignName));
    }
}
