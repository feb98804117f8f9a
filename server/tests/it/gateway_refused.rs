//! What a client is told when its call was refused here, and what the host notices of it: nothing.

use std::time::Duration;

use fuseboard_breaker::{Mode, OverrideEnd, State};
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use crate::support::{
    app::{TestApp, somebody},
    host::{Host, Reply},
    http::{Got, get, send},
    soon,
};

const POLICY: &str = "[policy.registry]\nwait = { first = \"30s\", factor = 2.0, max = \"5m\", jitter = 0.0 }\n";

fn upstream(url: &str, more: &str) -> String {
    format!("{POLICY}[[upstream]]\nname = \"npm\"\nurl = \"{url}\"\n{more}\n")
}

fn is_refusal(got: &Got, reason: &str, retry_after: Option<&str>) -> Value {
    assert_eq!(got.header("content-type"), Some("application/problem+json"));
    assert_eq!(got.header("cache-control"), Some("no-store"));
    assert_eq!(got.header("retry-after"), retry_after, "{}", got.head);
    let problem = got.json();
    assert_eq!(problem["reason"], reason);
    assert_eq!(problem["status"], got.status);
    problem
}

#[tokio::test]
async fn a_dead_host_trips_after_five_and_is_left_alone() {
    // A port that refuses connections and that nobody else can take.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind("127.0.0.1:0".parse().expect("an address")).expect("a port");
    let url = format!("http://{}", socket.local_addr().expect("an address"));
    let (app, clock) = TestApp::manual(&upstream(&url, "")).await;

    for _ in 0..5 {
        let got = get(app.gateway(), "/npm/lodash").await;
        assert_eq!(got.status, 502);
        let proxy_status = got.header("proxy-status").expect("one");
        assert!(proxy_status.contains("error=connection_refused"), "{proxy_status}");
        assert_eq!(got.json()["phase"], "connect");
        clock.advance(Duration::from_secs(1));
    }
    let host = Host::on(socket.listen(16).expect("listens"), |_| Reply::ok());
    for _ in 0..20 {
        assert_eq!(get(app.gateway(), "/npm/lodash").await.status, 503);
    }
    assert_eq!(host.connections(), 0, "refused calls never reach the host");

    clock.advance(Duration::from_secs(30));
    assert_eq!(get(app.gateway(), "/npm/lodash").await.status, 200, "the wait is over and the host is back");
    assert_eq!(app.breaker(&host.id()).snapshot().state, State::Closed);
}

#[tokio::test]
async fn open_says_when_to_come_back() {
    let host = Host::start(|_| Reply::status(503)).await;
    let (app, clock) = TestApp::manual(&upstream(&host.url(), "")).await;
    for _ in 0..5 {
        assert_eq!(get(app.gateway(), "/npm/x").await.status, 503);
    }
    clock.advance(Duration::from_millis(500));
    let got = get(app.gateway(), "/npm/x").await;
    assert_eq!(got.status, 503);
    let problem = is_refusal(&got, "open", Some("30"));
    assert_eq!(problem["retry_after_ms"], 29_500);
    assert_eq!(problem["breaker"], host.id());
    assert_eq!((&problem["state"], &problem["override"]), (&json!("open"), &Value::Null));
    assert_eq!(problem["instance"], format!("http://{}/breakers/{}", app.admin(), host.id()));
    let next_hop = host.id().replace("http:", "");
    let expected = format!("fuseboard; error=destination_unavailable; next-hop=\"{next_hop}\"");
    assert_eq!(got.header("proxy-status"), Some(&*expected));

    clock.advance(Duration::from_millis(29_499));
    is_refusal(&get(app.gateway(), "/npm/x").await, "open", Some("1"));
    assert_eq!(host.asked().len(), 5);
}

#[tokio::test]
async fn r21_a_restart_goes_on_refusing_for_the_rest_of_the_wait() {
    let host = Host::start(|_| Reply::status(503)).await;
    let (app, clock) = TestApp::manual(&upstream(&host.url(), "")).await;
    for _ in 0..5 {
        get(app.gateway(), "/npm/x").await;
    }
    clock.advance(Duration::from_secs(5));
    let app = app.restart().await;
    is_refusal(&get(app.gateway(), "/npm/x").await, "open", Some("25"));
    host.now(|_| Reply::ok());
    clock.advance(Duration::from_secs(25));
    assert_eq!(get(app.gateway(), "/npm/x").await.status, 200);
    assert_eq!(host.asked().len(), 6, "five that failed and the probe");
}

#[tokio::test]
async fn while_the_probe_is_out_others_come_back_in_a_second() {
    let host = Host::start(|_| Reply::status(503)).await;
    let (app, clock) = TestApp::manual(&upstream(&host.url(), "")).await;
    for _ in 0..5 {
        get(app.gateway(), "/npm/x").await;
    }
    host.now(|_| Reply::Hold);
    clock.advance(Duration::from_secs(30));
    let gateway = app.gateway();
    let probe = tokio::spawn(async move { get(gateway, "/npm/probe").await });
    host.arrived(6).await;
    let problem = is_refusal(&get(app.gateway(), "/npm/x").await, "probes_taken", Some("1"));
    assert_eq!(problem["state"], "half_open");
    host.let_go();
    assert_eq!(soon("the probe's answer", probe).await.expect("no panic").status, 200);
    assert_eq!(app.breaker(&host.id()).snapshot().state, State::Closed);
}

#[tokio::test]
async fn forced_open_says_its_end_or_none() {
    let host = Host::start(|_| Reply::ok()).await;
    let (app, _clock) = TestApp::manual(&upstream(&host.url(), "")).await;
    let breaker = app.breaker(&host.id());

    breaker.set_override(Mode::ForcedOpen, OverrideEnd::After(Duration::from_secs(90)), somebody(), "CDN move");
    let problem = is_refusal(&get(app.gateway(), "/npm/x").await, "forced_open", Some("90"));
    assert_eq!((&problem["state"], &problem["override"]), (&json!("closed"), &json!("forced_open")));

    breaker.set_override(Mode::ForcedOpen, OverrideEnd::Never, somebody(), "CDN move");
    let problem = is_refusal(&get(app.gateway(), "/npm/x").await, "forced_open", None);
    assert_eq!(problem["retry_after_ms"], Value::Null);
    assert_eq!(host.connections(), 0);
}

#[tokio::test]
async fn r24_cooling_down_is_429_with_the_time_left() {
    let host = Host::start(|_| Reply::text("429 Too Many Requests\r\nretry-after: 7", "slow down")).await;
    let (app, clock) = TestApp::manual(&upstream(&host.url(), "classify = { cooldown = true }")).await;
    let got = get(app.gateway(), "/npm/x").await;
    assert_eq!((got.status, &*got.body), (429, &b"slow down"[..]), "the host's own passes through");

    clock.advance(Duration::from_secs(2));
    let got = get(app.gateway(), "/npm/x").await;
    assert_eq!(got.status, 429);
    let problem = is_refusal(&got, "cooling_down", Some("5"));
    assert_eq!(problem["state"], "closed");
    assert_eq!(host.asked().len(), 1);
}

/// Told like every refusal, of the upstream's own breaker, and counted there.
async fn turned_away(app: &TestApp, host: &Host, problem: &Value) {
    assert_eq!((&problem["breaker"], &problem["state"]), (&json!(host.id()), &json!("closed")));
    assert_eq!(problem["override"], Value::Null);
    assert!(problem["instance"].as_str().is_some_and(|link| link.ends_with(&host.id())), "{problem}");
    let metrics = get(app.admin(), "/metrics").await;
    let counted = format!("fuseboard_refused_total{{breaker=\"{}\",reason={}}} 1", host.id(), problem["reason"]);
    let metrics = String::from_utf8(metrics.body).expect("text");
    assert!(metrics.contains(&counted), "{counted} in {metrics}");
    let shown = get(app.admin(), &format!("/api/v1/breakers/{}", host.id())).await.json();
    assert_eq!(shown["refused_per_min"], 1, "{shown}");
}

#[tokio::test]
async fn a_full_queue_turns_away() {
    let host = Host::start(|_| Reply::Hold).await;
    let text = upstream(&host.url(), "queue = { concurrent = 1, waiting = 0 }");
    let (app, _clock) = TestApp::manual(&text).await;
    let gateway = app.gateway();
    let first = tokio::spawn(async move { get(gateway, "/npm/x").await });
    host.arrived(1).await;
    let got = get(app.gateway(), "/npm/x").await;
    assert_eq!(got.status, 503);
    turned_away(&app, &host, &is_refusal(&got, "queue_full", Some("1"))).await;
    host.let_go();
    assert_eq!(soon("the first answer", first).await.expect("no panic").status, 200);
}

#[tokio::test]
async fn an_upstream_that_leads_back_here_is_stopped() {
    // Two gateways, each the other's upstream; one alone is refused at its start.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let other = TestApp::start(&upstream(&format!("http://{address}/npm"), "")).await;
    let text = upstream(&format!("http://{}/npm", other.gateway()), "");
    let app = TestApp::where_it_says(&format!("{text}[gateway]\nlisten = \"{address}\"\n")).await;
    let got = get(app.gateway(), "/npm/x").await;
    assert_eq!(got.status, 502);
    let proxy_status = got.header("proxy-status").expect("one");
    assert_eq!(proxy_status, "fuseboard; error=proxy_loop_detected");
    let went = |app: &TestApp| app.app().panel.breakers()[0].snapshot().counts.alive;
    assert_eq!((went(&app), went(&other)), (0, 0), "a 502 of the other's is a failure of it");
}

#[tokio::test]
async fn two_gateways_in_a_row_are_no_loop() {
    let host = Host::start(|_| Reply::ok()).await;
    let inner = TestApp::start(&upstream(&host.url(), "")).await;
    let outer = TestApp::start(&upstream(&format!("http://{}/npm", inner.gateway()), "")).await;
    let got = get(outer.gateway(), "/npm/x").await;
    assert_eq!((got.status, &*got.body), (200, &b"fine"[..]));
    assert_eq!(host.asked()[0].head.matches("via: 1.1 fuseboard-").count(), 2, "{}", host.asked()[0].head);
}

#[tokio::test]
async fn r38_a_full_panel_turns_away() {
    let (one, other) = (Host::start(|_| Reply::ok()).await, Host::start(|_| Reply::ok()).await);
    let to = |host: &Host| format!("302 Found\r\nlocation: {}/x", host.url());
    let (to_one, to_other) = (to(&one), to(&other));
    let host =
        Host::start(move |asked| Reply::text(if asked.target() == "/one" { &to_one } else { &to_other }, "there"))
            .await;
    let text = upstream(&host.url(), "redirects = { hosts = [\"*\"] }\nallow_private = true");
    let app = TestApp::start(&format!("{text}[panel]\nmax = 1\n")).await;
    assert_eq!(get(app.gateway(), "/npm/one").await.status, 200);
    // Held by an operator, it may not go to make room.
    app.breaker(&one.id()).set_override(Mode::ForcedClosed, OverrideEnd::Never, somebody(), "CDN move");
    let got = get(app.gateway(), "/npm/other").await;
    assert_eq!(got.status, 503);
    turned_away(&app, &host, &is_refusal(&got, "panel_full", Some("30"))).await;
    assert_eq!((other.connections(), app.app().panel.breakers().len()), (0, 2));
}

#[tokio::test]
async fn a_redirect_into_our_own_network_leaves_no_breaker_behind() {
    let inner = Host::start(|_| Reply::ok()).await;
    let port = inner.id().rsplit(':').next().map(str::to_owned).expect("a port");
    for place in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::ffff:7f00:1]:{port}")] {
        let to = format!("302 Found\r\nlocation: http://{place}/secrets");
        let host = Host::start(move |_| Reply::text(&to, "there")).await;
        let app = TestApp::start(&upstream(&host.url(), "redirects = { hosts = [\"*\"] }")).await;
        let got = get(app.gateway(), "/npm/x").await;
        assert_eq!((got.status, got.header("proxy-status")), (502, Some("fuseboard; error=destination_ip_prohibited")));
        let problem = got.json();
        let detail = problem["detail"].as_str().expect("words");
        let from = format!("The call to npm was stopped here: {} redirects to ", host.id());
        assert!(detail.starts_with(&from) && detail.contains(" loopback address; set allow_private"), "{detail}");
        let ids: Vec<_> = app.app().panel.breakers().iter().map(|breaker| breaker.id().to_string()).collect();
        assert_eq!(ids, [host.id()], "{place} was never sent anything");
    }
    assert_eq!(inner.connections(), 0);
}

#[tokio::test]
async fn an_answer_that_is_no_http_is_told_as_one() {
    let large = format!("HTTP/1.1 200 OK\r\nx-large: {}\r\n\r\n", "x".repeat(2_000_000));
    for (answer, error, title) in [
        ("SSH-2.0-OpenSSH_9.2\r\n\r\n", "http_protocol_error", "The host did not answer in valid HTTP"),
        (
            "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
            "http_protocol_error",
            "The host did not answer in valid HTTP",
        ),
        (&large, "http_response_header_section_size", "The head of the host's answer is too large"),
        ("HTTP/1.1 200 OK\r\n", "connection_terminated", "The connection to the host ended before it answered"),
    ] {
        let answer = answer.to_owned();
        let host = Host::start(move |_| Reply::Cut(answer.clone().into_bytes())).await;
        let app = TestApp::start(&upstream(&host.url(), "")).await;
        let got = get(app.gateway(), "/npm/x").await;
        let next_hop = host.id().replace("http:", "");
        let expected = format!("fuseboard; error={error}; next-hop=\"{next_hop}\"");
        assert_eq!((got.status, got.header("proxy-status")), (502, Some(&*expected)));
        let problem = got.json();
        assert_eq!((&problem["title"], &problem["phase"]), (&json!(title), &json!("head")));
        assert_eq!(problem["detail"].as_str().map(|detail| detail.matches(&next_hop).count()), Some(1), "{problem}");
    }
}

#[tokio::test]
async fn what_shows_a_client_the_request_itself_is_not_sent_on() {
    // A host that answers TRACE shows the request as it came, configured headers included.
    let host = Host::start(|asked| Reply::text("200 OK\r\ncontent-type: message/http", &asked.head)).await;
    let app = TestApp::start(&format!(
        "{}[[upstream]]\nname = \"plain\"\nurl = \"{}/plain\"\n",
        upstream(&host.url(), "headers = { authorization = \"Bearer SECRET\" }"),
        host.url(),
    ))
    .await;
    let to = app.gateway();
    for method in ["TRACE", "TRACK", "trace"] {
        for path in ["/npm", "/npm/x", "/plain/x"] {
            let got = send(to, &format!("{method} {path} HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\n\r\n")).await;
            assert!(!String::from_utf8_lossy(&got.body).contains("SECRET"), "{method} {path}");
            assert_eq!((got.status, got.header("content-type")), (405, Some("application/problem+json")));
            let allow = got.header("allow").expect("RFC 9110, 15.5.6");
            assert!(allow.contains("GET") && !allow.contains("TRACE"), "{allow}");
            assert_eq!(got.json()["status"], 405);
        }
    }
    assert_eq!(host.connections(), 0, "before anything is sent");
    let got = send(to, &format!("CONNECT h.example:443 HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\n\r\n")).await;
    assert_eq!((got.status, got.header("allow")), (405, Some("")), "what has no path allows nothing");
    assert_eq!(get(to, "/npm/x").await.status, 200, "the host itself is asked as ever");
}
