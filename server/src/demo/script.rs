//! Who is in the demo and what they do when. A script is a function of the time since the demo began, so that it can be
//! read and tested without running it.

use std::time::Duration;

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

/// One upstream.
pub(super) struct Part {
    /// Its name.
    pub(super) name: &'static str,
    /// What its host answers at a second of the demo; absent when nobody listens there.
    pub(super) answers: Option<fn(u64) -> Reply>,
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
pub(super) const CAST: [Part; 10] = [
    Part {
        name: "npm",
        answers: Some(|_| Reply::Good(15)),
        asks: &["/left-pad", "/@scope%2fparser", "/left-pad/-/left-pad-1.3.0.tgz"],
        calls: every(150),
    },
    Part { name: "pypi", answers: Some(flaps), asks: &["/simple/requests/", "/simple/numpy/"], calls: every(300) },
    // Nobody listens: connection refused from the first call on.
    Part { name: "crates", answers: None, asks: &["/api/v1/crates/serde", "/se/rd/serde"], calls: every(400) },
    Part { name: "maven", answers: Some(slow), asks: &["/org/example/core/1.0/core-1.0.pom"], calls: every(500) },
    Part { name: "rubygems", answers: Some(cuts), asks: &["/gems/rack-3.0.gem", "/info/rack"], calls: every(400) },
    Part { name: "accounts", answers: Some(limits), asks: &["/v1/accounts/42"], calls: every(500) },
    // Tripped once, then forgotten by its clients: only an operator looks at it again.
    Part {
        name: "debian",
        answers: Some(|_| Reply::Status(503, 5)),
        asks: &["/dists/stable/Release"],
        calls: Calls::Once(6),
    },
    Part {
        name: "docker",
        answers: Some(|_| Reply::Good(30)),
        asks: &["/v2/library/alpine/manifests/3"],
        calls: every(900),
    },
    Part { name: "golang", answers: Some(|_| Reply::Good(20)), asks: &["/example.com/mod/@v/list"], calls: every(700) },
    Part { name: "billing", answers: Some(|_| Reply::Good(10)), asks: &["/v1/invoices"], calls: Calls::Never },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trouble_comes_by_within_a_minute() {
        let said: Vec<Reply> =
            CAST.iter().filter_map(|part| part.answers).flat_map(|answers| (0..60).map(answers)).collect();
        assert!(said.iter().any(|reply| matches!(reply, Reply::Good(millis) if *millis >= 2000)), "a slow probe");
        assert!(said.iter().any(|reply| matches!(reply, Reply::Status(503, _))), "an outage");
        assert!(said.contains(&Reply::Cut) && said.iter().any(|reply| matches!(reply, Reply::TooMany(_))));
        assert!(CAST.iter().any(|part| part.answers.is_none()), "a host that refuses connections");
        assert!(
            CAST.iter().any(|part| part.calls == Calls::Never) && CAST.iter().any(|part| part.calls == Calls::Once(6))
        );
    }

    #[test]
    fn overrides_name_parts_that_are_called() {
        for (name, ..) in OVERRIDES {
            assert!(CAST.iter().any(|part| part.name == name && part.calls != Calls::Never), "{name}");
        }
    }
}
