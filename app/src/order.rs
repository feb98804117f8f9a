//! Which breakers a filter keeps and which stands first: one rule for the API's list and for the board, so that a list
//! sorted by either looks the same.

use crate::{
    backend::BreakerFilter,
    standing::Standing,
    wire::{
        breaker::{Breaker, Mode, State},
        time::Time,
    },
};

/// A breaker that opened this often ...
const FLAPPING_OPENS: u64 = 3;
/// ... and changed within this many seconds is flapping.
const FLAPPING_SECS: i64 = 600;

/// The words a list may be filtered by.
pub const WORDS: [&str; 9] =
    ["closed", "open", "half_open", "forced_open", "forced_closed", "latched", "cooling_down", "down", "waiting"];

/// Open and overdue with nobody probing, or held by an override without end: the board's word for it.
pub fn latched(breaker: &Breaker, now: Time) -> bool {
    Standing::of(breaker, now.millis()).latched()
}

/// Forced open, or without override open or half-open.
pub fn down(breaker: &Breaker) -> bool {
    match &breaker.held {
        Some(held) => held.mode == Mode::ForcedOpen,
        None => breaker.state != State::Closed,
    }
}

/// Closed for the moment, but it keeps opening.
pub fn flapping(breaker: &Breaker, now: Time) -> bool {
    breaker.state == State::Closed
        && breaker.held.is_none()
        && breaker.opens >= FLAPPING_OPENS
        && (now.0 - breaker.since.0).num_seconds() < FLAPPING_SECS
}

/// Whether the filter keeps this breaker. A word outside [`WORDS`] keeps none; the API refuses it before.
pub fn matches(breaker: &Breaker, filter: &BreakerFilter, now: Time) -> bool {
    let mode = breaker.held.as_ref().map(|held| held.mode);
    let state = match filter.state.as_deref() {
        None | Some("") => true,
        Some("closed") => breaker.state == State::Closed,
        Some("open") => breaker.state == State::Open,
        Some("half_open") => breaker.state == State::HalfOpen,
        Some("forced_open") => mode == Some(Mode::ForcedOpen),
        Some("forced_closed") => mode == Some(Mode::ForcedClosed),
        Some("latched") => latched(breaker, now),
        Some("cooling_down") => breaker.cooldown_until.is_some(),
        Some("down") => down(breaker),
        Some("waiting") => Standing::of(breaker, now.millis()) == Standing::Waiting,
        Some(_) => false,
    };
    let is = |wanted: &Option<String>, found: &dyn Fn(&str) -> bool| {
        wanted.as_deref().filter(|wanted| !wanted.is_empty()).is_none_or(found)
    };
    state
        && is(&filter.protocol, &|wanted| breaker.protocol == wanted)
        && is(&filter.upstream, &|wanted| breaker.upstreams.iter().any(|name| name == wanted))
        && is(&filter.service, &|wanted| breaker.services.iter().any(|service| serves(service, wanted)))
        && filter.q.as_deref().map(str::trim).filter(|q| !q.is_empty()).is_none_or(|q| {
            let q = q.to_lowercase();
            breaker.id.to_lowercase().contains(&q)
                || breaker.upstreams.iter().chain(&breaker.services).any(|name| name.to_lowercase().contains(&q))
                || breaker.services.iter().any(|service| is_about(&q, &service.to_lowercase()))
        })
}

/// Whether somebody who looks for a service, or for a path such as `/accounts.v1.Accounts/Get`, means what is configured.
/// `*` would be meant by everybody.
fn is_about(q: &str, configured: &str) -> bool {
    let service = q.trim_start_matches('/').split('/').next().unwrap_or_default();
    configured != "*" && serves(configured, service)
}

/// Whether a service goes where `accounts.v1.*`, a name or `*` is configured.
fn serves(configured: &str, service: &str) -> bool {
    match configured.strip_suffix('*') {
        Some(package) => service.starts_with(package),
        None => configured == service,
    }
}

/// How bad it is, worst first: forced closed over an open shadow; open and refusing now; latched; half-open; cooling
/// down, flapping; override with an end; closed.
pub fn rank(breaker: &Breaker, now: Time) -> u8 {
    match &breaker.held {
        Some(held) if held.mode == Mode::ForcedClosed && breaker.state == State::Open => 0,
        _ if latched(breaker, now) => 2,
        Some(_) => 5,
        None if breaker.state == State::Open => 1,
        None if breaker.state == State::HalfOpen => 3,
        None if breaker.cooldown_until.is_some() || flapping(breaker, now) => 4,
        None => 6,
    }
}

/// Sorts worst first; ties by refused per minute, then by id, so that the order is total.
pub fn worst_first(breakers: &mut [Breaker], now: Time) {
    breakers.sort_by(|a, b| {
        rank(a, now).cmp(&rank(b, now)).then(b.refused_per_min.cmp(&a.refused_per_min)).then_with(|| a.id.cmp(&b.id))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{sample::breaker, wire::breaker::Override};

    const HOUR: i64 = 3_600_000_000;

    fn held(mut breaker: Breaker, mode: Mode, until: Option<i64>) -> Breaker {
        breaker.held = Some(Override {
            mode,
            reason: "r".into(),
            by: "unverified: ana".into(),
            since: Time::from_micros(0),
            until: until.map(Time::from_micros),
        });
        breaker
    }

    fn all() -> Vec<Breaker> {
        let mut flapping = breaker("flapping", State::Closed);
        (flapping.opens, flapping.since) = (3, Time::from_micros(HOUR - 1));
        let mut cooling = breaker("cooling", State::Closed);
        cooling.cooldown_until = Some(Time::from_micros(2 * HOUR));
        let mut overdue = breaker("overdue", State::Open);
        overdue.probe_due = true;
        let mut busy = breaker("open-busy", State::Open);
        busy.refused_per_min = 9;
        let mut waiting = breaker("b-waiting", State::Closed);
        waiting.called = false;
        vec![
            held(breaker("shadow", State::Open), Mode::ForcedClosed, Some(2 * HOUR)),
            busy,
            breaker("open-quiet", State::Open),
            held(breaker("forced", State::Closed), Mode::ForcedOpen, None),
            overdue,
            breaker("probing", State::HalfOpen),
            cooling,
            flapping,
            held(breaker("ending", State::Closed), Mode::ForcedOpen, Some(2 * HOUR)),
            breaker("a-closed", State::Closed),
            waiting,
        ]
    }

    #[test]
    fn worst_stands_first() {
        let want: Vec<String> = all().into_iter().map(|breaker| breaker.id).collect();
        let mut got = all();
        got.reverse();
        worst_first(&mut got, Time::from_micros(HOUR));
        assert_eq!(got.into_iter().map(|breaker| breaker.id).collect::<Vec<_>>(), want);
    }

    #[test]
    fn each_word_keeps_what_it_says() {
        let kept = |word: &str| -> Vec<String> {
            let filter = BreakerFilter { state: Some(word.into()), ..BreakerFilter::default() };
            all()
                .into_iter()
                .filter(|breaker| matches(breaker, &filter, Time::from_micros(HOUR)))
                .map(|breaker| breaker.id)
                .collect()
        };
        assert_eq!(kept("open"), ["shadow", "open-busy", "open-quiet", "overdue"]);
        assert_eq!(kept("half_open"), ["probing"]);
        assert_eq!(kept("closed"), ["forced", "cooling", "flapping", "ending", "a-closed", "b-waiting"]);
        assert_eq!(kept("forced_open"), ["forced", "ending"]);
        assert_eq!(kept("forced_closed"), ["shadow"]);
        assert_eq!(kept("latched"), ["forced", "overdue"]);
        assert_eq!(kept("cooling_down"), ["cooling"]);
        assert_eq!(kept("down"), ["open-busy", "open-quiet", "forced", "overdue", "probing", "ending"]);
        assert_eq!(kept("ajar"), Vec::<String>::new());
        assert_eq!(kept("waiting"), ["b-waiting"]);
        assert_eq!(WORDS.map(|word| kept(word).is_empty()), [false; 9]);
    }

    #[test]
    fn text_is_looked_for_in_id_and_upstreams() {
        let find = |q: &str| {
            matches(
                &breaker("https:Registry.example", State::Closed),
                &BreakerFilter { q: Some(q.into()), ..BreakerFilter::default() },
                Time::from_micros(HOUR),
            )
        };
        assert!(find("registry") && find(" NPM ") && find(""));
        assert!(!find("pip"));
    }

    #[test]
    fn protocol_upstream_and_service_are_asked_for_by_name() {
        let mut accounts = breaker("accounts", State::Closed);
        (accounts.protocol, accounts.services) = ("grpc".into(), vec!["accounts.v1.*".into(), "audit.Log".into()]);
        let all = [breaker("https:registry.example", State::Closed), accounts];
        let kept = |filter: BreakerFilter| -> Vec<&str> {
            let kept = all.iter().filter(|one| matches(one, &filter, Time::from_micros(HOUR)));
            kept.map(|one| one.id.as_str()).collect()
        };
        let none = BreakerFilter::default;
        assert_eq!(kept(BreakerFilter { protocol: Some("grpc".into()), ..none() }), ["accounts"]);
        assert_eq!(kept(BreakerFilter { protocol: Some("http".into()), ..none() }), ["https:registry.example"]);
        assert_eq!(kept(BreakerFilter { protocol: Some(String::new()), ..none() }).len(), 2);
        for (service, found) in
            [("accounts.v1.Accounts", 1), ("audit.Log", 1), ("audit.Logs", 0), ("accounts.v10.Accounts", 0)]
        {
            assert_eq!(kept(BreakerFilter { service: Some(service.into()), ..none() }).len(), found, "{service}");
        }
        for q in ["AUDIT", "accounts.v1", "accounts.v1.Accounts", "/accounts.v1.Accounts/Get", "audit.Log/Add"] {
            assert_eq!(kept(BreakerFilter { q: Some(q.into()), ..none() }), ["accounts"], "{q}");
        }
        assert_eq!(kept(BreakerFilter { q: Some("accounts.v10.Accounts".into()), ..none() }), [""; 0]);
        let rest = Breaker { services: vec!["*".into()], ..all[1].clone() };
        let one = BreakerFilter { q: Some("ledger.v1.Ledger".into()), ..none() };
        assert!(!matches(&rest, &one, Time::from_micros(HOUR)), "whatever nobody else names is not meant by name");
        assert_eq!(kept(BreakerFilter { upstream: Some("np".into()), ..none() }), [""; 0]);
        assert_eq!(kept(BreakerFilter { upstream: Some("npm".into()), ..none() }).len(), 2);
    }
}
