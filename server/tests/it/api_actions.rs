//! Probe now, one action on many breakers, and undo.

use fuseboard_app::wire::{
    action::{ActionAnswer, ActionResult, ProbeResult},
    breaker::{Breaker, BreakerList, Mode, State},
    event::{Audit, Page, Probe, Transition},
};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::{Connection, Executor, sqlite::SqliteConnectOptions};

use crate::{
    api_breakers::trip,
    support::{desk::Desk, switch::Switch},
};

struct Story {
    hosts: Vec<Switch>,
    app: Desk,
}

const NAMES: [&str; 3] = ["npm", "pip", "cargo"];

impl Story {
    async fn begin() -> Self {
        let mut hosts = Vec::new();
        for _ in NAMES {
            hosts.push(Switch::start().await);
        }
        let config: String = hosts.iter().zip(NAMES).map(|(host, name)| host.upstream(name)).collect();
        Self { app: Desk::start(&config).await, hosts }
    }

    fn path(&self, at: usize) -> String {
        format!("/api/v1/breakers/{}", self.hosts[at].breaker())
    }

    async fn breaker(&self, at: usize) -> Breaker {
        self.app.read(&self.path(at)).await
    }

    async fn post(&self, path: &str, body: Value) -> crate::support::desk::Answer {
        self.app.act(Method::POST, &format!("/api/v1{path}"), body).await
    }

    async fn bulk(&self, body: Value) -> ActionAnswer {
        let answer = self.post("/actions", body).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        answer.json()
    }

    async fn undo(&self, seq: u64) -> ActionAnswer {
        let answer = self.post("/undo", json!({"seq": seq, "by": "bo"})).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        answer.json()
    }

    async fn hold(&self, at: usize, body: Value) -> Breaker {
        let answer = self.app.act(Method::PUT, &format!("{}/override", self.path(at)), body).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        answer.json()
    }

    async fn audit(&self) -> Vec<Audit> {
        self.app.read::<Page<Audit>>("/api/v1/audit").await.rows
    }

    async fn causes(&self) -> Vec<String> {
        let page: Page<Transition> = self.app.read("/api/v1/transitions").await;
        page.rows.into_iter().rev().map(|row| row.cause.kind).collect()
    }
}

async fn probe(story: &Story, at: usize) -> ProbeResult {
    let path = format!("{}/probe", story.path(at));
    let answer = story.app.act(Method::POST, &path, json!({"by": "ana", "reason": "it should be back"})).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    answer.json()
}

#[tokio::test]
async fn r20_probe_now_outside_the_wait_a_bad_one_changes_nothing_and_a_good_one_begins_the_round() {
    let story = Story::begin().await;
    trip(&story.app, &story.hosts[0], "npm").await;
    let before = story.breaker(0).await;
    story.hosts[0].says(503);
    let bad = probe(&story, 0).await;
    assert_eq!((bad.outcome.as_str(), bad.status, bad.method.as_str()), ("failure", Some(503), "HEAD"));
    assert!(bad.detail.contains("status 503") && bad.detail.contains("The wait goes on"), "{}", bad.detail);
    let after = story.breaker(0).await;
    assert_eq!(
        (after.state, after.generation, after.next_probe_at),
        (State::Open, before.generation, before.next_probe_at)
    );
    assert_eq!(story.hosts[0].seen(), 6, "one request");

    story.hosts[0].says(200);
    let good = probe(&story, 0).await;
    assert_eq!((good.outcome.as_str(), good.breaker.state), ("success", State::Closed), "{}", good.detail);
    story.app.stored().await;
    assert_eq!(story.causes().await, ["tripped", "probe_requested", "probes_succeeded"]);
    let probes: Page<Probe> = story.app.read("/api/v1/probes").await;
    assert_eq!(
        probes.rows.iter().map(|row| (&*row.outcome, row.synthetic)).collect::<Vec<_>>(),
        [("success", true), ("failure", true)]
    );
    let audit = story.audit().await;
    let rows: Vec<_> = audit
        .iter()
        .rev()
        .map(|row| (&*row.action, row.detail["outcome"].clone(), row.detail["changed"].clone()))
        .collect();
    assert_eq!(rows, [("probe", json!("failure"), json!(false)), ("probe", json!("success"), json!(true))]);
    assert_eq!(
        (audit[0].actor.name.as_str(), audit[0].reason.as_deref()),
        ("unverified: ana", Some("it should be back"))
    );
}

#[tokio::test]
async fn r20_probe_now_needs_no_body_and_closed_it_is_an_ordinary_call() {
    let story = Story::begin().await;
    let path = format!("{}/probe", story.path(0));
    let answer = story.app.send(story.app.admin(), Method::POST, &path, &[], "").await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let found: ProbeResult = answer.json();
    assert_eq!(
        (found.outcome.as_str(), found.breaker.state, found.breaker.counts.success),
        ("success", State::Closed, 1)
    );
    story.app.stored().await;
    assert!(story.app.read::<Page<Probe>>("/api/v1/probes").await.rows.is_empty(), "no probe row for an ordinary call");
    assert_eq!(story.audit().await.len(), 1);
    let nobody = story.app.send(story.app.admin(), Method::POST, "/api/v1/breakers/nobody/probe", &[], "").await;
    assert_eq!(nobody.problem(), (404, None));
    let typed = story.app.send(story.app.admin(), Method::POST, &path, &[("content-type", "text/plain")], "").await;
    assert_eq!(typed.problem(), (415, None));
}

#[tokio::test]
async fn r20_probe_now_asks_a_host_no_upstream_names_any_more() {
    let story = Story::begin().await;
    trip(&story.app, &story.hosts[0], "npm").await;
    assert_eq!(story.app.reload(&story.hosts[1].upstream("other")).await.status, StatusCode::OK);
    let found = probe(&story, 0).await;
    assert_eq!((found.outcome.as_str(), found.path.as_str(), found.breaker.state), ("success", "/", State::Closed));
}

#[tokio::test]
async fn r20_probe_now_is_refused_in_words_where_nothing_may_be_sent() {
    let story = Story::begin().await;
    story.hold(0, json!({"mode": "forced_open", "reason": "CDN move", "until": null, "by": "ana"})).await;
    let refused = story.app.act(Method::POST, &format!("{}/probe", story.path(0)), json!({})).await;
    assert_eq!(refused.problem(), (409, None));
    assert!(refused.body.contains("release it first"), "{}", refused.body);
    assert_eq!(story.hosts[0].seen(), 0);
    let dry = story.bulk(json!({"action": "probe", "filter": {}, "dry_run": true})).await;
    assert_eq!(dry.results.iter().filter(|one| one.status == 409).count(), 1, "{dry:?}");
    assert_eq!((dry.breakers, story.hosts[1].seen()), (2, 0), "and nothing was sent");
    let all = story.bulk(json!({"action": "probe", "filter": {}})).await;
    assert_eq!((all.breakers, all.results.len()), (2, 3), "one refusal stops no other: {all:?}");
    assert_eq!((story.hosts[1].seen(), story.hosts[2].seen()), (1, 1));
}

#[tokio::test]
async fn a_dry_run_says_what_the_action_then_does() {
    let story = Story::begin().await;
    trip(&story.app, &story.hosts[1], "pip").await;
    story.hold(2, json!({"mode": "forced_closed", "reason": "we need it", "for_ms": 600_000, "by": "ana"})).await;
    let cursor = story.app.app().journal.cursor();
    let ids: Vec<_> = story.hosts.iter().map(Switch::breaker).chain(["nobody".to_owned()]).collect();
    let action = |dry_run: bool| json!({"action": "force_open", "ids": ids, "reason": "maintenance", "for_ms": 3_600_000, "by": "bo", "dry_run": dry_run});
    let dry = story.bulk(action(true)).await;
    assert_eq!(story.app.app().journal.cursor(), cursor, "a dry run does nothing");
    assert!(story.breaker(0).await.held.is_none());
    let wet = story.bulk(action(false)).await;
    let shape = |answer: &ActionAnswer| -> Vec<_> {
        let part = |one: &ActionResult| {
            (one.breaker.clone(), one.status, one.changed, one.held, one.calls_per_min, one.replaces.is_some())
        };
        answer.results.iter().map(part).collect()
    };
    assert_eq!(shape(&dry), shape(&wet));
    assert_eq!((dry.breakers, dry.calls_per_min), (wet.breakers, wet.calls_per_min));
    assert_eq!((wet.breakers, wet.calls_per_min), (3, 5), "{wet:?}");
    assert_eq!(wet.results.iter().map(|one| one.status).collect::<Vec<_>>(), [200, 200, 200, 404]);
    let (would, did) = (&dry.results[2], &wet.results[2]);
    assert!(
        would.detail.starts_with("Would be forced open until ")
            && would.detail.contains("ends ana's override (forced closed, \"we need it\")"),
        "{}",
        would.detail
    );
    assert!(
        did.detail.starts_with("Forced open until ") && did.detail.contains("ended ana's override"),
        "{}",
        did.detail
    );
    assert_eq!(would.replaces.as_ref().map(|held| held.mode), Some(Mode::ForcedClosed));
    for at in 0..3 {
        assert_eq!(story.breaker(at).await.held.map(|held| held.mode), Some(Mode::ForcedOpen));
    }
    // Answered means stored: the rows are read without waiting for anything.
    assert_eq!(story.audit().await.iter().filter(|row| row.reason.as_deref() == Some("maintenance")).count(), 3);
}

#[tokio::test]
async fn a_bulk_reset_ends_nobodys_override_by_accident_and_goes_on() {
    let story = Story::begin().await;
    trip(&story.app, &story.hosts[0], "npm").await;
    story.hold(1, json!({"mode": "forced_open", "reason": "CDN move", "until": null, "by": "ana"})).await;
    let reset = |more: Value| {
        let mut body = json!({"action": "reset", "filter": {}, "reason": "all is well", "by": "bo"});
        body.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        body
    };
    let dry = story.bulk(reset(json!({"dry_run": true}))).await;
    let wet = story.bulk(reset(json!({}))).await;
    let status = |answer: &ActionAnswer, at: usize| {
        let id = story.hosts[at].breaker();
        answer.results.iter().find(|one| one.breaker == id).map(|one| (one.status, one.changed)).expect("a result")
    };
    for answer in [&dry, &wet] {
        assert_eq!([0, 1, 2].map(|at| status(answer, at)), [(200, true), (409, false), (200, false)], "{answer:?}");
    }
    assert_eq!(wet.undo, None, "a reset cannot be undone");
    assert_eq!(story.breaker(0).await.state, State::Closed);
    assert!(story.breaker(1).await.held.is_some());
    let meant = story.bulk(reset(json!({"end_override": true}))).await;
    assert_eq!(status(&meant, 1), (200, true));
    assert!(story.breaker(1).await.held.is_none());
}

#[tokio::test]
async fn a_filter_chooses_as_the_list_does() {
    let story = Story::begin().await;
    trip(&story.app, &story.hosts[1], "pip").await;
    let chosen = async |filter: Value| -> Vec<String> {
        let body = json!({"action": "release", "filter": filter, "reason": "r", "dry_run": true});
        story.bulk(body).await.results.into_iter().map(|one| one.breaker).collect()
    };
    let list: BreakerList = story.app.read("/api/v1/breakers").await;
    assert_eq!(chosen(json!({})).await, list.breakers.into_iter().map(|one| one.id).collect::<Vec<_>>());
    assert_eq!(chosen(json!({"state": "open"})).await, [story.hosts[1].breaker()]);
    assert_eq!(chosen(json!({"upstream": "cargo"})).await, [story.hosts[2].breaker()]);
    assert_eq!(chosen(json!({"q": "npm", "state": "open"})).await, Vec::<String>::new());
    let twice = story.hosts[0].breaker();
    let once = story.bulk(json!({"action": "release", "ids": [twice, twice], "reason": "r", "dry_run": true})).await;
    assert_eq!(once.results.len(), 1);
}

#[tokio::test]
async fn an_action_that_cannot_be_names_its_field_and_does_nothing() {
    let story = Story::begin().await;
    let ids = [story.hosts[0].breaker()];
    for (body, field) in [
        (json!({"action": "explode", "ids": ids, "reason": "r"}), "action"),
        (json!({"ids": ids, "reason": "r"}), "action"),
        (json!({"action": "release", "reason": "r"}), "ids"),
        (json!({"action": "release", "ids": [], "reason": "r"}), "ids"),
        (json!({"action": "release", "ids": "npm", "reason": "r"}), "ids"),
        (json!({"action": "release", "ids": ids, "filter": {}, "reason": "r"}), "filter"),
        (json!({"action": "release", "filter": {"colour": "red"}, "reason": "r"}), "filter"),
        (json!({"action": "release", "filter": {"state": "ajar"}, "reason": "r"}), "filter.state"),
        (json!({"action": "release", "filter": {"upstream": "gem"}, "reason": "r"}), "filter.upstream"),
        (json!({"action": "release", "ids": ids}), "reason"),
        (json!({"action": "force_open", "ids": ids, "reason": "r"}), "for_ms"),
        (json!({"action": "release", "ids": ids, "reason": "r", "for_ms": 5}), "for_ms"),
        (json!({"action": "reset", "ids": ids, "reason": "r", "until": null}), "until"),
        (json!({"action": "release", "ids": ids, "reason": "r", "end_override": true}), "end_override"),
        (json!({"action": "probe", "ids": ids, "reason": "a\nb"}), "reason"),
    ] {
        assert_eq!(story.post("/actions", body.clone()).await.problem(), (422, Some(field.into())), "{body}");
    }
    assert!(story.audit().await.is_empty() && story.causes().await.is_empty());
}

#[tokio::test]
async fn an_undo_puts_the_override_before_it_back() {
    let story = Story::begin().await;
    let first = json!({"mode": "forced_closed", "reason": "we need it", "for_ms": 3_600_000, "by": "ana"});
    let before = story.hold(0, first).await.held.expect("it stands");
    let second = story.hold(0, json!({"mode": "forced_open", "reason": "oops", "until": null, "by": "bo"})).await;
    let seq = second.last_transition.expect("a row").seq;
    let undone = story.undo(seq).await;
    assert_eq!(
        (undone.breakers, undone.results[0].changed, undone.results[0].held),
        (1, true, Some(Mode::ForcedClosed))
    );
    let held = story.breaker(0).await.held.expect("it stands again");
    assert_eq!(
        (held.mode, &held.reason, &held.by, held.since),
        (before.mode, &before.reason, &before.by, before.since)
    );
    let ends = [&before, &held].map(|held| held.until.expect("an end").millis());
    assert!((ends[0] - ends[1]).abs() <= 5, "the same end: {ends:?}");
    let newest = &story.audit().await[0];
    assert_eq!(newest.actor.name, "unverified: bo");
    assert_eq!((newest.action.as_str(), newest.reason.clone()), ("override_set", Some(format!("undo of {}", seq + 1))));
    assert_eq!(story.post("/undo", json!({"seq": seq})).await.problem(), (409, None), "once");

    // A release, by its audit row's number.
    let released = story.app.act(Method::POST, &format!("{}/release", story.path(0)), json!({"reason": "done"})).await;
    let seq = released.json::<Breaker>().last_transition.expect("a row").seq + 1;
    assert_eq!(story.undo(seq).await.results[0].held, Some(Mode::ForcedClosed));
    // Where nothing stood, nothing stands.
    let seq = story
        .hold(1, json!({"mode": "forced_open", "reason": "r", "until": null}))
        .await
        .last_transition
        .expect("a row")
        .seq;
    story.undo(seq).await;
    assert!(story.breaker(1).await.held.is_none());
    // The same override again changed its end and reason: both come back.
    let held = story.hold(2, json!({"mode": "forced_open", "reason": "one", "until": null, "by": "ana"})).await;
    let changed = story.hold(2, json!({"mode": "forced_open", "reason": "two", "for_ms": 60_000, "by": "bo"})).await;
    story.undo(changed.last_transition.expect("a row").seq).await;
    assert_eq!(story.breaker(2).await.held, held.held);
}

#[tokio::test]
async fn a_bulk_action_is_undone_whole_but_for_what_somebody_did_since() {
    let story = Story::begin().await;
    let body = json!({"action": "force_open", "filter": {}, "reason": "maintenance", "until": null, "by": "ana"});
    let done = story.bulk(body).await;
    let id = story.hosts[1].breaker();
    story.hold(1, json!({"mode": "forced_open", "reason": "mine now", "until": null, "by": "bo"})).await;
    let undone = story.undo(done.undo.expect("it can be undone")).await;
    for one in &undone.results {
        let theirs = one.breaker == id;
        assert_eq!(one.status, if theirs { 409 } else { 200 }, "{one:?}");
        assert_eq!(one.held.is_some(), theirs, "{one:?}");
    }
    assert_eq!(story.breaker(1).await.held.map(|held| held.reason), Some("mine now".into()));
    assert!(story.breaker(0).await.held.is_none());
}

#[tokio::test]
async fn r42_a_bulk_action_that_could_not_be_stored_says_so_of_each() {
    let story = Story::begin().await;
    let options = SqliteConnectOptions::new().filename(story.app.store());
    let mut other = sqlx::SqliteConnection::connect_with(&options).await.expect("a second connection");
    other.execute("BEGIN IMMEDIATE").await.expect("the lock");
    let body = json!({"action": "force_open", "filter": {}, "reason": "maintenance", "until": null});
    let answer = story.bulk(body).await;
    assert!(answer.results.iter().all(|one| one.status == 503 && one.applied), "{answer:?}");
    assert!(answer.results[0].detail.contains("Forced open now"), "{answer:?}");
    assert!(story.breaker(0).await.held.is_some(), "it took effect");
    other.execute("ROLLBACK").await.expect("the end of the lock");
    story.app.stored().await;
    assert_eq!(story.audit().await.len(), 3, "and is stored later");
}
