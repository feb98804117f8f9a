//! Where a redirect may be followed to. Each hop is a call of its own on its own origin's breaker; this file only
//! decides. Followed are GET and HEAD, to the upstream's own origin and to the hosts its `redirects.hosts` names; any
//! other redirect is an answer like another and goes to the client, who may follow it without us. A redirect we would
//! follow from https to http, or the eleventh in a row, is an error instead. Secrets do not cross origins.

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use url::Url;

use crate::{error::Guard, origin::Target, upstream::Redirects};

/// Followed at most.
pub(crate) const MOST: usize = 10;

/// Whether a response asks to be followed, and the request is one that may be repeated elsewhere.
pub(crate) fn asks(method: &Method, status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308) && matches!(*method, Method::GET | Method::HEAD)
}

/// Where to go next; `None` hands the redirect to the client.
///
/// # Errors
/// The redirect would be followed, but drops TLS.
pub(crate) fn next(
    rules: &Redirects,
    own: &Target,
    at: &Target,
    here: &Url,
    headers: &HeaderMap,
) -> Result<Option<Url>, Guard> {
    let location = headers.get(header::LOCATION).and_then(|value| std::str::from_utf8(value.as_bytes()).ok());
    let Some(mut url) = location.and_then(|location| here.join(location).ok()) else { return Ok(None) };
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Ok(None);
    }
    // Neither is ever sent: a fragment is the client's, and credentials in a URL are somebody else's.
    url.set_fragment(None);
    if url.set_username("").is_err() || url.set_password(None).is_err() {
        return Ok(None);
    }
    let home = crate::origin::breaker_id(&url) == *own.origin;
    if !home && !rules.hosts.iter().any(|pattern| allows(pattern, &url)) {
        return Ok(None);
    }
    if at.https && url.scheme() == "http" {
        return Err(Guard::Downgrade { from: at.origin.clone() });
    }
    Ok(Some(url))
}

/// Whether a redirect of an upstream may be followed to this origin, given as a breaker's id.
pub fn may_lead_to(rules: &Redirects, origin: &str) -> bool {
    let url = origin.split_once(':').and_then(|(scheme, place)| Url::parse(&format!("{scheme}://{place}/")).ok());
    rules.follow && url.is_some_and(|url| rules.hosts.iter().any(|pattern| allows(pattern, &url)))
}

fn allows(pattern: &str, url: &Url) -> bool {
    if pattern == "*" {
        return true;
    }
    let (name, port) = match pattern.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !port.is_empty() => {
            (name, port.parse::<u16>().ok())
        }
        _ => (pattern, None),
    };
    if port.is_some() && url.port_or_known_default() != port {
        return false;
    }
    let host = url.host_str().unwrap_or_default();
    match name.strip_prefix("*.") {
        Some(parent) => {
            host.len() > parent.len() + 1
                && host.as_bytes()[host.len() - parent.len() - 1] == b'.'
                && host[host.len() - parent.len()..].eq_ignore_ascii_case(parent)
        }
        None => host.eq_ignore_ascii_case(name),
    }
}

/// Whether a header's name says that its value lets somebody in, be it `X-Api-Key`, `PRIVATE-TOKEN` or `x_accesstoken`.
fn says_secret(name: &HeaderName) -> bool {
    const SECRET: [&str; 13] = [
        "api",
        "auth",
        "authentication",
        "authorization",
        "cookie",
        "credential",
        "credentials",
        "jwt",
        "key",
        "password",
        "secret",
        "session",
        "token",
    ];
    let says = |word: &str| SECRET.iter().any(|secret| word.ends_with(secret));
    name.as_str().split(|char: char| !char.is_ascii_alphanumeric()).any(says)
}

/// Takes out what was meant for another origin: credentials, cookies, and whatever the upstream sets by configuration.
pub(crate) fn drop_secrets(headers: &mut HeaderMap, configured: &HeaderMap) {
    let secret = |name: &HeaderName| configured.contains_key(name) || says_secret(name);
    let secrets: Vec<HeaderName> = headers.keys().filter(|name| secret(name)).cloned().collect();
    for name in secrets {
        headers.remove(name);
    }
    // Where the client was is its own origin's business; its query may hold a key.
    if let Some(referer) = headers.remove(header::REFERER)
        && let Some(origin) = referer.to_str().ok().and_then(|referer| Url::parse(referer).ok()).map(|url| url.origin())
        && origin.is_tuple()
        && let Ok(origin) = HeaderValue::try_from(format!("{}/", origin.ascii_serialization()))
    {
        headers.insert(header::REFERER, origin);
    }
}

#[cfg(test)]
mod tests;
