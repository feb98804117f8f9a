use proptest::prelude::*;

use super::*;
use crate::gateway::rewrite::{
    links::tests::{FILES, links},
    scan::tests::{apart, whole},
};

fn npm() -> Json {
    Json::new(links("https://registry.example", FILES, "/lodash"), None)
}

fn pypi() -> Json {
    Json::new(links("https://registry.example", FILES, "/simple/idna/"), Some(b"url"))
}

fn written(text: &str) -> String {
    String::from_utf8(whole(npm, text.as_bytes())).expect("text")
}

#[test]
fn the_tarball_is_changed_and_its_hash_is_not() {
    let packument = r#"{"name":"lodash","versions":{"1.0.0":{"dist":{"integrity":"sha512-https://x==","shasum":"00ff",
        "tarball":"https://registry.example/lodash/-/lodash-1.0.0.tgz","signatures":[{"sig":"MEUC/a+b=="}]},
        "readme":"see https://registry.example/lodash","homepage":"https://elsewhere.example/"}}}"#;
    let changed = packument.replace("\"https://registry.example/lodash/-/", "\"http://gate.example:8080/up/lodash/-/");
    assert_eq!(written(packument), changed);
    assert_ne!(changed, packument);
}

#[test]
fn escapes_are_read_and_what_is_kept_keeps_them() {
    for (json, changed) in [
        (
            r#"["https:\/\/files.example\/a\/b.tgz"]"#,
            r#"["http://gate.example:8080/up~https~files.example\/a\/b.tgz"]"#,
        ),
        (
            r#"["\u0068ttps://files.example/\u00fc\ud83d\ude00"]"#,
            r#"["http://gate.example:8080/up~https~files.example/\u00fc\ud83d\ude00"]"#,
        ),
        (r#"["https://files.example/a?\"b\\"]"#, r#"["http://gate.example:8080/up~https~files.example/a?%22b\\"]"#),
    ] {
        assert_eq!(written(json), changed);
        serde_json::from_str::<serde_json::Value>(changed).expect("JSON");
    }
    for json in
        [r#"["https://files.example/\x"]"#, r#"["https://files.example/\ud83d"]"#, r#"["https://files.example/\u00"]"#]
    {
        assert_eq!(written(json), json, "no JSON string");
    }
}

#[test]
fn keys_and_what_is_no_json_pass() {
    for json in [
        r#"{"https://files.example/a": {"https://files.example/b": 1}}"#,
        r#"[{"https://files.example/a" : null}, 1]"#,
        r#"{"a": "https://files.example/unended"#,
        "https://files.example/a",
        r#"'https://files.example/a'"#,
        "",
        "\"",
        "\\",
        "]]}}\u{0}",
    ] {
        assert_eq!(written(json), json);
    }
    assert_ne!(written(r#""https://files.example/a""#), r#""https://files.example/a""#, "a document of one string");
    let lines = "{\"a\":1}\n[\"https://files.example/a\"]\n";
    assert_ne!(written(lines), lines, "one document after another");
}

#[test]
fn relative_links_are_for_the_key_that_has_them() {
    let page = r#"{"files":[{"filename":"/a.whl","url":"/packages/a.whl","hashes":{"sha256":"/00ff"}},
        {"url":"../../packages/b.whl"},{"url":"https://files.example/c.whl","core-metadata":{"sha256":"11"}}]}"#;
    let changed = page
        .replace("\"url\":\"/packages", "\"url\":\"http://gate.example:8080/up/packages")
        .replace("https://files.example/", "http://gate.example:8080/up~https~files.example/");
    assert_eq!(String::from_utf8(whole(pypi, page.as_bytes())).expect("text"), changed);
    assert_eq!(written(r#"{"url":"/packages/a.whl"}"#), r#"{"url":"/packages/a.whl"}"#);
}

#[test]
fn no_string_is_held_beyond_the_longest_link() {
    let path = "a".repeat(LONGEST - "https://files.example/".len());
    let longest = format!("[\"https://files.example/{path}\"]");
    assert_ne!(written(&longest), longest);
    let longer = format!("[\"https://files.example/{path}a\", \"https://files.example/b\"]");
    assert_eq!(
        written(&longer),
        longer.replace("https://files.example/b", "http://gate.example:8080/up~https~files.example/b")
    );
    let mut json = npm();
    let mut out = Vec::new();
    json.push(b"{\"readme\":\"", &mut out);
    for _ in 0..1000 {
        json.push(&[b'h'; 1000], &mut out);
        assert!(json.held.len() <= LONGEST + 1);
    }
    assert!(out.len() > 900_000, "the rest is on its way");
}

#[test]
fn what_is_nested_without_end_passes() {
    let deep = format!("{}\"https://files.example/a\"", "[".repeat(100_000));
    assert_eq!(written(&deep), deep);
}

fn strings() -> impl Strategy<Value = String> {
    let link =
        prop_oneof!["https://files\\.example/[a-z0-9/.#=%-]{0,30}", "https:\\\\/\\\\/registry\\.example[a-z/]{0,10}"];
    prop_oneof![
        link,
        "sha512-[A-Za-z0-9+/]{20}==",
        "[ -~&&[^\"\\\\]]{0,20}",
        "(\\\\[nrtbf/\"\\\\]|\\\\u[0-9a-f]{4}|[a-zü]){0,12}"
    ]
}

fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![strings().prop_map(|text| format!("\"{text}\"")), Just("null".to_owned()), "[0-9]{1,4}"];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let object = prop::collection::vec((strings(), inner.clone()), 0..5).prop_map(|pairs| {
            let pairs: Vec<String> = pairs.into_iter().map(|(key, value)| format!("\"{key}\" : {value}")).collect();
            format!("{{{}}}", pairs.join(", "))
        });
        let array = prop::collection::vec(inner, 0..5).prop_map(|values| format!("[{}]", values.join(",")));
        prop_oneof![object, array]
    })
}

proptest! {
    // What a failure prints begins with `cc` and the seed.
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_json(text in json(), cuts in prop::collection::vec(1usize..40, 1..20)) {
        let once = whole(pypi, text.as_bytes());
        prop_assert_eq!(&apart(pypi, text.as_bytes(), &cuts), &once, "where it is cut makes no difference");
        prop_assert_eq!(&whole(pypi, &once), &once, "what is changed stays");
        let before: Result<serde_json::Value, _> = serde_json::from_str(&text);
        let after: Result<serde_json::Value, _> = serde_json::from_slice(&once);
        prop_assert_eq!(before.is_ok(), after.is_ok());
        let hashes = |text: &[u8]| {
            let text = String::from_utf8_lossy(text).into_owned();
            text.split('"').filter(|part| part.starts_with("sha512-")).map(str::to_owned).collect::<Vec<_>>()
        };
        prop_assert_eq!(hashes(text.as_bytes()), hashes(&once));
    }

    #[test]
    fn any_bytes(
        text in "([\"\\\\{}\\[\\],: /h#]|https://files\\.example|url|\\PC){0,60}",
        noise in prop::collection::vec(any::<u8>(), 0..20),
        cuts in prop::collection::vec(1usize..9, 1..9),
    ) {
        let bytes = [text.as_bytes(), &noise, text.as_bytes()].concat();
        let once = whole(pypi, &bytes);
        prop_assert_eq!(&apart(pypi, &bytes, &cuts), &once);
        prop_assert_eq!(whole(pypi, &once), once);
    }
}
