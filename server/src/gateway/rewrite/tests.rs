use super::{links::tests::entry, *};

fn kind(preset: &str, media_type: &str) -> Option<Kind> {
    let entry =
        entry("https://registry.example", &format!("preset = \"{preset}\"\nrewrite = [\"https://files.example\"]"));
    let own = Url::parse("http://gate.example/").expect("a URL");
    let changing = Changing {
        places: Places::new(&entry, &own),
        fingerprint: 0,
        seen: None,
        head: false,
        candidate: true,
        by_path: false,
        entry: &entry,
    };
    changing.kind_of(media_type)
}

#[test]
fn each_preset_changes_what_its_clients_read() {
    let json = Some(Kind::Json);
    let html = Some(Kind::Html);
    for (media_type, npm, pypi, cargo, generic) in [
        ("application/json", json, json, None, json),
        ("Application/JSON; charset=utf-8", json, json, None, json),
        ("application/vnd.npm.install-v1+json; q=1.0", json, None, None, json),
        ("application/vnd.pypi.simple.v1+json", None, json, None, json),
        ("application/vnd.pypi.simple.v1+html", None, html, None, None),
        ("text/html;charset=UTF-8", None, html, None, html),
        ("application/ld+json", None, None, None, json),
        ("text/html; charset=utf-16", None, None, None, None),
        ("application/vnd.oci.image.manifest.v1+json", None, None, None, None),
        ("application/octet-stream", None, None, None, None),
        ("text/plain", None, None, None, None),
        ("*/*", None, None, None, None),
        ("", None, None, None, None),
    ] {
        let got = ["npm", "pypi", "cargo", "generic", "maven"].map(|preset| kind(preset, media_type));
        assert_eq!(got, [npm, pypi, cargo, generic, generic], "{media_type}");
    }
}

#[test]
fn only_codings_that_can_be_undone_are_asked_for() {
    for (asked, sent) in [
        ("gzip, deflate, br, zstd", "gzip, br"),
        ("gzip;q=0.5, *;q=0.1", "gzip;q=0.5"),
        ("identity", "identity"),
        ("zstd", "identity"),
        ("", "identity"),
    ] {
        let mut headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(asked))]);
        limit_codings(&mut headers);
        assert_eq!(headers[ACCEPT_ENCODING], sent, "{asked}");
    }
    let mut headers = HeaderMap::new();
    limit_codings(&mut headers);
    assert!(headers.is_empty(), "a file is asked for as the client asked");
}
