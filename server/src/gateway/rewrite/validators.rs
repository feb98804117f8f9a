//! Validators of bodies whose links were changed. Such a body is another representation than the host's, so its tag is
//! another one too: weak, marked, and with the host's own inside, which is what a conditional request is turned back into.
//! The mark says by which rules the links were written; a tag of other rules is not sent on, and the answer comes whole.

use http::{
    HeaderMap, HeaderValue,
    header::{ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH},
};

/// The host's tags that went on in place of ours: a 304 for one of them speaks of a changed body.
#[derive(Debug, Default)]
pub(super) struct Turned(Vec<Vec<u8>>);

impl Turned {
    /// Whether the client knows the answer's tag as one of ours.
    pub(super) fn is_ours(&self, headers: &HeaderMap) -> bool {
        let bare = |tag: &[u8]| tag.strip_prefix(b"W/").unwrap_or(tag).to_vec();
        headers.get(ETAG).is_some_and(|tag| self.0.iter().any(|ours| bare(ours) == bare(tag.as_bytes())))
    }
}

/// Turns our tags into the host's. Where the answer is known to be one with links, tags and dates that are not ours go: what
/// they stand for has other links.
pub(super) fn turn(headers: &mut HeaderMap, fingerprint: u32, changed: bool) -> Turned {
    let conditional = headers.contains_key(IF_NONE_MATCH);
    let mut ours = Vec::new();
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for value in headers.get_all(IF_NONE_MATCH) {
        for tag in tags(value.as_bytes()) {
            match read(tag, fingerprint) {
                Read::Ours(host) => {
                    ours.push(host.clone());
                    kept.push(host);
                }
                Read::Theirs if !changed => kept.push(tag.to_vec()),
                Read::Theirs | Read::Outdated => {}
            }
        }
    }
    headers.remove(IF_NONE_MATCH);
    // A date beside tags does not count (RFC 9110, 13.1.3), and must not begin to.
    if conditional || changed {
        headers.remove(IF_MODIFIED_SINCE);
    }
    if let Ok(value) = HeaderValue::from_bytes(&kept.join(&b", "[..]))
        && !kept.is_empty()
    {
        headers.insert(IF_NONE_MATCH, value);
    }
    Turned(ours)
}

/// Marks a host's tag; one that is none goes.
pub(super) fn mark(headers: &mut HeaderMap, fingerprint: u32) {
    let Some(tag) = headers.remove(ETAG) else { return };
    let (strength, opaque) = match tag.as_bytes() {
        [b'W', b'/', opaque @ ..] => ('w', opaque),
        opaque => ('s', opaque),
    };
    let [b'"', opaque @ .., b'"'] = opaque else { return };
    if opaque.contains(&b'"') {
        return;
    }
    let mark = format!("W/\"fuseboard-{fingerprint:08x}{strength}-");
    if let Ok(value) = HeaderValue::from_bytes(&[mark.as_bytes(), opaque, b"\""].concat()) {
        headers.insert(ETAG, value);
    }
}

enum Read {
    /// Ours, of these rules, and the host's tag in it.
    Ours(Vec<u8>),
    /// Ours, of other rules.
    Outdated,
    Theirs,
}

fn read(tag: &[u8], fingerprint: u32) -> Read {
    let Some(marked) = tag.strip_prefix(b"W/\"fuseboard-") else { return Read::Theirs };
    let current = format!("{fingerprint:08x}");
    match marked.strip_prefix(current.as_bytes()) {
        Some([b's', b'-', opaque @ ..]) => Read::Ours([b"\"", opaque].concat()),
        Some([b'w', b'-', opaque @ ..]) => Read::Ours([b"W/\"", opaque].concat()),
        _ => Read::Outdated,
    }
}

/// The tags of a list, `*` among them; a comma may stand inside the quotes.
fn tags(list: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let (mut start, mut quoted) = (0, false);
    for (at, byte) in list.iter().chain(b",").enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            b',' if !quoted || at == list.len() => {
                let tag = list[start..at].trim_ascii();
                if !tag.is_empty() {
                    found.push(tag);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: u32 = 0x00c0_ffee;

    fn turned(lines: &[&'static str], changed: bool) -> (Vec<String>, bool) {
        let mut headers: HeaderMap = lines.iter().map(|line| (IF_NONE_MATCH, HeaderValue::from_static(line))).collect();
        headers.insert(IF_MODIFIED_SINCE, HeaderValue::from_static("Mon, 30 Nov 2026 12:00:00 GMT"));
        let ours = !turn(&mut headers, OWN, changed).0.is_empty();
        assert_eq!(headers.contains_key(IF_MODIFIED_SINCE), lines.is_empty() && !changed);
        (headers.get_all(IF_NONE_MATCH).iter().map(|tag| tag.to_str().expect("text").to_owned()).collect(), ours)
    }

    fn marked(tag: &'static str) -> Option<String> {
        let mut headers = HeaderMap::from_iter([(ETAG, HeaderValue::from_static(tag))]);
        mark(&mut headers, OWN);
        headers.get(ETAG).map(|tag| tag.to_str().expect("text").to_owned())
    }

    #[test]
    fn a_tag_comes_back_as_it_was() {
        for tag in ["\"v1\"", "W/\"v1\"", "\"\"", "\"a,b-c\"", "W/\"fuseboard-00c0ffees-x\""] {
            let ours = marked(tag).expect("a tag");
            assert!(ours.starts_with("W/\"") && ours != tag, "{ours}");
            let (back, is_ours) = turned(&[Box::leak(ours.into_boxed_str())], true);
            assert_eq!((back, is_ours), (vec![tag.to_owned()], true));
        }
        assert_eq!(marked("v1"), None, "no tag");
        assert_eq!(marked("\"a\"b\""), None, "two");
    }

    #[test]
    fn a_304_is_ours_by_its_tag() {
        let mut asked =
            HeaderMap::from_iter([(IF_NONE_MATCH, HeaderValue::from_static("W/\"fuseboard-00c0ffeew-v1\", \"v2\""))]);
        let turned = turn(&mut asked, OWN, false);
        let answer = |tag: &'static str| HeaderMap::from_iter([(ETAG, HeaderValue::from_static(tag))]);
        assert!(turned.is_ours(&answer("W/\"v1\"")) && turned.is_ours(&answer("\"v1\"")));
        assert!(!turned.is_ours(&answer("\"v2\"")) && !turned.is_ours(&HeaderMap::new()));
    }

    #[test]
    fn tags_of_other_rules_and_of_the_host_itself() {
        assert_eq!(turned(&["W/\"fuseboard-00000001s-v1\""], false), (vec![], false));
        assert_eq!(turned(&["\"v1\", W/\"a,b\"", "*"], false), (vec!["\"v1\", W/\"a,b\", *".to_owned()], false));
        assert_eq!(turned(&["\"v1\""], true), (vec![], false), "it stands for a body with the host's links");
        let mixed = "\"v0\", W/\"fuseboard-00c0ffeew-v1\",W/\"fuseboard-00000001s-v2\"";
        assert_eq!(turned(&[mixed], false), (vec!["\"v0\", W/\"v1\"".to_owned()], true));
        assert_eq!(turned(&[], false), (vec![], false));
        assert_eq!(turned(&["\"v1"], false), (vec!["\"v1".to_owned()], false), "no tag, no panic");
    }
}
