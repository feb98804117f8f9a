use http::HeaderValue;

use super::*;

fn target(url: &str) -> Target {
    Target::new(&Url::parse(url).unwrap(), false).unwrap()
}

fn go(hosts: &[&str], here: &str, location: &str) -> Result<Option<String>, Guard> {
    let rules = Redirects { follow: true, hosts: hosts.iter().map(|host| (*host).to_owned()).collect() };
    let mut headers = HeaderMap::new();
    headers.insert(header::LOCATION, HeaderValue::from_bytes(location.as_bytes()).unwrap());
    let own = target("https://registry.example");
    next(&rules, &own, &target(here), &Url::parse(here).unwrap(), &headers).map(|url| url.map(String::from))
}

#[test]
fn r33_a_redirect_within_the_origin_is_followed() {
    let here = "https://registry.example/a/b";
    assert_eq!(go(&[], here, "c?d=e#f").unwrap().as_deref(), Some("https://registry.example/a/c?d=e"));
    assert_eq!(go(&[], here, "//REGISTRY.example:443/x").unwrap().as_deref(), Some("https://registry.example/x"));
    assert_eq!(
        go(&[], here, "https://ana:secret@registry.example/x").unwrap().as_deref(),
        Some("https://registry.example/x")
    );
}

#[test]
fn r33_another_host_is_followed_only_when_it_is_named() {
    let here = "https://registry.example/a";
    for (hosts, location, followed) in [
        (&[][..], "https://cdn.example/a", false),
        (&["cdn.example"], "https://cdn.example/a", true),
        (&["CDN.example"], "https://cdn.example/a", true),
        (&["cdn.example"], "https://eu.cdn.example/a", false),
        (&["*.cdn.example"], "https://eu.cdn.example/a", true),
        (&["*.cdn.example"], "https://a.eu.cdn.example/a", true),
        (&["*.cdn.example"], "https://cdn.example/a", false),
        (&["*.cdn.example"], "https://evilcdn.example/a", false),
        (&["cdn.example:8443"], "https://cdn.example/a", false),
        (&["cdn.example:8443"], "https://cdn.example:8443/a", true),
        (&["cdn.example:443"], "https://cdn.example/a", true),
        (&["[::1]:8080"], "https://[::1]:8080/a", true),
        (&["*"], "https://anything.example/a", true),
        (&["*"], "ftp://anything.example/a", false),
        (&["*"], "data:text/plain,x", false),
    ] {
        assert_eq!(go(hosts, here, location).unwrap().is_some(), followed, "{hosts:?} {location}");
    }
}

#[test]
fn r33_https_does_not_fall_to_http() {
    let here = "https://registry.example/a";
    let downgrade = Guard::Downgrade { from: "https:registry.example".into() };
    assert_eq!(go(&["cdn.example"], here, "http://cdn.example/a"), Err(downgrade));
    assert_eq!(go(&[], here, "http://cdn.example/a"), Ok(None));
    assert!(go(&["*"], "http://cdn.example/a", "http://other.example/").unwrap().is_some());
}

#[test]
fn r33_only_get_and_head_are_followed_and_only_real_redirects() {
    for code in [301, 302, 303, 307, 308] {
        assert!(asks(&Method::GET, StatusCode::from_u16(code).unwrap()), "{code}");
    }
    for code in [200, 300, 304, 305, 404] {
        assert!(!asks(&Method::GET, StatusCode::from_u16(code).unwrap()), "{code}");
    }
    assert!(asks(&Method::HEAD, StatusCode::FOUND));
    assert!(!asks(&Method::POST, StatusCode::FOUND));
}

#[test]
fn r33_secrets_stay_at_home() {
    let mut headers = HeaderMap::new();
    let secrets = [
        "authorization",
        "cookie",
        "proxy-authorization",
        "x-mine",
        "x-api-key",
        "apikey",
        "x_accesstoken",
        "private-token",
        "x-auth-token",
        "x-jfrog-art-api",
        "x-auth",
        "x-authentication",
        "x-credentials",
        "x-jwt-assertion",
        "x-password",
        "x-client-secret",
        "x-session-id",
    ];
    let others = ["accept", "accept-encoding", "author", "cache-control", "if-none-match", "range", "x-request-id"];
    for name in secrets.into_iter().chain(others) {
        headers.insert(http::HeaderName::from_static(name), HeaderValue::from_static("v"));
    }
    let mut configured = HeaderMap::new();
    configured.insert("x-mine", HeaderValue::from_static("secret"));
    drop_secrets(&mut headers, &configured);
    let mut left: Vec<_> = headers.keys().map(http::HeaderName::as_str).collect();
    left.sort_unstable();
    assert_eq!(left, others);
    for (referer, goes) in [
        ("https://board.example:8443/a?token=s3cret", Some("https://board.example:8443/")),
        ("about:blank", None),
        ("/a?token=s3cret", None),
    ] {
        let mut headers = HeaderMap::from_iter([(header::REFERER, HeaderValue::from_static(referer))]);
        drop_secrets(&mut headers, &HeaderMap::new());
        assert_eq!(headers.get(header::REFERER).map(|value| value.to_str().unwrap()), goes, "{referer}");
    }
}
