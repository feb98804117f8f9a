//! Transitions, probes and audit as files: what the API shows, no more and no less, read back by parsers that know
//! nothing of us.

use std::collections::HashMap;

use fuseboard_app::wire::event::{Audit, Page, Probe, Transition};
use http::{Method, StatusCode, header};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use crate::{
    api_breakers::trip,
    support::{desk::Desk, store::connect, switch::Switch},
};

/// What an operator might be made to copy into a reason.
const FORMULA: &str = "=HYPERLINK(\"http://evil.example\",\"x\"), \"quoted\"";

/// Two hosts, one tripped and reset, held and released, with reasons that are not what they seem.
async fn desk() -> (Desk, Switch, Switch) {
    let (npm, pip) = (Switch::start().await, Switch::start().await);
    let app = Desk::start(&(npm.upstream("npm") + &pip.upstream("pip"))).await;
    trip(&app, &npm, "npm").await;
    let id = format!("/api/v1/breakers/{}", npm.breaker());
    for (method, verb, body) in [
        (Method::POST, "reset", json!({"reason": FORMULA, "by": "@ana"})),
        (Method::PUT, "override", json!({"mode": "forced_open", "reason": "+1", "until": null, "by": "-ben"})),
        (Method::POST, "release", json!({"reason": "<b>moved</b> | `done`", "by": "eve"})),
    ] {
        let answer = app.act(method, &format!("{id}/{verb}"), body).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    trip(&app, &pip, "pip").await;
    app.stored().await;
    (app, npm, pip)
}

async fn file(app: &Desk, query: &str) -> String {
    let answer = app.get(&format!("/api/v1/export?{query}")).await;
    assert_eq!(answer.status, StatusCode::OK, "{query}: {}", answer.body);
    answer.body
}

/// All rows of the API, oldest first.
async fn rows<R: DeserializeOwned>(app: &Desk, what: &str, query: &str) -> Vec<R> {
    let page: Page<R> = app.read(&format!("/api/v1/{what}?after=0&limit=1000&{query}")).await;
    page.rows
}

fn sheet(text: &str) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    reader.deserialize().map(|row| row.expect("a row of cells")).collect()
}

/// What a reader of the sheet takes a guarded cell for.
fn unguarded(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(text) if text.starts_with(['=', '+', '-', '@', '\t', '\r']) => text,
        _ => cell,
    }
}

async fn agree<R: DeserializeOwned + Serialize>(app: &Desk, what: &str, query: &str) {
    let shown: Vec<Value> =
        rows::<R>(app, what, query).await.iter().map(|row| serde_json::to_value(row).expect("JSON")).collect();
    assert!(!shown.is_empty(), "{what} of nothing");
    let last = shown.last().map(|row| row["seq"].clone()).expect("a last row");
    let count = json!(shown.len());

    let whole: Value =
        serde_json::from_str(&file(app, &format!("what={what}&format=json&{query}")).await).expect("JSON");
    assert_eq!(whole["rows"], Value::from(shown.clone()), "{what}");
    assert_eq!((&whole["end"]["rows"], &whole["end"]["last_seq"]), (&count, &last), "{what}");
    assert_eq!((&whole["export"]["zone"], &whole["export"]["node"]), (&json!("UTC"), &json!("test")));

    let lines = file(app, &format!("what={what}&format=ndjson&{query}")).await;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines[1..lines.len() - 1], shown, "{what}");
    assert_eq!(lines[0]["export"]["what"], what);
    assert_eq!(lines[lines.len() - 1]["end"], whole["end"]);

    let sheet = sheet(&file(app, &format!("what={what}&format=csv&{query}")).await);
    assert_eq!(sheet.len(), shown.len(), "{what}");
    for (cells, row) in sheet.iter().zip(&shown) {
        for (name, field) in
            [("seq", "seq"), ("at_utc", "at"), ("node", "node"), ("breaker", "breaker"), ("reason", "reason")]
        {
            let Some(cell) = cells.get(name) else { continue };
            let want = row[field].as_str().map_or_else(|| row[field].to_string(), str::to_owned);
            let want = if row[field].is_null() { String::new() } else { want };
            assert_eq!(unguarded(cell), want, "{what} {name}");
        }
    }
}

#[tokio::test]
async fn a_file_holds_the_rows_the_api_shows() {
    let (app, npm, _pip) = desk().await;
    for query in ["", &format!("breaker={}", npm.breaker())] {
        agree::<Transition>(&app, "transitions", query).await;
        agree::<Audit>(&app, "audit", query).await;
    }
    let probes = rows::<Probe>(&app, "probes", "").await;
    assert!(probes.is_empty(), "nobody waited long enough for a probe");
    let none: Value = serde_json::from_str(&file(&app, "what=probes&format=json").await).expect("JSON");
    assert_eq!((&none["rows"], &none["end"]["last_seq"]), (&json!([]), &Value::Null));
}

#[tokio::test]
async fn r46_no_cell_is_a_formula() {
    let (app, ..) = desk().await;
    for what in ["transitions", "audit"] {
        let text = file(&app, &format!("what={what}&format=csv")).await;
        let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        for cell in reader.records().flat_map(|row| row.expect("a row").iter().map(str::to_owned).collect::<Vec<_>>()) {
            assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{what}: {cell}");
        }
        let reasons: Vec<_> = sheet(&text).iter().map(|cells| cells["reason"].clone()).collect();
        assert!(reasons.contains(&format!("'{FORMULA}")), "{reasons:?}");
        assert!(reasons.contains(&"'+1".to_owned()) && reasons.contains(&"<b>moved</b> | `done`".to_owned()));
    }
}

#[tokio::test]
async fn r44_what_stood_at_the_start_of_the_range_comes_along_and_says_so() {
    let (app, npm, pip) = desk().await;
    let all = rows::<Transition>(&app, "transitions", "").await;
    let of_npm: Vec<_> = all.iter().filter(|row| row.breaker == npm.breaker()).collect();
    let of_pip = all.iter().find(|row| row.breaker == pip.breaker()).expect("it tripped");
    assert!(of_npm.iter().all(|row| row.at < of_pip.at), "the last one of them is what stood there");
    let stood = of_npm.last().expect("it changed").seq;

    let query = format!("what=transitions&from={}", of_pip.at);
    let whole: Value = serde_json::from_str(&file(&app, &format!("{query}&format=json")).await).expect("JSON");
    let numbers = |rows: &Value| -> Vec<u64> {
        rows.as_array().expect("rows").iter().filter_map(|row| row["seq"].as_u64()).collect()
    };
    assert_eq!(numbers(&whole["in_force_at_from"]), [stood], "pip had no row before it tripped");
    assert_eq!(numbers(&whole["rows"]), [of_pip.seq], "they are no rows of the range");
    assert_eq!(whole["end"], json!({"rows": 1, "in_force_at_from": 1, "last_seq": of_pip.seq}));
    assert!(whole["export"]["from_before"].as_str().is_some_and(|said| said.contains("in_force_at_from")));

    let lines = file(&app, &format!("{query}&format=ndjson")).await;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((&lines[1]["seq"], &lines[1]["in_force_at_from"]), (&json!(stood), &json!(true)));
    assert_eq!(lines[2]["in_force_at_from"], Value::Null);

    let marked: Vec<_> = sheet(&file(&app, &format!("{query}&format=csv")).await)
        .iter()
        .map(|cells| (cells["seq"].clone(), cells["in_force_at_from"].clone()))
        .collect();
    assert_eq!(marked, [(stood.to_string(), "true".into()), (of_pip.seq.to_string(), "false".into())]);
}

#[tokio::test]
async fn a_file_has_a_name_and_a_type() {
    let (app, npm, _pip) = desk().await;
    let query = format!(
        "what=transitions&format=csv&from=2026-01-01T01:00:00%2B01:00&to=2099-01-01T00:00:00Z&breaker={}",
        npm.breaker()
    );
    let answer = app.get(&format!("/api/v1/export?{query}")).await;
    assert_eq!(answer.headers[header::CONTENT_TYPE], "text/csv; charset=utf-8; header=present");
    let name = npm.breaker().replace(':', "_");
    let want =
        format!("attachment; filename=\"fuseboard-test-transitions-{name}-20260101T000000Z-20990101T000000Z.csv\"");
    assert_eq!(answer.headers[header::CONTENT_DISPOSITION], want);
    assert_eq!(answer.headers[header::CACHE_CONTROL], "no-store");
}

#[tokio::test]
async fn what_cannot_be_is_refused_by_its_name() {
    let (app, ..) = desk().await;
    for (query, field) in [
        ("format=csv", "what"),
        ("what=everything&format=csv", "what"),
        ("what=audit", "format"),
        ("what=audit&format=xml", "format"),
        ("what=audit&format=html", "format"),
        ("what=probes&format=ics", "format"),
        ("what=transitions&format=md", "format"),
        ("what=audit&format=csv&from=yesterday", "from"),
        ("what=audit&format=csv&from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "to"),
        ("what=audit&format=csv&from=2999-01-01T00:00:00Z", "from"),
        ("what=audit&format=csv&breaker=https:nobody.example", "breaker"),
        ("what=audit&format=csv&limit=5", "limit"),
        ("what=audit&what=audit&format=csv", "what"),
    ] {
        let answer = app.get(&format!("/api/v1/export?{query}")).await;
        assert_eq!(answer.problem(), (422, Some(field.into())), "{query}");
    }
}

/// Where the numbers have a break, everything that tells of them says so, and what is missing.
#[tokio::test]
async fn r41_what_was_given_up_is_told_where_it_is_missing() {
    let (app, _npm, _pip) = desk().await;
    let all: Vec<Transition> = rows(&app, "transitions", "").await;
    // As if everything between the first two had been given up, the second one with it.
    let (first, second, third) = (all[0].seq, all[1].seq, all[2].seq);
    let mut other = connect(&app.store()).await;
    for sql in [
        format!("DELETE FROM transitions WHERE seq = {second}"),
        format!(
            "INSERT INTO gaps (first, last, boot, first_at, last_at, transitions, probes, audit)
             VALUES ({second}, {second}, 1, {0}, {0}, 1, 0, 0)",
            all[1].at.micros()
        ),
    ] {
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut other).await.expect("it is so");
    }
    let gap = json!({
        "first": second, "last": second, "first_at": all[1].at, "last_at": all[1].at,
        "transitions": 1, "probes": 0, "audit": 0,
    });
    let told = async |query: String| app.read::<Value>(&format!("/api/v1/{query}")).await["gaps"].clone();
    for what in ["transitions", "probes", "audit"] {
        assert_eq!(told(what.into()).await, json!([gap]), "{what}");
        assert_eq!(told(format!("{what}?after={second}")).await, json!([]), "{what}: behind it");
        assert_eq!(told(format!("{what}?before={second}")).await, json!([]), "{what}: before it");
    }
    assert_eq!(told(format!("transitions?after={first}&limit=1")).await, json!([gap]), "it lies between two pages");
    assert_eq!(told("transitions?after=0&limit=1".into()).await, json!([]), "the page ends before it");

    for (format, head) in [("json", 0), ("ndjson", 1)] {
        let text = file(&app, &format!("what=transitions&format={format}")).await;
        let head = if head == 1 { text.lines().next().expect("a line") } else { &*text };
        let head: Value = serde_json::from_str(head).expect("JSON");
        assert_eq!((&head["export"]["gaps"], &head["export"]["lost"]), (&json!([gap]), &json!(1)), "{format}");
    }
    for (what, kind, detail) in
        [("transitions", "cause", "cause_detail"), ("probes", "outcome", "error"), ("audit", "action", "detail")]
    {
        let lines = sheet(&file(&app, &format!("what={what}&format=csv")).await);
        let at = lines.iter().position(|line| line[kind] == "gap").expect("a line of its own");
        assert_eq!((&*lines[at]["seq"], &*lines[at]["at_utc"]), (&*second.to_string(), &*all[1].at.to_string()));
        assert_eq!(serde_json::from_str::<Value>(&lines[at][detail]).expect("JSON"), gap);
        let seq = |line: &HashMap<String, String>| line["seq"].parse::<u64>().expect("a number");
        assert!(lines.is_sorted_by_key(seq), "{what}: where it is missing");
        assert_eq!(lines.iter().filter(|line| line[kind] == "gap").count(), 1);
    }
    assert_eq!(rows::<Transition>(&app, "transitions", "").await[1].seq, third);
}
