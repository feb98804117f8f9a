//! What happens without traffic.

use fuseboard_app::wire::{
    breaker::{Breaker, State},
    event::{Page, Probe},
};

use http::Method;

use crate::{
    api_breakers::trip,
    support::{desk::Desk, store::connect, switch::Switch},
};

#[tokio::test]
async fn r20_a_host_nobody_calls_still_recovers() {
    let host = Switch::start().await;
    let policy = r#"
[policy.soon]
trip = [{ failures = 5, within = "1m" }]
wait = { first = "50ms", factor = 1.0, max = "50ms", jitter = 0.0 }
half_open = { probes = 1, successes = 2, lease = "40s" }
"#;
    let upstream = host.upstream("npm").replace("quick", "soon");
    let app = Desk::start(&format!("{policy}{upstream}active_probe = {{ method = \"HEAD\", path = \"/\" }}\n")).await;
    let mut feed = app.feed("/api/v1/events", None).await;
    trip(&app, &host, "npm").await;
    let closed = feed.cause("probes_succeeded").await;
    assert_eq!(closed.breaker, host.breaker());
    let breaker: Breaker = app.read(&format!("/api/v1/breakers/{}", host.breaker())).await;
    assert_eq!(breaker.state, State::Closed);
    app.stored().await;
    let probes: Page<Probe> = app.read("/api/v1/probes").await;
    assert!(probes.rows.len() >= 2 && probes.rows.iter().all(|probe| probe.synthetic), "{probes:?}");
    assert_eq!(probes.rows[0].method.as_deref(), Some("HEAD"));
}

/// The file is changed behind the server's back: what its newest row says is then not what the breaker is.
#[tokio::test]
async fn the_watchdog_finds_a_record_that_disagrees_and_says_so_everywhere() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    trip(&app, &host, "npm").await;
    app.stored().await;
    assert_eq!(app.look().await, [], "all is well");
    let mut other = connect(&app.store()).await;
    for (sql, back) in [
        ("UPDATE breakers SET state = 'closed'", "UPDATE breakers SET state = 'open'"),
        ("UPDATE transitions SET to_state = 'half_open'", "UPDATE transitions SET to_state = 'open'"),
        ("UPDATE breakers SET evicted = 1", "UPDATE breakers SET evicted = 0"),
    ] {
        sqlx::query(sql).execute(&mut other).await.expect("it runs");
        let found = app.look().await;
        assert_eq!(
            (found.len(), found[0].kind.as_str(), &found[0].breaker),
            (1, "disagreement", &host.breaker()),
            "{sql}"
        );
        let health = app.get("/health").await.value();
        assert_eq!(health["findings"][0]["kind"], "disagreement");
        assert!(
            health["reasons"].to_string().contains("the store says")
                || health["reasons"].to_string().contains("not in the store"),
            "{health}"
        );
        let metrics = app.get("/metrics").await.body;
        assert!(metrics.contains(r#"fuseboard_watchdog_findings{kind="disagreement"} 1"#), "{metrics}");
        let page = app.send(app.admin(), Method::GET, "/", &[("accept", "text/html")], "").await.body;
        assert!(page.contains("Fuseboard found a fault in itself"), "{page}");
        sqlx::query(back).execute(&mut other).await.expect("it runs");
        assert_eq!(app.look().await, [], "{back}");
    }
    let metrics = app.get("/metrics").await.body;
    for kind in ["unprobed", "lease", "disagreement"] {
        assert!(metrics.contains(&format!("fuseboard_watchdog_findings{{kind=\"{kind}\"}} 0")), "{metrics}");
    }
}
