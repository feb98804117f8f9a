//! What an address may claim. A browser without script keeps nothing, so what became of its form stands in the address it is
//! sent to: what was done, or why nothing was. Only what this process wrote there a moment ago is shown: a link somebody
//! made up could put any words on the board, and an old one could say again what is long undone.

use std::{
    hash::{BuildHasher, RandomState},
    sync::LazyLock,
    time::{Duration, Instant},
};

use axum::{
    extract::Request,
    http::{HeaderValue, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use url::form_urlencoded::{Serializer, parse};

/// A refused form's words, a form that was carried out, a configuration that was read again.
const CLAIMS: [&str; 3] = ["__err", "done", "reloaded"];
/// What stands beside them and says nothing alone.
const BESIDE: [&str; 5] = ["__path", "well", "refused", "undo", MARK];
const MARK: &str = "__mark";
/// A browser that is sent on is there at once.
const SHOWN_FOR: Duration = Duration::from_secs(60);

/// This process's own, and its clock; a claim outlives no restart.
static OURS: LazyLock<(RandomState, Instant)> = LazyLock::new(|| (RandomState::new(), Instant::now()));

/// An address of ours; what it claims is marked as such.
pub(super) fn marked(path: &str) -> String {
    marked_at(path, OURS.1.elapsed())
}

/// Sends a browser whose address claims what nobody here wrote to the same page without that.
pub(super) async fn genuine(request: Request, next: Next) -> Response {
    match without_forgery(request.uri(), OURS.1.elapsed()) {
        None => next.run(request).await,
        Some(without) => {
            let mut response = StatusCode::SEE_OTHER.into_response();
            if let Ok(location) = HeaderValue::from_str(&without) {
                response.headers_mut().insert(header::LOCATION, location);
            }
            response
        }
    }
}

fn marked_at(path: &str, now: Duration) -> String {
    let (before, fragment) = path.split_once('#').map_or((path, None), |(before, after)| (before, Some(after)));
    let Some((page, query)) = before.split_once('?').filter(|(_, query)| claims(query)) else { return path.to_owned() };
    let fragment = fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
    format!("{before}&{MARK}={}{fragment}", mark(page, query, now.as_secs()))
}

fn without_forgery(uri: &Uri, now: Duration) -> Option<String> {
    let query = uri.query().filter(|query| claims(query))?;
    let marks: Vec<_> = parse(query.as_bytes()).filter(|(key, _)| key == MARK).collect();
    if let [(_, given)] = &marks[..]
        && let Some(at) = given.split('-').next().and_then(|at| at.parse().ok())
        && *given == mark(uri.path(), query, at)
        && now.saturating_sub(Duration::from_secs(at)) <= SHOWN_FOR
    {
        return None;
    }
    let mut kept = Serializer::new(String::new());
    for (key, value) in parse(query.as_bytes()) {
        if !CLAIMS.contains(&&*key) && !BESIDE.contains(&&*key) {
            kept.append_pair(&key, &value);
        }
    }
    let kept = kept.finish();
    Some(if kept.is_empty() { uri.path().to_owned() } else { format!("{}?{kept}", uri.path()) })
}

fn claims(query: &str) -> bool {
    parse(query.as_bytes()).any(|(key, _)| CLAIMS.contains(&&*key))
}

/// Of the whole address, so that no part of it can be moved to another; with the second it was made in.
fn mark(page: &str, query: &str, at: u64) -> String {
    let said: Vec<_> = parse(query.as_bytes()).filter(|(key, _)| key != MARK).collect();
    format!("{at}-{:016x}", OURS.0.hash_one((page, said, at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(5);

    fn kept_at(path: &str, now: Duration) -> Option<String> {
        let path = path.split('#').next().expect("a path");
        without_forgery(&path.parse().expect("a URI"), now)
    }

    fn kept(path: &str) -> Option<String> {
        kept_at(path, NOW)
    }

    #[test]
    fn only_our_own_words_come_back() {
        let ours = marked_at("/breakers/a?act=reset&__path=%2Fui%2Fact&__err=QUJD#act", NOW);
        assert!(ours.ends_with("#act"), "{ours}");
        assert_eq!(kept(&ours), None);
        assert_eq!(
            marked_at("/breakers/a?act=reset#act", NOW),
            "/breakers/a?act=reset#act",
            "there is nothing to mark"
        );
        assert_eq!(kept("/breakers/a?act=reset&by=ana+b"), None, "nor to refuse");
        let bare = "/breakers/a?act=reset&by=ana+b";
        for forged in ["&__err=QUJD", "&__err=QUJD&__mark=", "&__path=x&__err=QUJD&__mark=5-0000000000000000"] {
            assert_eq!(kept(&format!("{bare}{forged}")), Some(bare.into()), "{forged}");
        }
        assert_eq!(kept("/?__err=QUJD"), Some("/".into()));
        assert_eq!(kept(&ours.replace("QUJD", "QUJE")), Some("/breakers/a?act=reset".into()));
        assert!(kept(&ours.replace("#act", "&__err=QUJE#act")).is_some(), "said twice");
        assert!(kept(&ours.replace("/a?", "/b?")).is_some(), "on another page");
    }

    #[test]
    fn a_link_cannot_claim_that_something_was_done() {
        for (forged, page) in [
            ("/?done=force-open&well=11&refused=1&undo=7", "/"),
            ("/breakers/a?done=reset&range=1h", "/breakers/a?range=1h"),
            ("/settings?reloaded=1-0-0-0", "/settings"),
        ] {
            assert_eq!(kept(forged), Some(page.into()), "{forged}");
        }
        let ours = marked_at("/?done=force-open&well=1&refused=0&undo=7", NOW);
        assert_eq!(kept(&ours), None);
        assert_eq!(kept(&ours.replace("well=1", "well=9")), Some("/".into()), "more than was done");
        assert_eq!(kept(&ours.replace("undo=7", "undo=8")), Some("/".into()), "another's to undo");
        assert_eq!(kept_at(&ours, NOW + SHOWN_FOR), None);
        assert_eq!(kept_at(&ours, NOW + SHOWN_FOR + Duration::from_secs(1)), Some("/".into()), "long ago");
        assert_eq!(kept(&ours.replace("__mark=5-", "__mark=6-")), Some("/".into()), "made younger");
    }
}
