//! Incidents over the API: what one trip looks like from its opening to its end, and every way to ask for some.

use fuseboard_app::wire::{
    event::Page,
    incident::{Incident, IncidentDetail, IncidentKind},
    timeline::Lane,
};
use http::{Method, StatusCode};
use serde_json::json;

use crate::{
    api_breakers::trip,
    support::{desk::Desk, store::connect, switch::Switch},
};

async fn list(app: &Desk, query: &str) -> Vec<Incident> {
    let page: Page<Incident> = app.read(&format!("/api/v1/incidents?{query}")).await;
    page.rows
}

async fn refused(app: &Desk, path: &str, agent: &str) {
    let headers = [("user-agent", agent)];
    let answer = app.send(app.gateway(), Method::GET, path, &headers, "").await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
}

#[tokio::test]
async fn an_incident_counts_exactly_from_its_opening_to_its_end() {
    let host = Switch::start().await;
    let mut app = Desk::start(&host.upstream("npm")).await;
    // Two that failed long before and are forgotten by the reset.
    host.says(503);
    for _ in 0..2 {
        app.call("/npm/x").await;
    }
    app.act(Method::POST, &format!("/api/v1/breakers/{}/reset", host.breaker()), json!({"reason": "fresh"})).await;
    assert_eq!(list(&app, "").await, [], "nothing opened yet");

    trip(&app, &host, "npm").await;
    for n in 0..30 {
        refused(&app, &format!("/npm/lodash?token=secret{n}"), "npm/10.2").await;
    }
    refused(&app, "/npm/react", "pip/24").await;
    let open = list(&app, "open=true").await;
    assert_eq!(open.len(), 1);
    let one = &open[0];
    assert_eq!((one.kind, one.end, one.last_seq, one.opens), (IncidentKind::Tripped, None, None, 1));
    assert_eq!((one.calls_failed, one.calls_refused), (5, 31));
    assert_eq!((one.upstreams.as_slice(), one.breaker.as_str()), (&["npm".to_owned()][..], host.breaker().as_str()));
    assert_eq!(one.cause.kind, "tripped");
    assert!(!one.cause.detail.contains_key("evidence"), "a list has no evidence");

    // Everything counted so far is there after a restart, and goes on.
    app.restart().await;
    refused(&app, "/npm/react", "pip/24").await;
    refused(&app, "/npm/react", "B\u{fc}cher/1").await;
    let reset = format!("/api/v1/breakers/{}/reset", host.breaker());
    assert_eq!(app.act(Method::POST, &reset, json!({"reason": "it is back"})).await.status, StatusCode::OK);
    app.stored().await;
    let detail: IncidentDetail = app.read(&format!("/api/v1/incidents/{}", one.id)).await;
    let over = &detail.incident;
    assert_eq!((over.calls_failed, over.calls_refused), (5, 33));
    assert_eq!(over.ended_by.as_ref().map(|cause| cause.kind.as_str()), Some("reset"));
    // Rule 12: each deciding call says when, what came of it, where it asked and how long it took.
    let evidence = over.cause.detail["evidence"].as_array().expect("the deciding calls");
    assert_eq!(evidence.len(), 5);
    for call in evidence {
        assert!(call["at"].is_string() && call["latency_ms"].as_f64().is_some_and(|took| took > 0.0), "{call}");
        assert_eq!((&call["outcome"], &call["status"], &call["path"]), (&json!("failure"), &json!(503), &json!("/x")));
        assert!(call.get("phase").is_some(), "{call}");
    }
    assert_eq!((&over.cause.detail["deciding"], &over.cause.detail["path"]), (&json!(5), &json!("/x")));
    let paths: Vec<_> = detail.refused_paths.iter().map(|one| (one.value.as_str(), one.count)).collect();
    assert_eq!(paths.len(), 2, "query values are redacted: {paths:?}");
    assert!(paths[0].0.starts_with("/lodash") && !paths[0].0.contains("secret") && paths[0].1 == 30, "{paths:?}");
    assert_eq!(paths[1], ("/react", 3));
    let agents: Vec<_> = detail.refused_agents.iter().map(|one| (one.value.as_str(), one.count)).collect();
    assert_eq!(agents, [("npm/10.2", 30), ("pip/24", 2), (r"B\xc3\xbccher/1", 1)]);
    let kinds: Vec<_> = detail.transitions.iter().map(|row| row.cause.kind.as_str()).collect();
    assert_eq!((kinds.first(), kinds.last()), (Some(&"tripped"), Some(&"reset")));
    assert_eq!((over.id, over.last_seq), (detail.transitions[0].seq, detail.transitions.last().map(|row| row.seq)));
    assert_eq!((detail.waits.len(), detail.waits[0].wait_ms, detail.more_transitions), (1, 3_600_000, 0));
    // Two figures, each of them cut to whole milliseconds.
    let length = over.end.expect("it is over").micros() - over.start.micros();
    let told = i64::try_from(over.down_ms + over.unknown_ms).expect("small") * 1_000;
    assert!(
        (length - told).abs() < 2_000,
        "{length} us, of it {} ms down and {} unknown",
        over.down_ms,
        over.unknown_ms
    );
}

#[tokio::test]
async fn holding_a_closed_breaker_open_is_an_incident_too() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    let path = format!("/api/v1/breakers/{}", host.breaker());
    let hold = json!({"mode": "forced_open", "reason": "CDN move", "until": null, "by": "ana"});
    assert_eq!(app.act(Method::PUT, &format!("{path}/override"), hold).await.status, StatusCode::OK);
    refused(&app, "/npm/x", "curl").await;
    let one = &list(&app, "").await[0];
    assert_eq!(
        (one.kind, one.overrides, one.opens, one.calls_failed, one.calls_refused),
        (IncidentKind::Held, 1, 0, 0, 1)
    );
    assert_eq!(
        (one.reason.as_deref(), one.actor.as_ref().map(|who| who.name.as_str())),
        (Some("CDN move"), Some("unverified: ana"))
    );
    assert_eq!(
        app.act(Method::POST, &format!("{path}/release"), json!({"reason": "moved"})).await.status,
        StatusCode::OK
    );
    let one = &list(&app, "").await[0];
    assert_eq!(one.ended_by.as_ref().map(|cause| cause.kind.as_str()), Some("override_cleared"));
    assert_eq!(list(&app, "open=true").await, []);
}

#[tokio::test]
async fn incidents_are_filtered_and_paged() {
    let hosts = [Switch::start().await, Switch::start().await];
    let app = Desk::start(&(hosts[0].upstream("npm") + &hosts[1].upstream("pip"))).await;
    let reset = async |host: &Switch| {
        let path = format!("/api/v1/breakers/{}/reset", host.breaker());
        assert_eq!(app.act(Method::POST, &path, json!({"reason": "again"})).await.status, StatusCode::OK);
    };
    for _ in 0..3 {
        trip(&app, &hosts[0], "npm").await;
        reset(&hosts[0]).await;
    }
    trip(&app, &hosts[1], "pip").await;
    app.stored().await;
    let ids = async |query: &str| list(&app, query).await.into_iter().map(|one| one.id).collect::<Vec<_>>();
    let all = ids("").await;
    assert_eq!(all.len(), 4);
    assert!(all.is_sorted_by(|a, b| a > b), "newest first");
    assert_eq!(ids(&format!("breaker={}", hosts[0].breaker())).await, all[1..]);
    assert_eq!(ids("upstream=pip").await, all[..1]);
    assert_eq!(ids("q=NPM").await, all[1..]);
    assert_eq!(ids(&format!("q={}", hosts[1].at)).await, all[..1]);
    assert_eq!(ids("q=npm&upstream=pip").await, Vec::<u64>::new());
    assert_eq!(ids("open=true").await, all[..1]);
    assert_eq!(ids("open=false&limit=2").await, all[1..3]);
    assert_eq!(ids(&format!("before={}&limit=2", all[1])).await, all[2..]);
    let mut up = all.clone();
    up.reverse();
    assert_eq!(ids("after=0").await, up);
    let page: Page<Incident> = app.read(&format!("/api/v1/incidents?after={}&limit=1", up[0])).await;
    assert_eq!((page.rows[0].id, page.next), (up[1], Some(up[1])));

    // One that began before the range and lasts into it belongs to it; one that was over does not.
    let starts: Vec<_> = list(&app, "").await.into_iter().map(|one| (one.start, one.end)).collect();
    let after_the_first = starts[3].1.expect("it is over");
    assert_eq!(ids(&format!("from={after_the_first}")).await, all[..3]);
    assert_eq!(ids(&format!("to={}", starts[0].0)).await, all[1..]);
    assert_eq!(ids("from=2999-01-01T00:00:00Z").await, all[..1], "it lasts");

    for (query, field) in [("upstream=nope", "upstream"), ("open=maybe", "open"), ("limit=0", "limit"), ("id=3", "id")]
    {
        assert_eq!(
            app.get(&format!("/api/v1/incidents?{query}")).await.problem(),
            (422, Some(field.into())),
            "{query}"
        );
    }
    for id in ["999999", "0", "x", "-1"] {
        assert_eq!(app.get(&format!("/api/v1/incidents/{id}")).await.problem(), (404, None), "{id}");
    }
}

/// One that outlasts a restart is down as long as its lane says, and nobody watched meanwhile.
#[tokio::test]
async fn r44_an_incident_that_lasts_leaves_out_what_nobody_watched() {
    let host = Switch::start().await;
    let mut app = Desk::start(&host.upstream("npm")).await;
    trip(&app, &host, "npm").await;
    app.stored().await;
    // As if all of that had been two hours ago, and nothing since.
    app.while_stopped(async |store| {
        let mut writer = connect(&store).await;
        for sql in [
            "UPDATE runs SET started_at = started_at - 7200000000, alive_at = alive_at - 7200000000,
             ended_at = ended_at - 7200000000",
            "UPDATE transitions SET at = at - 7200000000",
            "UPDATE incidents SET started_at = started_at - 7200000000, marked_at = marked_at - 7200000000",
            "UPDATE breakers SET first_at = first_at - 7200000000, since = since - 7200000000",
        ] {
            sqlx::query(sql).execute(&mut writer).await.expect("it is moved");
        }
    })
    .await;
    let listed = list(&app, "").await;
    let [one] = &listed[..] else { panic!("one incident") };
    assert!(one.unknown_ms > 7_000_000 && one.down_ms < 600_000, "{} down, {} unknown", one.down_ms, one.unknown_ms);
    let detail: IncidentDetail = app.read(&format!("/api/v1/incidents/{}", one.id)).await;
    assert_eq!(detail.incident.unknown_ms, one.unknown_ms, "the same on its own page");
    let path = format!("/api/v1/breakers/{}/timeline?from={}&to=2999-01-01T00:00:00Z", host.breaker(), one.start);
    let lane: Lane = app.read(&path).await;
    let shown = lane.availability.expect("it is said");
    assert!(shown.unknown_ms.abs_diff(one.unknown_ms) <= 1, "{} and {}", shown.unknown_ms, one.unknown_ms);
    assert!(shown.down_ms >= one.down_ms, "it goes on meanwhile");
}

/// An upstream that is renamed, or taken out of the configuration, keeps its past under the name it had.
#[tokio::test]
async fn an_incident_keeps_the_names_it_began_under() {
    let hosts = [Switch::start().await, Switch::start().await];
    let mut app = Desk::start(&(hosts[0].upstream("npm") + &hosts[1].upstream("pip"))).await;
    trip(&app, &hosts[0], "npm").await;
    trip(&app, &hosts[1], "pip").await;
    app.stored().await;
    // The one lasts while it gets another name; the other's goes.
    let renamed = hosts[0].upstream("node");
    assert_eq!(app.reload(&renamed).await.status, StatusCode::OK);
    let reset = json!({"reason": "again"});
    let path = format!("/api/v1/breakers/{}/reset", hosts[0].breaker());
    assert_eq!(app.act(Method::POST, &path, reset).await.status, StatusCode::OK);
    trip(&app, &hosts[0], "node").await;

    for restarted in [false, true] {
        if restarted {
            app.restart().await;
        }
        let named = async |query: &str| {
            let found = list(&app, query).await;
            found.into_iter().map(|one| one.upstreams.join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(named("").await, ["node", "pip", "npm"]);
        for (query, want) in [
            ("upstream=npm", &["npm"][..]),
            ("upstream=pip", &["pip"]),
            ("upstream=node", &["node"]),
            ("upstream=npm&after=0", &["npm"]),
            ("upstream=pip&open=false", &[]),
            ("q=PIP", &["pip"]),
            // Text finds a host by any name it had.
            ("q=npm", &["node", "npm"]),
        ] {
            assert_eq!(named(query).await, want, "{query}");
        }
        assert_eq!(app.get("/api/v1/incidents?upstream=nope").await.problem(), (422, Some("upstream".into())));
        let id = list(&app, "upstream=pip").await[0].id;
        let detail: IncidentDetail = app.read(&format!("/api/v1/incidents/{id}")).await;
        assert_eq!(detail.incident.upstreams, ["pip"]);
        // The page's choice holds one that is gone as long as it is chosen.
        let chosen = |page: &str| page.contains(r#"<option value="pip" selected"#);
        assert!(chosen(&app.get("/incidents?upstream=pip").await.body));
        assert!(!app.get("/incidents?upstream=node").await.body.contains(r#"<option value="pip""#));
        let file = app.get("/api/v1/export?what=incidents&format=ndjson&upstream=pip").await;
        assert!(file.body.contains(r#""upstreams":["pip"]"#) && !file.body.contains(r#"["npm"]"#), "{}", file.body);
    }
    // Those recorded before names were kept have today's, for the list and its filter alike.
    app.while_stopped(async |store| {
        let forget = "UPDATE incidents SET upstreams = NULL";
        sqlx::query(forget).execute(&mut connect(&store).await).await.expect("they are forgotten");
    })
    .await;
    let names: Vec<_> = list(&app, "").await.into_iter().map(|one| one.upstreams.join(" ")).collect();
    assert_eq!(names, ["node", "", "node"]);
    assert_eq!((list(&app, "upstream=node").await.len(), list(&app, "upstream=pip").await.len()), (2, 0));
}
