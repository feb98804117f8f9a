//! What is read: the list, one breaker, its time, its rows, and every way to ask wrongly.

use fuseboard_app::wire::{
    breaker::{Breaker, BreakerList, State},
    event::{Page, Probe, Transition},
    timeline::{Lane, Timeline},
};
use http::{Method, StatusCode, header};
use serde_json::{Value, json};

use crate::support::{
    app::TestApp,
    desk::Desk,
    host::{Host, Reply},
    http::get,
    soon,
    switch::Switch,
};

/// Five calls against a host that answers 503.
pub(crate) async fn trip(app: &Desk, host: &Switch, upstream: &str) {
    host.says(503);
    for _ in 0..5 {
        assert_eq!(app.call(&format!("/{upstream}/x")).await.status, StatusCode::SERVICE_UNAVAILABLE);
    }
    host.says(200);
}

#[tokio::test]
async fn a_breaker_is_shown_before_and_after_its_trip() {
    let (npm, pip) = (Switch::start().await, Switch::start().await);
    let app = Desk::start(&(npm.upstream("npm") + &pip.upstream("pip"))).await;
    let list: BreakerList = app.read("/api/v1/breakers").await;
    assert_eq!(list.breakers.len(), 2);
    let fresh: Breaker = app.read(&format!("/api/v1/breakers/{}", npm.breaker())).await;
    assert_eq!((fresh.state, fresh.called, fresh.upstreams), (State::Closed, false, vec!["npm".to_owned()]));
    assert_eq!((fresh.policy.as_str(), fresh.failure_rate, fresh.p50_ms), ("quick", None, None), "no data is null");

    trip(&app, &npm, "npm").await;
    let refused = app.call("/npm/x").await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(npm.seen(), 5, "the sixth was refused");

    let open: Breaker = app.read(&format!("/api/v1/breakers/{}", npm.breaker())).await;
    assert_eq!((open.state, open.called, open.opens, open.probe_due), (State::Open, true, 1, false));
    assert_eq!((open.counts.failure, open.counts.refused, open.refused_since_down), (5, 1, 1));
    assert_eq!((open.calls_per_min, open.refused_per_min, open.failure_rate), (6, 1, Some(1.0)));
    assert_eq!(open.wait_ms, Some(3_600_000));
    assert!(open.next_probe_at.is_some_and(|at| at > list.as_of));
    let last = open.last_transition.expect("it tripped");
    assert_eq!(last.cause.kind, "tripped");
    assert_eq!(last.cause.detail["evidence"].as_array().map(Vec::len), Some(5));

    let list: BreakerList = app.read("/api/v1/breakers").await;
    assert_eq!(list.breakers[0].id, npm.breaker(), "the worst stands first");
    let last = list.breakers[0].last_transition.as_ref().expect("it tripped");
    assert!(!last.cause.detail.contains_key("evidence"), "a list has no evidence");
    assert_eq!(last.cause.detail["rule"], "failures");
}

#[tokio::test]
async fn the_list_is_filtered_sorted_and_paged() {
    let hosts = [Switch::start().await, Switch::start().await, Switch::start().await];
    let config: String = hosts.iter().zip(["npm", "pip", "cargo"]).map(|(host, name)| host.upstream(name)).collect();
    let app = Desk::start(&config).await;
    trip(&app, &hosts[1], "pip").await;
    let ids = async |query: &str| -> Vec<String> {
        let list: BreakerList = app.read(&format!("/api/v1/breakers?{query}")).await;
        list.breakers.into_iter().map(|one| one.id).collect()
    };
    assert_eq!(ids("state=open").await, [hosts[1].breaker()]);
    assert_eq!(ids("state=closed").await.len(), 2);
    assert_eq!(ids("state=down&q=NPM").await, Vec::<String>::new());
    assert_eq!(ids("q=cargo").await, [hosts[2].breaker()]);
    let mut by_id: Vec<_> = hosts.iter().map(Switch::breaker).collect();
    by_id.sort();
    assert_eq!(ids("sort=id").await, by_id);

    let (mut paged, mut after) = (Vec::new(), String::new());
    loop {
        let page: BreakerList = app.read(&format!("/api/v1/breakers?limit=2{after}")).await;
        paged.extend(page.breakers.into_iter().map(|one| one.id));
        let Some(next) = page.next else { break };
        after = format!("&after={next}");
    }
    assert_eq!(paged, ids("").await);

    for (query, field) in [
        ("state=ajar", "state"),
        ("sort=up", "sort"),
        ("limit=0", "limit"),
        ("limit=x", "limit"),
        ("after=nobody", "after"),
        ("colour=red", "colour"),
    ] {
        let answer = app.get(&format!("/api/v1/breakers?{query}")).await;
        assert_eq!(answer.problem(), (422, Some(field.into())), "{query}");
    }
}

#[tokio::test]
async fn a_host_that_redirects_or_files_lead_to_says_whose_calls_pass_it() {
    let (mirror, files) = (Host::start(|_| Reply::status(503)).await, Host::start(|_| Reply::ok()).await);
    let moved = format!("302 Found\r\nlocation: {}/x", mirror.url());
    let npm = Host::start(move |_| Reply::text(&moved, "there")).await;
    let (pip, gem) = (Host::start(|_| Reply::ok()).await, Host::start(|_| Reply::ok()).await);
    let place = mirror.url().replace("http://", "");
    let text = format!(
        "[[upstream]]\nname = \"npm\"\nurl = \"{}\"\nredirects = {{ hosts = [\"{place}\"] }}\nallow_private = true\n\
         [[upstream]]\nname = \"pip\"\nurl = \"{}\"\npreset = \"pypi\"\nrewrite = [\"{}\"]\nallow_private = true\n\
         [[upstream]]\nname = \"gem\"\nurl = \"{}\"\n",
        npm.url(),
        pip.url(),
        files.url(),
        gem.url(),
    );
    let app = TestApp::start(&text).await;
    let at_files = format!("/pip~{}/x", files.id().replace(':', "~"));
    for target in ["/npm/x", "/pip/x", &at_files, "/gem/x"] {
        get(app.gateway(), target).await;
    }
    let of = [(&npm, "npm"), (&mirror, "npm"), (&pip, "pip"), (&files, "pip"), (&gem, "gem")];
    for (host, upstream) in of {
        let shown = get(app.admin(), &format!("/api/v1/breakers/{}", host.id())).await.json();
        assert_eq!(shown["upstreams"], json!([upstream]), "{shown}");
    }
}

#[tokio::test]
async fn an_id_is_one_segment_and_asking_makes_none() {
    let upstream = "[[upstream]]\nname = \"six\"\nurl = \"http://[::1]:9\"\n";
    let app = Desk::start(upstream).await;
    for path in [
        "/api/v1/breakers/http:%5B::1%5D:9",
        "/api/v1/breakers/http:[::1]:9",
        "/api/v1/breakers/http%3A%5B%3A%3A1%5D%3A9",
    ] {
        let breaker: Breaker = app.read(path).await;
        assert_eq!(breaker.id, "http:[::1]:9", "{path}");
    }
    for (method, path, body) in [
        (Method::GET, "", json!({})),
        (Method::GET, "/timeline", json!({})),
        (Method::POST, "/reset", json!({"reason": "r"})),
        (Method::PUT, "/override", json!({"reason": "r", "mode": "forced_open", "until": null})),
        (Method::POST, "/release", json!({"reason": "r"})),
    ] {
        let answer = app.act(method, &format!("/api/v1/breakers/https:nobody.example{path}"), body).await;
        assert_eq!(answer.problem(), (404, None), "{path}");
    }
    assert_eq!(app.get("/api/v1/breakers/%FF").await.problem(), (400, None));
    let list: BreakerList = app.read("/api/v1/breakers").await;
    assert_eq!(list.breakers.len(), 1, "nothing was created");
}

#[tokio::test]
async fn a_lane_shows_what_was() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    trip(&app, &host, "npm").await;
    let lane: Lane = app.read(&format!("/api/v1/breakers/{}/timeline", host.breaker())).await;
    assert_eq!((lane.at.first(), lane.state.first()), (Some(&0), Some(&'u')), "nobody watched an hour ago");
    assert_eq!(lane.state.last(), Some(&'o'));
    assert_eq!(lane.down.last(), Some(&1.0));
    assert!(lane.calls.is_some() && lane.probes.is_some());
    let many: Timeline = app.read("/api/v1/timeline?q=npm&width=500").await;
    assert_eq!(many.lanes.len(), 1);
    assert_eq!(many.lanes[0].state.last(), Some(&'o'));
    assert!(many.lanes[0].calls.is_none());

    for (query, field) in [
        ("from=yesterday", "from"),
        ("from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "to"),
        ("from=2999-01-01T00:00:00Z", "to"),
        ("width=0", "width"),
        ("width=4001", "width"),
        ("limit=5", "limit"),
    ] {
        let answer = app.get(&format!("/api/v1/breakers/{}/timeline?{query}", host.breaker())).await;
        assert_eq!(answer.problem(), (422, Some(field.into())), "{query}");
    }
}

#[tokio::test]
async fn rows_come_in_pages() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    let path = format!("/api/v1/breakers/{}", host.breaker());
    for mode in ["forced_open", "forced_closed", "forced_open"] {
        let body = json!({"mode": mode, "reason": "r", "until": null});
        assert_eq!(app.act(Method::PUT, &format!("{path}/override"), body).await.status, StatusCode::OK);
    }
    let all: Page<Transition> = app.read("/api/v1/transitions").await;
    let seqs: Vec<u64> = all.rows.iter().map(|row| row.seq).collect();
    assert_eq!((seqs.len(), all.next), (3, None));
    assert!(seqs.is_sorted_by(|a, b| a > b), "newest first: {seqs:?}");
    let first: Page<Transition> = app.read("/api/v1/transitions?limit=2").await;
    assert_eq!(first.next, Some(seqs[1]));
    let rest: Page<Transition> = app.read(&format!("/api/v1/transitions?limit=2&before={}", seqs[1])).await;
    assert_eq!((rest.rows.len(), rest.rows[0].seq, rest.next), (1, seqs[2], None));
    let up: Page<Transition> = app.read(&format!("/api/v1/transitions?after={}", seqs[2])).await;
    assert_eq!(up.rows.iter().map(|row| row.seq).collect::<Vec<_>>(), [seqs[1], seqs[0]]);
    let none: Page<Transition> = app.read("/api/v1/transitions?breaker=nobody").await;
    assert!(none.rows.is_empty());
    let probes: Page<Probe> = app.read(&format!("/api/v1/probes?breaker={}", host.breaker())).await;
    assert!(probes.rows.is_empty(), "no probe was sent");
    for (path, field) in [
        ("transitions?limit=1001", "limit"),
        ("probes?before=-1", "before"),
        ("audit?to=now", "to"),
        ("audit?who=ana", "who"),
    ] {
        assert_eq!(app.get(&format!("/api/v1/{path}")).await.problem(), (422, Some(field.into())), "{path}");
    }
}

#[tokio::test]
async fn a_wrong_question_is_told_what_is_wrong() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    let reset = format!("/api/v1/breakers/{}/reset", host.breaker());
    assert_eq!(app.get("/api/v1/nothing").await.problem(), (404, None));
    assert_eq!(app.get("/api/v2/breakers").await.problem(), (404, None));
    assert_eq!(app.get("/nothing").await.problem(), (404, None));
    let wrong = app.get(&reset).await;
    assert_eq!(wrong.problem(), (405, None), "no state change by GET");
    assert_eq!(wrong.headers[header::ALLOW], "POST");
    assert_eq!(app.act(Method::DELETE, "/api/v1/breakers", json!({})).await.problem(), (405, None));
    // Named as it was asked for, wherever the router that says so stands.
    for path in ["/api/v1/nothing", "/api/v1/breakers/a/b/c", "/api/v2/breakers", "/nothing", "/ui/nothing"] {
        for method in [Method::GET, Method::POST] {
            let detail = app.act(method, path, json!({})).await.value()["detail"].clone();
            assert_eq!(detail, format!("Nothing lives at {path}."));
        }
    }
    for path in ["/api/v1/breakers", "/api/v1/events", "/livez", &reset] {
        let detail = app.act(Method::DELETE, path, json!({})).await.value()["detail"].clone();
        assert_eq!(detail, format!("{path} does not take DELETE; the header Allow says what it takes."));
    }

    let send = async |kind: &str, body: &str| {
        app.send(app.admin(), Method::POST, &reset, &[("content-type", kind)], body).await.problem()
    };
    assert_eq!(send("text/plain", r#"{"reason":"r"}"#).await, (415, None));
    assert_eq!(send("application/x-www-form-urlencoded", "reason=r").await, (415, None));
    assert_eq!(send("application/json", "{").await, (400, None));
    assert_eq!(send("application/json", "").await, (400, None));
    assert_eq!(send("application/json", "[1]").await, (422, Some("body".into())));
    assert_eq!(send("application/json", r#"["r", true]"#).await, (422, Some("body".into())));
    assert_eq!(send("application/json", r#"{"reason":5}"#).await, (422, Some("reason".into())));
    assert_eq!(send("application/json", r#"{"reason":"r","all":true}"#).await, (422, Some("all".into())));
    assert_eq!(send("application/json", &json!({"reason": "r".repeat(70_000)}).to_string()).await, (413, None));
    let no_text = app.get("/api/v1/breakers/%ff").await;
    assert_eq!(no_text.problem(), (400, None));
    assert!(no_text.body.contains("The id in the path is no text"), "{}", no_text.body);
}

#[tokio::test]
async fn r06_a_thousand_reads_change_nothing() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    trip(&app, &host, "npm").await;
    let one = format!("/api/v1/breakers/{}", host.breaker());
    let timeless = |mut breaker: Value| {
        // What only the passing minute changes.
        for moving in ["calls_per_min", "refused_per_min", "failure_rate", "p50_ms", "p95_ms", "rules"] {
            breaker[moving] = Value::Null;
        }
        breaker
    };
    let before = timeless(app.get(&one).await.value());
    let cursor = app.app().journal.cursor();
    let lane = format!("{one}/timeline");
    for path in [&one, "/api/v1/breakers", "/metrics", "/health", &lane].into_iter().cycle().take(1_000) {
        assert_eq!(app.get(path).await.status, StatusCode::OK, "{path}");
    }
    assert_eq!(timeless(app.get(&one).await.value()), before);
    assert_eq!(app.app().journal.cursor(), cursor, "and left no row");
    assert_eq!(host.seen(), 5);
}

/// Only what was never called waits for its first call; a restart is no reason to forget.
#[tokio::test]
async fn a_host_called_before_a_restart_waits_for_no_first_call() {
    let (called, quiet) = (Switch::start().await, Switch::start().await);
    let mut app = Desk::start(&format!("{}{}", called.upstream("npm"), quiet.upstream("pypi"))).await;
    app.call("/npm/x").await;
    app.restart().await;
    let after: Breaker = app.read(&format!("/api/v1/breakers/{}", called.breaker())).await;
    assert_eq!((after.state, after.called, after.counts.success), (State::Closed, true, 0));
    let after: Breaker = app.read(&format!("/api/v1/breakers/{}", quiet.breaker())).await;
    assert!(!after.called, "nobody ever called it");
}

#[tokio::test]
async fn large_answers_are_compressed_and_the_feed_is_not() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    let asking = [("accept-encoding", "gzip")];
    let answer = app.send(app.admin(), Method::GET, "/api/v1/breakers", &asking, "").await;
    assert_eq!(answer.headers.get(header::CONTENT_ENCODING).map(|coding| coding.as_bytes()), Some(&b"gzip"[..]));
    let page = app.send(app.admin(), Method::GET, "/", &asking, "").await;
    assert_eq!(page.headers.get(header::CONTENT_ENCODING).map(|coding| coding.as_bytes()), Some(&b"gzip"[..]));
    assert!(app.get("/api/v1/breakers").await.headers.get(header::CONTENT_ENCODING).is_none(), "only who asks");

    let mut feed = tokio::net::TcpStream::connect(app.admin()).await.expect("it listens");
    let request = format!("GET /api/v1/events HTTP/1.1\r\nhost: {}\r\naccept-encoding: gzip, br\r\n\r\n", app.admin());
    tokio::io::AsyncWriteExt::write_all(&mut feed, request.as_bytes()).await.expect("it is asked");
    let mut head = Vec::new();
    soon("the feed's first event", async {
        while !head.windows(11).any(|bytes| bytes == b"event: hell") {
            let read = tokio::io::AsyncReadExt::read_buf(&mut feed, &mut head).await.expect("it answers");
            assert!(read > 0, "it ended");
        }
    })
    .await;
    assert!(!String::from_utf8_lossy(&head).to_lowercase().contains("content-encoding"));
}
