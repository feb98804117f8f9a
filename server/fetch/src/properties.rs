//! What holds whatever a peer sends: no panic, no secret written down, no spelling that makes two breakers of one origin.
//! The seed is printed with a failure; `FUSEBOARD_SEED=<number>` plays it again, `FUSEBOARD_CASES=<number>` plays more.

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::{Duration, SystemTime},
};

use http::{HeaderMap, HeaderName, HeaderValue, Uri, Version, header};
use proptest::{
    collection::vec,
    prelude::*,
    sample::select,
    test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner},
};
use url::Url;

use crate::{
    classify,
    guard::prohibited,
    headers::{Via, strip},
    origin::{Target, breaker_id, redact},
    redirect,
    upstream::Redirects,
};

type Held = Result<(), TestCaseError>;

fn from_environment<T: std::str::FromStr>(name: &str) -> Option<T> {
    std::env::var(name).ok()?.parse().ok()
}

fn holds<S: Strategy>(strategy: S, property: impl Fn(S::Value) -> Held) {
    let seed: u64 = from_environment("FUSEBOARD_SEED").unwrap_or_else(rand::random);
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let cases = from_environment("FUSEBOARD_CASES").unwrap_or(2_000);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    match runner.run(&strategy, property) {
        Ok(()) => {}
        Err(TestError::Fail(reason, value)) => panic!("FUSEBOARD_SEED={seed}\n{reason}\n{value:#?}"),
        Err(TestError::Abort(reason)) => panic!("FUSEBOARD_SEED={seed} {reason}"),
    }
}

/// Text with a taste for what means something in a URL or a header.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z0-9.-]{1,8}",
        3 => select(vec!["/", ":", "@", "?", "#", "[", "]", "%", "\\", "//", "..", ",", ";", "=", "&", "\t", " "]).prop_map(str::to_owned),
        2 => select(vec!["%2f", "%00", "%40", "xn--", "0x7f.1", "::1", "127.1", ":443", ":80", "\u{fc}", "\u{ff0e}"]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn url() -> impl Strategy<Value = Url> {
    let scheme = select(vec!["http", "https", "grpc", "grpcs", "HTTP"]);
    (scheme, text()).prop_filter_map("no URL", |(scheme, rest)| Url::parse(&format!("{scheme}://{rest}")).ok())
}

/// Whatever may stand in a header's value.
fn value() -> impl Strategy<Value = HeaderValue> {
    let bytes = prop_oneof![vec(any::<u8>(), 0..40), text().prop_map(String::into_bytes)];
    bytes.prop_filter_map("no value", |bytes| HeaderValue::from_bytes(&bytes).ok())
}

#[test]
fn r32_an_id_is_its_origins_and_nothing_elses() {
    holds((url(), text(), "[a-z]{1,4}"), |(url, rest, word)| {
        let id = breaker_id(&url);
        prop_assert!(!id.contains(['@', '/', '?', '#', ' ']), "{id}");
        if url.host_str().is_none_or(str::is_empty) {
            return Ok(());
        }
        // Said again by its id alone, it is the same origin.
        if let Ok(again) = Url::parse(&id.replacen(':', "://", 1)) {
            prop_assert_eq!(breaker_id(&again), id.clone());
        }
        let mut other = url.clone();
        other.set_path(&rest);
        other.set_query(Some(&rest));
        other.set_fragment(Some(&word));
        // A host without a name takes no user; then there is nothing to compare.
        let _ = other.set_username(&word);
        let _ = other.set_password(Some(&rest));
        prop_assert_eq!(breaker_id(&other), id);
        Ok(())
    });
}

#[test]
fn r39_no_value_of_a_query_and_no_user_is_written_down() {
    let secret = "[A-Z]{9}";
    let pair = (secret, 0..4_u8, text()).prop_map(|(secret, kind, rest)| {
        let rest: String = rest.chars().filter(|c| c.is_ascii_alphanumeric() || "/;:@,.%".contains(*c)).collect();
        let rest = rest.to_ascii_lowercase();
        match kind {
            0 => secret,
            1 => format!("{rest}={secret}"),
            2 => format!("={secret}{rest}"),
            _ => format!("{rest}=={secret}=x"),
        }
    });
    holds((secret, vec(pair, 0..5), "[a-z/.]{0,9}"), |(user, pairs, path)| {
        let uri = format!("https://{user}:{user}@registry.example/{path}?{}", pairs.join("&"));
        let Ok(uri) = uri.parse::<Uri>() else { return Ok(()) };
        let written = redact(&uri);
        prop_assert!(!written.bytes().any(|byte| byte.is_ascii_uppercase()), "{written}");
        prop_assert!(written.starts_with(&format!("https://registry.example/{path}")), "{written}");
        Ok(())
    });
}

#[test]
fn r39_whatever_parses_can_be_written_down() {
    holds(text(), |text| {
        if let Ok(uri) = text.parse::<Uri>() {
            let written = redact(&uri);
            prop_assert!(!written.contains('@') || uri.path().contains('@') || text.contains("?"), "{written}");
        }
        Ok(())
    });
}

#[test]
fn r19_any_retry_after_is_a_bounded_wait_or_none() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let wish = prop_oneof![
        value(),
        any::<u64>().prop_map(HeaderValue::from),
        "[0-9]{0,80}".prop_map(|digits| { HeaderValue::from_str(&digits).unwrap() })
    ];
    holds(wish, |wish| {
        let mut headers = HeaderMap::new();
        headers.insert(header::RETRY_AFTER, wish.clone());
        if let Some(found) = classify::retry_after(&headers, now) {
            prop_assert!(found.wait <= Duration::from_secs(366 * 24 * 3600) && found.raw.len() <= 64);
            if let Ok(seconds) = found.raw.parse::<u64>() {
                prop_assert_eq!(found.wait.as_secs(), seconds.min(366 * 24 * 3600));
            }
        }
        Ok(())
    });
}

#[test]
fn r35_nothing_of_one_connection_survives_and_nothing_else_is_lost() {
    let name = select(vec![
        "connection",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "content-length",
        "host",
        "x-one",
        "x-two",
        "authorization",
        "proxy-authorization",
    ]);
    let listed = vec(select(vec!["x-one", "X-Two", "close", "content-length", "host", "te", "", " ", "@"]), 0..4);
    let connection = listed.prop_map(|listed| HeaderValue::from_str(&listed.join(",")).unwrap());
    holds(vec((name, prop_oneof![value(), connection]), 0..12), |pairs| {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(HeaderName::from_static(name), value);
        }
        let before = headers.clone();
        strip(&mut headers);
        for gone in
            ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "proxy-authorization"]
        {
            prop_assert!(!headers.contains_key(gone), "{gone}");
        }
        prop_assert!(headers.get("te").is_none_or(|te| te == "trailers"));
        let names: Vec<String> = before
            .get_all("connection")
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(',').map(|name| name.trim().to_ascii_lowercase()))
            .collect();
        for kept in ["x-one", "x-two", "authorization", "trailer", "host"] {
            let expected = if kept != "host" && names.iter().any(|name| name == kept) {
                0
            } else {
                before.get_all(kept).iter().count()
            };
            prop_assert_eq!(headers.get_all(kept).iter().count(), expected, "{}", kept);
        }
        Ok(())
    });
}

#[test]
fn r34_our_own_name_is_found_again_whatever_it_is_and_whatever_stands_beside_it() {
    holds((text(), vec(value(), 0..3)), |(name, others)| {
        let via = Via::new(&name);
        let mut headers = HeaderMap::new();
        for other in others {
            headers.append(header::VIA, other);
        }
        // Whatever others wrote, it is read without harm.
        via.signed(&headers);
        via.sign(&mut headers, Version::HTTP_11);
        prop_assert!(via.signed(&headers));
        Ok(())
    });
}

#[test]
fn r33_no_location_leads_where_the_rules_do_not() {
    let rules = Redirects { follow: true, hosts: vec!["*.cdn.example".to_owned(), "files.example:8443".to_owned()] };
    let location = prop_oneof![
        value(),
        (
            select(vec!["https://", "http://", "//", "https:/", "ftp://", ""]),
            text(),
            select(vec![
                "registry.example",
                "eu.cdn.example",
                "cdn.example",
                "files.example:8443",
                "evil.example",
                "@registry.example",
            ]),
            text()
        )
            .prop_filter_map("no value", |(scheme, user, host, rest)| {
                HeaderValue::from_bytes(format!("{scheme}{user}{host}{rest}").as_bytes()).ok()
            }),
    ];
    let here = Url::parse("https://registry.example/a/b").unwrap();
    let own = Target::new(&here, false).unwrap();
    holds(location, |location| {
        let mut headers = HeaderMap::new();
        headers.insert(header::LOCATION, location);
        if let Ok(Some(url)) = redirect::next(&rules, &own, &own, &here, &headers) {
            prop_assert_eq!(url.scheme(), "https");
            prop_assert!(url.username().is_empty() && url.password().is_none() && url.fragment().is_none(), "{url}");
            let host = url.host_str().unwrap_or_default();
            let at = (host, url.port_or_known_default());
            let allowed = at == ("registry.example", Some(443))
                || host.ends_with(".cdn.example")
                || at == ("files.example", Some(8443));
            prop_assert!(allowed, "{url}");
        }
        Ok(())
    });
}

#[test]
fn r34_an_inner_address_is_one_in_every_coat() {
    holds(any::<u32>(), |bits| {
        let v4 = Ipv4Addr::from(bits);
        let [a, b, c, d] = v4.octets();
        let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        let plain = prohibited(IpAddr::V4(v4));
        for coat in [
            v4.to_ipv6_mapped(),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
        ] {
            prop_assert_eq!(prohibited(IpAddr::V6(coat)), plain, "{}", coat);
        }
        Ok(())
    });
}
