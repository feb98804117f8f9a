//! The store in trouble, each trouble caused for real: fetching goes on, the board and `/health` say what is wrong, and
//! nothing that was acknowledged is lost.

use std::{
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
};

use fuseboard_app::wire::{
    breaker::{Breaker, State},
    event::{Audit, Page, Transition},
    incident::{Incident, IncidentDetail},
};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use sqlx::{Connection, Executor, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::{
    api_breakers::trip,
    support::{
        desk::Desk,
        process::{Process, request},
        soon,
        store::{check_sequence, connect, file},
        switch::Switch,
    },
};

const GONE: &str = "the file is gone";

/// Another program that holds the write lock.
async fn locked(path: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path);
    let mut other = SqliteConnection::connect_with(&options).await.expect("a second connection");
    other.execute("BEGIN IMMEDIATE").await.expect("the lock");
    other
}

struct Story {
    host: Switch,
    app: Desk,
    held: u64,
}

impl Story {
    async fn begin() -> Self {
        let host = Switch::start().await;
        let app = Desk::start(&host.upstream("npm")).await;
        Self { host, app, held: 0 }
    }

    /// An operator's action: whether it is stored, and what is said if not.
    async fn hold(&mut self) -> Result<(), Value> {
        self.held += 1;
        let mode = if self.held.is_multiple_of(2) { "forced_closed" } else { "forced_open" };
        let body = json!({"mode": mode, "reason": format!("reason {}", self.held), "until": null, "by": "ana"});
        let path = format!("/api/v1/breakers/{}/override", self.host.breaker());
        let answer = self.app.act(Method::PUT, &path, body).await;
        match answer.status {
            StatusCode::OK => Ok(()),
            StatusCode::SERVICE_UNAVAILABLE => {
                assert_eq!(answer.value()["applied"], true, "{}", answer.body);
                Err(answer.value())
            }
            other => panic!("{other}: {}", answer.body),
        }
    }

    /// What stands on a page, without the marks around it and the data beside it.
    async fn page(&self, path: &str) -> String {
        let page = self.app.send(self.app.admin(), Method::GET, path, &[("accept", "text/html")], "").await;
        assert_eq!(page.status, StatusCode::OK, "{}", page.body);
        let body = page.body.split("<script type=\"application/json\"").next().unwrap_or_default();
        body.split('<').filter_map(|piece| Some(piece.split_once('>')?.1)).collect()
    }

    async fn health(&self) -> Value {
        self.app.get("/health").await.value()
    }

    /// Waits until `/health` says this of the store.
    async fn says(&self, words: &str) -> Value {
        let said = async {
            loop {
                let health = self.health().await;
                if health["store"]["error"].as_str().is_some_and(|error| error.contains(words)) {
                    return health;
                }
            }
        };
        soon(&format!("{words:?} on /health"), said).await
    }

    /// What holds in any trouble: calls pass and trip, the board and `/health` say why nothing is written.
    async fn goes_on(&mut self, words: &str) {
        self.app
            .act(
                Method::POST,
                &format!("/api/v1/breakers/{}/reset", self.host.breaker()),
                json!({"reason": "make room", "end_override": true}),
            )
            .await;
        assert_eq!(self.app.call("/npm/x").await.status, StatusCode::OK, "fetching goes on");
        trip(&self.app, &self.host, "npm").await;
        let breaker: Breaker = self.app.read(&format!("/api/v1/breakers/{}", self.host.breaker())).await;
        assert_eq!(breaker.state, State::Open, "and breakers do their work");
        // What waits for the store is told with its evidence all the same, unless there is no file to read the rest from.
        let open: Page<Incident> = self.app.read("/api/v1/incidents?open=true&limit=1").await;
        let answer = self.app.get(&format!("/api/v1/incidents/{}", open.rows[0].id)).await;
        if answer.status == StatusCode::OK {
            let one: IncidentDetail = answer.json();
            assert_eq!(one.transitions.first().map(|row| row.seq), Some(one.incident.id));
            assert!(one.incident.cause.detail.contains_key("evidence"), "{:?}", one.incident.cause);
        } else {
            assert_eq!((answer.status, words), (StatusCode::SERVICE_UNAVAILABLE, GONE), "{}", answer.body);
            let said = answer.value()["detail"].to_string();
            assert!(said.contains("The record cannot be read") && said.contains(words), "{said}");
        }
        // On its page, too: no row that waits is missing, and none stands twice.
        let own = self.page(&format!("/breakers/{}", self.host.breaker())).await;
        assert!(!own.contains("Nothing has changed") && !own.contains("Nobody has acted"), "{own}");
        assert!(own.contains("5 deciding calls"), "{own}");
        if own.contains("could not be read") {
            assert_eq!(words, GONE, "{own}");
        } else {
            assert_eq!(own.matches(": make room.").count(), 2, "as a change and as an action: {own}");
            assert_eq!(self.page("/audit").await.matches(": make room.").count(), 1);
        }
        let health = self.says(words).await;
        assert_eq!((&health["status"], &health["degraded"]), (&json!("degraded"), &json!(true)));
        let reasons = health["reasons"].to_string();
        assert!(reasons.contains("history not written since") && reasons.contains(words), "{reasons}");
        let page = self.app.send(self.app.admin(), Method::GET, "/", &[("accept", "text/html")], "").await;
        assert!(page.body.contains("History not written since") && page.body.contains(words), "{}", page.body);
        assert_eq!(self.app.get("/readyz").await.status, StatusCode::OK, "it takes traffic");
    }

    /// What holds once the trouble is over: everything is there, in order.
    async fn recovers(&self) {
        self.app.stored().await;
        let health = self.health().await;
        assert_eq!(
            (&health["store"]["failing_since"], &health["store"]["waiting"]),
            (&Value::Null, &json!(0)),
            "{health}"
        );
        check_sequence(&self.app.store()).await;
        let audit: Page<Audit> = self.app.read("/api/v1/audit?limit=1000").await;
        let held: Vec<_> = audit
            .rows
            .iter()
            .rev()
            .filter(|row| row.action.starts_with("override"))
            .filter_map(|row| row.reason.clone())
            .collect();
        let all: Vec<_> = (1..=self.held).map(|n| format!("reason {n}")).collect();
        assert_eq!(held, all, "what was answered and what was only applied");
        let last: Page<Transition> = self.app.read("/api/v1/transitions?limit=1").await;
        let live: Breaker = self.app.read(&format!("/api/v1/breakers/{}", self.host.breaker())).await;
        assert_eq!((last.rows[0].to, last.rows[0].held), (live.state, live.held.map(|held| held.mode)));
    }
}

#[tokio::test]
async fn r41_locked_by_another_program_for_as_long_as_a_thousand_facts_take() {
    let mut story = Story::begin().await;
    story.hold().await.expect("it is stored");
    let mut other = locked(&story.app.store()).await;
    let refused = story.hold().await.expect_err("it is applied and not stored");
    assert!(refused["detail"].as_str().is_some_and(|detail| detail.contains("locked by another process")), "{refused}");
    let breaker = story.app.app().panel.get(&story.host.breaker()).expect("it is there");
    let by = crate::support::app::somebody();
    while story.app.app().journal.health().waiting < 1_000 {
        breaker.reset(by.clone(), "r", true).expect("it may");
        for _ in 0..5 {
            breaker.try_acquire().expect("closed").settle(fuseboard_breaker::Verdict::failure());
        }
    }
    story.goes_on("locked by another process").await;
    let waiting = story.health().await["store"]["waiting"].as_u64().expect("a number");
    assert!(waiting >= 1_000, "{waiting}");
    other.execute("ROLLBACK").await.expect("the end of the lock");
    story.recovers().await;
    story.hold().await.expect("it is stored again");
}

#[tokio::test]
async fn r43_a_full_disk() {
    let mut story = Story::begin().await;
    story.hold().await.expect("it is stored");
    // Not a page more than there is, for the writer's next connection; the lock makes it take one.
    story.app.app().db.limit_pages(Some(1));
    let mut other = locked(&story.app.store()).await;
    story.hold().await.expect_err("locked");
    other.execute("ROLLBACK").await.expect("the end of the lock");
    let mut stored = 0;
    let full = async {
        while story.hold().await.is_ok() {
            stored += 1;
        }
    };
    soon("a full disk", full).await;
    assert!(stored < 500, "{stored} facts found room");
    story.says("disk full").await;
    story.goes_on("disk full").await;
    story.app.app().db.limit_pages(None);
    story.recovers().await;
}

/// The file is read-only for everybody but root, who may write all the same: then the server runs as nobody.
#[tokio::test]
async fn a_file_that_becomes_read_only() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("fuseboard.db");
    let mode =
        |path: &Path, mode: u32| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("it may");
    mode(folder.path(), 0o777);
    let root = std::fs::metadata("/proc/self").expect("proc").uid() == 0;
    let host = Switch::start().await;
    let config = format!("[[upstream]]\nname = \"npm\"\nurl = \"http://{}\"\n", host.at);
    let server = Process::serve_as(folder.path(), &config, root.then_some(65_534)).await;
    let breaker = format!("/api/v1/breakers/{}", host.breaker());
    let hold = async |mode: &str| {
        let body = format!("{{\"mode\":\"{mode}\",\"reason\":\"r\",\"until\":null}}");
        request(&server.board, "PUT", &format!("{breaker}/override"), &body).await.expect("an answer").0
    };
    assert_eq!(hold("forced_closed").await, 200);

    let mut other = locked(&path).await;
    let files = ["fuseboard.db", "fuseboard.db-wal", "fuseboard.db-shm"].map(|name| folder.path().join(name));
    files.iter().for_each(|file| mode(file, 0o444));
    mode(folder.path(), 0o555);
    assert_eq!(hold("forced_open").await, 503);
    other.execute("ROLLBACK").await.expect("the end of the lock");
    let said = async {
        loop {
            let (_, health) = request(&server.board, "GET", "/health", "").await.expect("an answer");
            if health.contains("the file is read-only") {
                return;
            }
        }
    };
    soon("\"the file is read-only\" on /health", said).await;
    assert_eq!(hold("forced_closed").await, 503);
    assert_eq!(request(&server.gateway, "GET", "/npm/x", "").await.expect("an answer").0, 200, "fetching goes on");

    mode(folder.path(), 0o777);
    files.iter().for_each(|file| mode(file, 0o666));
    let again = async {
        loop {
            let (_, health) = request(&server.board, "GET", "/health", "").await.expect("an answer");
            if health.contains("\"waiting\":0") {
                return;
            }
        }
    };
    soon("everything written", again).await;
    assert_eq!(hold("forced_open").await, 200);
    let (_, audit) = request(&server.board, "GET", "/api/v1/audit", "").await.expect("an answer");
    assert_eq!(audit.matches("\"action\":\"override_set\"").count(), 4, "{audit}");
}

#[tokio::test]
async fn a_damaged_file_is_refused_in_words_and_left_as_it_is() {
    let (_folder, path) = file();
    let mut server = Process::start(&path, &[]).await;
    server.kill().await;
    let mut reader = connect(&path).await;
    reader.execute("PRAGMA wal_checkpoint(TRUNCATE)").await.expect("it runs");
    sqlx::Connection::close(reader).await.expect("it closes");
    let whole = std::fs::read(&path).expect("the file");
    for (what, damaged) in [
        ("its head", [vec![0xff; 4_096], whole[4_096..].to_vec()].concat()),
        ("all behind its head", [whole[..4_096].to_vec(), vec![0xff; whole.len() - 4_096]].concat()),
        ("its end", whole[..whole.len() / 2].to_vec()),
    ] {
        std::fs::write(&path, &damaged).expect("written");
        let (status, said) = Process::refused(&path).await;
        assert_eq!(status.code(), Some(1), "{what}: {said}");
        assert!(said.contains(&path.display().to_string()) && said.contains("restore a copy"), "{what}: {said}");
        assert!(std::fs::read(&path).expect("the file") == damaged, "{what}: it was written to");
    }
    std::fs::write(&path, &whole).expect("written");
    drop(Process::start(&path, &[]).await);
}

#[tokio::test]
async fn a_store_another_program_holds_is_not_called_damaged() {
    let (_folder, path) = file();
    Process::start(&path, &[]).await.kill().await;
    let other = locked(&path).await;
    let (status, said) = Process::refused(&path).await;
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("Another program holds it") && !said.contains("damaged"), "{said}");
    Connection::close(other).await.expect("it closes");
    drop(Process::start(&path, &[]).await);
}

#[tokio::test]
async fn r43_a_newer_store_is_refused_in_words_and_left_as_it_is() {
    let (_folder, path) = file();
    let mut server = Process::start(&path, &[]).await;
    server.kill().await;
    let mut other = connect(&path).await;
    other.execute("INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) VALUES (9999, 'later', 1, x'00', 0)").await.expect("it runs");
    sqlx::Connection::close(other).await.expect("it closes");
    let before = std::fs::read(&path).expect("the file");
    let (status, said) = Process::refused(&path).await;
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(
        said.contains("written by a newer Fuseboard (schema 9999") && said.contains("Start that version"),
        "{said}"
    );
    assert!(std::fs::read(&path).expect("the file") == before, "it was written to");
}

#[tokio::test]
async fn r42_a_file_that_is_taken_away_or_replaced_takes_nothing_as_durable() {
    let mut story = Story::begin().await;
    assert_eq!(story.hold().await, Ok(()));
    let store = story.app.store();
    let aside = store.with_extension("aside");
    std::fs::rename(&store, &aside).expect("it is moved");
    let refused = story.hold().await.expect_err("nothing stores it");
    assert!(refused["detail"].as_str().is_some_and(|said| said.contains(GONE)), "{refused}");
    story.goes_on(GONE).await;

    // A file of ours, but not the one that was opened.
    std::fs::copy(&aside, &store).expect("it is copied");
    let copied = std::fs::read(&store).expect("it is read");
    story.says("another file is in its place").await;
    let refused = story.hold().await.expect_err("nothing stores it");
    assert!(refused["detail"].as_str().is_some_and(|said| said.contains("another file")), "{refused}");
    assert!(std::fs::read(&store).expect("it is read") == copied, "it is left alone");

    std::fs::rename(&aside, &store).expect("it is put back");
    story.recovers().await;
}

#[tokio::test]
async fn a_record_that_cannot_be_read_is_not_called_empty() {
    let mut story = Story::begin().await;
    story.hold().await.expect("it is stored");
    let mut other = connect(&story.app.store()).await;
    let away = "ALTER TABLE transitions RENAME TO t; ALTER TABLE probes RENAME TO p; ALTER TABLE audit RENAME TO a";
    other.execute(away).await.expect("it runs");
    let own = story.page(&format!("/breakers/{}", story.host.breaker())).await;
    assert!(own.contains("The history could not be read. Something went wrong"), "{own}");
    assert!(own.contains("The record could not be read."), "{own}");
    for lie in ["Nothing has changed", "No probe yet", "Nobody has acted"] {
        assert!(!own.contains(lie), "{lie}: {own}");
    }
    assert!(story.page("/").await.contains("The history could not be read."), "its lanes are not there");
    let back = "ALTER TABLE t RENAME TO transitions; ALTER TABLE p RENAME TO probes; ALTER TABLE a RENAME TO audit";
    other.execute(back).await.expect("it runs");
}

#[tokio::test]
async fn a_file_that_is_emptied_is_said_in_words() {
    let mut story = Story::begin().await;
    assert_eq!(story.hold().await, Ok(()));
    let file = std::fs::OpenOptions::new().write(true).open(story.app.store()).expect("it is there");
    file.set_len(0).expect("it is emptied");
    story.hold().await.expect_err("nothing stores it");
    let health = story.says("the file was emptied").await;
    assert_eq!(health["status"], "degraded", "{health}");
}
