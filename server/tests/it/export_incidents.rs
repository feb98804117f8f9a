//! Incidents as files: the figures are the API's and the timeline's, whoever reads them back; and what clients and
//! operators wrote is text in every one of them.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, Utc};
use fuseboard_app::{
    format,
    wire::{
        event::Page,
        incident::{Incident, IncidentDetail},
        time::Time,
        timeline::Lane,
    },
};
use http::{Method, StatusCode};
use icalendar::{Calendar, CalendarComponent, Component, DatePerhapsTime, EventLike};
use pulldown_cmark::{Event, Options, Parser, Tag};
use scraper::{Html, Selector};
use serde_json::{Value, json};

use crate::{
    api_breakers::trip,
    support::{
        desk::Desk,
        process::{Process, request},
        seed, soon,
        store::connect,
        switch::Switch,
    },
};

/// A client that calls itself that.
const AGENT: &str = "<img src=x onerror=alert(1)> | [x](http://evil.example) `rm` **b** =1+1";
/// An operator who gives this for a reason.
const REASON: &str = "=cmd|'/c calc'!A1; <script>alert(1)</script>, \\n ends [here](http://evil.example)";
/// A path somebody asked for, with what must not get any further.
const PATH: &str = "/npm/a|b[c](d)?token=s3cret";

struct Past {
    app: Desk,
    hosts: [Switch; 3],
}

impl Past {
    /// One incident that tripped and was reset, one held and released, one that lasts.
    async fn lived() -> Self {
        let hosts = [Switch::start().await, Switch::start().await, Switch::start().await];
        let names = ["npm", "pip", "cargo"];
        let config: String = hosts.iter().zip(names).map(|(host, name)| host.upstream(name)).collect();
        let past = Self { app: Desk::start(&config).await, hosts };
        let app = &past.app;
        trip(app, &past.hosts[0], "npm").await;
        for _ in 0..3 {
            let headers = [("user-agent", AGENT)];
            let answer = app.send(app.gateway(), Method::GET, PATH, &headers, "").await;
            assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
        }
        past.act(0, Method::POST, "reset", json!({"reason": REASON, "by": "@ana"})).await;
        past.act(1, Method::PUT, "override", json!({"mode": "forced_open", "reason": REASON, "for_ms": 600_000})).await;
        past.act(1, Method::POST, "release", json!({"reason": "moved"})).await;
        trip(app, &past.hosts[2], "cargo").await;
        app.stored().await;
        past
    }

    async fn act(&self, host: usize, method: Method, verb: &str, body: Value) {
        let path = format!("/api/v1/breakers/{}/{verb}", self.hosts[host].breaker());
        let answer = self.app.act(method, &path, body).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }

    async fn file(&self, query: &str) -> String {
        let answer = self.app.get(&format!("/api/v1/export?what=incidents&{query}")).await;
        assert_eq!(answer.status, StatusCode::OK, "{query}: {}", answer.body);
        answer.body
    }

    /// The API's, oldest first.
    async fn incidents(&self, query: &str) -> Vec<Incident> {
        let page: Page<Incident> = self.app.read(&format!("/api/v1/incidents?after=0&{query}")).await;
        page.rows
    }
}

fn select<'a>(page: &'a Html, what: &str) -> Vec<scraper::ElementRef<'a>> {
    page.select(&Selector::parse(what).expect("a selector")).collect()
}

fn said(element: &scraper::ElementRef<'_>) -> String {
    element.text().collect()
}

#[tokio::test]
async fn rows_of_incidents_are_the_apis() {
    let past = Past::lived().await;
    let shown = past.incidents("").await;
    assert_eq!(shown.len(), 3);
    let over: Vec<_> = shown.iter().filter(|one| one.end.is_some()).collect();

    let whole: Value = serde_json::from_str(&past.file("format=json").await).expect("JSON");
    let lines = past.file("format=ndjson").await;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let sheet = past.file("format=csv").await;
    let sheet: Vec<HashMap<String, String>> =
        csv::Reader::from_reader(sheet.as_bytes()).deserialize().map(|row| row.expect("a row")).collect();
    assert_eq!(whole["end"], json!({"rows": 3, "in_force_at_from": 0, "last_seq": shown[2].id}));
    assert_eq!(lines[lines.len() - 1]["end"], whole["end"]);
    assert_eq!((whole["rows"].as_array().map(Vec::len), lines.len(), sheet.len()), (Some(3), 5, 3));

    for one in over {
        let detail: IncidentDetail = past.app.read(&format!("/api/v1/incidents/{}", one.id)).await;
        let detail = serde_json::to_value(&detail).expect("JSON");
        let same = |row: &&Value| row["id"] == one.id;
        assert_eq!(whole["rows"].as_array().and_then(|rows| rows.iter().find(same)), Some(&detail));
        assert_eq!(lines.iter().find(same), Some(&detail));
        let cells = sheet.iter().find(|cells| cells["id"] == one.id.to_string()).expect("its row");
        assert_eq!(cells["start_utc"], one.start.to_string());
        assert_eq!(cells["end_utc"], one.end.map(|end| end.to_string()).unwrap_or_default());
        assert_eq!(cells["down_ms"], one.down_ms.to_string());
        assert_eq!(
            (&cells["calls_failed"], &cells["calls_refused"]),
            (&one.calls_failed.to_string(), &one.calls_refused.to_string())
        );
        assert_eq!(cells["node"], "test");
    }
    let held = sheet.iter().find(|cells| cells["kind"] == "held").expect("it was held");
    assert_eq!(held["reason"], format!("'{REASON}"));
    let lasts = sheet.iter().find(|cells| cells["end_utc"].is_empty()).expect("one lasts");
    assert_eq!(lasts["breaker"], past.hosts[2].breaker());
}

#[tokio::test]
async fn how_long_it_was_down_is_what_the_timeline_shows() {
    let past = Past::lived().await;
    let sheet = past.file("format=csv").await;
    let rows: Vec<HashMap<String, String>> =
        csv::Reader::from_reader(sheet.as_bytes()).deserialize().map(|row| row.expect("a row")).collect();
    let time = |text: &str| text.parse::<DateTime<Utc>>().map(Time).expect("a time");
    let mut compared = 0;
    for row in rows.iter().filter(|row| !row["end_utc"].is_empty()) {
        let (start, end) = (time(&row["start_utc"]), time(&row["end_utc"]));
        let path = format!("/api/v1/breakers/{}/timeline?from={start}&to={end}&width=4000", row["breaker"]);
        let lane: Lane = past.app.read(&path).await;
        let length = u64::try_from(lane.to.millis() - lane.from.millis()).expect("forwards");
        let ends = lane.at.iter().skip(1).copied().chain([length]);
        let down: f64 =
            lane.at.iter().zip(ends).zip(&lane.down).map(|((at, end), down)| (end - at) as f64 * down).sum();
        let told: f64 = row["down_ms"].parse().expect("a number");
        assert!((down - told).abs() <= 1.0, "{}: {told} ms told, {down} ms drawn", row["breaker"]);
        compared += 1;
    }
    assert_eq!(compared, 2);
}

#[tokio::test]
async fn what_began_before_the_range_is_in_it_and_what_ended_before_is_not() {
    let past = Past::lived().await;
    let shown = past.incidents("").await;
    let ids = async |query: &str| -> Vec<u64> {
        let whole: Value = serde_json::from_str(&past.file(&format!("format=json&{query}")).await).expect("JSON");
        whole["rows"].as_array().expect("rows").iter().filter_map(|row| row["id"].as_u64()).collect()
    };
    let (first, second, third) = (&shown[0], &shown[1], &shown[2]);
    let middle = Time::from_micros((first.start.micros() + first.end.expect("over").micros()) / 2);
    assert_eq!(ids(&format!("from={middle}")).await, [first.id, second.id, third.id]);
    assert_eq!(ids(&format!("from={}", first.end.expect("over"))).await, [second.id, third.id]);
    assert_eq!(ids(&format!("to={}", second.start)).await, [first.id]);
    assert_eq!(ids(&format!("from={}", Time::from_micros(third.start.micros() + 1))).await, [third.id], "it lasts");
    assert_eq!(ids(&format!("breaker={}", past.hosts[1].breaker())).await, [second.id]);
}

#[tokio::test]
async fn the_page_tells_what_the_api_does_and_asks_for_nothing() {
    let past = Past::lived().await;
    let shown = past.incidents("").await;
    let text = past.file("format=html").await;
    let page = Html::parse_document(&text);
    assert_eq!(select(&page, "article").len(), 3);
    assert_eq!(select(&page, "#incidents ~ .wide tbody tr").len(), 3);
    let lead = said(&select(&page, ".lead")[0]);
    assert!(lead.starts_with("3 incidents on 3 hosts, down for ") && lead.contains("1 was not over"), "{lead}");
    for one in shown.iter().filter(|one| one.end.is_some()) {
        let article = &select(&page, &format!("#incident-{}", one.id))[0];
        let figures = Selector::parse("dl > div").expect("a selector");
        let figures: HashMap<String, String> = article
            .select(&figures)
            .map(|row| {
                let part = |what| said(&row.select(&Selector::parse(what).expect("a selector")).next().expect("both"));
                (part("dt"), part("dd"))
            })
            .collect();
        assert_eq!(figures["Down"], format::lasted(one.down_ms as i64));
        assert_eq!(figures["Calls refused"], format::count(one.calls_refused));
        assert_eq!(figures["Began"], format::full_utc(one.start.millis()));
        assert_eq!(figures["Node"], "test");
    }
    assert!(!select(&page, "svg.lane rect").is_empty(), "the timeline is drawn");
    assert!(said(&select(&page, "footer")[0]).contains("All times are UTC"));

    // Nothing runs and nothing is loaded.
    let names: BTreeSet<_> = select(&page, "*").iter().map(|element| element.value().name().to_owned()).collect();
    for forbidden in ["script", "img", "link", "iframe", "object", "embed", "image", "use", "audio", "video", "base"] {
        assert!(!names.contains(forbidden), "{forbidden}");
    }
    for element in select(&page, "*") {
        for (name, value) in element.value().attrs() {
            assert!(!name.starts_with("on") && !["src", "srcset", "action", "style"].contains(&name), "{name}={value}");
            assert!(name != "href" || value.starts_with("#incident-"), "{value}");
            assert!(!value.contains("url(") || value.starts_with("url(#"), "{value}");
        }
    }
    let style = said(&select(&page, "style")[0]);
    assert!(!style.contains("url(") && !style.contains("@import"), "the style loads nothing");
    // What others wrote is text.
    let shown = select(&page, "code").iter().map(said).collect::<Vec<_>>();
    assert!(shown.iter().any(|text| text == AGENT), "{shown:?}");
    assert!(said(&select(&page, "main")[0]).contains(REASON.trim_end_matches('.')));
}

#[tokio::test]
async fn the_markdown_is_a_report_and_nobody_elses_markup() {
    let past = Past::lived().await;
    let shown = past.incidents("").await;
    let text = past.file("format=md").await;
    let (mut headings, mut rows, mut codes, mut plain) = (0, 0, Vec::new(), String::new());
    let options = Options::all().difference(Options::ENABLE_SMART_PUNCTUATION);
    for event in Parser::new_ext(&text, options) {
        match event {
            Event::Start(Tag::Heading { level: pulldown_cmark::HeadingLevel::H2, .. }) => headings += 1,
            Event::Start(Tag::TableRow) => rows += 1,
            Event::Start(Tag::Link { .. } | Tag::Image { .. }) | Event::Html(_) | Event::InlineHtml(_) => {
                panic!("{event:?} in {text}")
            }
            Event::Code(code) => codes.push(code.to_string()),
            Event::Text(text) => plain.push_str(&text),
            _ => {}
        }
    }
    assert_eq!(headings, 4, "three incidents, and what people write");
    // Five deciding calls of two trips, one refused path and one agent.
    assert_eq!(rows, 3 + 10 + 2);
    assert!(codes.iter().any(|code| code == AGENT), "{codes:?}");
    assert!(plain.contains(REASON.trim_end_matches('.')), "{plain}");
    for one in shown.iter().filter(|one| one.end.is_some()) {
        assert!(plain.contains(&format::full_utc(one.start.millis())), "{text}");
    }
    assert!(plain.contains("All times are UTC.") && plain.contains("Root cause"), "{text}");
}

#[tokio::test]
async fn a_calendar_has_them_at_their_times() {
    let past = Past::lived().await;
    let shown = past.incidents("").await;
    let text = past.file("format=ics").await;
    assert!(text.ends_with("END:VCALENDAR\r\n") && text.replace("\r\n", "").find(['\r', '\n']).is_none());
    // The last piece of a folded line may be one octet longer than the others.
    assert!(text.split("\r\n").all(|line| line.len() <= 76), "{text}");
    let calendar: Calendar = text.parse().unwrap_or_else(|error| panic!("{error} in {text}"));
    let events: Vec<_> = calendar.components.iter().filter_map(CalendarComponent::as_event).collect();
    assert_eq!(events.len(), 3);
    let at = |time: Option<DatePerhapsTime>| match time {
        Some(DatePerhapsTime::DateTime(icalendar::CalendarDateTime::Utc(at))) => at.timestamp(),
        other => panic!("no UTC time: {other:?}"),
    };
    for (event, one) in events.iter().zip(&shown) {
        assert_eq!(event.get_uid(), Some(&*format!("incident-{}@test", one.id)));
        assert_eq!(at(event.get_start()), one.start.0.timestamp());
        if let Some(end) = one.end {
            // Its seconds may be the start's own, which is no end to a calendar.
            let (start, end) = (at(event.get_start()), end.0.timestamp());
            assert_eq!(at(event.get_end()), end.max(start + 1));
            assert_eq!(event.property_value("X-FUSEBOARD-DOWN-MS"), Some(&*one.down_ms.to_string()));
            assert_eq!(event.property_value("X-FUSEBOARD-OPEN"), Some("FALSE"));
        } else {
            assert_eq!(event.property_value("X-FUSEBOARD-OPEN"), Some("TRUE"));
        }
        assert_eq!(event.get_location(), Some(&*one.breaker));
    }
    let held = events[1].get_description().expect("a description");
    assert!(held.contains(REASON.trim_end_matches('.')), "{held}");
}

#[tokio::test]
async fn r39_no_file_holds_a_secret() {
    let past = Past::lived().await;
    for format in ["csv", "json", "ndjson", "md", "ics", "html"] {
        let text = past.file(&format!("format={format}")).await;
        assert!(!text.contains("s3cret"), "{format}");
    }
    let detail = past.file("format=json").await;
    assert!(detail.contains("/a|b[c](d)"), "the path itself is there: {detail}");
}

#[tokio::test]
async fn r40_a_file_says_what_of_its_time_could_not_be_kept() {
    let past = Past::lived().await;
    let mut other = connect(&past.app.store()).await;
    sqlx::query(
        "INSERT INTO gaps (first, last, boot, first_at, last_at, transitions, probes, audit)
         VALUES (1000000, 1000009, 1, 1767225600000000, 1767225660000000, 3, 4, 0)",
    )
    .execute(&mut other)
    .await
    .expect("the gap is written");
    let lost = async |range: &str| {
        let whole: Value = serde_json::from_str(&past.file(&format!("format=json{range}")).await).expect("JSON");
        whole["export"]["lost"].as_u64()
    };
    assert_eq!(lost("").await, Some(7));
    assert_eq!(lost("&from=2026-01-01T00:01:00Z").await, Some(7), "it reaches into the range");
    assert_eq!(lost("&from=2026-01-01T00:01:01Z").await, Some(0));
    assert_eq!(lost("&to=2026-01-01T00:00:00Z").await, Some(0));
    assert!(past.file("format=md").await.contains("7 facts of this time could not be kept."));
}

#[tokio::test]
async fn a_report_is_as_long_as_the_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("fuse.db");
    // More than are read in one go.
    seed::incidents(&store, 501).await;
    let server = Process::start(&store, &[]).await;
    let get = async |query: &str| {
        let path = format!("/api/v1/export?what=incidents&{query}");
        let (status, file) = soon("an answer", request(&server.board, "GET", &path, "")).await.expect("an answer");
        assert_eq!(status, 200, "{file}");
        file
    };
    let page = get("format=html").await;
    let page = Html::parse_document(&page);
    assert!(said(&select(&page, ".lead")[0]).starts_with("501 incidents on 1 host, down for 4 min 10 s in all."));
    let ids = |what: &str, attribute: &str| -> Vec<String> {
        select(&page, what).iter().filter_map(|one| one.attr(attribute).map(str::to_owned)).collect()
    };
    let want = |prefix: &str| -> Vec<String> { (0..501).map(|nth| format!("{prefix}{}", 2 * nth + 1)).collect() };
    assert_eq!(ids("article", "id"), want("incident-"));
    assert_eq!(ids("tbody th a", "href"), want("#incident-"));

    let markdown = get("format=md").await;
    let headings: Vec<_> =
        markdown.lines().filter_map(|line| line.strip_prefix("## ")?.split_once(": ").map(|(id, _)| id)).collect();
    assert_eq!(headings, want(""));
    assert_eq!(markdown.lines().filter(|line| line.starts_with("| ") && line.contains("seed.example")).count(), 501);

    let rows = get("format=ndjson").await;
    assert!(rows.contains(r#"{"end":{"rows":501,"in_force_at_from":0,"last_seq":1001}}"#));
    assert_eq!(get("format=ics").await.matches("BEGIN:VEVENT").count(), 501);
}

#[tokio::test]
async fn a_file_is_chosen_as_the_list_is() {
    let past = Past::lived().await;
    let cargo = &past.hosts[2];
    let port = cargo.breaker().rsplit(':').next().unwrap_or_default().to_owned();
    let chosen = [
        (String::from("open=true"), 1, "those that last"),
        (String::from("open=false"), 2, "those that are over"),
        (String::from("upstream=npm"), 1, "upstream npm"),
        (String::from("q=PI"), 1, "hosts and upstreams with “PI”"),
        (format!("q={port}"), 1, &*format!("“{port}”")),
        (format!("q={port}&open=false"), 0, "those that are over"),
        (format!("upstream=npm&breaker={}", cargo.breaker()), 0, "upstream npm"),
    ]
    .map(|(query, many, words)| (query, many, words.to_owned()));
    for (query, many, words) in chosen {
        let shown: Vec<u64> = past.incidents(&query).await.iter().map(|one| one.id).collect();
        assert_eq!(shown.len(), many, "{query}");
        let whole: Value = serde_json::from_str(&past.file(&format!("format=json&{query}")).await).expect("JSON");
        let held: Vec<u64> =
            whole["rows"].as_array().expect("rows").iter().filter_map(|row| row["id"].as_u64()).collect();
        assert_eq!(held, shown, "{query}");
        let page = past.file(&format!("format=html&{query}")).await;
        let page = Html::parse_document(&page);
        assert_eq!(select(&page, "article").len(), many, "{query}");
        assert!(said(&select(&page, ".range")[0]).contains(&words), "{query} is said: {words}");
    }
    let whole: Value =
        serde_json::from_str(&past.file("format=json&q=npm&upstream=npm&open=false").await).expect("JSON");
    let asked = ["q", "upstream", "open"].map(|name| whole["export"][name].clone());
    assert_eq!(asked, [json!("npm"), json!("npm"), json!(false)]);
    for (query, field) in [
        ("what=incidents&format=csv&upstream=nobody", "upstream"),
        ("what=incidents&format=html&upstream=nobody", "upstream"),
        ("what=incidents&format=csv&open=ajar", "open"),
        ("what=probes&format=csv&open=true", "open"),
        ("what=audit&format=csv&q=npm", "q"),
    ] {
        let answer = past.app.get(&format!("/api/v1/export?{query}")).await;
        assert_eq!(answer.problem(), (422, Some(field.into())), "{query}");
    }
}
