use serde_json::json;

use super::*;
use crate::{
    format::Zone,
    sample::{self, at},
    wire::{
        action::{ActionAnswer, ActionResult},
        breaker::{Breaker, Mode, Override, Rule, State},
        event::{Probe, StoreHealth, Transition},
        time::Time,
        timeline::Availability,
    },
};

const NOW: i64 = 1_796_007_600_000; // 03:00 UTC
const DOWN: i64 = 1_796_001_120_000; // 01:12 UTC

fn trip() -> Transition {
    let cause = json!({
        "kind": "tripped", "rule": "failures", "counts": {"have": 5, "calls": 5},
        "threshold": {"need": 5, "within_ms": 10_000}, "wait_ms": 30_000, "phase": "connect", "status": null,
    });
    sample::transition(7, "a", DOWN, State::Closed, State::Open, cause)
}

fn down() -> Breaker {
    let mut breaker = sample::open("a", NOW + 134_000);
    breaker.down_since = Some(at(DOWN));
    breaker.refused_since_down = 212;
    breaker.attempt = 6;
    breaker.last_transition = Some(trip());
    breaker
}

#[test]
fn the_panel_opens_with_one_sentence() {
    let say = |refused, turned_away, watched, waiting, all| {
        let summary = Summary { refused, turned_away, longest: (refused > 0).then(|| at(DOWN)), watched, waiting, all };
        panel(&summary, NOW, Zone::Utc)
    };
    assert_eq!(say(2, 41, 0, 0, 14), "2 hosts refused, 41 calls a minute turned away, longest since 01:12 UTC.");
    assert_eq!(say(1, 1, 3, 0, 14), "1 host refused, 1 call a minute turned away, since 01:12 UTC.");
    assert_eq!(say(0, 0, 1, 0, 14), "No host refused; 1 breaker to watch.");
    assert_eq!(say(0, 0, 0, 2, 14), "All 14 hosts closed: traffic flows.");
    assert_eq!(say(0, 0, 0, 2, 2), "Nothing called yet; 2 hosts waiting for the first call.");
}

#[test]
fn a_breaker_opens_with_prose() {
    assert_eq!(
        lead(&down(), Some(&trip()), NOW, Zone::Utc).join(" "),
        "Refusing for 1 h 48 min, since 01:12 UTC. 5 calls failed in 10 s (could not connect). Probe 7 at 03:02:14 UTC, in 2:14. 212 refused."
    );
    let overdue = sample::open("a", NOW - 60_000);
    assert!(lead(&overdue, None, NOW, Zone::Utc).join(" ").contains("nobody calls"));
}

#[test]
fn r12_calls_that_asked_for_one_path_say_so() {
    let cause = |more: serde_json::Value| {
        let mut cause = json!({"kind": "tripped", "rule": "failures", "counts": {"have": 5, "calls": 5},
            "threshold": {"need": 5, "within_ms": 10_000}, "wait_ms": 30_000, "phase": "connect"});
        cause.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        sample::transition(7, "a", DOWN, State::Closed, State::Open, cause)
    };
    let summary = cause(json!({"deciding": 5, "path": "/lodash"}));
    let said = "Opened: 5 calls failed in 10 s: could not connect, all 5 on one path. Next probe after 30 s.";
    assert_eq!(transition(&summary), said);
    assert!(lead(&down(), Some(&summary), NOW, Zone::Utc)[1].ends_with("(could not connect, all 5 on one path)."));
    let calls =
        |paths: &[&str]| json!({"evidence": paths.iter().map(|path| json!({"path": path})).collect::<Vec<_>>()});
    assert_eq!(transition(&cause(calls(&["/a"; 5]))), said, "rows without a summary");
    for other in [cause(calls(&["/a", "/b"])), cause(json!({"deciding": 5, "path": null}))] {
        assert!(!transition(&other).contains("path"), "{}", transition(&other));
    }
    let both = cause(json!({"deciding": 2, "path": "/a", "counts": {"have": 2, "calls": 2}}));
    assert!(transition(&both).contains("could not connect, both on one path."), "{}", transition(&both));
    let many = cause(json!({"deciding": 20, "path": "/a", "counts": {"have": 30, "calls": 30}}));
    assert!(transition(&many).contains("the last 20 on one path"), "no more are kept");
    let probe = json!({"kind": "probe_failed", "status": 503, "wait_ms": 60_000, "deciding": 1, "path": "/lodash"});
    let probe = sample::transition(8, "a", NOW, State::HalfOpen, State::Open, probe);
    assert_eq!(transition(&probe), "The probe failed: answered 503, on /lodash. Next probe after 1 min.");
}

#[test]
fn an_override_says_who_why_and_until_when() {
    let mut held = sample::held(Mode::ForcedOpen, Some(NOW + 61_000));
    held.held.as_mut().expect("held").since = at(DOWN);
    assert_eq!(
        lead(&held, None, NOW, Zone::Utc).join(" "),
        "Held open by ana (unverified) for 1 h 48 min, since 01:12 UTC: CDN move. Ends by itself at 03:01 UTC, in 1:01."
    );
    let endless = lead(&sample::held(Mode::ForcedClosed, None), None, NOW, Zone::Utc).join(" ");
    assert!(endless.contains("It has no end"), "{endless}");
}

#[test]
fn a_row_says_phase_and_rule() {
    assert_eq!(why(&down()), "5 calls failed in 10 s · could not connect");
    let mut probed = down();
    let cause = json!({"kind": "probe_failed", "status": 503, "phase": "head", "wait_ms": 60_000});
    probed.last_transition = Some(sample::transition(8, "a", NOW, State::HalfOpen, State::Open, cause));
    assert_eq!(why(&probed), "probe 6 failed · answered 503");
    for (status, phase, said) in [(200, "body", "answer not complete"), (200, "trailers", "no status at the end")] {
        let cause = json!({"kind": "probe_failed", "status": status, "phase": phase, "wait_ms": 60_000});
        probed.last_transition = Some(sample::transition(8, "a", NOW, State::HalfOpen, State::Open, cause));
        assert_eq!(why(&probed), format!("probe 6 failed · {said}"));
    }
    assert_eq!(why(&sample::held(Mode::ForcedOpen, None)), "ana (unverified): CDN move");
}

#[test]
fn evidence_stands_in_where_the_summary_is_missing() {
    let cause = json!({"kind": "tripped", "evidence": [{"phase": "dns"}, {"phase": "tls"}]});
    assert_eq!(met(&serde_json::from_value(cause).expect("a cause")).as_deref(), Some("TLS handshake failed"));
}

#[test]
fn every_cause_is_a_sentence() {
    let kinds = [
        "tripped",
        "probe_failed",
        "probe_lost",
        "probes_succeeded",
        "wait_elapsed",
        "probe_requested",
        "reset",
        "override_set",
        "override_changed",
        "override_cleared",
        "override_expired",
        "cooldown_started",
        "cooldown_ended",
        "restored",
        "policy_changed",
        "evicted",
    ];
    for kind in kinds {
        let row = sample::transition(1, "a", NOW, State::Open, State::Open, json!({"kind": kind}));
        let said = transition(&row);
        assert!(said.ends_with('.') && !said.starts_with("Changed"), "{kind}: {said}");
    }
    assert_eq!(transition(&trip()), "Opened: 5 calls failed in 10 s: could not connect. Next probe after 30 s.");
}

#[test]
fn the_hosts_wish_stands_as_it_was_sent_and_as_it_was_granted() {
    let said = |kind: &str, more: serde_json::Value| {
        let mut cause =
            json!({"kind": kind, "retry_after": {"raw": "3600", "applied_ms": 300_000}, "wait_ms": 300_000});
        cause.as_object_mut().expect("an object").extend(more.as_object().expect("one too").clone());
        transition(&sample::transition(1, "a", NOW, State::Closed, State::Open, cause))
    };
    let granted = "The host said Retry-After: 3600, and got 5 min.";
    assert_eq!(
        said("probe_failed", json!({"status": 503})),
        format!("The probe failed: answered 503. Next probe after 5 min. {granted}")
    );
    assert_eq!(said("cooldown_started", json!({})), format!("The host asked for quiet, 5 min of it. {granted}"));
}

#[test]
fn the_policy_says_what_trips_it_and_that_it_never_gives_up() {
    let mut breaker = sample::breaker("a", State::Closed);
    let rule = Rule {
        rule: "failures".into(),
        have: Some(0.0),
        need: 5.0,
        within_ms: Some(10_000),
        min_calls: None,
        slow_after_ms: None,
    };
    breaker.rules = vec![rule];
    assert_eq!(
        policy(&breaker).join(" "),
        "Opens at 5 failed calls in 10 s. Then it refuses every call for 30 s, and twice as long after each failed \
         probe, up to 5 min. After each wait one call goes through as the probe; a good one closes it, a failed one \
         starts the next wait. It never gives up: however long the host was down, it is probed within 5 min of a call."
    );
    let grpc =
        Breaker { protocol: "grpc".into(), services: vec!["ledger.v1.*".into(), "pay.v1.Pay".into()], ..breaker };
    assert!(policy(&grpc)[0].starts_with("Speaks gRPC for ledger.v1.*, pay.v1.Pay;"), "{:?}", policy(&grpc));
}

#[test]
fn r44_all_of_it_only_when_nothing_was_down_and_unwatched_time_is_in_no_share() {
    let known = Availability { share: Some(1.0), ..Availability::default() };
    assert_eq!(availability(&known), "Up 100 %.");
    assert_eq!(availability(&Availability { share: None, unknown_ms: 5, ..known }), "Not watched in this time.");
    let down = Availability { share: Some(0.999_99), down_ms: 860, unknown_ms: 10_800_000, ..known };
    assert_eq!(availability(&down), "Up 99.99 %, down for 860 ms. Not watched for 3 h.");
    let planned = Availability { share: Some(0.5), down_ms: 120_000, planned_ms: 60_000, cooldown_ms: 30_000, ..known };
    let want = "Up 50 %, down for 2 min, 1 min of it as operators wanted. Kept quiet as the host asked for 30 s.";
    assert_eq!(availability(&planned), want);
    let all = Availability { share: Some(0.000_01), down_ms: 60_000, planned_ms: 60_000, ..known };
    assert_eq!(availability(&all), "Up under 0.01 %, down for 1 min, as operators wanted.");
}

#[test]
fn rates_without_data_are_no_number() {
    let rate = Rule {
        rule: "failure_rate".into(),
        have: None,
        need: 0.5,
        within_ms: Some(30_000),
        min_calls: Some(20),
        slow_after_ms: None,
    };
    assert_eq!(rule_stands(&rate), "no data");
    assert_eq!(super::rule(&rate), "50 % of calls failed in 30 s, from 20 calls on");
}

#[test]
fn a_lost_probe_says_how_long_it_was_waited_for() {
    let mut breaker = sample::open("a", 0);
    breaker.attempt = 3;
    let lost = sample::transition(1, "a", 0, State::HalfOpen, State::Open, json!({"kind": "probe_lost"}));
    breaker.last_transition = Some(lost);
    assert_eq!(why(&breaker), "probe 3 had no answer in 40 s");
}

#[test]
fn a_store_in_trouble_says_what_still_works() {
    let failing =
        StoreHealth { waiting: 1_204, dropped: 0, failing_since: Some(at(DOWN)), error: Some("disk full".into()) };
    assert_eq!(
        store(&failing, NOW, Zone::Utc).as_deref(),
        Some("History not written since 01:12 UTC (disk full). Breakers still work. 1,204 facts wait.")
    );
    let said = store(&StoreHealth { waiting: 1, ..failing }, NOW, Zone::Utc);
    assert!(said.is_some_and(|said| said.ends_with(" 1 fact waits.")));
    assert_eq!(store(&StoreHealth::default(), NOW, Zone::Utc), None);
}

#[test]
fn a_grpc_answer_is_said_by_its_name() {
    for (code, phase, said) in [
        ("UNAVAILABLE", "trailers", "answered UNAVAILABLE"),
        ("UNAVAILABLE", "connect", "could not connect"),
        ("DEADLINE_EXCEEDED", "deadline", "missed the deadline"),
    ] {
        let cause = json!({"kind": "probe_failed", "status": 14, "code": code, "phase": phase, "wait_ms": 60_000});
        assert_eq!(met(&serde_json::from_value(cause).expect("a cause")).as_deref(), Some(said), "{phase}");
    }
    let row = Probe {
        code: Some("NOT_FOUND".into()),
        sent: Some(1),
        received: Some(0),
        ..probe_row("alive", Some(5), Some("trailers"))
    };
    let said = super::probe(&row);
    assert_eq!(said, "Answered, client at fault, answered NOT_FOUND, 1 message sent, 0 back after 12 ms");
}

fn probe_row(outcome: &str, status: Option<u16>, phase: Option<&str>) -> Probe {
    Probe {
        seq: 1,
        node: "n".into(),
        breaker: "a".into(),
        at: at(0),
        duration_ms: 12.0,
        generation: 1,
        outcome: outcome.into(),
        phase: phase.map(Into::into),
        why: None,
        status,
        code: None,
        sent: None,
        received: None,
        error: None,
        method: None,
        path: None,
        synthetic: false,
    }
}

#[test]
fn probes_say_what_became_of_them() {
    let probe = |outcome: &str, status, phase| super::probe(&probe_row(outcome, status, phase));
    assert_eq!(probe("success", Some(200), None), "Good, answered 200 after 12 ms");
    assert_eq!(probe("failure", None, Some("connect")), "Failed, could not connect after 12 ms");
    assert_eq!(probe("alive", Some(404), None), "Answered, client at fault, answered 404 after 12 ms");
}

#[test]
fn a_plan_says_what_it_touches_and_whose_override_it_ends() {
    let one = |id: &str, status: u16, by: Option<&str>| ActionResult {
        breaker: id.into(),
        status,
        changed: true,
        detail: "It is forced open already.".into(),
        applied: false,
        calls_per_min: 170,
        replaces: by.map(|by| Override {
            mode: Mode::ForcedOpen,
            reason: "CDN move".into(),
            by: by.into(),
            since: Time::from_micros(0),
            until: None,
        }),
        held: None,
        undo: None,
    };
    let results = vec![one("a", 200, Some("unverified: Ana")), one("b", 200, Some("Ben")), one("c", 409, None)];
    let answer = ActionAnswer { dry_run: true, breakers: 12, calls_per_min: 340, undo: None, results };
    assert_eq!(
        plan(&answer, false),
        "Touches 12 breakers, 340 calls a minute; ends Ana's override on 1 and Ben's override on 1."
    );
    assert_eq!(done("Forced open", &answer), "Forced open: 2 breakers. 1 refused.");
    assert_eq!(undone(&answer), "Undone on 2. Not on c: It is forced open already.");
    let many = ActionAnswer { results: ["b", "c", "d"].map(|id| one(id, 409, None)).into(), ..answer.clone() };
    assert_eq!(undone(&many), "Undone on 0. Not on b and 2 others: It is forced open already.");
    let alone = ActionAnswer { results: vec![one("c", 409, None)], ..answer.clone() };
    assert_eq!(undone(&alone), "It is forced open already.");
    let whole = ActionAnswer { results: vec![one("b", 200, None)], ..answer.clone() };
    assert_eq!(undone(&whole), "Undone: everything stands as it stood.");
    let single = ActionAnswer { results: vec![one("c", 409, None)], ..answer.clone() };
    assert_eq!(done("Forced open", &single), "It is forced open already.");
    let lost = ActionResult { applied: true, ..one("a", 503, None) };
    let lost = ActionAnswer { results: vec![lost], ..answer };
    assert_eq!(done("Forced open", &lost), "Forced open now, but would be lost at a restart.");
    let many = ActionAnswer { results: vec![lost.results[0].clone(), one("b", 200, None)], ..lost.clone() };
    assert_eq!(done("Forced open", &many), "Forced open: 2 breakers. Not stored: it would be lost at a restart.");
    let one = ActionAnswer { results: vec![one("a", 200, Some("unverified: Ana"))], breakers: 1, ..lost };
    assert_eq!(plan(&one, false), "Touches 1 breaker, 340 calls a minute; this ends Ana's override.");
    assert_eq!(
        plan(&one, true),
        "Touches 1 breaker, 340 calls a minute; this ends Ana's override, once that is ticked."
    );
}

#[test]
fn a_row_still_says_what_opened_it_after_an_override_or_a_restart() {
    let trip = json!({"kind": "tripped", "rule": "failures", "counts": {"have": 5}, "threshold": {"within_ms": 10_000}, "phase": "connect"});
    for kind in ["override_expired", "override_cleared", "restored"] {
        let row = sample::transition(7, "a", 0, State::Open, State::Open, json!({"kind": kind}));
        let mut one = Breaker { last_transition: Some(row), ..sample::open("a", NOW + 1) };
        assert_ne!(why(&one), "", "{kind}");
        one.opened = serde_json::from_value(trip.clone()).expect("a cause");
        assert_eq!(why(&one), "5 calls failed in 10 s · could not connect", "{kind}");
        let said = lead(&one, None, NOW, Zone::Utc).join(" ");
        assert!(said.contains("5 calls failed in 10 s (could not connect)."), "{said}");
    }
}
