//! A refused form comes back by its own address, and that carries what went wrong, since a browser without script keeps
//! nothing else. Only what this process wrote there is shown: a link somebody made up could put any words on the board.

use std::{hash::BuildHasher, hash::RandomState, sync::LazyLock};

use axum::{
    extract::Request,
    http::{HeaderValue, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use url::form_urlencoded::{Serializer, parse};

/// What the board's functions call it.
const ERROR: &str = "__err";
/// Beside it: which function it is of, and our mark.
const OTHERS: [&str; 2] = ["__path", MARK];
const MARK: &str = "__mark";

/// This process's own; a link outlives no restart, and need not.
static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// A path with a refusal in it, marked as ours.
pub(super) fn marked(path: &str) -> String {
    let (before, fragment) = path.split_once('#').map_or((path, None), |(before, after)| (before, Some(after)));
    let Some(error) = error(before.split_once('?').map(|(_, query)| query)) else { return path.to_owned() };
    let fragment = fragment.map(|fragment| format!("#{fragment}")).unwrap_or_default();
    format!("{before}&{MARK}={}{fragment}", mark(&error))
}

/// Sends a browser whose address carries words that are none of ours to the same page without them.
pub(super) async fn genuine(request: Request, next: Next) -> Response {
    match forged(request.uri()) {
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

fn forged(uri: &Uri) -> Option<String> {
    let query = uri.query()?;
    let error = error(Some(query))?;
    let marks: Vec<_> = parse(query.as_bytes()).filter(|(key, _)| key == MARK).collect();
    if matches!(&marks[..], [(_, given)] if *given == mark(&error)) {
        return None;
    }
    let mut kept = Serializer::new(String::new());
    for (key, value) in parse(query.as_bytes()) {
        if key != ERROR && !OTHERS.contains(&&*key) {
            kept.append_pair(&key, &value);
        }
    }
    let kept = kept.finish();
    Some(if kept.is_empty() { uri.path().to_owned() } else { format!("{}?{kept}", uri.path()) })
}

/// Every error in the query, in one: one that is given twice is marked for both.
fn error(query: Option<&str>) -> Option<String> {
    let all: Vec<_> = parse(query?.as_bytes()).filter(|(key, _)| key == ERROR).map(|(_, value)| value).collect();
    (!all.is_empty()).then(|| all.join("\n"))
}

fn mark(error: &str) -> String {
    format!("{:016x}", KEY.hash_one(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(path: &str) -> Option<String> {
        let path = path.split('#').next().expect("a path");
        forged(&path.parse().expect("a URI"))
    }

    #[test]
    fn only_our_own_words_come_back() {
        let ours = marked("/breakers/a?act=reset&__path=%2Fui%2Fact&__err=QUJD#act");
        assert!(ours.ends_with("#act"), "{ours}");
        assert_eq!(kept(&ours), None);
        assert_eq!(marked("/breakers/a?act=reset#act"), "/breakers/a?act=reset#act", "there is nothing to mark");
        assert_eq!(kept("/breakers/a?act=reset&by=ana+b"), None, "nor to refuse");
        let bare = "/breakers/a?act=reset&by=ana+b";
        for forged in ["&__err=QUJD", "&__err=QUJD&__mark=", "&__path=x&__err=QUJD&__mark=0000000000000000"] {
            assert_eq!(kept(&format!("{bare}{forged}")), Some(bare.into()), "{forged}");
        }
        assert_eq!(kept("/?__err=QUJD"), Some("/".into()));
        let other = ours.replace("QUJD", "QUJE");
        assert_eq!(kept(&other), Some("/breakers/a?act=reset".into()));
        let twice = ours.replace("#act", "&__err=QUJE#act");
        assert!(kept(&twice).is_some());
    }
}
