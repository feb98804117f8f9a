use std::path::Path;

use super::*;
use crate::config::{Config, Flags};

/// An upstream as configured.
pub(in crate::gateway::rewrite) fn entry(url: &str, more: &str) -> Entry {
    let text = format!("[[upstream]]\nname = \"up\"\nurl = \"{url}\"\n{more}\n");
    let config = Config::load(&text, Path::new("test.toml"), &Vec::new(), &Flags::default());
    let config = config.unwrap_or_else(|error| panic!("{error}"));
    config.upstreams.get("up").expect("it is configured").as_ref().clone()
}

/// The links of a page at a path of an upstream.
pub(in crate::gateway::rewrite) fn links(url: &str, rewrite: &str, path: &str) -> Links {
    let entry = entry(url, &format!("rewrite = [{rewrite}]"));
    let own = Url::parse("http://gate.example:8080/").expect("a URL");
    let places = Places::new(&entry, &own);
    let page = Url::parse(&format!("{}{path}", url.trim_end_matches('/'))).expect("a URL");
    Links::new(places, page, Url::parse(&format!("{own}up{path}")).expect("a URL"))
}

pub(in crate::gateway::rewrite) const FILES: &str =
    "\"https://files.example\", \"http://old.example:8081\", \"https://[2001:db8::1]\"";

fn page() -> Links {
    links("https://registry.example", FILES, "/simple/idna/")
}

fn absolute(text: &str) -> Option<String> {
    page().absolute(text).map(|splice| splice.on(text))
}

fn reference(text: &str) -> Option<String> {
    page().reference(text).map(|splice| splice.on(text))
}

const FILES_AT: &str = "http://gate.example:8080/up~https~files.example";

#[test]
fn what_belongs_to_a_host_is_pointed_back() {
    for (link, written) in [
        ("https://registry.example/lodash/-/lodash-1.0.0.tgz", "http://gate.example:8080/up/lodash/-/lodash-1.0.0.tgz"),
        ("https://registry.example", "http://gate.example:8080/up"),
        ("https://registry.example?x=1", "http://gate.example:8080/up?x=1"),
        ("https://files.example/a/b.whl#sha256=00ff", &format!("{FILES_AT}/a/b.whl#sha256=00ff")),
        ("HTTPS://Files.Example:443/A%2fb//c?q=%20", &format!("{FILES_AT}/A%2fb//c?q=%20")),
        ("https://files.example/{crate}/{version}", &format!("{FILES_AT}/{{crate}}/{{version}}")),
        ("http://old.example:8081/x", "http://gate.example:8080/up~http~old.example~8081/x"),
        ("https://[2001:DB8:0::1]/x", "http://gate.example:8080/up~https~%5B2001~db8~~1%5D/x"),
    ] {
        assert_eq!(absolute(link).as_deref(), Some(written), "{link}");
        assert_eq!(reference(link).as_deref(), Some(written), "{link}");
    }
}

#[test]
fn hosts_are_told_by_what_they_are_not_by_their_letters() {
    for link in [
        "https://files.example.evil/x",
        "https://files.example@evil.example/x",
        "https://evil.example/https://files.example/x",
        "https://evil.example/?u=https://files.example/x",
        "https://xfiles.example/x",
        "http://files.example/x",
        "https://files.example:444/x",
        "http://old.example/x",
        "https://user:secret@files.example/x",
        "https://user@files.example/x",
        "mailto:a@files.example",
        "ftp://files.example/x",
        "https://",
        "https://[",
    ] {
        assert_eq!((absolute(link), reference(link)), (None, None), "{link}");
    }
    assert_eq!(absolute("see https://files.example/x"), None, "text is no link");
    assert_eq!(absolute("//files.example/x"), None, "in JSON a link says its scheme");
}

#[test]
fn odd_spellings_come_out_as_a_client_reads_them() {
    for (link, written) in [
        ("https:\\\\files.example\\a", "/a"),
        ("https:///files.example/a", "/a"),
        ("  https://files.example/a ", "/a"),
        ("https://files.example/a b", "/a%20b"),
        ("https://files.example/x/../a", "/a"),
        ("https://files.example/x/%2e%2E/a", "/a"),
        ("https://fil\tes.example/a", "/a"),
        ("https://%66iles.example/a", "/a"),
        ("//files.example/a", "/a"),
        ("https://@files.example/a", "/a"),
    ] {
        assert_eq!(reference(link), Some(format!("{FILES_AT}{written}")), "{link:?}");
    }
    // One slash is a path, on a page of the same scheme.
    assert_eq!(reference("https:/a/b").as_deref(), Some("http://gate.example:8080/up/a/b"));
}

#[test]
fn relative_links_stay_where_they_lead_to_the_same_place() {
    for link in ["", "#top", "?x=1", "idna-3.whl#sha256=1", "../other/", "../../packages/a.whl", " ../x "] {
        assert_eq!(reference(link), None, "{link:?}");
    }
    for (link, written) in [
        ("/packages/a%2fb.whl#sha256=1", "http://gate.example:8080/up/packages/a%2fb.whl#sha256=1"),
        ("../../../../packages/a.whl", "http://gate.example:8080/up/packages/a.whl"),
        ("//registry.example/x", "http://gate.example:8080/up/x"),
        // The gateway's own scheme would be put before it.
        ("//elsewhere.example/x", "https://elsewhere.example/x"),
    ] {
        assert_eq!(reference(link).as_deref(), Some(written), "{link:?}");
    }
}

#[test]
fn an_upstream_is_only_what_is_below_its_path() {
    let page = links("https://registry.example/api/npm", FILES, "/lodash");
    let absolute = |text: &str| page.absolute(text).map(|splice| splice.on(text));
    assert_eq!(
        absolute("https://registry.example/api/npm/a/-/a.tgz").as_deref(),
        Some("http://gate.example:8080/up/a/-/a.tgz")
    );
    assert_eq!(absolute("https://registry.example/api/npm").as_deref(), Some("http://gate.example:8080/up"));
    assert_eq!(absolute("https://registry.example/api/npmx/a"), None);
    assert_eq!(absolute("https://registry.example/api/npm/../secret"), None);
    let link = "https://registry.example/other/../api/npm/a";
    assert_eq!(absolute(link).as_deref(), Some("http://gate.example:8080/up/a"));
    // What leads out of it is reached only where it is listed.
    let link = "../../other/x";
    let splice = page.reference(link).expect("the gateway has another there");
    assert_eq!(splice.on(link), "https://registry.example/other/x");
    let page = links("https://registry.example/api/npm", "\"https://registry.example\"", "/lodash");
    let splice = page.reference(link).expect("listed");
    assert_eq!(splice.on(link), "http://gate.example:8080/up~https~registry.example/other/x");
}

#[test]
fn after_a_redirect_links_count_from_where_it_led() {
    let mut page = page();
    page.page = Url::parse("https://files.example/index/idna/").expect("a URL");
    let link = "a.whl";
    let splice = page.reference(link).expect("moved");
    assert_eq!(splice.on(link), format!("{FILES_AT}/index/idna/a.whl"));
    page.page = Url::parse("https://elsewhere.example/index/").expect("a URL");
    let splice = page.reference(link).expect("moved");
    assert_eq!(splice.on(link), "https://elsewhere.example/index/a.whl");
}

#[test]
fn a_base_moves_the_links_of_its_page() {
    let mut page = page();
    page.rebase("https://files.example/deep/");
    assert_eq!(page.reference("a.whl"), None, "the base itself is written anew");
    let splice = page.reference("/a.whl").expect("the gateway has another root");
    assert_eq!(splice.on("/a.whl"), format!("{FILES_AT}/a.whl"));
    page.rebase("https://elsewhere.example/");
    assert_eq!(page.reference("/a.whl"), None);
}

#[test]
fn other_rules_are_another_mark() {
    let places = |own: &str, rewrite: &str| {
        Places::new(&entry("https://registry.example", rewrite), &Url::parse(own).expect("a URL")).fingerprint()
    };
    let one = places("http://gate.example/", "");
    assert_eq!(one, places("http://gate.example/", ""));
    assert_ne!(one, places("http://gate.example:81/", ""));
    assert_ne!(one, places("http://gate.example/", "rewrite = [\"https://files.example\"]"));
}
