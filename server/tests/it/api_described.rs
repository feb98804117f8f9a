//! `/openapi.json` says what the routes do, all of it and nothing else, and the answers are as it says.

use std::collections::BTreeSet;

use fuseboard_app::wire::{event::Page, incident::Incident};
use http::{Method, header};
use serde_json::{Value, json};

use crate::{
    api_breakers::trip,
    support::{
        desk::{Answer, Desk},
        schema::Description,
        switch::Switch,
    },
};

/// The route table as it is written.
const ROUTES: &str = include_str!("../../src/web.rs");

/// Every method and path of it.
fn routed() -> BTreeSet<(String, String)> {
    let (outside, inside) = (ROUTES.find("let api = Router::new()"), ROUTES.find(".fallback(problem::not_found);"));
    let api = outside.expect("the API's routes")..inside.expect("their end");
    let mut routes = BTreeSet::new();
    for (at, _) in ROUTES.match_indices(".route(") {
        let rest = &ROUTES[at..];
        let rest = &rest[..rest.find('\n').unwrap_or(rest.len())];
        let path = rest.split('"').nth(1).expect("a path");
        let path = if api.contains(&at) { format!("/api/v1{path}") } else { path.to_owned() };
        for method in ["get", "put", "post", "delete", "patch"] {
            if rest.contains(&format!(" {method}(")) || rest.contains(&format!(".{method}(")) {
                routes.insert((method.to_uppercase(), path.clone()));
            }
        }
    }
    assert!(routes.len() > 15, "the table is read: {routes:?}");
    routes
}

async fn description(app: &Desk) -> Description {
    Description::new(&app.get("/openapi.json").await.body)
}

#[tokio::test]
async fn every_route_is_described_and_nothing_else() {
    let app = Desk::start("").await;
    let described: BTreeSet<_> = description(&app).await.operations().into_iter().collect();
    assert_eq!(described, routed());
}

#[tokio::test]
async fn every_operation_has_a_name_and_a_summary_of_its_own() {
    let app = Desk::start("").await;
    let value: Value = app.read("/openapi.json").await;
    let paths = value["paths"].as_object().expect("paths").values();
    let operations: Vec<_> = paths.flat_map(|item| item.as_object().expect("methods").values()).collect();
    let names: BTreeSet<_> = operations.iter().map(|one| one["operationId"].as_str().expect("a name")).collect();
    assert_eq!(names.len(), operations.len(), "{names:?}");
    let said: BTreeSet<_> = operations.iter().map(|one| one["summary"].as_str().expect("a summary")).collect();
    assert_eq!(said.len(), operations.len(), "{said:?}");
    assert!(operations.iter().all(|one| one["parameters"].is_array()), "a list, if an empty one");
}

/// One that was meant and got lost must not read as one that was left out.
#[tokio::test]
async fn an_empty_parameter_is_refused_by_its_name_wherever_one_is_taken() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    let value: Value = app.read("/openapi.json").await;
    let mut asked = 0;
    for (path, item) in value["paths"].as_object().expect("paths") {
        let path = path.replace("{id}", &host.breaker());
        let parameters = item["get"]["parameters"].as_array();
        for parameter in parameters.into_iter().flatten().filter(|parameter| parameter["in"] == "query") {
            let name = parameter["name"].as_str().expect("a name");
            for empty in [format!("{path}?{name}="), format!("{path}?{name}")] {
                assert_eq!(app.get(&empty).await.problem(), (422, Some(name.to_owned())), "{empty}");
                asked += 1;
            }
        }
    }
    assert!(asked > 60, "only {asked} were asked");
}

/// Words of a fixed set are named: each is taken, and no other is. What a field holds is held to them by the stories below.
#[tokio::test]
async fn every_word_that_is_named_is_taken_and_no_other() {
    let app = Desk::start("").await;
    let value: Value = app.read("/openapi.json").await;
    let mut taken = 0;
    for (path, item) in value["paths"].as_object().expect("paths") {
        let path = path.replace("{id}", "nobody");
        for parameter in item["get"]["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().expect("a name");
            // What must be given beside it is: the first word it takes.
            let beside = item["get"]["parameters"].as_array().into_iter().flatten();
            let beside = beside.filter(|one| one["required"] == true && one["in"] == "query" && one["name"] != name);
            let beside: String = beside
                .filter_map(|one| Some(format!("{}={}&", one["name"].as_str()?, one["schema"]["enum"][0].as_str()?)))
                .collect();
            let refused = async |word: &str| {
                let answer = app.get(&format!("{path}?{beside}{name}={word}")).await;
                answer.status == 422 && answer.problem().1.as_deref() == Some(name)
            };
            for word in parameter["schema"]["enum"].as_array().into_iter().flatten() {
                assert!(!refused(word.as_str().expect("a word")).await, "{path}?{name}={word}");
                taken += 1;
            }
            if !parameter["schema"]["enum"].is_null() {
                assert!(refused("none-of-them").await, "{path}?{name}=");
            }
        }
    }
    assert_eq!(taken, 9 + 2 + 2 + 9 + 2 + 2 + 4 + 6, "of breakers, of lanes, of files");
}

/// Every field whose description lists its words has them in its schema.
#[tokio::test]
async fn every_field_of_words_names_them() {
    let app = Desk::start("").await;
    let value: Value = app.read("/openapi.json").await;
    let mut without = Vec::new();
    let mut named = BTreeSet::new();
    for (schema, shape) in value["components"]["schemas"].as_object().expect("schemas") {
        for part in std::iter::once(shape).chain(shape["allOf"].as_array().into_iter().flatten()) {
            for (field, one) in part["properties"].as_object().into_iter().flatten() {
                let words = if one["items"]["enum"].is_null() { &one["enum"] } else { &one["items"]["enum"] };
                if !words.is_null() {
                    named.insert(format!("{schema}.{field}"));
                } else if one["description"]
                    .as_str()
                    .is_some_and(|said| said.contains("` or `") && !said.contains("as in `"))
                {
                    without.push(format!("{schema}.{field}"));
                }
            }
        }
    }
    assert!(without.is_empty(), "{without:?}");
    let must = [
        "ActionFilter.state",
        "Actor.via",
        "Audit.action",
        "Breaker.protocol",
        "Cause.kind",
        "Finding.kind",
        "Health.status",
        "Lane.override",
        "Lane.state",
        "Probe.code",
        "Probe.outcome",
        "Probe.phase",
        "Probe.why",
        "ProbeResult.outcome",
        "ProbeResult.phase",
        "Rule.rule",
        "settings.Rule.rule",
        "settings.Upstream.key",
        "settings.Upstream.preset",
        "settings.Upstream.protocol",
        "upstreams.Upstream.key",
        "upstreams.Upstream.protocol",
    ];
    let must: BTreeSet<_> = must.map(str::to_owned).into();
    assert_eq!(must.difference(&named).collect::<Vec<_>>(), Vec::<&String>::new());
}

struct Story {
    app: Desk,
    description: Description,
    asked: BTreeSet<(String, String)>,
    faults: Vec<String>,
}

impl Story {
    fn hold(&mut self, method: &str, template: &str, answer: &Answer) {
        let kind = answer.headers.get(header::CONTENT_TYPE).map_or("", |kind| kind.to_str().expect("text"));
        let status = answer.status.as_u16();
        self.faults.extend(self.description.faults(method, template, status, kind, &answer.body));
        self.asked.insert((method.to_owned(), template.to_owned()));
    }

    async fn get(&mut self, template: &str, path: &str) {
        let answer = self.app.get(path).await;
        self.hold("GET", template, &answer);
    }

    async fn act(&mut self, method: Method, template: &str, path: &str, body: Value) {
        let answer = self.app.act(method.clone(), path, body).await;
        self.hold(method.as_str(), template, &answer);
    }
}

/// Every operation but the endless one, in every state of a breaker, well and badly asked.
#[tokio::test]
async fn answers_are_as_described() {
    let (npm, pip) = (Switch::start().await, Switch::start().await);
    let config =
        npm.upstream("npm") + "headers = { x-key = \"k\" }\nactive_probe = { path = \"/\" }\n" + &pip.upstream("pip");
    let app = Desk::start(&config).await;
    trip(&app, &npm, "npm").await;
    let description = description(&app).await;
    let mut story = Story { app, description, asked: BTreeSet::new(), faults: Vec::new() };
    let (npm, pip) = (npm.breaker(), pip.breaker());
    let one = "/api/v1/breakers/{id}";
    for id in [&*npm, &pip, "nobody", "%FF"] {
        let at = |rest: &str| (format!("{one}{rest}"), format!("/api/v1/breakers/{id}{rest}"));
        let hold = json!({"mode": "forced_open", "reason": "r", "for_ms": 60_000, "by": "ana"});
        for (method, rest, body) in [
            (Method::POST, "/probe", json!({})),
            (Method::PUT, "/override", hold),
            (Method::POST, "/probe", json!({})),
            (Method::POST, "/reset", json!({"reason": "r"})),
            (Method::POST, "/release", json!({"reason": "r"})),
            (Method::POST, "/release", json!({"reason": "r"})),
            (Method::POST, "/reset", json!({})),
            (Method::PUT, "/override", json!({"mode": 5})),
        ] {
            let (template, path) = at(rest);
            story.act(method, &template, &path, body).await;
        }
        for (rest, query) in [("", ""), ("", "?x=1"), ("/timeline", "?width=300"), ("/timeline", "?width=0")] {
            let (template, path) = at(rest);
            story.get(&template, &format!("{path}{query}")).await;
        }
    }
    story.app.stored().await;
    for (path, query) in [
        ("/api/v1/breakers", ""),
        ("/api/v1/breakers", "?limit=1"),
        ("/api/v1/breakers", "?state=ajar"),
        ("/api/v1/timeline", "?width=300"),
        ("/api/v1/timeline", "?from=now"),
        ("/api/v1/transitions", "?limit=3"),
        ("/api/v1/transitions", "?limit=0"),
        ("/api/v1/incidents", ""),
        ("/api/v1/incidents", "?open=perhaps"),
        ("/api/v1/export", "?what=incidents&format=json"),
        ("/api/v1/export", "?what=incidents&format=html"),
        ("/api/v1/export", "?what=incidents&format=md"),
        ("/api/v1/export", "?what=incidents&format=ics"),
        ("/api/v1/export", "?what=audit&format=csv"),
        ("/api/v1/export", "?what=audit&format=ndjson"),
        ("/api/v1/export", "?what=audit&format=md"),
        ("/api/v1/export", ""),
        ("/api/v1/probes", ""),
        ("/api/v1/audit", ""),
        ("/api/v1/upstreams", ""),
        ("/api/v1/config", ""),
        ("/livez", ""),
        ("/readyz", ""),
        ("/health", ""),
        ("/metrics", ""),
        ("/openapi.json", ""),
    ] {
        story.get(path, &format!("{path}{query}")).await;
    }
    let incidents: Page<Incident> = story.app.read("/api/v1/incidents").await;
    assert!(incidents.rows.len() >= 2, "{incidents:?}");
    for id in incidents.rows.iter().map(|one| one.id.to_string()).chain(["0".into(), "x".into(), "%FF".into()]) {
        story.get("/api/v1/incidents/{id}", &format!("/api/v1/incidents/{id}")).await;
    }
    for (path, body) in [
        ("/api/v1/actions", json!({"action": "force_open", "filter": {}, "reason": "r", "until": null})),
        ("/api/v1/actions", json!({"action": "reset", "ids": [npm, "nobody"], "reason": "r", "dry_run": true})),
        ("/api/v1/actions", json!({"action": "probe", "filter": {}})),
        ("/api/v1/actions", json!({})),
        ("/api/v1/undo", json!({"seq": 1})),
        ("/api/v1/undo", json!({"seq": story.app.app().journal.last_seq()})),
        ("/api/v1/undo", json!({"seq": -1})),
        ("/api/v1/reload", json!({})),
        ("/api/v1/reload", json!({"by": 5})),
    ] {
        story.act(Method::POST, path, path, body).await;
    }
    // What stands before every route.
    let admin = story.app.admin();
    let reset = format!("/api/v1/breakers/{npm}/reset");
    let json_type = ("content-type", "application/json");
    let long = json!({"reason": "r".repeat(70_000)}).to_string();
    for (headers, body) in [
        (vec![("host", "evil.example"), json_type], "{}"),
        (vec![("origin", "http://evil.example"), json_type], "{}"),
        (vec![("content-type", "text/plain")], "{}"),
        (vec![json_type], "{"),
        (vec![json_type], &*long),
    ] {
        let answer = story.app.send(admin, Method::POST, &reset, &headers, body).await;
        story.hold("POST", "/api/v1/breakers/{id}/reset", &answer);
    }
    assert!(story.faults.is_empty(), "{}", story.faults.join("\n"));
    let unasked: Vec<_> = routed().difference(&story.asked).cloned().collect();
    let unasked: Vec<_> = unasked.iter().filter(|(_, path)| path != "/api/v1/events").collect();
    assert!(unasked.is_empty(), "nobody asked {unasked:?}");
}
