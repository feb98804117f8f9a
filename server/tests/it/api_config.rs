//! The configuration shown and read again while everything goes on.

use fuseboard_app::wire::{
    breaker::{Breaker, BreakerList, Mode, State},
    event::{Audit, Page, Probe, Transition},
    settings::{Reloaded, Settings},
};
use http::{Method, StatusCode};
use serde_json::json;

use crate::support::{desk::Desk, process::Process, soon, switch::Switch};

async fn reloaded(app: &Desk, upstreams: &str) -> Reloaded {
    let answer = app.reload(upstreams).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    answer.json()
}

#[tokio::test]
async fn what_is_in_force_is_shown_and_no_secret_with_it() {
    let text = r#"
[admin]
public_url = "http://localhost:1"
[[upstream]]
name = "npm"
url = "http://127.0.0.1:9/base/${SECRET}"
timeouts = { connect = "1500ms" }
active_probe = { path = "/health?key=hunter5" }
redirects = { hosts = ["${SECRET}.example"] }
headers = { authorization = "Bearer ${SECRET}", x-plain = "hunter4" }
"#;
    let app = Desk::start(text).await;
    let answer = app.get("/api/v1/config").await;
    for secret in ["hunter2", "hunter4", "hunter5"] {
        assert!(!answer.body.contains(secret), "{secret} in {}", answer.body);
    }
    let settings: Settings = answer.json();
    let npm = &settings.upstreams[0];
    assert_eq!(npm.url, "http://127.0.0.1:9/base/${SECRET}", "as it was written");
    assert_eq!(npm.active_probe.as_deref(), Some("HEAD /health?key=***"));
    assert_eq!(npm.redirect_hosts, ["${SECRET}.example"]);
    assert_eq!((npm.connect_ms, npm.first_byte_ms, npm.policy.as_str()), (1_500, 30_000, "registry"));
    assert_eq!(
        npm.headers.iter().map(|one| (&*one.name, &*one.value)).collect::<Vec<_>>(),
        [("authorization", "***"), ("x-plain", "***")]
    );
    assert_eq!(settings.policies.iter().map(|one| &*one.name).collect::<Vec<_>>(), ["grpc", "quick", "registry"]);
    let quick = settings.policies.iter().find(|one| one.name == "quick").expect("it is there");
    assert_eq!((quick.wait_first_ms, quick.trip[0].need, quick.trip[0].within_ms), (3_600_000, 5.0, Some(60_000)));
    assert_eq!(settings.admin.public_url.as_deref(), Some("http://localhost:1/"));
    assert!(settings.file.is_some_and(|file| file.ends_with("test.toml")));
    let listed = app.get("/api/v1/upstreams").await;
    assert!(!listed.body.contains("hunter"), "{}", listed.body);
}

#[tokio::test]
async fn a_reload_that_names_no_upstream_changes_nothing() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    for empty in ["", "# being written\n"] {
        let answer = app.reload(empty).await;
        assert_eq!(answer.problem(), (422, Some("upstream".to_owned())), "{}", answer.body);
        assert!(answer.body.contains("stays"), "{}", answer.body);
    }
    assert_eq!(app.call("/npm/x").await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_reload_keeps_states_counts_overrides_and_the_memory_of_unchanged_rules() {
    let (npm, pip) = (Switch::start().await, Switch::start().await);
    let both = npm.upstream("npm") + &pip.upstream("pip");
    let app = Desk::start(&both).await;
    npm.says(503);
    for _ in 0..4 {
        app.call("/npm/x").await;
    }
    let held = json!({"mode": "forced_closed", "reason": "we need it", "until": null, "by": "ana"});
    app.act(Method::PUT, &format!("/api/v1/breakers/{}/override", pip.breaker()), held).await;
    let done = reloaded(&app, &both.replace("name = \"pip\"", "name = \"pypi\"")).await;
    assert_eq!((done.added, done.removed, done.changed), (vec!["pypi".to_owned()], vec!["pip".to_owned()], vec![]));
    assert!(done.policy_changed.is_empty() && done.needs_restart.is_empty());
    let after: Breaker = app.read(&format!("/api/v1/breakers/{}", pip.breaker())).await;
    assert_eq!(
        (after.held.map(|held| held.mode), after.upstreams),
        (Some(Mode::ForcedClosed), vec!["pypi".to_owned()])
    );
    app.call("/npm/x").await;
    let after: Breaker = app.read(&format!("/api/v1/breakers/{}", npm.breaker())).await;
    assert_eq!((after.state, after.counts.failure), (State::Open, 5), "the four before it count");
    assert_eq!(app.call("/pip/x").await.status, StatusCode::NOT_FOUND);
    assert_eq!(app.call("/pypi/x").await.status, StatusCode::OK);
    let audit: Page<Audit> = app.read("/api/v1/audit").await;
    assert_eq!(
        (audit.rows[0].action.as_str(), audit.rows[0].seq, audit.rows[0].breaker.as_ref()),
        ("reload", done.seq, None)
    );
    assert_eq!(audit.rows[0].detail["added"], json!(["pypi"]));
    assert_eq!(audit.rows[0].actor.name, "unverified: ana");
}

#[tokio::test]
async fn a_new_policy_takes_effect_and_cuts_a_drawn_wait() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    crate::api_breakers::trip(&app, &host, "npm").await;
    let shorter = r#"
[policy.brisk]
trip = [{ failures = 5, within = "1m" }]
wait = { first = "1s", factor = 1.0, max = "1s", jitter = 0.0 }
"#;
    let done = reloaded(&app, &format!("{shorter}{}", host.upstream("npm").replace("quick", "brisk"))).await;
    assert_eq!((done.changed, done.policy_changed), (vec!["npm".to_owned()], vec![host.breaker()]));
    let after: Breaker = app.read(&format!("/api/v1/breakers/{}", host.breaker())).await;
    assert_eq!((after.policy.as_str(), after.wait_ms, after.state), ("brisk", Some(1_000), State::Open));
    let rows: Page<Transition> = app.read("/api/v1/transitions").await;
    assert_eq!(rows.rows[0].cause.kind, "policy_changed");
    assert_eq!(rows.rows[0].seq + 1, done.seq, "the audit row stands behind it");
}

#[tokio::test]
async fn an_active_probe_that_a_reload_brings_is_sent() {
    let host = Switch::start().await;
    let soon = r#"
[policy.soon]
trip = [{ failures = 5, within = "1m" }]
wait = { first = "1ms", factor = 1.0, max = "1ms", jitter = 0.0 }
"#;
    let upstream = format!("{soon}{}", host.upstream("npm").replace("quick", "soon"));
    let app = Desk::start(&upstream).await;
    let mut feed = app.feed("/api/v1/events", None).await;
    host.says(503);
    for _ in 0..5 {
        app.call("/npm/x").await;
    }
    feed.cause("tripped").await;
    host.says(200);
    reloaded(&app, &format!("{upstream}active_probe = {{ path = \"/\" }}\n")).await;
    feed.cause("probes_succeeded").await;
    app.stored().await;
    let probes: Page<Probe> = app.read("/api/v1/probes").await;
    assert!(probes.rows[0].synthetic, "{probes:?}");
}

#[tokio::test]
async fn a_configuration_that_cannot_be_leaves_the_running_one() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    let before = app.get("/api/v1/config").await.body;
    for (text, field) in [
        ("[[upstream]]\nname = \"npm\"\n", "upstream[0].url"),
        ("[policy.quick2]\nwait = { max = \"1ms\" }\n", "policy.quick2.wait.max"),
        ("colour = \"red\"\n", "policy.quick.colour"),
        ("[[[\n", "file"),
    ] {
        let refused = app.reload(text).await;
        assert_eq!(refused.problem(), (422, Some(field.into())), "{text}");
    }
    assert_eq!(app.get("/api/v1/config").await.body, before);
    assert_eq!(app.call("/npm/x").await.status, StatusCode::OK);
    assert!(app.read::<Page<Audit>>("/api/v1/audit").await.rows.is_empty());
}

#[tokio::test]
async fn what_needs_a_restart_is_named_and_left() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    let text = format!(
        "[gateway]\npublic_url = \"http://gateway.example\"\n[panel]\nmax = 5\n[store]\njournal_max = \"2MB\"\nkeep_probes = \"7d\"\n{}",
        host.upstream("npm")
    );
    let done = reloaded(&app, &text).await;
    assert_eq!(done.needs_restart, ["gateway.public_url", "store.journal_max", "panel.max"]);
    let settings: Settings = app.read("/api/v1/config").await;
    assert_eq!((settings.gateway.public_url, settings.panel_max), (None, 10_000));
    assert_eq!(settings.store.keep_probes_ms, 7 * 24 * 3_600_000, "what can take effect does");
    assert!(done.changed.is_empty(), "the upstream is what it was");
}

/// An upstream that is gone leaves its breaker with its history; it may be evicted like any other.
#[tokio::test]
async fn a_removed_upstreams_breaker_stays_until_it_must_go() {
    let (npm, pip) = (Switch::start().await, Switch::start().await);
    let app = Desk::start(&(npm.upstream("npm") + &pip.upstream("pip"))).await;
    crate::api_breakers::trip(&app, &pip, "pip").await;
    reloaded(&app, &npm.upstream("npm")).await;
    let list: BreakerList = app.read("/api/v1/breakers").await;
    let gone = list.breakers.iter().find(|one| one.id == pip.breaker()).expect("it is still there");
    assert_eq!((gone.state, gone.upstreams.len(), gone.policy.as_str()), (State::Open, 0, "quick"));
}

#[cfg(unix)]
#[tokio::test]
async fn sighup_reads_the_file_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let host = Switch::start().await;
    let upstream = |name: &str| format!("[[upstream]]\nname = \"{name}\"\nurl = \"http://{}\"\n", host.at);
    let process = Process::serve(folder.path(), &upstream("npm"), "info").await;
    let hangup = async |text: String| {
        std::fs::write(folder.path().join("fuseboard.toml"), text).expect("written");
        let id = process.child.id().expect("it runs").to_string();
        let sent = tokio::process::Command::new("kill").args(["-HUP", &id]).status();
        assert!(soon("kill", sent).await.expect("kill runs").success());
    };
    let reloads = async |names: &[&str]| {
        let read = async {
            loop {
                let (status, body) = crate::support::process::request(&process.board, "GET", "/api/v1/upstreams", "")
                    .await
                    .expect("an answer");
                assert_eq!(status, 200);
                if names.iter().all(|name| body.contains(&format!("\"{name}\""))) {
                    return;
                }
            }
        };
        soon("the new upstream", read).await;
    };
    hangup(upstream("pip")).await;
    reloads(&["pip"]).await;
    hangup("[[upstream]]\nname = \"broken\"\n".into()).await;
    hangup(upstream("cargo")).await;
    reloads(&["cargo"]).await;
    let (status, audit) =
        crate::support::process::request(&process.board, "GET", "/api/v1/audit", "").await.expect("an answer");
    assert_eq!(status, 200);
    assert!(audit.contains("SIGHUP") && audit.contains("\"via\":\"signal\""), "{audit}");
    let (log, _) = process.terminate().await;
    assert!(log.contains("the configuration was read again"), "{log}");
}
