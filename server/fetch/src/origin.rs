//! From a URL to the breaker that guards it, and from a URL to what may be written down about it. Spellings of one
//! origin are one breaker: scheme, host and port as the WHATWG URL standard normalises them. User info, path and query
//! are never part of it, and their secrets never part of a record.

use std::{borrow::Cow, net::IpAddr, sync::Arc};

use http::{
    HeaderValue, Uri,
    uri::{Authority, PathAndQuery},
};
use url::{Host, Url};

/// The id of the breaker in front of a URL's origin: `https:registry.example`, `http:127.0.0.1:9001`,
/// `grpc:[::1]:50051`. The default port (80 for http and grpc, 443 for https and grpcs) is left out.
pub fn breaker_id(url: &Url) -> String {
    let plain = web_url(url);
    let host = plain.host_str().unwrap_or_default();
    match plain.port() {
        Some(port) => format!("{}:{host}:{port}", url.scheme()),
        None => format!("{}:{host}", url.scheme()),
    }
}

/// The same place under http or https: the url standard normalises host and port for its own schemes alone.
pub(crate) fn web_url(url: &Url) -> Cow<'_, Url> {
    let web = match url.scheme() {
        "grpc" => "http",
        "grpcs" => "https",
        _ => return Cow::Borrowed(url),
    };
    let rest = &url.as_str()[url.scheme().len()..];
    Url::parse(&format!("{web}{rest}")).map_or(Cow::Borrowed(url), Cow::Owned)
}

/// A URI fit to be written down: user info gone, query values `***`.
pub fn redact(uri: &Uri) -> String {
    let path = uri.path_and_query().map(redact_path).unwrap_or_default();
    match (uri.scheme_str(), uri.authority()) {
        (Some(scheme), Some(authority)) => {
            let authority = authority.as_str();
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            format!("{scheme}://{host}{path}")
        }
        _ => path.into_owned(),
    }
}

/// A path fit to be written down: query values are `***`; a query word without a value may be the secret itself.
pub fn redact_path(path: &PathAndQuery) -> Cow<'_, str> {
    let Some(query) = path.query() else { return Cow::Borrowed(path.path()) };
    let mut out = String::with_capacity(path.as_str().len());
    out.push_str(path.path());
    let mut separator = '?';
    for pair in query.split('&') {
        out.push(separator);
        separator = '&';
        match pair.split_once('=') {
            Some((key, _)) => {
                out.push_str(key);
                out.push_str("=***");
            }
            None if pair.is_empty() => {}
            None => out.push_str("***"),
        }
    }
    Cow::Owned(out)
}

/// Where a hop goes: everything about an origin that a connection and a request need.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// The breaker's id.
    pub(crate) id: Arc<str>,
    /// The origin itself, which is the id unless the upstream has a breaker of its own.
    pub(crate) origin: Arc<str>,
    /// TLS or not.
    pub(crate) https: bool,
    /// The name or address to connect to.
    pub(crate) host: Place,
    /// The port to connect to.
    pub(crate) port: u16,
    /// What `Host` says.
    pub(crate) authority: HeaderValue,
    /// The same for a request line that says it.
    pub(crate) uri_authority: Authority,
    /// Whether addresses inside our own network are allowed here.
    pub(crate) inside: bool,
}

/// A host, ready to be connected to.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    Name(Arc<str>),
    Address(IpAddr),
}

impl Target {
    /// The target of a http or https (grpc or grpcs) URL; none when it has no host or another scheme.
    pub(crate) fn new(url: &Url, inside: bool) -> Option<Self> {
        let plain = web_url(url);
        let https = match plain.scheme() {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        let host = match plain.host()? {
            Host::Domain(name) => Place::Name(name.into()),
            Host::Ipv4(v4) => Place::Address(v4.into()),
            Host::Ipv6(v6) => Place::Address(v6.into()),
        };
        let authority = match plain.port() {
            Some(port) => format!("{}:{port}", plain.host_str()?),
            None => plain.host_str()?.to_owned(),
        };
        let id: Arc<str> = breaker_id(url).into();
        Some(Self {
            origin: Arc::clone(&id),
            id,
            https,
            host,
            port: plain.port_or_known_default()?,
            authority: HeaderValue::from_str(&authority).ok()?,
            uri_authority: Authority::try_from(authority).ok()?,
            inside,
        })
    }

    /// Whether a URI spells this origin exactly as we do; any other spelling has to be parsed to know.
    pub(crate) fn is_spelled(&self, uri: &Uri) -> bool {
        let scheme = if self.https { "https" } else { "http" };
        uri.scheme_str() == Some(scheme)
            && uri.authority().is_some_and(|authority| authority.as_str().as_bytes() == self.authority.as_bytes())
    }
}

#[cfg(test)]
mod tests;
