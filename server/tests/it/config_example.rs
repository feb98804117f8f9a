//! The example file says every key with its default, and is believed only because this holds it to that.

use std::path::Path;

use fuseboard::config::{Config, Flags};

const EXAMPLE: &str = include_str!("../../../fuseboard.example.toml");

fn load(text: &str) -> Config {
    Config::load(text, Path::new("fuseboard.example.toml"), &Vec::new(), &Flags::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn it_equals_the_defaults() {
    let example = load(EXAMPLE);
    let bare = load("[[upstream]]\nname = \"npm\"\nurl = \"https://registry.example\"\n");
    // Debug text has every field of every part.
    assert_eq!(format!("{example:#?}"), format!("{bare:#?}"));
}

#[test]
fn its_comments_are_settings_too() {
    let commented = |key: &str| {
        let line = EXAMPLE.lines().find(|line| line.starts_with(&format!("# {key}")));
        let line = line.unwrap_or_else(|| panic!("{key} is not in the example"));
        line.trim_start_matches("# ").to_owned()
    };
    let config = load(&format!("{}\n{}\n{}\n", commented("node"), commented("[ops]"), commented("listen")));
    assert_eq!(config.node, "fuse-1");
    assert_eq!(config.ops.map(|at| at.port()), Some(9090));
    for section in ["gateway", "admin"] {
        let after = EXAMPLE.split(&format!("[{section}]")).nth(1).expect("the section");
        let line = after.lines().find(|line| line.starts_with("# public_url")).expect("its public_url");
        load(&format!("[{section}]\n{}\n", line.trim_start_matches("# ")));
    }
}

#[test]
fn its_grpc_upstream_equals_the_defaults_too() {
    let lines = EXAMPLE.lines().skip_while(|line| *line != "# [[upstream]]").take_while(|line| !line.is_empty());
    let said: String = lines
        .map(|line| line.trim_start_matches("# "))
        .filter(|line| line.starts_with('[') || line.split(' ').nth(1) == Some("="))
        .filter(|line| !line.starts_with("active_probe"))
        .map(|line| format!("{line}\n"))
        .collect();
    let bare: String = said.lines().take(5).map(|line| format!("{line}\n")).collect();
    assert!(bare.ends_with("wins\n") && said.contains("\nclassify = "), "{said}");
    assert_eq!(format!("{:#?}", load(&said)), format!("{:#?}", load(&bare)));
    let probe = EXAMPLE.lines().find(|line| line.starts_with("# active_probe = { service")).expect("it is there");
    load(&format!("{bare}{}", probe.trim_start_matches("# ")));
}

#[test]
fn it_has_every_key() {
    // The message for a key that is not there names those that are.
    for section in ["gateway", "admin", "store", "panel", "policy.registry", "policy.registry.wait"] {
        let text = format!("[{section}]\nno_such_key = 1\n");
        let error = Config::load(&text, Path::new("t"), &Vec::new(), &Flags::default()).expect_err("unknown");
        let known = error.message.split("known here: ").nth(1).expect("a list").to_owned();
        for key in known.split(", ") {
            assert!(EXAMPLE.contains(&format!("{key} =")), "{section}.{key} is not in the example");
        }
    }
}
