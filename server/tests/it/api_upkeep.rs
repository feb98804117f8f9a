//! What happens without traffic.

use fuseboard_app::wire::{
    breaker::{Breaker, State},
    event::{Page, Probe},
};

use crate::{
    api_breakers::trip,
    support::{desk::Desk, switch::Switch},
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
