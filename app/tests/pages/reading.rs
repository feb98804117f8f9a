//! Pages that stay as they were read: incidents, audit, settings.

use std::sync::Arc;

use axum::{
    body::Body,
    http::{Request, header},
};
use tower::ServiceExt;

use super::{Said, facts::Facts, page, seen, site};

#[tokio::test]
async fn incidents_say_when_why_and_how_they_ended() {
    let (html, status) = page(Facts::default(), "/incidents?q=registry&range=24h").await;
    let seen = seen(&html);
    assert_eq!(status, None);
    for words in [
        "5 calls failed in 10 s",
        "An operator reset it.",
        "not over",
        "href=\"/incidents/5\"",
        "href=\"/incidents?q=registry&amp;range=24h&amp;before=5\"",
        "3 failed, 1 good",
        "/api/v1/export?what=incidents&amp;format=md&amp;from=",
    ] {
        assert!(seen.contains(words), "{words}: {seen}");
    }
}

#[tokio::test]
async fn the_address_is_what_the_backend_is_asked() {
    let facts = Arc::new(Facts::default());
    let request = Request::get("/incidents?q=a%20b&open=true&before=90").header(header::ACCEPT, "text/html");
    let request = request.body(Body::empty()).expect("a request");
    site(facts.clone(), Arc::new(Said::default())).oneshot(request).await.expect("an answer");
    assert_eq!(*facts.acts.lock().expect("acts"), ["incidents Some(\"a b\") Some(true) Some(90)"]);
}

#[tokio::test]
async fn no_incident_is_said_in_words_and_offers_a_way_out() {
    let (html, _) = page(Facts { empty: true, ..Facts::default() }, "/incidents?open=true").await;
    let seen = seen(&html);
    assert!(seen.contains("Nothing is down now.") && seen.contains("Show all"), "{seen}");
    let (html, _) = page(Facts { empty: true, ..Facts::default() }, "/incidents").await;
    assert!(html.contains("No incident on record"), "{html}");
}

#[tokio::test]
async fn an_incident_is_told_with_its_evidence_and_foreign_text_stays_text() {
    let (html, _) = page(Facts::default(), "/incidents/5").await;
    let seen = seen(&html);
    for words in [
        "Down for 30 min, from ",
        "datetime=\"2026-11-30T01:30:00.000000Z\" title=\"2026-11-30 01:30:00 UTC\"",
        ">01:30:00 UTC<",
        ">02:00:00 UTC<",
        "What the lanes show",
        "5 calls failed and 212 were refused.",
        "GET /lodash",
        "1 s less at random",
        "And 3 more changes",
        "/lodash?key=***",
        "npm/&lt;b&gt;10&lt;/b&gt;",
        "class=\"lane\"",
        "format=html&amp;from=",
    ] {
        assert!(seen.contains(words), "{words}: {seen}");
    }
    assert!(!seen.contains("<script>alert"), "{seen}");
}

#[tokio::test]
async fn an_unknown_incident_is_not_found() {
    for path in ["/incidents/6", "/incidents/six"] {
        let (html, status) = page(Facts::default(), path).await;
        assert_eq!(status, Some(404), "{path}");
        assert!(html.contains("There is no incident"), "{html}");
        assert!(html.contains("No such incident") && !html.contains("No such breaker"), "{html}");
    }
}

#[tokio::test]
async fn the_audit_names_who_and_why() {
    let (html, _) = page(Facts::default(), "/audit").await;
    let seen = seen(&html);
    assert!(seen.contains("What operators did") && seen.contains("(unverified)"), "{seen}");
    assert!(seen.contains("/api/v1/export?what=audit&amp;format=csv"), "{seen}");
}

#[tokio::test]
async fn settings_show_what_is_in_force_and_no_secret() {
    let (html, _) = page(Facts::default(), "/settings?reloaded=1-0-0-0").await;
    let seen = seen(&html);
    for words in [
        "authorization: ***",
        "look at &lt;this&gt;",
        "10 GB",
        "5 failed calls in 10 s",
        "action=\"/ui/reload\"",
        "Reloaded: 1 upstream added.",
        "The store takes what it is given.",
    ] {
        assert!(seen.contains(words), "{words}: {seen}");
    }
}

#[tokio::test]
async fn every_page_leads_to_the_others_and_says_where_it_is() {
    for (path, name) in [("/incidents/5", "Incidents"), ("/audit", "Audit"), ("/settings", "Settings"), ("/", "Panel")]
    {
        let (html, _) = page(Facts::default(), path).await;
        let here = html.split("aria-current=\"page\"").nth(1).expect("a page is the current one");
        assert!(here.split('<').next().expect("its name").contains(name), "{path}: {here:.60}");
    }
}
