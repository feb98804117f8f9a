//! `fuseboard breakers` against a running server: what a person reads, what a script reads, and how it ends.

use fuseboard_app::wire::{
    action::ProbeResult,
    breaker::{Breaker, BreakerList, Mode, State},
    event::{Audit, Page},
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::{
    api_breakers::trip,
    support::{
        desk::Desk,
        process::{run, run_with},
        soon,
        switch::Switch,
    },
};

struct Terminal {
    app: Desk,
    host: Switch,
    url: String,
    folder: tempfile::TempDir,
}

impl Terminal {
    async fn open() -> Self {
        let host = Switch::start().await;
        let app = Desk::start(&host.upstream("npm")).await;
        let url = format!("http://{}", app.admin());
        Self { app, host, url, folder: tempfile::tempdir().expect("a folder") }
    }

    /// Runs `fuseboard breakers …` against this server.
    async fn run(&self, args: &[&str]) -> (Option<i32>, String, String) {
        let args = [&["breakers"], args, &["--url", &self.url]].concat();
        run(self.folder.path(), &args).await
    }

    async fn done(&self, args: &[&str]) -> String {
        let (code, said, error) = self.run(args).await;
        assert_eq!((code, error.as_str()), (Some(0), ""), "{args:?}: {said}");
        said
    }

    async fn breaker(&self) -> Breaker {
        self.app.read(&format!("/api/v1/breakers/{}", self.host.breaker())).await
    }
}

#[tokio::test]
async fn a_list_is_a_table_or_the_apis_json() {
    let terminal = Terminal::open().await;
    trip(&terminal.app, &terminal.host, "npm").await;
    let id = terminal.host.breaker();

    let table = terminal.done(&["list"]).await;
    let lines: Vec<_> = table.lines().collect();
    assert!(lines[0].starts_with("BREAKER ") && lines[0].ends_with("WHY"), "{table}");
    assert!(lines[1].starts_with(&id) && lines[1].contains("open · refusing"), "{table}");
    assert!(lines[1].ends_with("5 calls failed in 1 min · answered 503"), "{table}");
    assert_eq!(lines.len(), 2, "{table}");

    let list: BreakerList = serde_json::from_str(&terminal.done(&["list", "--json"]).await).expect("JSON");
    assert_eq!(list.breakers[0].id, id);
    assert_eq!(terminal.done(&["list", "--state", "half_open"]).await, "No breaker matches.\n");
    assert!(terminal.done(&["list", "--search", "np"]).await.contains(&id));
}

#[tokio::test]
async fn one_breaker_is_told_in_words() {
    let terminal = Terminal::open().await;
    trip(&terminal.app, &terminal.host, "npm").await;
    let id = terminal.host.breaker();
    let said = terminal.done(&["show", &id]).await;
    assert!(said.starts_with(&format!("{id}: open · refusing\nRefusing for ")), "{said}");
    assert!(
        said.contains("5 calls failed in 1 min (answered 503, all 5 on one path).") && said.contains("policy"),
        "{said}"
    );
    let shown: Breaker = serde_json::from_str(&terminal.done(&["show", &id, "--json"]).await).expect("JSON");
    assert_eq!(shown.state, State::Open);
}

#[tokio::test]
async fn what_is_done_is_said_and_on_record() {
    let terminal = Terminal::open().await;
    trip(&terminal.app, &terminal.host, "npm").await;
    let id = terminal.host.breaker();

    let said = terminal.done(&["reset", &id, "--reason", "it is back", "--by", "ana"]).await;
    assert_eq!(said, format!("{id} is reset: closed, and what led there is forgotten.\n"));
    assert_eq!(terminal.breaker().await.state, State::Closed);

    let said = terminal.done(&["force-open", &id, "--reason", "it moves", "--for", "10m", "--by", "ana"]).await;
    assert!(said.starts_with(&format!("{id} is forced open: nothing is sent")), "{said}");
    let held = terminal.breaker().await.held.expect("it is held");
    assert_eq!((held.mode, &*held.by, &*held.reason), (Mode::ForcedOpen, "unverified: ana", "it moves"));
    let length = held.until.expect("an end").millis() - held.since.millis();
    assert_eq!(length, 600_000);
    assert!(said.contains("Ends by itself at 20"), "{said}");

    let (code, _, error) = terminal.run(&["reset", &id, "--reason", "now", "--by", "ben"]).await;
    assert_eq!(code, Some(1), "somebody's override is not ended by accident: {error}");
    assert!(
        error.contains("It is held open by ana (unverified) since 20") && error.contains("--end-override"),
        "{error}"
    );
    assert!(terminal.breaker().await.held.is_some());

    let said = terminal.done(&["release", &id, "--reason", "it moved", "--by", "ana"]).await;
    assert_eq!(said, format!("{id} is released and stands as it did beneath: closed · flowing.\n"));

    let said = terminal.done(&["force-closed", &id, "--reason", "checks lie", "--for", "never", "--by", "ana"]).await;
    assert!(said.ends_with("It has no end: it stays until somebody releases it.\n"), "{said}");
    assert_eq!(terminal.breaker().await.held.map(|held| (held.mode, held.until)), Some((Mode::ForcedClosed, None)));

    let json = terminal.done(&["reset", &id, "--reason", "enough", "--end-override", "--by", "ana", "--json"]).await;
    let shown: Breaker = serde_json::from_str(&json).expect("JSON");
    assert_eq!(shown.held, None);

    let audit: Page<Audit> = terminal.app.read("/api/v1/audit?limit=1").await;
    let row = &audit.rows[0];
    assert_eq!((&*row.action, &*row.actor.name, row.reason.as_deref()), ("reset", "unverified: ana", Some("enough")));
}

#[tokio::test]
async fn a_probe_ends_as_it_went() {
    let terminal = Terminal::open().await;
    let id = terminal.host.breaker();
    let said = terminal.done(&["probe", &id, "--by", "ana", "--reason", "is it back?"]).await;
    assert!(said.starts_with(&format!("{id}: ")), "{said}");
    assert_eq!(terminal.host.seen(), 1, "one request");
    let audit: Page<Audit> = terminal.app.read("/api/v1/audit?limit=1").await;
    let row = &audit.rows[0];
    assert_eq!(
        (&*row.action, &*row.actor.name, row.reason.as_deref()),
        ("probe", "unverified: ana", Some("is it back?"))
    );

    terminal.host.says(503);
    let (code, said, error) = terminal.run(&["probe", &id, "--json"]).await;
    assert_eq!(code, Some(1), "{error}");
    let found: ProbeResult = serde_json::from_str(&said).expect("JSON");
    assert_eq!((&*found.outcome, found.status), ("failure", Some(503)));
    assert!(error.contains("was not good"), "{error}");

    terminal.done(&["force-open", &id, "--reason", "it moves", "--for", "1h"]).await;
    let (code, _, error) = terminal.run(&["probe", &id]).await;
    assert_eq!(code, Some(1));
    assert_eq!(terminal.host.seen(), 2, "nothing is sent: {error}");
}

#[tokio::test]
async fn the_one_who_asks_is_the_one_at_the_terminal() {
    let terminal = Terminal::open().await;
    let args = ["breakers", "reset", &terminal.host.breaker(), "--reason", "r", "--url", &terminal.url];
    for (environment, want) in [(&[("USER", "eve")][..], "unverified: eve"), (&[], "unverified: anonymous")] {
        let (code, _, error) = run_with(terminal.folder.path(), &args, environment, "").await;
        assert_eq!(code, Some(0), "{error}");
        let audit: Page<Audit> = terminal.app.read("/api/v1/audit?limit=1").await;
        assert_eq!(audit.rows[0].actor.name, want);
    }
}

#[tokio::test]
async fn what_cannot_be_ends_with_2_and_names_the_flag() {
    let terminal = Terminal::open().await;
    let id = terminal.host.breaker();
    let long = "x".repeat(501);
    for (args, flag) in [
        (&["reset", &id][..], "--reason"),
        (&["force-open", &id, "--reason", "r"], "--for"),
        (&["force-open", &id, "--for", "10m"], "--reason"),
        (&["force-closed", &id, "--reason", "r", "--for", "a while"], "--for"),
        (&["force-open", &id, "--reason", "r", "--for", "0s"], "--for"),
        (&["force-open", &id, "--reason", "r", "--for", "1000d"], "--for"),
        (&["release", &id, "--reason", ""], "--reason"),
        (&["release", &id, "--reason", &long], "--reason"),
        (&["reset", &id, "--reason", "r", "--by", &long], "--by"),
        (&["list", "--state", "ajar"], "--state"),
    ] {
        let (code, said, error) = terminal.run(args).await;
        assert_eq!((code, said.as_str()), (Some(2), ""), "{args:?}: {error}");
        assert!(error.contains(flag), "{args:?}: {error}");
    }
    let (code, _, error) = run(terminal.folder.path(), &["breakers", "list", "--url", "localhost"]).await;
    assert!(code == Some(2) && error.contains("--url"), "{error}");
}

#[tokio::test]
async fn what_goes_wrong_ends_with_1_and_is_said_in_words() {
    let terminal = Terminal::open().await;
    let (code, said, error) = terminal.run(&["show", "https:nobody.example"]).await;
    assert_eq!((code, said.as_str()), (Some(1), ""));
    assert_eq!(error, "fuseboard: There is no breaker \"https:nobody.example\".\n");
    let (code, _, error) = terminal.run(&["release", &terminal.host.breaker(), "--reason", "r"]).await;
    assert_eq!(code, Some(1));
    assert!(error.contains("nothing to release"), "{error}");

    // A port that was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0").await.and_then(|free| free.local_addr()).expect("a port");
    let (code, _, error) = run(terminal.folder.path(), &["breakers", "list", "--url", &format!("http://{free}")]).await;
    assert_eq!(code, Some(1));
    assert!(
        error.starts_with(&format!("fuseboard: cannot reach http://{free}/: ")) && error.contains("--url"),
        "{error}"
    );
}

#[tokio::test]
async fn the_token_goes_along_and_nowhere_else() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/fuse/", listener.local_addr().expect("an address"));
    let asked = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("somebody comes");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("a request"));
        }
        let body = r#"{"type":"about:blank","title":"Unauthorized","status":401,"detail":"That token is not known."}"#;
        let answer = format!(
            "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes()).await.expect("sent");
        String::from_utf8_lossy(&head).into_owned()
    });
    let folder = tempfile::tempdir().expect("a folder");
    let token = [("FUSEBOARD_TOKEN", "s3cret-token")];
    let (code, said, error) = run_with(folder.path(), &["breakers", "list", "--url", &url], &token, "").await;
    let asked = soon("the request", asked).await.expect("no panic");
    assert!(asked.starts_with("GET /fuse/api/v1/breakers HTTP/1.1\r\n"), "{asked}");
    assert!(asked.to_ascii_lowercase().contains("authorization: bearer s3cret-token\r\n"), "{asked}");
    assert_eq!(code, Some(1));
    assert!(error.contains("That token is not known.") && error.contains("FUSEBOARD_TOKEN"), "{error}");
    assert!(!error.contains("s3cret") && !said.contains("s3cret"));
}

#[tokio::test]
async fn json_is_the_apis_own() {
    let terminal = Terminal::open().await;
    let id = terminal.host.breaker();
    let printed: Value = serde_json::from_str(&terminal.done(&["show", &id, "--json"]).await).expect("JSON");
    let shown: Value = terminal.app.read(&format!("/api/v1/breakers/{id}")).await;
    let keys = |value: &Value| value.as_object().map(|object| object.keys().cloned().collect::<Vec<_>>());
    assert_eq!(keys(&printed), keys(&shown));
}
