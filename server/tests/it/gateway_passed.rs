//! What passes through the gateway unchanged, and what does not pass at all.

use fuseboard_breaker::State;

use crate::support::{
    app::TestApp,
    host::{Host, Reply},
    http::{get, get_with, send},
};

fn upstream(url: &str) -> String {
    format!("[[upstream]]\nname = \"npm\"\nurl = \"{url}\"\n")
}

#[tokio::test]
async fn r23_a_hosts_own_404_stays_one_and_trips_nothing() {
    let host =
        Host::start(|_| Reply::text("404 Not Here\r\nx-own: yes\r\ncontent-type: text/plain", "no such thing")).await;
    let app = TestApp::start(&upstream(&host.url())).await;
    for _ in 0..100 {
        let got = get(app.gateway(), "/npm/none").await;
        assert_eq!((got.status, &*got.body), (404, &b"no such thing"[..]));
        assert_eq!((got.header("x-own"), got.header("content-type")), (Some("yes"), Some("text/plain")));
        assert_eq!(got.header("proxy-status"), None);
    }
    let snapshot = app.breaker(&host.id()).snapshot();
    assert_eq!((snapshot.state, snapshot.counts.alive), (State::Closed, 100));
}

#[tokio::test]
async fn r35_path_and_query_arrive_byte_for_byte() {
    let host = Host::start(|_| Reply::ok()).await;
    let app = TestApp::start(&upstream(&format!("{}/base", host.url()))).await;
    for (asked, arrives) in [
        ("/npm/@scope%2Fname", "/base/@scope%2Fname"),
        ("/npm/@scope%2fname", "/base/@scope%2fname"),
        ("/npm//a//b", "/base//a//b"),
        ("/npm/CaSe?Q=%2f&q=a+b&&=", "/base/CaSe?Q=%2f&q=a+b&&="),
        ("/npm", "/base"),
        ("/npm/", "/base/"),
        ("/npm?x", "/base?x"),
        ("/npm/%41%7e~", "/base/%41%7e~"),
    ] {
        assert_eq!(get(app.gateway(), asked).await.status, 200, "{asked}");
        assert_eq!(host.asked().last().map(|asked| asked.target().to_owned()).as_deref(), Some(arrives));
    }
    let before = host.asked().len();
    for asked in ["/npm/../x", "/npm/a/%2e%2E/b", "/npm/a/.", "/npm/..%2fx", "/npm/%2e"] {
        let got = get(app.gateway(), asked).await;
        assert_eq!(got.status, 400, "{asked}");
        assert_eq!(got.header("content-type"), Some("application/problem+json"));
    }
    assert_eq!(host.asked().len(), before, "none of them was sent on");
}

#[tokio::test]
async fn r35_hop_by_hop_headers_stop_here() {
    let answer = "200 OK\r\nconnection: x-private\r\nx-private: theirs\r\nkeep-alive: timeout=5\r\netag: \"v1\"";
    let host = Host::start(move |_| Reply::text(answer, "fine")).await;
    let app = TestApp::start(&upstream(&host.url())).await;
    let more = "te: gzip\r\nproxy-authorization: Basic x\r\nupgrade: websocket\r\nx-mine: secret-of-the-hop\r\n\
                range: bytes=0-9\r\nif-none-match: \"v0\"\r\naccept-encoding: br\r\n";
    let request = format!("GET /npm/x HTTP/1.1\r\nhost: gate.example\r\nconnection: close, x-mine\r\n{more}\r\n");
    let got = send(app.gateway(), &request).await;

    let asked = host.asked().pop().expect("it was sent on");
    for dropped in ["te", "proxy-authorization", "upgrade", "x-mine"] {
        assert_eq!(asked.header(dropped), None, "{dropped} went on");
    }
    assert_eq!(asked.header("range"), Some("bytes=0-9"));
    assert_eq!(asked.header("if-none-match"), Some("\"v0\""));
    assert_eq!(asked.header("accept-encoding"), Some("br"));
    assert_eq!(asked.header("host"), Some(&*host.id().replace("http:", "")), "the host's own name");
    assert!(asked.header("via").is_some_and(|via| via.contains("fuseboard")), "{:?}", asked.head);

    assert_eq!((got.header("x-private"), got.header("keep-alive")), (None, None), "{}", got.head);
    assert_eq!(got.header("etag"), Some("\"v1\""));
    assert!(got.header("via").is_some_and(|via| via.contains("fuseboard")));
}

#[tokio::test]
async fn unknown_upstreams_are_404_and_make_no_breaker() {
    let host = Host::start(|_| Reply::ok()).await;
    let app = TestApp::start(&upstream(&host.url())).await;
    let before = app.app().panel.len();
    let got = get(app.gateway(), "/pypi/simple/").await;
    assert_eq!(got.status, 404);
    let problem = got.json();
    let detail = problem["detail"].as_str().expect("words");
    assert!(detail.contains("\"pypi\"") && detail.contains("Configured: npm."), "{detail}");
    assert_eq!(app.app().panel.len(), before);

    let front = get(app.gateway(), "/").await;
    let text = String::from_utf8_lossy(&front.body).into_owned();
    assert_eq!(front.status, 200);
    assert!(text.contains("Fuseboard gateway") && text.contains(&format!("http://{}/", app.admin())), "{text}");
}

#[tokio::test]
async fn configured_headers_are_not_for_pages_of_other_sites() {
    let host = Host::start(|_| Reply::ok()).await;
    let text = format!("{}headers = {{ authorization = \"Bearer own\" }}\n", upstream(&host.url()));
    let text = format!("{text}[[upstream]]\nname = \"open\"\nurl = \"{}\"\n", host.url());
    let app = TestApp::start(&text).await;
    for more in ["sec-fetch-site: cross-site\r\n", "origin: https://evil.example\r\n", "origin: null\r\n"] {
        let got = get_with(app.gateway(), "/npm/x", more).await;
        assert_eq!(got.status, 403, "{more}");
        assert_eq!(get_with(app.gateway(), "/open/x", more).await.status, 200, "no headers, nothing to steal");
    }
    let request = "GET /npm/x HTTP/1.1\r\nhost: rebound.example\r\nconnection: close\r\n\r\n";
    assert_eq!(send(app.gateway(), request).await.status, 421);

    let before = host.asked().len();
    let got = get_with(app.gateway(), "/npm/x", "authorization: Bearer clients\r\nsec-fetch-site: none\r\n").await;
    assert_eq!(got.status, 200);
    let asked = host.asked().split_off(before).pop().expect("it was sent on");
    assert_eq!(asked.header("authorization"), Some("Bearer own"), "in place of the client's own");
}

#[tokio::test]
async fn a_body_arrives_whole() {
    let host = Host::start(|_| Reply::ok()).await;
    let app = TestApp::start(&upstream(&host.url())).await;
    let body = "x".repeat(100_000);
    let request =
        format!("PUT /npm/x HTTP/1.1\r\nhost: h\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    assert_eq!(send(app.gateway(), &request).await.status, 200);
    let asked = host.asked().pop().expect("it was sent on");
    assert!(asked.head.starts_with("PUT ") && asked.body == body.as_bytes());
}

#[tokio::test]
async fn what_the_host_could_read_differently_is_not_passed_on() {
    let host = Host::start(|_| Reply::ok()).await;
    let app = TestApp::start(&upstream(&host.url())).await;
    for (status, head) in [
        (400, "GET /npm/x HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n"),
        (400, "GET /npm/x HTTP/1.1\r\nconnection: close\r\n\r\n"),
        (
            501,
            "POST /npm/x HTTP/1.1\r\nhost: a\r\nconnection: close\r\ntransfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        ),
    ] {
        let got = send(app.gateway(), head).await;
        assert_eq!((got.status, got.header("content-type")), (status, Some("application/problem+json")), "{head}");
    }
    let got = send(app.gateway(), "GET /npm/x HTTP/1.0\r\n\r\n").await;
    assert_eq!((got.status, host.asked().len()), (200, 1), "HTTP/1.0 needs no Host, and nothing else arrived");
}
