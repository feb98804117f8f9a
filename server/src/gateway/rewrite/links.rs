//! Which links lead back to the gateway, and how they are written there. A link belongs to a host by scheme, host and port
//! as the URL standard reads them, never by its letters; what follows its prefix is kept byte for byte.

use std::hash::{DefaultHasher, Hash, Hasher};

use url::{ParseError, Url};

use super::super::route::has_dot_segment;
use crate::config::upstreams::{Entry, Target};

/// Part of the validators: what was written by other rules is not taken for what these write.
const RULES: u32 = 1;

/// One prefix and what stands in its place.
#[derive(Debug, Clone)]
struct Place {
    scheme: String,
    authority: String,
    /// The path below which it holds, without its last slash.
    base: String,
    /// The gateway's, without a last slash.
    to: String,
}

/// The places of one upstream.
#[derive(Debug, Clone)]
pub(super) struct Places(Vec<Place>);

/// The places, and the page whose links are read.
#[derive(Debug, Clone)]
pub(super) struct Links {
    places: Places,
    /// Where the page is, or what its `<base>` says.
    page: Url,
    /// Where the client sees it.
    seen: Url,
}

/// The first `cut` bytes of a link give way to `with`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Splice {
    pub(super) cut: usize,
    pub(super) with: String,
}

impl Places {
    /// The upstream's own, and its hosts of files; `own` is what clients put in front of `/{upstream}`.
    pub(super) fn new(entry: &Entry, own: &Url) -> Self {
        let place = |target: &Target, segment: String| Place {
            scheme: target.scheme.to_string(),
            authority: target.authority.to_string(),
            base: target.base.to_string(),
            to: format!("{own}{segment}"),
        };
        let name = &entry.upstream.name;
        let home = place(&entry.target, name.to_string());
        let files = &entry.rewriting.files;
        let files = files.iter().map(|files| place(&files.target, format!("{name}~{}", files.segment)));
        Self(std::iter::once(home).chain(files).collect())
    }

    /// Differs when what is written differs.
    pub(super) fn fingerprint(&self) -> u32 {
        let mut hasher = DefaultHasher::new();
        RULES.hash(&mut hasher);
        for Place { scheme, authority, base, to } in &self.0 {
            (scheme, authority, base, to).hash(&mut hasher);
        }
        let [a, b, c, d, ..] = hasher.finish().to_be_bytes();
        u32::from_be_bytes([a, b, c, d])
    }

    /// Where a URL is: the place, and its address at the gateway.
    fn of(&self, url: &Url) -> Option<(&Place, String)> {
        // Credentials in a link are for its host alone.
        if !url.username().is_empty() || url.password().is_some() {
            return None;
        }
        let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
        let place = self.0.iter().find(|place| {
            place.scheme == url.scheme() && place.authority == authority && below(url.path(), &place.base).is_some()
        })?;
        let rest = &url[url::Position::BeforePath..];
        Some((place, format!("{}{}", place.to, &rest[place.base.len()..])))
    }
}

/// The rest of a path below a base, at a segment's border.
fn below<'a>(path: &'a str, base: &str) -> Option<&'a str> {
    path.strip_prefix(base).filter(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']))
}

impl Links {
    pub(super) fn new(places: Places, page: Url, seen: Url) -> Self {
        Self { places, page, seen }
    }

    /// A link that says its host, as in JSON; text that only looks like one is none.
    pub(super) fn absolute(&self, text: &str) -> Option<Splice> {
        let rest = text.get(..8).filter(|start| {
            let start = start.to_ascii_lowercase();
            start.starts_with("http://") || start.starts_with("https://")
        });
        rest?;
        let url = Url::parse(text).ok()?;
        let (place, whole) = self.places.of(&url)?;
        Some(splice(text, place, whole))
    }

    /// A link as a page has it, relative ones too: those are kept where they lead to the same place at the gateway.
    pub(super) fn reference(&self, text: &str) -> Option<Splice> {
        let trimmed = text.trim_matches(|c: char| c <= ' ');
        if trimmed.is_empty() || trimmed.starts_with('#') {
            return None;
        }
        let url = self.page.join(text).ok()?;
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        let found = self.places.of(&url);
        if Url::parse(text) != Err(ParseError::RelativeUrlWithoutBase) {
            let (place, whole) = found?;
            return Some(splice(text, place, whole));
        }
        let at_gateway = self.seen.join(text).ok();
        match found {
            Some((_, whole)) if at_gateway.as_ref().is_some_and(|url| url.as_str() == whole) => None,
            Some((place, whole)) => Some(splice(text, place, whole)),
            // It leads off the page's host, and only there.
            None if at_gateway.as_ref() == Some(&url) => None,
            None => Some(Splice { cut: text.len(), with: url.into() }),
        }
    }

    /// A page's `<base>`: its links count from there.
    pub(super) fn rebase(&mut self, text: &str) {
        let Ok(page) = self.page.join(text) else { return };
        if let Ok(seen) =
            self.seen.join(&self.reference(text).map_or_else(|| text.to_owned(), |splice| splice.on(text)))
        {
            self.seen = seen;
        }
        self.page = page;
    }
}

impl Splice {
    /// The link as it is written then.
    pub(super) fn on(&self, text: &str) -> String {
        format!("{}{}", self.with, text.get(self.cut..).unwrap_or_default())
    }
}

/// Only the prefix where the link is spelled plainly; all of it where a client reads it otherwise than it is spelled.
fn splice(text: &str, place: &Place, whole: String) -> Splice {
    let rest = path_at(text).map(|at| &text[at..]).filter(|rest| {
        let odd = text.bytes().any(|byte| byte <= b' ' || byte == b'\\');
        !odd && !has_dot_segment(rest.split(['?', '#']).next().unwrap_or_default())
    });
    match rest.and_then(|rest| below(rest, &place.base)) {
        Some(kept) => Splice { cut: text.len() - kept.len(), with: place.to.clone() },
        None => Splice { cut: text.len(), with: whole },
    }
}

/// Where the path of a link begins, or what stands in its place.
fn path_at(text: &str) -> Option<usize> {
    let host = match text.find("//") {
        Some(at) if at == 0 || ["http:", "https:"].iter().any(|scheme| text[..at].eq_ignore_ascii_case(scheme)) => {
            at + 2
        }
        _ => return text.starts_with('/').then_some(0),
    };
    let length = text[host..].find(['/', '?', '#']).unwrap_or(text.len() - host);
    (length > 0).then_some(host + length)
}

#[cfg(test)]
pub(super) mod tests;
