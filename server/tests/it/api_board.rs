//! The board as a browser without script sees it: pages that are whole, forms that do what they say and come back.

use fuseboard_app::wire::{
    breaker::{Breaker, Mode},
    event::{Audit, Page, Transition},
    timeline::Moment,
};
use http::{Method, StatusCode, header};

use crate::{
    api_breakers::trip,
    support::{
        desk::{Answer, Desk},
        host::{Host, Reply},
        switch::Switch,
    },
};

async fn page(app: &Desk, path: &str) -> Answer {
    app.send(app.admin(), Method::GET, path, &[("accept", "text/html")], "").await
}

async fn post(app: &Desk, form: &str) -> Answer {
    send(app, "/ui/act", form).await
}

async fn send(app: &Desk, to: &str, form: &str) -> Answer {
    let origin = format!("http://{}", app.admin());
    let back = format!("{origin}/breakers/x?act=reset");
    let headers = [
        ("accept", "text/html"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("origin", &origin),
        ("referer", &back),
    ];
    app.send(app.admin(), Method::POST, to, &headers, form).await
}

/// What stands on the page, without the marks around it.
fn words(page: &str) -> String {
    page.split('<').filter_map(|piece| Some(piece.split_once('>')?.1)).collect()
}

#[tokio::test]
async fn a_page_is_whole_without_script() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    trip(&app, &host, "npm").await;
    let panel = page(&app, "/").await;
    assert_eq!(panel.status, StatusCode::OK);
    let said = words(&panel.body);
    assert!(said.contains(&host.breaker()) && said.contains("open · refusing"), "{said}");
    let own = page(&app, &format!("/breakers/{}", host.breaker())).await;
    assert_eq!(own.status, StatusCode::OK);
    assert!(own.body.contains(&host.breaker()), "{}", own.body);

    let policy = panel.headers[header::CONTENT_SECURITY_POLICY].to_str().expect("text");
    let nonce = policy.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next()).expect("a nonce");
    assert!(policy.contains("'wasm-unsafe-eval'"), "{policy}");
    let tags = panel.body.split("<script").skip(1).map(|script| script.split('>').next().expect("a tag"));
    // A block of data is not run.
    let scripts: Vec<_> = tags.filter(|tag| !tag.contains("type=\"application/json\"")).collect();
    assert!(!scripts.is_empty());
    for tag in scripts {
        assert!(tag.contains(&format!("nonce=\"{nonce}\"")), "a script without the nonce would not run: {tag}");
    }
    let again = page(&app, "/").await;
    assert_ne!(again.headers[header::CONTENT_SECURITY_POLICY], policy, "a nonce is used once");
}

#[tokio::test]
async fn what_is_not_there_is_404_in_the_readers_language() {
    let app = Desk::start("").await;
    for path in ["/nothing", "/breakers/https:nobody.example", "/pkg/nothing.js"] {
        let answer = page(&app, path).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
        assert!(
            answer.headers[header::CONTENT_TYPE].to_str().is_ok_and(|kind| kind.starts_with("text/html")),
            "{path}"
        );
    }
    for (path, location) in [
        ("/breakers/a/?act=reset", "/breakers/a?act=reset"),
        ("/nothing//", "/nothing"),
        ("//evil.example/", "/evil.example"),
    ] {
        let answer = page(&app, path).await;
        assert_eq!(answer.status, StatusCode::PERMANENT_REDIRECT, "{path}");
        assert_eq!(answer.headers[header::LOCATION], location, "{path}");
    }
    assert_eq!(app.get("/nothing/").await.problem(), (404, None));
    assert_eq!(app.get("/nothing").await.problem(), (404, None));
    assert_eq!(app.get("/ui/nothing").await.problem(), (404, None));
}

#[tokio::test]
async fn a_plain_form_acts_and_comes_back() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    let id = host.breaker();
    let done = post(&app, &format!("what=force-open&id={id}&by=ana&reason=CDN+move&end=1h")).await;
    assert_eq!(done.status, StatusCode::SEE_OTHER, "{}", done.body);
    let location = done.headers[header::LOCATION].to_str().expect("text");
    assert!(location.starts_with("/breakers/") && location.contains("done=force-open"), "{location}");
    let breaker: Breaker = app.read(&format!("/api/v1/breakers/{id}")).await;
    let held = breaker.held.expect("it stands");
    assert_eq!((held.mode, held.by.as_str(), held.reason.as_str()), (Mode::ForcedOpen, "unverified: ana", "CDN move"));
    let audit: Page<Audit> = app.read("/api/v1/audit").await;
    assert_eq!(audit.rows[0].actor.via, "board");

    let refused = post(&app, &format!("what=reset&id={id}&by=bo&reason=r")).await;
    assert_eq!(refused.status, StatusCode::SEE_OTHER, "back to the form");
    let location = refused.headers[header::LOCATION].to_str().expect("text");
    assert!(location.starts_with(&format!("/breakers/{id}?act=reset&by=bo&reason=r&")), "{location}");
    let form = page(&app, location).await.body;
    assert!(form.contains("value=\"bo\"") && words(&form).contains("override"), "{form}");
    let breaker: Breaker = app.read(&format!("/api/v1/breakers/{id}")).await;
    assert!(breaker.held.is_some(), "and nothing was done");
    let forged = location.replace("__err=", "__err=eyJ");
    let sent_on = page(&app, &forged).await;
    assert_eq!(sent_on.status, StatusCode::SEE_OTHER, "words nobody here wrote are not shown");
    assert_eq!(sent_on.headers[header::LOCATION], format!("/breakers/{id}?act=reset&by=bo&reason=r"));
    let read = app.get(&format!("/ui/act?what=release&id={id}&by=bo&reason=r")).await;
    assert_eq!(read.problem(), (405, None), "never by GET");
    let breaker: Breaker = app.read(&format!("/api/v1/breakers/{id}")).await;
    assert!(breaker.held.is_some());
}

#[tokio::test]
async fn a_plain_form_is_undone_where_it_was_sent_from_and_no_link_claims_what_was_not_done() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    let id = host.breaker();
    let done = post(&app, &format!("what=force-open&id={id}&by=ana&reason=CDN+move&end=1h")).await;
    let location = done.headers[header::LOCATION].to_str().expect("text").to_owned();
    let said = page(&app, &location).await;
    assert_eq!(said.status, StatusCode::OK, "{location}");
    assert!(words(&said.body).contains("Forced open. Nothing reaches the host now."), "{}", said.body);
    let seq =
        said.body.split("name=\"seq\" value=\"").nth(1).and_then(|rest| rest.split('"').next()).expect("the way back");
    let undone = send(&app, "/ui/undo", &format!("seq={seq}&id={id}")).await;
    let location = undone.headers[header::LOCATION].to_str().expect("text");
    assert!(location.starts_with(&format!("/breakers/{id}?done=undo&")), "{location}");
    assert!(words(&page(&app, location).await.body).contains("Undone: it stands as it stood."));
    let breaker: Breaker = app.read(&format!("/api/v1/breakers/{id}")).await;
    assert_eq!(breaker.held, None);
    let again = send(&app, "/ui/undo", &format!("seq={seq}&id={id}")).await;
    let refused = page(&app, again.headers[header::LOCATION].to_str().expect("text")).await;
    assert!(words(&refused.body).contains("undo"), "why not is said: {}", words(&refused.body));

    let own = format!("/breakers/{id}");
    for (forged, page_without) in [
        ("/?done=force-open&well=11&refused=1&undo=7".to_owned(), "/"),
        (format!("{own}?done=reset"), own.as_str()),
        (format!("{own}?done=reset&__mark=0-0000000000000000"), own.as_str()),
        ("/settings?reloaded=1-0-0-0".into(), "/settings"),
        (location.replace("done=undo", "done=release"), own.as_str()),
    ] {
        let answer = page(&app, &forged).await;
        assert_eq!(answer.status, StatusCode::SEE_OTHER, "{forged}");
        assert_eq!(answer.headers[header::LOCATION], page_without, "{forged}");
    }
}

#[tokio::test]
async fn r38_the_page_of_an_evicted_breaker_says_that_it_was_dropped() {
    let (pip, elsewhere) = (Switch::start().await, Switch::start().await);
    let away = format!("302 Found\r\nlocation: http://{}/x", elsewhere.at);
    let npm = Host::start(move |_| Reply::text(&away, "there")).await;
    // Only breakers no upstream names count, and one of them is too many.
    let followed = "redirects = { hosts = [\"*\"] }\nallow_private = true";
    let text = format!("[panel]\nmax = 1\n[[upstream]]\nname = \"npm\"\nurl = \"{}\"\n{followed}\n", npm.url());
    let app = Desk::start(&(text.clone() + &pip.upstream("pip"))).await;
    trip(&app, &pip, "pip").await;
    let reloaded = app.reload(&text).await;
    assert_eq!(reloaded.status, StatusCode::OK, "{}", reloaded.body);
    assert_eq!(app.call("/npm/x").await.status, StatusCode::OK);
    // What is durable has all before it behind it.
    let reset = format!("/api/v1/breakers/{}/reset", npm.id());
    app.act(Method::POST, &reset, serde_json::json!({"reason": "nothing to do", "by": "ana"})).await;
    let gone = page(&app, &format!("/breakers/{}", pip.breaker())).await;
    assert_eq!(gone.status, StatusCode::GONE, "{}", words(&gone.body));
    let said = words(&gone.body);
    assert!(said.contains("Not on the panel any more") && said.contains("to make room on the panel"), "{said}");
    let api = app.get(&format!("/api/v1/breakers/{}", pip.breaker())).await;
    assert_eq!(api.problem(), (404, None), "over the API there is none");
}

#[tokio::test]
async fn a_point_in_time_has_its_changes_and_probes_or_what_came_last_before() {
    let (host, other) = (Switch::start().await, Switch::start().await);
    let app = Desk::start(&(host.upstream("npm") + &other.upstream("pip"))).await;
    let id = host.breaker();
    trip(&app, &host, "npm").await;
    // What is durable has all before it behind it.
    let reset = format!("/api/v1/breakers/{}/reset", other.breaker());
    let quiet = app.act(Method::POST, &reset, serde_json::json!({"reason": "nothing to do", "by": "ana"})).await;
    assert_eq!(quiet.status, StatusCode::OK, "{}", quiet.body);
    let rows: Page<Transition> = app.read(&format!("/api/v1/transitions?breaker={id}")).await;
    let opened = &rows.rows[0];
    let moment = async |from_ms: i64, to_ms: i64| -> Moment {
        app.read(&format!("/ui/moment?id={id}&from_ms={from_ms}&to_ms={to_ms}")).await
    };
    let at = opened.at.millis();
    let there = moment(at - 500, at + 500).await;
    assert_eq!(there.transitions.first().map(|row| row.seq), Some(opened.seq));
    let evidence = &there.transitions[0].cause.detail["evidence"];
    assert!(evidence.as_array().is_some_and(|calls| !calls.is_empty()), "with its evidence: {evidence}");
    let later = moment(at + 60_000, at + 61_000).await;
    assert_eq!(later.transitions.len(), 1, "the last one before");
    assert_eq!(moment(at - 61_000, at - 60_000).await, Moment::default(), "nothing was before");
    assert_eq!(app.get("/ui/moment?id=https:nobody.example&from_ms=0&to_ms=1").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_running_board_hears_of_a_refused_form_by_its_status() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    let origin = format!("http://{}", app.admin());
    let headers = [
        ("accept", "application/json"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("origin", origin.as_str()),
    ];
    for (form, status) in [
        (format!("what=reset&id={}&by=ana&reason=", host.breaker()), StatusCode::UNPROCESSABLE_ENTITY),
        ("what=reset&id=https:nobody.example&by=ana&reason=r".into(), StatusCode::NOT_FOUND),
        (String::new(), StatusCode::UNPROCESSABLE_ENTITY),
        ("what=reset".into(), StatusCode::UNPROCESSABLE_ENTITY),
        ("what=reset&what=release&id=x&by=ana&reason=r".into(), StatusCode::UNPROCESSABLE_ENTITY),
    ] {
        let refused = app.send(app.admin(), Method::POST, "/ui/act", &headers, &form).await;
        assert_eq!(refused.status, status, "{}", refused.body);
        assert_eq!(refused.value()["status"], status.as_u16());
    }
}
