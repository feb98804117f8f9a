//! Links in metadata lead back to the gateway, and the files they name come through it, for each kind of client.

use crate::support::{
    app::TestApp,
    host::{Host, Reply},
    http::{Got, get, get_with, send},
    registry::{body_of, gzip, with_type},
};

/// An upstream of a preset, with a host of files on another origin.
fn upstream(preset: &str, host: &Host, files: &Host) -> String {
    format!(
        "[[upstream]]\nname = \"up\"\nurl = \"{}\"\npreset = \"{preset}\"\nrewrite = [\"{}\"]\nallow_private = true\n",
        host.url(),
        files.url()
    )
}

/// Where a host of files is found at the gateway.
fn at(app: &TestApp, files: &Host) -> String {
    format!("http://{}/up~{}", app.gateway(), files.id().replace(':', "~"))
}

/// Asks for a link as a client does.
async fn follow(app: &TestApp, link: &str) -> Got {
    let path =
        link.strip_prefix(&format!("http://{}", app.gateway())).unwrap_or_else(|| panic!("{link} leads elsewhere"));
    get(app.gateway(), path).await
}

async fn files() -> Host {
    Host::start(|asked| match asked.target() {
        "/deep/a-1.0.tgz?x=%2F" | "/deep/a-1.0.whl" | "/crates/a/1.0.0/download" => {
            Reply::text("200 OK\r\netag: \"f1\"", "a file")
        }
        other => panic!("asked for {other}"),
    })
    .await
}

#[tokio::test]
async fn npm_tarballs_of_its_own_and_of_another_host() {
    let files = files().await;
    let elsewhere = files.url();
    let host = Host::start(move |asked| {
        let own = format!("http://{}", asked.header("host").expect("a host"));
        match asked.target() {
            "/a" => with_type(
                "application/vnd.npm.install-v1+json",
                &format!(
                    r#"{{"versions":{{"1.0":{{"dist":{{"integrity":"sha512-x/y==","tarball":"{own}/a/-/a-1.0.tgz"}}}},
                    "2.0":{{"dist":{{"tarball":"{elsewhere}/deep/a-1.0.tgz?x=%2F"}}}}}}}}"#
                ),
            ),
            "/a/-/a-1.0.tgz" => Reply::text("200 OK", "its own"),
            other => panic!("asked for {other}"),
        }
    })
    .await;
    let app = TestApp::start(&upstream("npm", &host, &files)).await;
    let got = get_with(app.gateway(), "/up/a", "accept: application/vnd.npm.install-v1+json; q=1.0, */*\r\n").await;
    let versions = &got.json()["versions"];
    assert_eq!(versions["1.0"]["dist"]["integrity"], "sha512-x/y==");
    let own = versions["1.0"]["dist"]["tarball"].as_str().expect("a link");
    assert_eq!(own, format!("http://{}/up/a/-/a-1.0.tgz", app.gateway()));
    assert_eq!(follow(&app, own).await.body, b"its own");
    let other = versions["2.0"]["dist"]["tarball"].as_str().expect("a link");
    assert_eq!(other, format!("{}/deep/a-1.0.tgz?x=%2F", at(&app, &files)));
    assert_eq!(follow(&app, other).await.body, b"a file");
    // Each host has a breaker of its own.
    assert_eq!(app.breaker(&files.id()).snapshot().counts.success, 1);
    assert_eq!(app.breaker(&host.id()).snapshot().counts.success, 2);
}

#[tokio::test]
async fn pypi_pages_in_html_and_json() {
    let files = files().await;
    let elsewhere = files.url();
    let host = Host::start(move |asked| match asked.header("accept") {
        Some(accept) if accept.contains("json") => with_type(
            "application/vnd.pypi.simple.v1+json",
            &format!(r#"{{"files":[{{"url":"{elsewhere}/deep/a-1.0.whl","hashes":{{"sha256":"00ff"}}}},{{"url":"/b.whl"}}]}}"#),
        ),
        _ => with_type(
            "text/html; charset=utf-8",
            &format!("<a href=\"{elsewhere}/deep/a-1.0.whl#sha256=00ff\" data-yanked=\"\">a</a><a href=\"../../b.whl\">b</a>"),
        ),
    })
    .await;
    let app = TestApp::start(&upstream("pypi", &host, &files)).await;
    let at = at(&app, &files);
    let got = get_with(app.gateway(), "/up/simple/a/", "accept: text/html\r\n").await;
    let page =
        format!("<a href=\"{at}/deep/a-1.0.whl#sha256=00ff\" data-yanked=\"\">a</a><a href=\"../../b.whl\">b</a>");
    assert_eq!(String::from_utf8_lossy(&body_of(&got)), page);
    let got = get_with(app.gateway(), "/up/simple/a/", "accept: application/vnd.pypi.simple.v1+json\r\n").await;
    let files_listed = &got.json()["files"];
    assert_eq!(files_listed[0]["url"], format!("{at}/deep/a-1.0.whl"));
    assert_eq!(files_listed[0]["hashes"]["sha256"], "00ff");
    assert_eq!(files_listed[1]["url"], format!("http://{}/up/b.whl", app.gateway()));
    assert_eq!(follow(&app, files_listed[0]["url"].as_str().expect("a link")).await.body, b"a file");
}

#[tokio::test]
async fn cargo_index_whatever_type_it_is_served_as() {
    let files = files().await;
    let elsewhere = files.url();
    let entries = "{\"name\":\"a\",\"cksum\":\"00ff\",\"x\":\"https://files.example/\"}\n";
    let host = Host::start(move |asked| match asked.target() {
        "/config.json" => with_type(
            "binary/octet-stream",
            &format!("{{\n  \"dl\": \"{elsewhere}/crates\",\n  \"api\": \"https://elsewhere.example\"\n}}\n"),
        ),
        _ => Reply::text("200 OK\r\ncontent-type: application/json\r\netag: \"e1\"", entries),
    })
    .await;
    let app = TestApp::start(&upstream("cargo", &host, &files)).await;
    let config = get(app.gateway(), "/up/config.json").await.json();
    assert_eq!(config["dl"], format!("{}/crates", at(&app, &files)));
    assert_eq!(config["api"], "https://elsewhere.example");
    let file = follow(&app, &format!("{}/a/1.0.0/download", config["dl"].as_str().expect("a link"))).await;
    assert_eq!(file.body, b"a file");
    let index = get(app.gateway(), "/up/1/a").await;
    assert_eq!((&*index.body, index.header("etag")), (entries.as_bytes(), Some("\"e1\"")), "as it is");
}

#[tokio::test]
async fn maven_and_generic_change_nothing_unless_told() {
    let files = files().await;
    let host = Host::start(|asked| {
        let own = format!("http://{}", asked.header("host").expect("a host"));
        Reply::text("200 OK\r\ncontent-type: text/html\r\netag: \"p1\"", &format!("<a href=\"{own}/x.jar\">x</a>"))
    })
    .await;
    let untouched = format!("<a href=\"{}/x.jar\">x</a>", host.url());
    for preset in ["maven", "generic"] {
        let text = format!("[[upstream]]\nname = \"up\"\nurl = \"{}\"\npreset = \"{preset}\"\n", host.url());
        let app = TestApp::start(&text).await;
        let got = get(app.gateway(), "/up/").await;
        assert_eq!(
            (String::from_utf8_lossy(&got.body), got.header("etag")),
            (untouched.as_str().into(), Some("\"p1\""))
        );
        let app = TestApp::start(&upstream(preset, &host, &files)).await;
        let got = get(app.gateway(), "/up/").await;
        let page = format!("<a href=\"http://{}/up/x.jar\">x</a>", app.gateway());
        assert_eq!(String::from_utf8_lossy(&body_of(&got)), page);
    }
}

#[tokio::test]
async fn links_say_the_public_url() {
    let host = Host::start(|asked| {
        let own = format!("http://{}", asked.header("host").expect("a host"));
        with_type("application/json", &format!("[\"{own}/x\"]"))
    })
    .await;
    let text = format!(
        "[gateway]\npublic_url = \"https://gate.example\"\n[[upstream]]\nname = \"up\"\nurl = \"{}\"\npreset = \"npm\"\n",
        host.url()
    );
    let app = TestApp::start(&text).await;
    assert_eq!(get(app.gateway(), "/up/a").await.json()[0], "https://gate.example/up/x");
}

#[tokio::test]
async fn r33_only_listed_hosts_are_reached_and_no_secret_reaches_them() {
    let files = files().await;
    let host = Host::start(|_| Reply::ok()).await;
    let text = format!("{}headers = {{ x-key = \"own\" }}\n", upstream("npm", &host, &files));
    let app = TestApp::start(&text).await;
    let secrets = "authorization: Bearer clients\r\ncookie: a=b\r\nx-key: mine\r\n";
    let path = format!("/up~{}/deep/a-1.0.whl", files.id().replace(':', "~"));
    // Clients that encode the tilde mean the same.
    for path in [path.clone(), path.replace('~', "%7E")] {
        assert_eq!(get_with(app.gateway(), &path, secrets).await.status, 200, "{path}");
    }
    for asked in files.asked() {
        for secret in ["authorization", "cookie", "x-key"] {
            assert_eq!(asked.header(secret), None, "{secret} went to the files");
        }
    }
    assert_eq!(get_with(app.gateway(), "/up/x", secrets).await.status, 200);
    let asked = host.asked().pop().expect("it was sent on");
    assert_eq!((asked.header("authorization"), asked.header("x-key")), (Some("Bearer clients"), Some("own")));

    let known = app.app().panel.len();
    for path in
        ["/up~https~files.example/x", "/up~/x", "/up~http~127.0.0.1~1/x", &path.replace("/up~http~", "/up~https~")]
    {
        let got = get(app.gateway(), path).await;
        assert_eq!(got.status, 404, "{path}");
        assert!(got.json()["detail"].as_str().is_some_and(|detail| detail.contains("rewrite")), "{path}");
    }
    assert_eq!(get(app.gateway(), &format!("{path}/../x")).await.status, 400);
    assert_eq!(app.app().panel.len(), known, "no breaker for any of them");
}

#[tokio::test]
async fn r33_a_redirect_among_the_files_is_followed_and_another_keeps_leading_through() {
    let files = Host::start(|asked| match asked.target() {
        "/a" => Reply::text("302 Found\r\nlocation: /b", ""),
        _ => Reply::text("200 OK", "b"),
    })
    .await;
    let elsewhere = files.url();
    let host = Host::start(move |asked| match asked.target() {
        "/to-files" => Reply::text(&format!("302 Found\r\nlocation: {elsewhere}/a"), ""),
        "/posted" => Reply::text("201 Created\r\nlocation: /made", ""),
        "/page" => Reply::text("302 Found\r\nlocation: /deep/page", ""),
        "/deep/page" => with_type("text/html", "<a href=\"x.whl\">"),
        _ => Reply::text("302 Found\r\nlocation: https://elsewhere.example/", ""),
    })
    .await;
    let app = TestApp::start(&upstream("pypi", &host, &files)).await;
    let path = format!("/up~{}/a", files.id().replace(':', "~"));
    for path in [&*path, "/up/to-files"] {
        let got = get(app.gateway(), path).await;
        assert_eq!((got.status, &*got.body), (200, &b"b"[..]), "{path}");
    }
    let got = get(app.gateway(), "/up/out").await;
    assert_eq!((got.status, got.header("location")), (302, Some("https://elsewhere.example/")));
    let post = format!(
        "POST /up/posted HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
        app.gateway()
    );
    let made = format!("http://{}/up/made", app.gateway());
    assert_eq!(send(app.gateway(), &post).await.header("location"), Some(&*made));
    // The page is not where it was asked for, and its links count from where it is.
    let got = get(app.gateway(), "/up/page").await;
    assert_eq!(String::from_utf8_lossy(&body_of(&got)), format!("<a href=\"http://{}/up/deep/x.whl\">", app.gateway()));
}

#[tokio::test]
async fn codings_are_undone_and_files_keep_theirs() {
    let host = Host::start(|asked| {
        let own = format!("http://{}", asked.header("host").expect("a host"));
        match asked.target() {
            "/meta" => gzip("application/json", format!("[\"{own}/x\"]").as_bytes()),
            "/strange" => {
                Reply::text("200 OK\r\ncontent-type: application/json\r\ncontent-encoding: zstd\r\netag: \"z\"", "?")
            }
            _ => gzip("application/octet-stream", b"a file"),
        }
    })
    .await;
    let app =
        TestApp::start(&format!("[[upstream]]\nname = \"up\"\nurl = \"{}\"\npreset = \"npm\"\n", host.url())).await;
    let got = get_with(app.gateway(), "/up/meta", "accept-encoding: gzip, deflate, zstd\r\n").await;
    assert_eq!(host.asked()[0].header("accept-encoding"), Some("gzip"), "what cannot be undone is not asked for");
    assert_eq!((got.header("content-encoding"), got.header("content-length")), (None, None), "{}", got.head);
    assert_eq!(got.json()[0], format!("http://{}/up/x", app.gateway()));
    let got = get_with(app.gateway(), "/up/file", "accept-encoding: gzip\r\n").await;
    assert_eq!(got.header("content-encoding"), Some("gzip"));
    assert!(got.body.starts_with(&[0x1f, 0x8b]), "as it came");
    let got = get(app.gateway(), "/up/strange").await;
    assert_eq!(
        (got.header("content-encoding"), got.header("etag"), &*got.body),
        (Some("zstd"), Some("\"z\""), &b"?"[..])
    );
}
