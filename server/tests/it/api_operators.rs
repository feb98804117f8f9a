//! What operators do: reset, hold, release; what it leaves in the record; and what happens when the store refuses.

use fuseboard_app::wire::{
    breaker::{Breaker, Mode, State},
    event::{Audit, Page, Transition},
};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::{Connection, Executor, sqlite::SqliteConnectOptions};

use crate::{
    api_breakers::trip,
    support::{desk::Desk, switch::Switch},
};

struct Story {
    host: Switch,
    app: Desk,
    path: String,
}

impl Story {
    async fn begin() -> Self {
        let host = Switch::start().await;
        let app = Desk::start(&host.upstream("npm")).await;
        let path = format!("/api/v1/breakers/{}", host.breaker());
        Self { host, app, path }
    }

    async fn breaker(&self) -> Breaker {
        self.app.read(&self.path).await
    }

    async fn reset(&self, body: Value) -> crate::support::desk::Answer {
        self.app.act(Method::POST, &format!("{}/reset", self.path), body).await
    }

    async fn hold(&self, body: Value) -> crate::support::desk::Answer {
        self.app.act(Method::PUT, &format!("{}/override", self.path), body).await
    }

    async fn release(&self, body: Value) -> crate::support::desk::Answer {
        self.app.act(Method::POST, &format!("{}/release", self.path), body).await
    }

    async fn audit(&self) -> Vec<Audit> {
        let page: Page<Audit> = self.app.read("/api/v1/audit").await;
        page.rows
    }

    async fn transitions(&self) -> Vec<Transition> {
        let page: Page<Transition> = self.app.read("/api/v1/transitions").await;
        page.rows
    }
}

#[tokio::test]
async fn r22_four_failures_after_a_reset_leave_it_closed() {
    let story = Story::begin().await;
    trip(&story.app, &story.host, "npm").await;
    let answer = story.reset(json!({"reason": "it is back", "by": "ana"})).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let breaker: Breaker = answer.json();
    assert_eq!((breaker.state, breaker.attempt, breaker.rules[0].have), (State::Closed, 0, Some(0.0)));
    assert_eq!(breaker.counts.failure, 5, "lifetime counts go on");

    story.host.says(503);
    for _ in 0..4 {
        story.app.call("/npm/x").await;
    }
    assert_eq!(story.breaker().await.state, State::Closed);
    story.app.call("/npm/x").await;
    assert_eq!(story.breaker().await.state, State::Open, "the fifth trips");
    assert_eq!(story.host.seen(), 10);
}

#[tokio::test]
async fn r22_a_reset_of_a_quiet_breaker_is_an_audit_row_alone() {
    let story = Story::begin().await;
    let answer = story.reset(json!({"reason": "to be sure", "by": "ana"})).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let audit = story.audit().await;
    assert_eq!(audit.len(), 1);
    assert_eq!((audit[0].action.as_str(), audit[0].detail.get("changed")), ("reset", Some(&json!(false))));
    assert!(story.transitions().await.is_empty());
}

#[tokio::test]
async fn r22_a_reset_ends_nobodys_override_by_accident() {
    let story = Story::begin().await;
    let held = story.hold(json!({"mode": "forced_open", "reason": "CDN move", "until": null, "by": "ana"})).await;
    assert_eq!(held.status, StatusCode::OK, "{}", held.body);
    let refused = story.reset(json!({"reason": "r", "by": "bo"})).await;
    assert_eq!(refused.problem(), (409, None));
    assert!(
        refused.body.contains("held open by ana (unverified)") && refused.body.contains("CDN move"),
        "{}",
        refused.body
    );
    assert!(story.breaker().await.held.is_some());
    let meant = story.reset(json!({"reason": "r", "by": "bo", "end_override": true})).await;
    assert_eq!(meant.status, StatusCode::OK, "{}", meant.body);
    assert!(meant.json::<Breaker>().held.is_none());
}

#[tokio::test]
async fn forced_open_beats_everything_and_a_release_ends_it() {
    let story = Story::begin().await;
    let answer = story.hold(json!({"mode": "forced_open", "reason": "CDN move", "until": null, "by": "ana"})).await;
    let breaker: Breaker = answer.json();
    let held = breaker.held.expect("it stands");
    assert_eq!((held.mode, held.by.as_str(), held.until), (Mode::ForcedOpen, "unverified: ana", None));
    let refused = story.app.call("/npm/x").await;
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(refused.value()["reason"], "forced_open");
    assert_eq!(story.host.seen(), 0, "nothing is sent to a healthy host");

    // Another operator's other mode takes its place.
    story.hold(json!({"mode": "forced_closed", "reason": "we need it", "for_ms": 60_000, "by": "bo"})).await;
    assert_eq!(story.app.call("/npm/x").await.status, StatusCode::OK);
    trip(&story.app, &story.host, "npm").await;
    assert_eq!(story.breaker().await.state, State::Open, "its shadow would refuse");
    assert_eq!(story.app.call("/npm/x").await.status, StatusCode::OK);

    let released = story.release(json!({"reason": "done", "by": "bo"})).await;
    assert_eq!(released.status, StatusCode::OK, "{}", released.body);
    let breaker: Breaker = released.json();
    assert_eq!((breaker.held, breaker.state), (None, State::Open), "the automatic state takes over as it stands");
    assert_eq!(story.release(json!({"reason": "again"})).await.problem(), (409, None));
    let actions: Vec<_> = story.audit().await.into_iter().rev().map(|row| (row.action, row.actor.name)).collect();
    let want = [("override_set", "ana"), ("override_set", "bo"), ("release", "bo")];
    assert_eq!(actions, want.map(|(action, name)| (action.to_owned(), format!("unverified: {name}"))));
}

#[tokio::test]
async fn an_override_ends_by_itself_without_traffic() {
    let story = Story::begin().await;
    let mut feed = story.app.feed("/api/v1/events", None).await;
    let answer = story.hold(json!({"mode": "forced_open", "reason": "a moment", "for_ms": 200})).await;
    let until = answer.json::<Breaker>().held.and_then(|held| held.until).expect("an end");
    let ended = feed.cause("override_expired").await;
    assert_eq!(ended.held, None);
    assert!((ended.at.millis() - until.millis()).abs() <= 1, "stamped with its due time: {} and {until}", ended.at);
    assert!(story.breaker().await.held.is_none());
    assert_eq!(story.app.call("/npm/x").await.status, StatusCode::OK);
}

#[tokio::test]
async fn r42_an_action_says_how_the_breaker_stood_before_and_after() {
    let story = Story::begin().await;
    trip(&story.app, &story.host, "npm").await;
    let forced = |mode: &str| json!({"mode": mode, "reason": "CDN move", "until": null});
    for (method, verb, body) in [
        (Method::PUT, "override", forced("forced_open")),
        (Method::PUT, "override", forced("forced_closed")),
        (Method::POST, "release", json!({"reason": "moved"})),
        (Method::POST, "reset", json!({"reason": "it is back"})),
    ] {
        let answer = story.app.act(method, &format!("{}/{verb}", story.path), body).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    let at = |state: &str, held: Option<&str>| json!({"state": state, "override": held});
    let open = |held| at("open", held);
    let stood: Vec<_> = story
        .audit()
        .await
        .into_iter()
        .rev()
        .map(|row| (row.detail["before"].clone(), row.detail["after"].clone()))
        .collect();
    assert_eq!(
        stood,
        [
            (open(None), open(Some("forced_open"))),
            (open(Some("forced_open")), open(Some("forced_closed"))),
            (open(Some("forced_closed")), open(None)),
            (open(None), at("closed", None)),
        ]
    );
}

#[tokio::test]
async fn r21_an_override_and_its_audit_row_survive_a_restart() {
    let mut story = Story::begin().await;
    let body = json!({"mode": "forced_open", "reason": "CDN move", "for_ms": 3_600_000, "by": "ana"});
    let before: Breaker = story.hold(body).await.json();
    let audit = story.audit().await;
    story.app.restart().await;
    let after = story.breaker().await;
    assert_eq!(
        after.held.as_ref().map(|held| (&held.reason, &held.by, held.mode)),
        Some((&"CDN move".into(), &"unverified: ana".into(), Mode::ForcedOpen))
    );
    let ends = [&before, &after].map(|one| one.held.as_ref().and_then(|held| held.until).expect("an end").millis());
    assert!((0..=5_000).contains(&(ends[0] - ends[1]).abs()), "the same end, give or take the clock: {ends:?}");
    assert_eq!(story.app.call("/npm/x").await.status, StatusCode::SERVICE_UNAVAILABLE);

    let again = story.audit().await;
    assert_eq!(again, audit);
    let row = &again[0];
    assert_eq!(
        (row.actor.name.as_str(), row.actor.verified, row.actor.via.as_str()),
        ("unverified: ana", false, "api")
    );
    assert_eq!(
        (row.action.as_str(), row.reason.as_deref(), row.breaker.as_ref()),
        ("override_set", Some("CDN move"), Some(&after.id))
    );
    assert!(row.seq > 0);
    assert_eq!(story.transitions().await[0].seq + 1, row.seq, "the row stands right behind its transition");
}

#[tokio::test]
async fn the_record_says_through_which_door_somebody_came() {
    let story = Story::begin().await;
    for agent in ["curl/8", "fuseboard-cli/0.1.0"] {
        let headers = [("content-type", "application/json"), ("user-agent", agent)];
        let body = r#"{"reason": "r", "by": "ana"}"#;
        let path = format!("{}/reset", story.path);
        let answer = story.app.send(story.app.admin(), Method::POST, &path, &headers, body).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    let doors: Vec<_> = story.audit().await.into_iter().rev().map(|row| row.actor.via).collect();
    assert_eq!(doors, ["api", "cli"]);
}

#[tokio::test]
async fn an_action_that_cannot_be_is_refused_by_its_field() {
    let story = Story::begin().await;
    let year = 366_u64 * 24 * 3_600 * 1_000;
    for (body, field) in [
        (json!({"mode": "forced_open", "until": null}), "reason"),
        (json!({"mode": "forced_open", "until": null, "reason": "  "}), "reason"),
        (json!({"mode": "forced_open", "until": null, "reason": "a\nb"}), "reason"),
        (json!({"mode": "forced_open", "until": null, "reason": "r".repeat(501)}), "reason"),
        (json!({"mode": "forced_open", "until": null, "reason": "r", "by": "b".repeat(81)}), "by"),
        (json!({"mode": "forced_open", "reason": "r"}), "for_ms"),
        (json!({"mode": "forced_open", "reason": "r", "for_ms": 0}), "for_ms"),
        (json!({"mode": "forced_open", "reason": "r", "for_ms": -1}), "for_ms"),
        (json!({"mode": "forced_open", "reason": "r", "for_ms": year}), "for_ms"),
        (json!({"mode": "forced_open", "reason": "r", "for_ms": 5, "until": null}), "until"),
        (json!({"mode": "forced_open", "reason": "r", "until": "2001-01-01T00:00:00Z"}), "until"),
        (json!({"mode": "ajar", "reason": "r", "until": null}), "mode"),
        (json!({"reason": "r", "until": null}), "mode"),
    ] {
        assert_eq!(story.hold(body.clone()).await.problem(), (422, Some(field.into())), "{body}");
    }
    let refused = story.hold(json!({"mode": "forced_open", "reason": "r", "for_ms": "10m"})).await;
    assert_eq!(refused.value()["detail"], "for_ms: must be a whole number of milliseconds.");
    assert_eq!(story.reset(json!({})).await.problem(), (422, Some("reason".into())));
    assert_eq!(story.release(json!({"reason": ""})).await.problem(), (422, Some("reason".into())));
    assert!(story.audit().await.is_empty() && story.transitions().await.is_empty(), "nothing happened");
}

#[tokio::test]
async fn r42_what_could_not_be_stored_says_so_and_is_stored_later() {
    let story = Story::begin().await;
    let options = SqliteConnectOptions::new().filename(story.app.store());
    let mut other = sqlx::SqliteConnection::connect_with(&options).await.expect("a second connection");
    other.execute("BEGIN IMMEDIATE").await.expect("the lock");
    let answer = story.hold(json!({"mode": "forced_open", "reason": "CDN move", "until": null, "by": "ana"})).await;
    assert_eq!(answer.problem(), (503, None));
    assert_eq!(answer.value()["applied"], true, "{}", answer.body);
    assert!(answer.body.contains("Forced open now"), "{}", answer.body);
    assert!(story.breaker().await.held.is_some(), "it took effect");
    assert_eq!(story.app.call("/npm/x").await.status, StatusCode::SERVICE_UNAVAILABLE);
    let health = story.app.get("/health").await.value();
    assert_eq!(health["degraded"], true, "{health}");
    assert!(story.audit().await.is_empty(), "not in the store yet");

    other.execute("ROLLBACK").await.expect("the end of the lock");
    story.app.stored().await;
    let audit = story.audit().await;
    assert_eq!(audit.len(), 1);
    assert_eq!(audit[0].actor.name, "unverified: ana");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operators_who_act_at_once_each_see_their_own_action() {
    let story = Story::begin().await;
    let acts = (0..20_u64).map(|n| {
        let mode = if n % 2 == 0 { "forced_open" } else { "forced_closed" };
        let body = json!({"mode": mode, "reason": format!("reason {n}"), "for_ms": 60_000 + n, "by": format!("op{n}")});
        let story = &story;
        async move { (n, story.hold(body).await) }
    });
    for (n, answer) in futures_util::future::join_all(acts).await {
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let held = answer.json::<Breaker>().held.expect("it stands");
        // The same override again changes its end and reason alone: whoever set it stays its owner.
        assert_eq!(held.reason, format!("reason {n}"));
    }
    let audit = story.audit().await;
    assert_eq!(audit.len(), 20, "each has its row");
    let last = story.breaker().await.held.expect("the last one stands");
    assert_eq!(audit[0].reason.as_ref(), Some(&last.reason), "and the newest row is the one in force");
}
