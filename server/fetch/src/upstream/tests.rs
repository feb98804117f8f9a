use super::*;

#[test]
fn a_plain_upstream_has_the_documented_defaults() {
    let npm = Upstream::plain("npm", "https://registry.example").unwrap();
    assert_eq!(npm.breaker_id(), "https:registry.example");
    assert_eq!(npm.timeouts.connect, Duration::from_secs(5));
    assert_eq!(npm.timeouts.client_idle, Duration::from_secs(30));
    assert_eq!((npm.queue.concurrent, npm.queue.waiting), (256, 1024));
    assert_eq!(npm.policy.settings().name, "registry");
    assert!(npm.redirects.follow && npm.redirects.hosts.is_empty() && !npm.allow_private);
    assert_eq!(npm.classify.failures.to_string(), "408, 5xx");
    assert_eq!(npm.classify.alive.to_string(), "501, 505");
}

#[test]
fn a_grpc_upstream_has_a_breaker_of_its_own() {
    let accounts = Upstream::plain("accounts", "grpcs://accounts.example").unwrap();
    assert_eq!((accounts.protocol, accounts.breaker_id().as_str()), (Protocol::Grpc, "accounts"));
    assert_eq!(accounts.policy.settings().name, "grpc");
}

#[test]
fn what_cannot_be_an_upstream_is_refused_by_field() {
    for (name, url, field) in [
        ("", "https://registry.example", "name"),
        ("a/b", "https://registry.example", "name"),
        ("npm", "registry.example", "url"),
        ("npm", "ftp://registry.example", "url"),
        ("npm", "https://", "url"),
        ("npm", "grpc:///x", "url"),
        ("npm", "http://registry.example:0", "url"),
        ("npm", "grpc://registry.example:0", "url"),
        ("npm", "https://ana:secret@registry.example", "url"),
    ] {
        let error = Upstream::plain(name, url).unwrap_err();
        assert_eq!(error.field, field, "{name} {url}: {error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}

#[test]
fn statuses_are_read_as_single_ones_classes_and_ranges() {
    let set = Statuses::parse(["408", "5xx", "420-425"]).unwrap();
    for (status, there) in [
        (407, false),
        (408, true),
        (409, false),
        (419, false),
        (420, true),
        (425, true),
        (426, false),
        (500, true),
        (599, true),
    ] {
        assert_eq!(set.contains(status), there, "{status}");
    }
    for bad in ["", "6xx", "99", "600", "504-500", "abc", "0xx"] {
        assert!(Statuses::parse([bad]).is_err(), "{bad}");
    }
}

#[test]
fn r39_an_upstream_shown_for_debugging_keeps_its_secrets() {
    let mut npm = Upstream::plain("npm", "https://registry.example").unwrap();
    npm.headers.insert(http::header::AUTHORIZATION, http::HeaderValue::from_static("Bearer s3cret"));
    let shown = format!("{npm:?}");
    assert!(shown.contains("authorization") && !shown.contains("s3cret"), "{shown}");
}
