//! What a host asks for with `Retry-After`, as the record has it: a floor under the wait (rule 19) and a cool-down, which is
//! a thing of its own beside the state (rule 24), in half-open and over a restart too.

use std::time::Duration;

use fuseboard_breaker::{ManualClock, State};
use serde_json::{Value, json};

use crate::support::{
    app::TestApp,
    host::{Host, Reply},
    http::get,
    soon,
};

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn upstream(host: &Host, more: &str) -> String {
    format!(
        "{more}[[upstream]]\nname = \"npm\"\nurl = \"{}\"\npolicy = \"quiet\"\nclassify = {{ cooldown = true }}\n",
        host.url()
    )
}

/// Two good probes close, one at a time.
const QUIET: &str = "[policy.quiet]\ntrip = [{ failures = 2, within = \"1m\" }]\n\
    wait = { first = \"30s\", factor = 1.0, max = \"90s\", jitter = 0.0 }\n\
    half_open = { probes = 1, successes = 2, lease = \"40s\" }\n";

fn wishing(status: &str, wish: &str) -> Reply {
    Reply::text(&format!("{status}\r\nretry-after: {wish}"), "later")
}

/// The breaker's rows, oldest first, once those are there that end with this cause.
async fn rows(app: &TestApp, host: &Host, last: &str) -> Vec<Value> {
    let written = async {
        loop {
            let path = format!("/api/v1/transitions?breaker={}", host.id());
            let mut rows = get(app.admin(), &path).await.json()["rows"].as_array().expect("rows").clone();
            if rows.first().is_some_and(|row| row["cause"]["kind"] == last) {
                rows.reverse();
                return rows;
            }
            tokio::task::yield_now().await;
        }
    };
    soon(last, written).await
}

fn shown<'a>(rows: &'a [Value]) -> Vec<(&'a str, &'a str, &'a str)> {
    let text = |value: &'a Value| value.as_str().expect("text");
    rows.iter().map(|row| (text(&row["cause"]["kind"]), text(&row["from"]), text(&row["to"]))).collect()
}

/// When a row says it happened.
fn at(row: &Value) -> chrono::DateTime<chrono::Utc> {
    row["at"].as_str().and_then(|at| at.parse().ok()).expect("a time")
}

fn between(earlier: &Value, later: &Value) -> Duration {
    (at(later) - at(earlier)).to_std().expect("in order")
}

/// Time passes, and whoever looks after what is due looks.
fn pass(app: &TestApp, clock: &ManualClock, host: &Host, time: Duration) {
    clock.advance(time);
    app.breaker(&host.id()).tick();
}

#[tokio::test]
async fn r19_the_wish_of_the_answer_that_trips_or_fails_the_probe_is_on_record_raw_and_as_applied() {
    for (wish, applied) in [("60", 60), ("3600", 90), ("5", 30), ("soon", 30)] {
        let host = Host::start(move |_| wishing("503 Down", wish)).await;
        let (app, clock) = TestApp::manual(&upstream(&host, QUIET)).await;
        for _ in 0..2 {
            get(app.gateway(), "/npm/x").await;
        }
        let refused = get(app.gateway(), "/npm/x").await;
        assert_eq!(refused.header("retry-after"), Some(&*applied.to_string()), "{wish}");
        clock.advance(secs(applied));
        assert_eq!(get(app.gateway(), "/npm/x").await.body, b"later", "{wish}: the probe");
        let rows = rows(&app, &host, "probe_failed").await;
        for row in [&rows[0], &rows[2]] {
            let cause = &row["cause"];
            assert_eq!(cause["wait_ms"], applied * 1000, "{wish}: {cause}");
            let said = match wish.parse::<u64>() {
                Ok(seconds) => json!({ "raw": wish, "applied_ms": seconds.min(90) * 1000 }),
                Err(_) => Value::Null,
            };
            assert_eq!(cause["retry_after"], said, "{wish}: {cause}");
        }
    }
}

#[tokio::test]
async fn r24_a_cool_down_is_on_record_from_its_start_to_when_it_was_due() {
    let host = Host::start(|_| wishing("429 Too Many", "3600")).await;
    let (app, clock) = TestApp::manual(&upstream(&host, QUIET)).await;
    assert_eq!(get(app.gateway(), "/npm/x").await.body, b"later");
    let shown_as = get(app.admin(), &format!("/api/v1/breakers/{}", host.id())).await.json();
    assert_eq!(shown_as["state"], "closed");
    assert!(shown_as["cooldown_until"].is_string(), "{shown_as}");
    assert_eq!(get(app.gateway(), "/npm/x").await.header("retry-after"), Some("90"));
    pass(&app, &clock, &host, secs(500));
    let rows = rows(&app, &host, "cooldown_ended").await;
    assert_eq!(shown(&rows), [("cooldown_started", "closed", "closed"), ("cooldown_ended", "closed", "closed")]);
    assert_eq!(rows[0]["cause"]["retry_after"], json!({ "raw": "3600", "applied_ms": 90_000 }));
    assert_eq!(between(&rows[0], &rows[1]), secs(90), "it ended when it was due, not when somebody looked");
    let shown_as = get(app.admin(), &format!("/api/v1/breakers/{}", host.id())).await.json();
    assert_eq!(shown_as["cooldown_until"], Value::Null);
    assert_eq!(get(app.gateway(), "/npm/x").await.body, b"later", "the host is asked again");
    assert_eq!(host.asked().len(), 2);
}

#[tokio::test]
async fn r24_a_cool_down_goes_on_after_a_restart_and_ends_when_it_was_due() {
    let host = Host::start(|_| wishing("429 Too Many", "60")).await;
    let (app, clock) = TestApp::manual(&upstream(&host, QUIET)).await;
    get(app.gateway(), "/npm/x").await;
    clock.advance(secs(20));
    let app = app.restart().await;
    let refused = get(app.gateway(), "/npm/x").await;
    assert_eq!((refused.header("retry-after"), &refused.json()["reason"]), (Some("40"), &json!("cooling_down")));
    assert_eq!(host.asked().len(), 1);
    pass(&app, &clock, &host, secs(100));
    let rows = rows(&app, &host, "cooldown_ended").await;
    assert_eq!(shown(&rows), [("cooldown_started", "closed", "closed"), ("cooldown_ended", "closed", "closed")]);
    assert_eq!(between(&rows[0], &rows[1]), secs(60));

    // One that was over while nobody ran ended then, and holds nobody up.
    get(app.gateway(), "/npm/x").await;
    let app = {
        let started = rows_started(&app, &host).await;
        clock.advance(secs(59));
        let app = app.restart().await;
        pass(&app, &clock, &host, secs(1));
        let rows = self::rows(&app, &host, "cooldown_ended").await;
        assert_eq!(between(&started, rows.last().expect("a row")), secs(60));
        app
    };
    assert_eq!(get(app.gateway(), "/npm/x").await.body, b"later");
}

async fn rows_started(app: &TestApp, host: &Host) -> Value {
    rows(app, host, "cooldown_started").await.pop().expect("a row")
}

#[tokio::test]
async fn r24_in_half_open_probes_go_on_and_the_cool_down_begins_to_refuse_when_it_is_closed() {
    let host = Host::start(|_| Reply::status(503)).await;
    let (app, clock) = TestApp::manual(&upstream(&host, QUIET)).await;
    for _ in 0..2 {
        get(app.gateway(), "/npm/x").await;
    }
    clock.advance(secs(30));
    host.now(|_| wishing("429 Too Many", "60"));
    assert_eq!(get(app.gateway(), "/npm/x").await.body, b"later", "a good probe: the host answered");
    assert_eq!(app.breaker(&host.id()).snapshot().state, State::HalfOpen);
    host.now(|_| Reply::ok());
    assert_eq!(get(app.gateway(), "/npm/x").await.status, 200, "the round is not held up");
    let refused = get(app.gateway(), "/npm/x").await;
    assert_eq!((refused.status, &refused.json()["reason"]), (429, &json!("cooling_down")));
    pass(&app, &clock, &host, secs(60));
    assert_eq!(get(app.gateway(), "/npm/x").await.status, 200);
    let rows = rows(&app, &host, "cooldown_ended").await;
    assert_eq!(
        shown(&rows),
        [
            ("tripped", "closed", "open"),
            ("wait_elapsed", "open", "half_open"),
            ("cooldown_started", "half_open", "half_open"),
            ("probes_succeeded", "half_open", "closed"),
            ("cooldown_ended", "closed", "closed"),
        ]
    );
}
