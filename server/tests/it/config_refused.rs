//! What could never work, or does not work yet, is refused by the field's name and says what it takes.

use std::path::Path;

use fuseboard::config::{Config, Flags};

fn refused(text: &str) -> (String, String) {
    match Config::load(text, Path::new("test.toml"), &Vec::new(), &Flags::default()) {
        Ok(_) => panic!("not refused:\n{text}"),
        Err(error) => (error.field, error.message),
    }
}

fn good(text: &str) {
    Config::load(text, Path::new("test.toml"), &Vec::new(), &Flags::default())
        .unwrap_or_else(|error| panic!("{error}"));
}

fn upstream(line: &str) -> String {
    format!("[[upstream]]\nname = \"npm\"\nurl = \"https://registry.example\"\n{line}\n")
}

#[track_caller]
fn names(text: &str, field: &str, words: &str) {
    let (at, message) = refused(text);
    assert_eq!(at, field, "{message}");
    assert!(message.contains(words), "{message:?} does not say {words:?}");
}

#[test]
fn what_could_never_recover() {
    let registry = |line: &str| format!("[policy.registry]\n{line}\n");
    names(&registry("half_open = { probes = 0 }"), "policy.registry.half_open.probes", "from 1");
    names(&registry("half_open = { successes = 0 }"), "policy.registry.half_open.successes", "from 1");
    let none = registry("trip = [{ failures = 0, within = \"1s\" }]");
    names(&none, "policy.registry.trip[0].failures", "from 1");
    let lease = registry("half_open = { lease = \"35s\" }");
    names(
        &format!("{lease}{}", upstream("")),
        "policy.registry.half_open.lease",
        "connect plus first_byte of npm (35s)",
    );
    good(&format!("{}{}", lease.replace("35s", "35001ms"), upstream("")));
    for rate in ["0.0", "1.5"] {
        let text = format!("[policy.mine]\ntrip = [{{ failure_rate = {rate}, within = \"30s\", min_calls = 20 }}]");
        names(&text, "policy.mine.trip[0].failure_rate", "1");
    }
    for (line, field) in [
        ("wait = { first = \"100us\" }", "policy.registry.wait.first"),
        ("wait = { first = \"10m\", max = \"5m\" }", "policy.registry.wait.max"),
        ("wait = { jitter = 1.5 }", "policy.registry.wait.jitter"),
        ("wait = { factor = 0.5 }", "policy.registry.wait.factor"),
    ] {
        assert_eq!(refused(&registry(line)).0, field);
    }
    names(&upstream("policy = \"mine\""), "upstream[0].policy", "it takes grpc, registry");
    let two = format!("{}{}", upstream(""), upstream("key = \"upstream\""));
    names(&two, "upstream[1].name", "taken");
}

#[test]
fn unknown_keys_wherever_they_stand() {
    names("nod = \"x\"", "nod", "known here: node");
    names("[gateway]\nport = 1", "gateway.port", "known here: listen, public_url");
    names("[auth]\npassword = \"x\"", "auth.password", "yet");
    names("[notify]\nurl = \"x\"", "notify.url", "yet");
    names(&upstream("timeout = \"5s\""), "upstream[0].timeout", "timeouts");
    names(&upstream("timeouts = { conect = \"5s\" }"), "upstream[0].timeouts.conect", "connect");
    names("[policy.registry]\nwait = { frist = \"5s\" }", "policy.registry.wait.frist", "first");
    let rule = "[policy.registry]\ntrip = [{ failures = 5, within = \"1s\", min_calls = 3 }]";
    names(rule, "policy.registry.trip[0].min_calls", "within");
}

#[test]
fn r32_upstreams_that_share_a_breaker_agree() {
    let two = |line: &str| {
        format!(
            "[[upstream]]\nname = \"a\"\nurl = \"https://h.example/a\"\n\
             [[upstream]]\nname = \"b\"\nurl = \"https://H.example:443/b\"\n{line}\n"
        )
    };
    names(&two("policy = \"grpc\""), "upstream[1].policy", "https:h.example");
    names(&two("classify = { cooldown = true }"), "upstream[1].classify", "\"a\"");
    for line in ["", "policy = \"registry\"", "policy = \"grpc\"\nkey = \"upstream\""] {
        good(&two(line));
    }
}

#[test]
fn two_listeners_of_one_address() {
    let at = |section: &str, listen: &str| format!("[{section}]\nlisten = \"{listen}\"\n");
    let both = format!("{}{}", at("gateway", "127.0.0.1:1001"), at("admin", "127.0.0.1:1001"));
    names(&both, "admin.listen", "127.0.0.1:1001 is taken by gateway.listen (127.0.0.1:1001)");
    let around = format!("{}{}", at("gateway", "0.0.0.0:1001"), at("admin", "127.0.0.1:1001"));
    names(&around, "admin.listen", "taken by gateway.listen (0.0.0.0:1001)");
    let within = format!("{}{}", at("gateway", "[::1]:1001"), at("ops", "[::]:1001"));
    names(&within, "ops.listen", "taken by gateway.listen ([::1]:1001)");
    // One that is set is at fault, not the default it runs into.
    names(&at("admin", "127.0.0.1:8080"), "admin.listen", "gateway.listen");
    names(&at("gateway", "127.0.0.1:3000"), "gateway.listen", "admin.listen");
    names(&at("gateway", "0.0.0.0:3000"), "gateway.listen", "admin.listen");
    names(&at("ops", "127.0.0.1:8080"), "ops.listen", "gateway.listen");
    names(&at("ops", "0.0.0.0:3000"), "ops.listen", "admin.listen");
    for (gateway, ops) in [
        ("127.0.0.1:0", "127.0.0.1:0"),
        ("127.0.0.1:1001", "127.0.0.2:1001"),
        ("127.0.0.1:1001", "[::1]:1001"),
        ("0.0.0.0:1001", "127.0.0.1:1002"),
    ] {
        good(&format!("{}{}", at("gateway", gateway), at("ops", ops)));
    }
}

#[test]
fn an_upstream_that_is_the_gateway_itself() {
    let both = |listen: &str, url: &str| {
        format!("[gateway]\nlisten = \"{listen}\"\n[[upstream]]\nname = \"npm\"\nurl = \"{url}\"\n")
    };
    for (listen, url) in [
        ("127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("127.0.0.1:8080", "http://localhost:8080/npm"),
        ("127.0.0.1:8080", "https://127.1:8080/x"),
        ("127.0.0.1:8080", "http://0.0.0.0:8080"),
        ("127.0.0.1:8080", "http://[::ffff:127.0.0.1]:8080"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("0.0.0.0:8080", "http://127.0.0.2:8080"),
        ("[::]:80", "http://[::1]"),
        ("10.0.0.7:80", "http://10.0.0.7/npm"),
    ] {
        names(&both(listen, url), "upstream[0].url", &format!("gateway.listen ({listen})"));
    }
    for (listen, url) in [
        ("127.0.0.1:8080", "http://127.0.0.1:8081"),
        ("127.0.0.1:8080", "http://127.0.0.2:8080"),
        ("127.0.0.1:8080", "http://10.0.0.7:8080"),
        ("10.0.0.7:8080", "http://localhost:8080"),
        ("127.0.0.1:8080", "https://registry.example:8080"),
        ("127.0.0.1:0", "http://127.0.0.1:80"),
    ] {
        good(&both(listen, url));
    }
    let public = |url: &str| {
        format!(
            "[gateway]\npublic_url = \"https://fuse.example\"\n{}",
            upstream("").replace("https://registry.example", url)
        )
    };
    for url in ["https://fuse.example", "https://FUSE.example:443/npm/x"] {
        names(&public(url), "upstream[0].url", "gateway.public_url (https://fuse.example/)");
    }
    for url in ["http://fuse.example/npm", "https://fuse.example/another/service", "https://fuse.example:8443/npm"] {
        good(&public(url));
    }
}

#[test]
fn r31_retries_that_are_too_many_or_end_before_they_begin() {
    names(&upstream("retry = { attempts = 0 }"), "upstream[0].retry.attempts", "from 1");
    names(&upstream("retry = { attempts = 11 }"), "upstream[0].retry.attempts", "1 (off) to 10");
    names(&upstream("retry = { base = \"0s\" }"), "upstream[0].retry.base", "1ms");
    names(&upstream("retry = { base = \"6s\" }"), "upstream[0].retry.max", "5s is less than base (6s)");
    names(&upstream("retry = { tries = 2 }"), "upstream[0].retry.tries", "attempts");
    names(&upstream("coalesce = 1"), "upstream[0].coalesce", "true or false");
    good(&upstream("retry = { attempts = 3, base = \"100ms\", max = \"1s\" }\ncoalesce = true"));
}

#[test]
fn a_name_that_no_path_can_hold() {
    let named = |name: &str| format!("[[upstream]]\nname = \"{name}\"\nurl = \"http://h.example\"\n");
    for name in [".", ".."] {
        names(&named(name), "upstream[0].name", "clients take out of a path");
    }
    for name in ["...", ".x", "a..b"] {
        good(&named(name));
    }
}

#[test]
fn a_probe_that_is_no_question() {
    names(&upstream("active_probe = { method = \"POST\" }"), "upstream[0].active_probe.method", "HEAD");
    names(&upstream("active_probe = { path = \"x\" }"), "upstream[0].active_probe.path", "/health");
}

#[test]
fn grpc_upstreams_that_could_not_be_reached_or_told_apart() {
    let grpc = |name: &str, url: &str, more: &str| {
        format!("[[upstream]]\nname = \"{name}\"\nurl = \"{url}\"\nprotocol = \"grpc\"\n{more}\n")
    };
    let one = |more: &str| grpc("a", "https://h.example", more);
    let with = |services: &str, more: &str| one(&format!("services = {services}\n{more}"));
    names(&upstream("protocol = \"soap\""), "upstream[0].protocol", "\"http\" or \"grpc\"");
    let both = "[[upstream]]\nname = \"a\"\nurl = \"grpc://h.example\"\nprotocol = \"http\"";
    names(both, "upstream[0].protocol", "the url says gRPC");
    names(&one(""), "upstream[0].services", "is missing");
    names(&with("[]", ""), "upstream[0].services", "is empty");
    names(&upstream("services = [\"a.*\"]"), "upstream[0].services", "protocol = \"grpc\" alone");
    for none in ["a.", ".a", "a..b", "a*", "*.a", "a/b", "", "a.*.b", "1a"] {
        assert_eq!(refused(&with(&format!("[\"a.B\", \"{none}\"]"), "")).0, "upstream[0].services[1]", "{none}");
    }
    names(&with("[\"a.B\", \"a.*\"]", ""), "upstream[0].services[1]", "overlaps \"a.B\"");
    names(&grpc("a", "https://h.example/x", "services = [\"*\"]"), "upstream[0].url", "has a path");
    let two = |first: &str, second: &str| {
        format!("{}{}", with(first, ""), grpc("b", "grpc://i.example", &format!("services = [\"c.D\", {second}]")))
    };
    names(&two("[\"a.*\"]", "\"a.*\""), "upstream[1].services[1]", "\"a.*\" goes to \"a\" already");
    names(&two("[\"a.B\"]", "\"a.B\""), "upstream[1].services[1]", "goes to \"a\" already");
    good(&two("[\"a.*\"]", "\"a.B\""));
    good(&two("[\"*\"]", "\"a.b.*\""));

    let more = |more: &str| with("[\"a.*\"]", more);
    names(&more("redirects = { follow = true }"), "upstream[0].redirects", "is for HTTP");
    names(&more("rewrite = [\"https://h.example\"]"), "upstream[0].rewrite", "is for HTTP");
    names(&more("active_probe = { path = \"/\" }"), "upstream[0].active_probe.path", "health check");
    names(&more("active_probe = { service = \"a/b\" }"), "upstream[0].active_probe.service", "grpc.health.v1.Health");
    names(&more("classify = { failures = [\"5xx\"] }"), "upstream[0].classify.failures[0]", "UNAVAILABLE");
    names(&more("classify = { alive = [\"OK\"] }"), "upstream[0].classify.alive[0]", "tells of trouble");
    names(&more("classify = { count_429 = true }"), "upstream[0].classify.count_429", "is for HTTP");
    names(&more("classify = { uncounted = [\"a b\"] }"), "upstream[0].classify.uncounted[0]", "no gRPC service");
    names(&upstream("classify = { uncounted = [] }"), "upstream[0].classify.uncounted", "unknown key");
    names(&upstream("classify = { failures = [\"UNAVAILABLE\"] }"), "upstream[0].classify.failures", "5xx");
}

#[test]
fn what_is_not_there_yet() {
    names("[admin]\nbase_path = \"/fuse\"", "admin.base_path", "not available yet");
    names("[admin]\nlisten = \"0.0.0.0:3000\"", "admin.listen", "loopback");
}

#[test]
fn links_that_could_not_lead_back() {
    names(&upstream("preset = \"nmp\""), "upstream[0].preset", "\"nmp\" is none; it takes \"npm\", \"pypi\"");
    good(&upstream("preset = \"npm\"\nrewrite = [\"https://files.example\", \"http://files.example:8081/\"]"));
    for (host, words) in [
        ("https://files.example/x", "host and port alone"),
        ("https://files.example/?x", "host and port alone"),
        ("https://ana:secret@files.example", "host and port alone"),
        ("files.example", "it takes http://HOST or https://HOST"),
        ("ftp://files.example", "no web address"),
        ("https://registry.example:443", "the upstream's own"),
        ("http://127.0.0.1:9001", "allow_private = true"),
        ("http://[::ffff:10.0.0.1]", "allow_private = true"),
        ("http://localhost:9001", "allow_private = true"),
    ] {
        names(&upstream(&format!("rewrite = [\"{host}\"]")), "upstream[0].rewrite[0]", words);
    }
    names(&upstream("rewrite = \"https://files.example\""), "upstream[0].rewrite", "a list");
    let twice = "rewrite = [\"https://files.example\", \"https://FILES.example:443\"]";
    names(&upstream(twice), "upstream[0].rewrite[1]", "named twice");
    good(&upstream("rewrite = [\"http://127.0.0.1:9001\"]\nallow_private = true"));
    let below = upstream("rewrite = [\"https://registry.example\"]").replace(".example\"\n", ".example/npm\"\n");
    good(&below);
    let own = format!(
        "[gateway]\npublic_url = \"https://gate.example\"\n{}",
        upstream("rewrite = [\"https://gate.example\"]")
    );
    names(&own, "upstream[0].rewrite[0]", "gateway.public_url");
}

#[test]
fn values_that_are_none() {
    names("[gateway]\nlisten = 8080", "gateway.listen", "is a whole number; it takes text in quotes");
    names("[gateway]\nlisten = \"here\"", "gateway.listen", "ADDRESS:PORT");
    names("[gateway]\npublic_url = \"https://fuse.example/x\"", "gateway.public_url", "host and port alone");
    names("[store]\nurl = \"postgres://x\"", "store.url", "sqlite:FILE");
    names("[store]\nkeep_probes = 30", "store.keep_probes", "\"90d\"");
    names("[store]\nkeep_probes = \"forever\"", "store.keep_probes", "to keep all of it say \"1000y\"");
    names("[store]\njournal_max = \"64\"", "store.journal_max", "\"64MB\"");
    names(&upstream("timeouts = { connect = \"0s\" }"), "upstream[0].timeouts.connect", "1ms");
    names(&upstream("classify = { failures = [\"6xx\"] }"), "upstream[0].classify.failures", "5xx");
    names(&upstream("redirects = { hosts = [\"a/b\"] }"), "upstream[0].redirects.hosts[0]", "*.cdn.example");
    names(&upstream("headers = { host = \"x\" }"), "upstream[0].headers.host", "cannot be set");
    names(&upstream("key = \"mine\""), "upstream[0].key", "\"origin\" or \"upstream\"");
    names("[[upstream]]\nurl = \"http://h.example\"", "upstream[0].name", "is missing");
    names("[[upstream]]\nname = \"a/b\"\nurl = \"http://h.example\"", "upstream[0].name", "letters");
    names("[[upstream]]\nname = \"a\"\nurl = \"http://h.example/?x=1\"", "upstream[0].url", "query");
    names("[ops]", "ops.listen", "is missing");
    names("[policy.mine]\ntrip = [{ within = \"1s\" }]", "policy.mine.trip[0]", "exactly one of");
}

#[test]
fn r39_no_message_repeats_a_secret() {
    let secret = "hunter2";
    for text in [
        format!("[[upstream]]\nname = \"a\"\nurl = \"https://ana:{secret}@h.example\""),
        format!("[[upstream]]\nname = \"a\"\nurl = \"https://h.example/?token={secret}\""),
        format!("[[upstream]]\nname = \"a\"\nurl = \"http://[{secret}]\""),
        upstream(&format!("headers = {{ authorization = \"{secret}\\n\" }}")),
        upstream(&format!("headers = {{ authorization = {secret} }}")),
    ] {
        let (field, message) = refused(&text);
        assert!(!message.contains(secret), "{field}: {message}");
    }
}

#[test]
fn a_classify_that_takes_back_what_it_says() {
    let classify = |inside: &str| upstream(&format!("classify = {{ {inside} }}"));
    names(&classify("failures = [\"429\", \"5xx\"]"), "upstream[0].classify.failures", "count_429 = true");
    names(&classify("count_429 = true, alive = [\"429\"]"), "upstream[0].classify.alive", "count_429 = false");
    names(&classify("alive = [\"5xx\"]"), "upstream[0].classify.alive", "500 to 599");
    names(
        &classify("failures = [\"503\", \"500\"], alive = [\"500-502\"]"),
        "upstream[0].classify.alive",
        "500 to 500",
    );
    for all in ["2xx", "200", "100-299"] {
        let failures = format!("failures = [\"{all}\", \"5xx\"]");
        names(&classify(&failures), "upstream[0].classify.failures", "ever recover");
    }
    good(&classify("failures = [\"2xx\", \"5xx\"], alive = [\"200\"]"));
    good(&classify("count_429 = true, failures = [\"429\", \"5xx\"]"));
    good(&classify("failures = [\"4xx\", \"5xx\"], alive = [\"404\", \"429\"]"));
    good(&classify("failures = [\"204\", \"5xx\"]"));
}

#[test]
fn a_policy_nobody_names_is_judged_like_the_others() {
    let mine = "[policy.mine]\nhalf_open = { lease = \"35s\" }\n";
    names(mine, "policy.mine.half_open.lease", "connect plus first_byte by default (35s)");
    names(&format!("{mine}{}", upstream("")), "policy.mine.half_open.lease", "by default");
    good(&mine.replace("35s", "36s"));
    let quick = upstream("policy = \"mine\"\ntimeouts = { first_byte = \"10s\" }");
    good(&format!("{mine}{quick}"));
}
