//! What watchers of the process ask.

use http::{Method, StatusCode, header};
use serde_json::json;

use crate::{
    api_breakers::trip,
    support::{desk::Desk, switch::Switch},
};

fn value(text: &str, series: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

#[tokio::test]
async fn an_open_upstream_is_no_fault_of_the_process() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    let health = app.get("/health").await.value();
    assert_eq!((&health["status"], &health["degraded"]), (&json!("ok"), &json!(false)), "{health}");
    trip(&app, &host, "npm").await;
    assert_eq!(app.get("/livez").await.status, StatusCode::OK);
    assert_eq!(app.get("/readyz").await.status, StatusCode::OK);
    let health = app.get("/health").await.value();
    assert_eq!((&health["status"], &health["degraded"]), (&json!("degraded"), &json!(true)), "{health}");
    assert_eq!(health["breakers"]["open"], 1);
    assert_eq!(health["node"], "test");
}

#[tokio::test]
async fn metrics_name_every_state_from_the_start_and_count_what_happens() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    let id = host.breaker();
    let answer = app.get("/metrics").await;
    assert!(answer.headers[header::CONTENT_TYPE].to_str().expect("text").starts_with("text/plain; version=0.0.4"));
    let state = |state: &str| format!(r#"fuseboard_breaker_state{{breaker="{id}",state="{state}"}}"#);
    for (word, want) in [("closed", 1.0), ("open", 0.0), ("half_open", 0.0)] {
        assert_eq!(value(&answer.body, &state(word)), Some(want), "{word} in {}", answer.body);
    }
    assert!(answer.body.contains(r#"fuseboard_build_info{node="test",version=""#), "{}", answer.body);

    trip(&app, &host, "npm").await;
    app.call("/npm/x?token=secret").await;
    let body = json!({"mode": "forced_open", "reason": "r", "until": null});
    app.act(Method::PUT, &format!("/api/v1/breakers/{id}/override"), body).await;
    app.call("/npm/x").await;
    let text = app.get("/metrics").await.body;
    for (series, want) in [
        (state("closed"), 0.0),
        (state("open"), 1.0),
        (format!(r#"fuseboard_breaker_override{{breaker="{id}",mode="forced_open"}}"#), 1.0),
        (
            format!(r#"fuseboard_breaker_transitions_total{{breaker="{id}",from="closed",to="open",cause="tripped"}}"#),
            1.0,
        ),
        (format!(r#"fuseboard_calls_total{{breaker="{id}",outcome="failure"}}"#), 5.0),
        (format!(r#"fuseboard_refused_total{{breaker="{id}",reason="open"}}"#), 1.0),
        (format!(r#"fuseboard_refused_total{{breaker="{id}",reason="forced_open"}}"#), 1.0),
        ("fuseboard_call_duration_seconds_count".into(), 5.0),
        (r#"fuseboard_call_duration_seconds_bucket{le="+Inf"}"#.into(), 5.0),
        ("fuseboard_journal_dropped_total".into(), 0.0),
    ] {
        assert_eq!(value(&text, &series), Some(want), "{series} in {text}");
    }
    assert!(
        value(&text, &format!(r#"fuseboard_next_probe_timestamp_seconds{{breaker="{id}"}}"#))
            .is_some_and(|at| at > 1.7e9)
    );
    assert!(value(&text, "fuseboard_store_bytes").is_some_and(|bytes| bytes > 0.0), "{text}");
    assert!(!text.contains("secret"), "labels are ids and fixed words");
}
