//! Flags over environment over file over defaults; `${VAR}` and files for secrets.

use std::path::{Path, PathBuf};

use fuseboard::config::{Config, Flags};

fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn load(text: &str, pairs: &[(&str, &str)], flags: &Flags) -> Result<Config, String> {
    Config::load(text, Path::new("test.toml"), &env(pairs), flags).map_err(|error| error.to_string())
}

#[test]
fn the_nearer_source_wins() {
    let file = "[gateway]\nlisten = \"127.0.0.1:1001\"\n[store]\nurl = \"sqlite:file.db\"\n[panel]\nmax = 7\n";
    let set = [
        ("FUSEBOARD_GATEWAY__LISTEN", "127.0.0.1:1002"),
        ("FUSEBOARD_PANEL__MAX", "8"),
        ("FUSEBOARD_NODE", "not-a-setting"),
    ];
    let flags =
        Flags { gateway: "127.0.0.1:1003".parse().ok(), store: Some("sqlite:flag.db".to_owned()), ..Flags::default() };

    let config = load(file, &set, &flags).expect("good");
    assert_eq!(config.gateway.listen.port(), 1003, "flags first");
    assert_eq!(config.store.path, PathBuf::from("flag.db"));
    assert_eq!(config.panel.max, 8, "then the environment, whose text may be a number");
    assert_ne!(config.node, "not-a-setting", "only names with two underscores are settings");

    let config = load(file, &set, &Flags::default()).expect("good");
    assert_eq!(config.gateway.listen.port(), 1002);
    let config = load(file, &[], &Flags::default()).expect("good");
    assert_eq!((config.gateway.listen.port(), config.panel.max), (1001, 7), "then the file");
    let config = load("", &[], &Flags::default()).expect("good");
    assert_eq!((config.gateway.listen.port(), config.admin.listen.port()), (8080, 3000), "then the defaults");
}

#[test]
fn the_environment_reaches_tables_but_not_lists() {
    let set = [
        ("FUSEBOARD_POLICY__REGISTRY__HALF_OPEN__PROBES", "3"),
        ("FUSEBOARD_POLICY__REGISTRY__ALIVE_BREAKS_RUN", "true"),
    ];
    let config = load("", &set, &Flags::default()).expect("good");
    let registry = config.policies["registry"].settings().clone();
    assert_eq!((registry.half_open.probes, registry.alive_breaks_run), (3, true));

    let error = load("", &[("FUSEBOARD_GATEWAY__PORT", "1")], &Flags::default()).expect_err("no such key");
    assert!(error.contains("gateway.port") && error.contains("known here: listen"), "{error}");
    let file = "[[upstream]]\nname = \"npm\"\nurl = \"http://h.example\"\n";
    let error = load(file, &[("FUSEBOARD_UPSTREAM__URL", "x")], &Flags::default()).expect_err("a list");
    assert!(error.contains("FUSEBOARD_UPSTREAM__URL") && error.contains("lists have no variable"), "{error}");
}

#[test]
fn a_flag_alone_is_an_upstream_and_changes_one_of_the_file() {
    let named =
        |name: &str, url: &str| Flags { upstreams: vec![(name.to_owned(), url.to_owned())], ..Flags::default() };
    let config = load("", &[], &named("npm", "https://registry.example")).expect("enough to start");
    let npm = config.upstreams.get("npm").expect("there");
    assert_eq!((&*npm.breaker, config.upstreams.len()), ("https:registry.example", 1));

    let file = "[[upstream]]\nname = \"npm\"\nurl = \"http://old.example\"\nqueue = { concurrent = 3 }\n";
    let config = load(file, &[], &named("npm", "http://new.example")).expect("good");
    let npm = config.upstreams.get("npm").expect("there");
    assert_eq!((&*npm.breaker, npm.upstream.queue.concurrent), ("http:new.example", 3));

    let mut twice = named("npm", "http://a.example");
    twice.upstreams.push(("npm".to_owned(), "http://b.example".to_owned()));
    let error = load("", &[], &twice).expect_err("one of them would be lost");
    assert!(error.contains("--upstream") && error.contains("\"npm\" is given twice"), "{error}");
}

#[test]
fn what_a_flag_is_at_fault_for_is_said_of_the_flag() {
    let file = "[[upstream]]\nname = \"npm\"\nurl = \"http://h.example\"\nclassify = { cooldown = true }\n";
    let refused = |file: &str, name: &str, url: &str| {
        let flags = Flags { upstreams: vec![(name.to_owned(), url.to_owned())], ..Flags::default() };
        let error = load(file, &[], &flags).expect_err(url);
        assert!(!error.contains("upstream["), "{error}");
        error
    };
    for (name, url, said) in [
        ("x", "ftp://y", "--upstream x=…: \"ftp\" is not spoken"),
        ("x", "http://y?q", "--upstream x=…: has a query"),
        ("x", "http://h.example/x", "--upstream x=…: its classify differs from that of \"npm\""),
        ("a/b", "http://y", "--upstream a/b=…: its name \"a/b\" does not fit"),
        ("npm", "ftp://y", "--upstream npm=…: \"ftp\" is not spoken"),
    ] {
        let error = refused(file, name, url);
        assert!(error.starts_with(said), "{error}");
    }
    let error = refused("[policy.registry]\nhalf_open = { lease = \"1s\" }\n", "x", "http://y");
    assert!(error.starts_with("policy.registry.half_open.lease") && error.contains("of x (35s)"), "{error}");

    // The flag says its address alone; what else is wrong with it the file says.
    let flags = Flags { upstreams: vec![("npm".to_owned(), "http://y".to_owned())], ..Flags::default() };
    let error = load(&file.replace("classify", "clasify"), &[], &flags).expect_err("an unknown key");
    assert!(error.starts_with("upstream[0].clasify: "), "{error}");
}

#[test]
fn text_takes_variables_after_parsing() {
    let file = "[[upstream]]\nname = \"npm\"\nurl = \"http://h.example\"\n\
                headers = { authorization = \"Bearer ${TOKEN}\", x-price = \"5$$\" }\n";
    // Quotes in the value would end the text if it were put in before parsing.
    let config = load(file, &[("TOKEN", "a\"b")], &Flags::default()).expect("good");
    let headers = &config.upstreams.get("npm").expect("there").upstream.headers;
    assert_eq!(headers["authorization"], "Bearer a\"b");
    assert_eq!(headers["x-price"], "5$");
    assert!(headers.values().all(http::HeaderValue::is_sensitive));

    let error = load(file, &[], &Flags::default()).expect_err("not set");
    assert!(error.contains("upstream[0].headers.authorization") && error.contains("${TOKEN}"), "{error}");
}

#[test]
fn secrets_come_from_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("token");
    std::fs::write(&secret, "Bearer from-a-file\n").expect("written");
    let file = |path: &Path| {
        format!(
            "[[upstream]]\nname = \"npm\"\nurl = \"http://h.example\"\nheaders = {{ authorization_file = {path:?} }}\n"
        )
    };
    let config = load(&file(&secret), &[], &Flags::default()).expect("good");
    let npm = config.upstreams.get("npm").expect("there");
    assert_eq!(npm.upstream.headers["authorization"], "Bearer from-a-file");

    let error = load(&file(&folder.path().join("none")), &[], &Flags::default()).expect_err("no file");
    assert!(error.contains("upstream[0].headers.authorization_file") && error.contains("readable file"), "{error}");
}

#[test]
fn what_works_but_should_be_looked_at_is_said() {
    let file = "[gateway]\nlisten = \"0.0.0.0:8080\"\n[store]\nkeep_probes = \"1d\"\n\
                [[upstream]]\nname = \"npm\"\nurl = \"http://h.example\"\nheaders = { x-token = \"t\" }\n";
    let config = load(file, &[], &Flags::default()).expect("good");
    let [headers] = &config.warnings[..] else { panic!("{:?}", config.warnings) };
    assert!(headers.contains("0.0.0.0:8080") && headers.contains("npm"), "{headers}");
    assert!(load("", &[], &Flags::default()).expect("good").warnings.is_empty());
}
