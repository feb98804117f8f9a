//! Who is in the demo and what they do when. A script is a function of the time since the demo began, so that it can be
//! read and tested without running it.

use std::time::Duration;

use fuseboard_breaker::grpc::Code;

/// How a host answers a call that arrives now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    /// 200 after this many milliseconds.
    Good(u64),
    /// This status after this many milliseconds.
    Status(u16, u64),
    /// 200 whose body breaks off.
    Cut,
    /// 429 that asks for this many seconds of quiet.
    TooMany(u64),
}

/// How a gRPC service answers a call that arrives now: with so many messages, one every so many milliseconds, and a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Said {
    /// Messages before the end.
    pub(super) messages: u32,
    /// Milliseconds before each of them, and before the end.
    pub(super) every: u64,
    /// The status it ends with; absent when it never does.
    pub(super) ends: Option<(Code, &'static str)>,
}

/// What stands behind an upstream.
pub(super) enum Behind {
    /// Nobody: connections are refused.
    Nobody,
    /// A host, and what it answers at a second of the demo.
    Http(fn(u64) -> Reply),
    /// A gRPC service, and what it answers a method at a second of the demo.
    Grpc { services: &'static str, answers: fn(u64, &str) -> Said },
}

/// One upstream.
pub(super) struct Part {
    /// Its name.
    pub(super) name: &'static str,
    /// Where its calls go.
    pub(super) behind: Behind,
    /// What its clients ask for, in turn.
    pub(super) asks: &'static [&'static str],
    /// When they ask.
    pub(super) calls: Calls,
}

/// When clients call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Calls {
    /// Again and again with this pause.
    Every(Duration),
    /// This many, then no more.
    Once(u32),
    /// Nobody does.
    Never,
}

const fn every(millis: u64) -> Calls {
    Calls::Every(Duration::from_millis(millis))
}

/// In the order of the configuration.
pub(super) const CAST: [Part; 11] = [
    Part {
        name: "npm",
        behind: Behind::Http(|_| Reply::Good(15)),
        asks: &["/left-pad", "/@scope%2fparser", "/left-pad/-/left-pad-1.3.0.tgz"],
        calls: every(150),
    },
    Part {
        name: "pypi",
        behind: Behind::Http(flaps),
        asks: &["/simple/requests/", "/simple/numpy/"],
        calls: every(300),
    },
    // Nobody listens: connection refused from the first call on.
    Part { name: "crates", behind: Behind::Nobody, asks: &["/api/v1/crates/serde", "/se/rd/serde"], calls: every(400) },
    Part {
        name: "maven",
        behind: Behind::Http(slow),
        asks: &["/org/example/core/1.0/core-1.0.pom"],
        calls: every(500),
    },
    Part {
        name: "rubygems",
        behind: Behind::Http(cuts),
        asks: &["/gems/rack-3.0.gem", "/info/rack"],
        calls: every(400),
    },
    Part { name: "accounts", behind: Behind::Http(limits), asks: &["/v1/accounts/42"], calls: every(500) },
    // Tripped once, then forgotten by its clients: only an operator looks at it again.
    Part {
        name: "debian",
        behind: Behind::Http(|_| Reply::Status(503, 5)),
        asks: &["/dists/stable/Release"],
        calls: Calls::Once(6),
    },
    Part {
        name: "docker",
        behind: Behind::Http(|_| Reply::Good(30)),
        asks: &["/v2/library/alpine/manifests/3"],
        calls: every(900),
    },
    Part {
        name: "golang",
        behind: Behind::Http(|_| Reply::Good(20)),
        asks: &["/example.com/mod/@v/list"],
        calls: every(700),
    },
    // Judged by the status at the end of each call, whatever it said before.
    Part {
        name: "ledger",
        behind: Behind::Grpc { services: "ledger.v1.*", answers: books },
        asks: &["/ledger.v1.Ledger/GetBalance", "/ledger.v1.Ledger/WatchEntries", "/ledger.v1.Ledger/FindAccount"],
        calls: every(350),
    },
    Part { name: "billing", behind: Behind::Http(|_| Reply::Good(10)), asks: &["/v1/invoices"], calls: Calls::Never },
];

/// An operator's override: upstream, mode, reason, minutes.
pub(super) const OVERRIDES: [(&str, &str, &str, u64); 2] = [
    ("docker", "forced_open", "Registry moves to new machines, no pulls until it is done", 30),
    ("golang", "forced_closed", "Health checks lie during the proxy's upgrade, keep traffic flowing", 60),
];

/// Fails for a while, comes back slowly, is well again.
fn flaps(second: u64) -> Reply {
    match second % 45 {
        0..12 => Reply::Good(20),
        12..26 => Reply::Status(503, 10),
        26..38 => Reply::Good(3000),
        _ => Reply::Good(20),
    }
}

/// Takes calls and sits on them; its probes are long enough to be watched.
fn slow(second: u64) -> Reply {
    match second % 70 {
        0..8 => Reply::Good(200),
        8..48 => Reply::Status(504, 4000),
        _ => Reply::Good(2500),
    }
}

/// Begins good answers and does not finish them.
fn cuts(second: u64) -> Reply {
    match second % 60 {
        20..45 => Reply::Cut,
        _ => Reply::Good(25),
    }
}

/// Has a limit and says so.
fn limits(second: u64) -> Reply {
    match second % 35 {
        10..13 => Reply::TooMany(9),
        _ => Reply::Good(12),
    }
}

/// Accepts every call, and in the midst of an outage breaks them off, then sits on them.
fn books(second: u64, method: &str) -> Said {
    let said = |messages, every, ends| Said { messages, every, ends: Some(ends) };
    match (second % 50, method) {
        (10..22, "WatchEntries") => said(2, 30, (Code::Unavailable, "the ledger's storage is failing over")),
        (10..22, _) => said(0, 10, (Code::Unavailable, "the ledger's storage is failing over")),
        (22..30, _) => Said { messages: 0, every: 0, ends: None },
        (_, "WatchEntries") => said(5, 40, (Code::Ok, "")),
        (_, "FindAccount") => said(0, 8, (Code::NotFound, "no account of this name")),
        _ => said(1, 12, (Code::Ok, "")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trouble_comes_by_within_a_minute() {
        let hosts =
            CAST.iter().filter_map(|part| if let Behind::Http(answers) = part.behind { Some(answers) } else { None });
        let said: Vec<Reply> = hosts.flat_map(|answers| (0..60).map(answers)).collect();
        assert!(said.iter().any(|reply| matches!(reply, Reply::Good(millis) if *millis >= 2000)), "a slow probe");
        assert!(said.iter().any(|reply| matches!(reply, Reply::Status(503, _))), "an outage");
        assert!(said.contains(&Reply::Cut) && said.iter().any(|reply| matches!(reply, Reply::TooMany(_))));
        assert!(CAST.iter().any(|part| matches!(part.behind, Behind::Nobody)), "a host that refuses connections");
        assert!(
            CAST.iter().any(|part| part.calls == Calls::Never) && CAST.iter().any(|part| part.calls == Calls::Once(6))
        );
    }

    #[test]
    fn a_grpc_service_is_well_breaks_off_streams_and_hangs_within_a_minute() {
        let said: Vec<Said> = CAST
            .iter()
            .filter_map(
                |part| if let Behind::Grpc { answers, .. } = part.behind { Some((answers, part.asks)) } else { None },
            )
            .flat_map(|(answers, asks)| {
                let methods = asks.iter().filter_map(|path| path.rsplit('/').next());
                methods.flat_map(move |method| (0..60).map(move |second| answers(second, method)))
            })
            .collect();
        let ends = |code| move |said: &Said| said.ends.is_some_and(|(end, _)| end == code);
        assert!(said.iter().any(|said| said.messages > 1 && ends(Code::Ok)(said)), "a stream");
        assert!(said.iter().any(|said| said.messages > 1 && ends(Code::Unavailable)(said)), "one that fails late");
        assert!(said.iter().any(ends(Code::NotFound)), "the client's own fault");
        assert!(said.iter().any(|said| said.ends.is_none()), "a service that hangs");
    }

    #[test]
    fn overrides_name_parts_that_are_called() {
        for (name, ..) in OVERRIDES {
            assert!(CAST.iter().any(|part| part.name == name && part.calls != Calls::Never), "{name}");
        }
    }
}
