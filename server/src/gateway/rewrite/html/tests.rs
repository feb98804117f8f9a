use proptest::prelude::*;

use super::*;
use crate::gateway::rewrite::{
    links::tests::{FILES, links},
    scan::tests::{apart, whole},
};

fn page() -> Html {
    Html::new(links("https://registry.example", FILES, "/simple/idna/"))
}

fn written(text: &str) -> String {
    String::from_utf8(whole(page, text.as_bytes())).expect("text")
}

const AT: &str = "http://gate.example:8080/up~https~files.example";

#[test]
fn the_link_is_changed_and_its_hash_is_not() {
    let index = "<!DOCTYPE html>\n<html><head><meta name=\"pypi:repository-version\" content=\"1.1\"></head><body>\n\
        <a href=\"https://files.example/packages/a-1.whl#sha256=00ff\" data-requires-python=\"&gt;=3.8\"\n\
        data-dist-info-metadata=\"sha256=11\" data-core-metadata=\"https://files.example/not-a-link\" >a-1.whl</a><br />\n\
        <a href=\"../../packages/b.whl#sha256=22\">https://files.example/text</a></body></html>\n<!--SERIAL 1-->";
    let changed = index.replace("href=\"https://files.example/", &format!("href=\"{AT}/"));
    assert_eq!(written(index), changed);
    assert_ne!(changed, index);
}

#[test]
fn every_way_to_write_an_attribute() {
    for (tag, changed) in [
        ("<a href='https://files.example/a'>", format!("<a href='{AT}/a'>")),
        ("<A HREF=https://files.example/a>", format!("<A HREF={AT}/a>")),
        ("<a\thref = \n\"https://files.example/a\"/>", format!("<a\thref = \n\"{AT}/a\"/>")),
        ("<a x href=https://files.example/a y>", format!("<a x href={AT}/a y>")),
        ("<a x=1 y='2>' z=\"<\" href=\"https://files.example/a\">", format!("<a x=1 y='2>' z=\"<\" href=\"{AT}/a\">")),
        ("<img/src=\"https://files.example/a\">", format!("<img/src=\"{AT}/a\">")),
        ("<a href=\"https&colon;&sol;/files.example/a\">", format!("<a href=\"{AT}/a\">")),
        (
            "<a href=\"&#104;&#x74;tps://files.example/a?b=1&amp;c=&quot;\">",
            format!("<a href=\"{AT}/a?b=1&amp;c=&quot;\">"),
        ),
        ("<a href=\"https://files.example/a?b&copy=1&unknown;\">", format!("<a href=\"{AT}/a?b&copy=1&unknown;\">")),
        ("<a href='https://files.example/it&#39;s here&amp;'>", format!("<a href='{AT}/it&#39;s%20here&amp;'>")),
        ("<a href=\"/packages/a\">", "<a href=\"http://gate.example:8080/up/packages/a\">".to_owned()),
        ("<a href>b</a><a href=\"https://files.example/a\">", format!("<a href>b</a><a href=\"{AT}/a\">")),
        ("a < b <3 </> <a href=\"https://files.example/a\">", format!("a < b <3 </> <a href=\"{AT}/a\">")),
    ] {
        assert_eq!(written(tag), changed);
    }
}

#[test]
fn what_is_no_tag_passes() {
    const LINK: &str = "<a href=\"https://files.example/a\">";
    for text in [
        format!("<!-- {LINK} -- > --!x {LINK} -->"),
        format!("<!--!>{LINK}-->"),
        format!("<script>let a = '{LINK}'; </scripty> {LINK}</script>"),
        format!("<STYLE>{LINK}</StYlE >"),
        format!("<title>{LINK}</title\n>"),
        format!("<textarea></text{LINK}</textarea>"),
        format!("<plaintext>{LINK}</plaintext>{LINK}"),
        "<!a href=\"https://files.example/a\">".to_owned(),
        "<? href=\"https://files.example/a\" ?>".to_owned(),
        "</a href=\"https://files.example/a\">".to_owned(),
        "</ a href=\"https://files.example/a\">".to_owned(),
        "<a data-href=\"https://files.example/a\" hreflang=\"https://files.example/a\">".to_owned(),
        "<a title=\"<a href=https://files.example/a>\">".to_owned(),
        "<a href=\"https://files.example/unended".to_owned(),
    ] {
        assert_eq!(written(&text), text);
    }
    // And where they end, tags go on.
    for before in
        ["<!-->", "<!--->", "<!-- a --!>", "<!---->", "<script></script x='>'>", "<!doctype html>", "<svg/>", "<!>"]
    {
        let text = format!("{before}{LINK}");
        assert_eq!(written(&text), format!("{before}<a href=\"{AT}/a\">"), "{before}");
    }
}

#[test]
fn the_first_base_counts() {
    let text =
        "<base target=_top><base href=\"https://files.example/deep/\"><base href=\"/x/\"><a href=\"/a\"><a href=\"b\">";
    let changed =
        format!("<base target=_top><base href=\"{AT}/deep/\"><base href=\"{AT}/x/\"><a href=\"{AT}/a\"><a href=\"b\">");
    assert_eq!(written(text), changed);
}

#[test]
fn no_value_is_held_beyond_the_longest_link() {
    let path = "a".repeat(LONGEST - "https://files.example/".len());
    let longest = format!("<a href=\"https://files.example/{path}\">");
    assert_ne!(written(&longest), longest);
    let longer = format!("<a href=\"https://files.example/{path}a\">");
    assert_eq!(written(&format!("{longer}<a href=https://files.example/b>")), format!("{longer}<a href={AT}/b>"));
}

fn markup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("<a href=\"".to_owned()),
        Just("<a href=".to_owned()),
        Just("<base href='".to_owned()),
        Just("https://files.example/a#sha256=00ff".to_owned()),
        Just("https://files.example/a?x=&amp;y".to_owned()),
        Just("/packages/b.whl".to_owned()),
        Just("<script>".to_owned()),
        Just("</script>".to_owned()),
        Just("<!--".to_owned()),
        Just("-->".to_owned()),
        "[<>\"'=/ !&;#x0-9a-c-]{1,4}",
        "\\PC{0,3}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    // What a failure prints begins with `cc` and the seed.
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_markup(text in markup(), cuts in prop::collection::vec(1usize..12, 1..12)) {
        let once = whole(page, text.as_bytes());
        prop_assert_eq!(&apart(page, text.as_bytes(), &cuts), &once, "where it is cut makes no difference");
        prop_assert_eq!(whole(page, &once), once, "what is changed stays");
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200), cuts in prop::collection::vec(1usize..9, 1..9)) {
        prop_assert_eq!(apart(page, &bytes, &cuts), whole(page, &bytes));
    }

    #[test]
    fn hashes_and_attributes_of_any_index(
        files in prop::collection::vec(("[a-z0-9][a-z0-9._%+-]{0,20}", "[0-9a-f]{64}", any::<bool>()), 0..12),
    ) {
        let index = |prefix: &str| {
            files.iter().map(|(name, hash, at_files)| {
                let start = if *at_files { prefix } else { "../../packages" };
                format!("<a href=\"{start}/{name}#sha256={hash}\" data-core-metadata=\"sha256={hash}\">{name}</a><br/>\n")
            }).collect::<String>()
        };
        prop_assert_eq!(written(&index("https://files.example")), index(AT));
    }
}
