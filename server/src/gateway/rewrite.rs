//! Metadata whose links lead back to the gateway, so that the files they name come through it too. A host is asked only for
//! codings that can be undone here, and only for what the client takes; an answer with links goes out decoded, changed and
//! with validators of its own, everything else as it is. What a client may have asked for as a part (`Range`) or as
//! unchanged (`If-None-Match`) is asked for so that the answer is true of the changed body.

mod body;
mod entities;
mod html;
mod json;
mod links;
mod scan;
mod validators;

use bytes::Bytes;
use fuseboard_fetch::{Body, CallError, Landed};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri,
    header::{
        ACCEPT, ACCEPT_ENCODING, ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, IF_MODIFIED_SINCE,
        IF_NONE_MATCH, IF_RANGE, IF_UNMODIFIED_SINCE, LAST_MODIFIED, LOCATION, RANGE, TRAILER,
    },
};
use http_body::Body as _;
use http_body_util::Empty;
use url::Url;

pub(super) use self::body::Passing;
use self::{
    body::{Changed, Coding},
    html::Html,
    json::Json,
    links::{Links, Places},
    scan::Scan,
    validators::Turned,
};
use super::{Gateway, route::Asked};
use crate::config::{rewriting::Preset, upstreams::Entry};

/// What speaks of the body as the host sent it.
const OF_THE_BODY: [HeaderName; 9] = [
    CONTENT_LENGTH,
    CONTENT_ENCODING,
    LAST_MODIFIED,
    ACCEPT_RANGES,
    TRAILER,
    HeaderName::from_static("content-md5"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("repr-digest"),
];

/// With these a request may be answered with less than the whole.
const UNLESS_WHOLE: [HeaderName; 5] = [RANGE, IF_RANGE, IF_NONE_MATCH, IF_MODIFIED_SINCE, IF_UNMODIFIED_SINCE];

/// What holds links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Html,
    Json,
}

/// Sends a request to an upstream whose links are changed.
pub(super) async fn forward<B>(
    gateway: &Gateway,
    entry: &Entry,
    asked: Asked<'_>,
    mut request: Request<B>,
) -> Result<Response<Passing>, CallError>
where
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let changing = Changing::new(gateway, entry, asked, request.method());
    let turned = changing.prepare(request.headers_mut());
    let uri = request.uri().clone();
    let asks_in_part = UNLESS_WHOLE.iter().any(|name| request.headers().contains_key(name));
    let whole = (changing.candidate && asks_in_part).then(|| {
        let mut whole = Request::new(Empty::new());
        (*whole.method_mut(), *whole.uri_mut()) = (request.method().clone(), uri.clone());
        *whole.headers_mut() = request.headers().clone();
        for name in UNLESS_WHOLE {
            whole.headers_mut().remove(name);
        }
        whole
    });
    let ask = |request: Request<Empty<Bytes>>| gateway.fetcher.forward(&entry.upstream, request);
    let mut response = gateway.fetcher.forward(&entry.upstream, request).await?;
    if let Some(whole) = whole {
        // Nobody could have known: a part of what the links are changed in is a part of something else, and what the
        // client has of the host's own is another body. A 304 does not say of what.
        let is_other = match response.status() {
            StatusCode::PARTIAL_CONTENT => changing.kind(response.headers()).is_some(),
            StatusCode::NOT_MODIFIED if !turned.is_ours(response.headers()) => {
                let mut head = whole.clone();
                *head.method_mut() = Method::HEAD;
                let head = ask(head).await?;
                head.status().is_success() && changing.kind(head.headers()).is_some()
            }
            _ => false,
        };
        if is_other {
            drop(response);
            response = ask(whole).await?;
        }
    }
    let landed = response.extensions().get().map_or(uri, |Landed(at)| at.clone());
    Ok(changing.answer(response, &landed, &turned))
}

/// One request's part in it.
struct Changing<'a> {
    entry: &'a Entry,
    places: Places,
    fingerprint: u32,
    /// Where the client sees the answer.
    seen: Option<Url>,
    head: bool,
    /// Whether the answer may be one whose links are changed.
    candidate: bool,
    /// Whether it is known to be one by its path.
    by_path: bool,
}

impl<'a> Changing<'a> {
    fn new(gateway: &Gateway, entry: &'a Entry, asked: Asked<'_>, method: &Method) -> Self {
        let places = Places::new(entry, &gateway.own);
        let by_path = entry.rewriting.preset == Preset::Cargo && asked.path() == "/config.json";
        let get = matches!(*method, Method::GET | Method::HEAD);
        Self {
            fingerprint: places.fingerprint(),
            seen: Url::parse(&format!("{}{}{}", gateway.own, asked.upstream, asked.rest)).ok(),
            head: *method == Method::HEAD,
            // Files pass as they are, whatever they look like: somebody has their hashes.
            candidate: get && asked.files().is_none() && (by_path || entry.rewriting.preset != Preset::Cargo),
            by_path: get && by_path,
            entry,
            places,
        }
    }

    /// Asks for what can be changed.
    fn prepare(&self, headers: &mut HeaderMap) -> Turned {
        if !self.candidate {
            return Turned::default();
        }
        limit_codings(headers);
        let expected = self.by_path || self.expected(headers);
        let several = |value: &HeaderValue| value.as_bytes().contains(&b',');
        if expected || headers.get(RANGE).is_some_and(several) {
            headers.remove(RANGE);
            headers.remove(IF_RANGE);
        }
        validators::turn(headers, self.fingerprint, expected)
    }

    /// Whether the client says that it wants what holds links; `*/*` may be a file.
    fn expected(&self, headers: &HeaderMap) -> bool {
        let ranges = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
        ranges.flat_map(|value| value.split(',')).any(|range| self.kind_of(range).is_some())
    }

    fn kind(&self, headers: &HeaderMap) -> Option<Kind> {
        if self.by_path {
            return Some(Kind::Json);
        }
        let media_type = headers.get(CONTENT_TYPE)?.to_str().ok()?;
        self.kind_of(media_type).filter(|_| self.candidate)
    }

    fn kind_of(&self, media_type: &str) -> Option<Kind> {
        let mut parts = media_type.split(';').map(|part| part.trim().to_ascii_lowercase());
        let name = parts.next().unwrap_or_default();
        // Two bytes a letter: not what the scanners read.
        if parts.any(|part| part.starts_with("charset=utf-16") || part.starts_with("charset=\"utf-16")) {
            return None;
        }
        match (self.entry.rewriting.preset, &*name) {
            (Preset::Npm, "application/json" | "application/vnd.npm.install-v1+json")
            | (Preset::Pypi, "application/json" | "application/vnd.pypi.simple.v1+json") => Some(Kind::Json),
            (Preset::Pypi, "text/html" | "application/vnd.pypi.simple.v1+html") => Some(Kind::Html),
            (Preset::Generic | Preset::Maven, "text/html" | "application/xhtml+xml") => Some(Kind::Html),
            (Preset::Generic | Preset::Maven, "application/json" | "text/json") => Some(Kind::Json),
            (Preset::Generic | Preset::Maven, other) if other.ends_with("+json") && !is_signed(other) => {
                Some(Kind::Json)
            }
            _ => None,
        }
    }

    fn answer(&self, response: Response<Body>, landed: &Uri, turned: &Turned) -> Response<Passing> {
        let (mut head, body) = response.into_parts();
        let Some((page, seen)) = Url::parse(&landed.to_string()).ok().zip(self.seen.clone()) else {
            return Response::from_parts(head, Passing::AsItIs(body));
        };
        let links = Links::new(self.places.clone(), page, seen);
        let location = head.headers.get(LOCATION).and_then(|location| location.to_str().ok());
        if let Some(location) = location.and_then(|location| Some(links.reference(location)?.on(location)))
            && let Ok(location) = HeaderValue::try_from(location)
        {
            head.headers.insert(LOCATION, location);
        }
        let body = if head.status == StatusCode::NOT_MODIFIED && turned.is_ours(&head.headers) {
            self.redress(&mut head.headers);
            Passing::AsItIs(body)
        } else if let (true, Some(kind), Some(coding)) =
            (head.status.is_success(), self.kind(&head.headers), coding(&head.headers))
            && head.status != StatusCode::PARTIAL_CONTENT
        {
            self.redress(&mut head.headers);
            if self.head || body.is_end_stream() {
                Passing::AsItIs(body)
            } else {
                let breaker = self.entry.breaker.clone();
                Passing::Changed(Box::new(Changed::new(body, coding, self.scanner(kind, links), breaker)))
            }
        } else {
            Passing::AsItIs(body)
        };
        Response::from_parts(head, body)
    }

    /// Only what is true of the changed body stays.
    fn redress(&self, headers: &mut HeaderMap) {
        validators::mark(headers, self.fingerprint);
        for name in &OF_THE_BODY {
            headers.remove(name);
        }
    }

    fn scanner(&self, kind: Kind, links: Links) -> Box<dyn Scan> {
        match kind {
            Kind::Html => Box::new(Html::new(links)),
            Kind::Json => {
                let relative = (self.entry.rewriting.preset == Preset::Pypi).then_some(&b"url"[..]);
                Box::new(Json::new(links, relative))
            }
        }
    }
}

/// JSON that is known by its hash or signature, and would not be it any more.
fn is_signed(media_type: &str) -> bool {
    ["application/vnd.oci.", "application/vnd.docker.", "application/vnd.in-toto", "application/vnd.dev.sigstore."]
        .iter()
        .any(|start| media_type.starts_with(start))
        || media_type == "application/jose+json"
}

/// Of the codings the client takes, those that can be undone here.
fn limit_codings(headers: &mut HeaderMap) {
    if !headers.contains_key(ACCEPT_ENCODING) {
        return;
    }
    let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let known = |coding: &&str| {
        let name = coding.split(';').next().unwrap_or_default().trim();
        ["gzip", "x-gzip", "br", "identity"].iter().any(|known| name.eq_ignore_ascii_case(known))
    };
    let kept: Vec<&str> = lines.flat_map(|line| line.split(',')).map(str::trim).filter(known).collect();
    let kept = if kept.is_empty() { "identity".to_owned() } else { kept.join(", ") };
    if let Ok(kept) = HeaderValue::try_from(kept) {
        headers.insert(ACCEPT_ENCODING, kept);
    }
}

/// How an answer is coded; `None` when that cannot be undone, and it goes out as it is.
fn coding(headers: &HeaderMap) -> Option<Coding> {
    let mut lines = headers.get_all(CONTENT_ENCODING).iter();
    let coding = match (lines.next(), lines.next()) {
        (None, _) => return Some(Coding::Identity),
        (Some(one), None) => one.to_str().ok()?.trim().to_ascii_lowercase(),
        _ => return None,
    };
    match &*coding {
        "" | "identity" => Some(Coding::Identity),
        "gzip" | "x-gzip" => Some(Coding::Gzip),
        "br" => Some(Coding::Brotli),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
