//! Who may come in: names of this server alone, and no page of another origin.

use fuseboard_app::wire::breaker::Breaker;
use http::{Method, StatusCode, header};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::{app::TestApp, desk::Desk, soon, switch::Switch};

const EVERYWHERE: [&str; 8] =
    ["/", "/api/v1/breakers", "/api/v1/events", "/health", "/metrics", "/livez", "/ui/panel", "/nothing"];

#[tokio::test]
async fn a_foreign_host_gets_nothing() {
    let app = Desk::start("").await;
    for path in EVERYWHERE {
        for method in [Method::GET, Method::POST] {
            let answer = app.send(app.admin(), method, path, &[("host", "rebound.example")], "").await;
            assert_eq!(answer.problem(), (421, None), "{path}");
        }
    }
    let port = app.admin().port();
    for host in ["localhost".to_owned(), format!("localhost:{port}"), format!("[::1]:{port}"), "127.0.0.1".into()] {
        let answer = app.send(app.admin(), Method::GET, "/health", &[("host", &host)], "").await;
        assert_eq!(answer.status, StatusCode::OK, "{host}");
    }
}

#[tokio::test]
async fn a_page_of_another_origin_changes_nothing() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    let path = format!("/api/v1/breakers/{}", host.breaker());
    let body = r#"{"mode":"forced_open","reason":"r","until":null}"#;
    let json = ("content-type", "application/json");
    for foreign in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        let set = app.send(app.admin(), Method::PUT, &format!("{path}/override"), &[json, foreign], body).await;
        assert_eq!(set.problem(), (403, None), "{foreign:?}");
        for form in ["/ui/reset", "/ui/force-open", "/ui/release"] {
            let kind = ("content-type", "application/x-www-form-urlencoded");
            let posted = app.send(app.admin(), Method::POST, form, &[kind, foreign], "id=x").await;
            assert_eq!(posted.problem(), (403, None), "{form} {foreign:?}");
        }
    }
    let breaker: Breaker = app.read(&path).await;
    assert_eq!((breaker.held, breaker.generation), (None, 0));
    let own = ("origin", format!("http://{}", app.admin()));
    let set = app.send(app.admin(), Method::PUT, &format!("{path}/override"), &[json, (own.0, &own.1)], body).await;
    assert_eq!(set.status, StatusCode::OK, "{}", set.body);
}

#[tokio::test]
async fn every_answer_is_hardened() {
    let app = Desk::start("").await;
    for path in EVERYWHERE.into_iter().filter(|path| *path != "/api/v1/events") {
        let answer = app.send(app.admin(), Method::GET, path, &[("accept", "text/html")], "").await;
        assert_eq!(answer.headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff", "{path}");
        assert_eq!(answer.headers[header::REFERRER_POLICY], "same-origin", "{path}");
        let policy = answer.headers[header::CONTENT_SECURITY_POLICY].to_str().expect("text");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe-inline"), "{path}: {policy}");
    }
}

/// Authority is an argument, and there is one door it comes through.
#[test]
fn only_the_door_makes_an_actor() {
    fn sources(folder: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                sources(&path, found);
            } else {
                found.push(path);
            }
        }
    }
    let mut files = Vec::new();
    sources(concat!(env!("CARGO_MANIFEST_DIR"), "/src").as_ref(), &mut files);
    let makers: Vec<_> = files
        .iter()
        .filter(|file| std::fs::read_to_string(file).expect("text").contains("Actor::unverified("))
        .map(|file| file.file_name().and_then(|name| name.to_str()).expect("a name"))
        .collect();
    // The guard's own tests call it too.
    let mut makers = makers;
    makers.sort_unstable();
    assert_eq!(makers, ["caller.rs", "guard.rs"]);
}

#[tokio::test]
async fn a_body_that_does_not_come_holds_no_stop() {
    let app = TestApp::start("[[upstream]]\nname = \"npm\"\nurl = \"http://127.0.0.1:9\"\n").await;
    let mut stream = soon("a connection", TcpStream::connect(app.admin())).await.expect("it listens");
    let head = format!(
        "POST /api/v1/breakers/http:127.0.0.1:9/reset HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n\
         content-length: 20\r\nexpect: 100-continue\r\n\r\n",
        app.admin()
    );
    stream.write_all(head.as_bytes()).await.expect("sent");
    let mut told = Vec::new();
    while !told.ends_with(b"\r\n\r\n") {
        told.push(soon("leave to send", stream.read_u8()).await.expect("it is listened to"));
    }
    assert!(told.starts_with(b"HTTP/1.1 100 "), "{}", String::from_utf8_lossy(&told));
    app.app().lifecycle.begin_soft();
    let mut answer = String::new();
    soon("the answer", stream.read_to_string(&mut answer)).await.expect("text");
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("Nothing was done"), "{answer}");
    app.stop().await;
}
