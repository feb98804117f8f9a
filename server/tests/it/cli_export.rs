//! `fuseboard export` against a running server: a file is whole under its name, or not there.

use std::{fs, path::Path};

use sqlx::Executor;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::support::{
    process::{Process, run},
    seed,
    store::connect,
};

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect()
}

#[tokio::test]
async fn a_file_is_written_and_never_over_another() {
    let store = tempfile::tempdir().expect("a folder");
    seed::probes(&store.path().join("fuse.db"), 3_000).await;
    let server = Process::start(&store.path().join("fuse.db"), &[]).await;
    let url = format!("http://{}", server.board);
    let folder = tempfile::tempdir().expect("a folder");
    let export = |more: &[&'static str]| {
        let args: Vec<String> = ["export", "--what", "probes", "--format", "csv", "--url", &url]
            .into_iter()
            .chain(more.iter().copied())
            .map(str::to_owned)
            .collect();
        let folder = folder.path().to_owned();
        async move { run(&folder, &args.iter().map(String::as_str).collect::<Vec<_>>()).await }
    };

    let (code, said, error) = export(&["-o", "probes.csv"]).await;
    assert_eq!((code, said.as_str()), (Some(0), ""), "{error}");
    let text = fs::read_to_string(folder.path().join("probes.csv")).expect("the file");
    let rows = csv::Reader::from_reader(text.as_bytes()).into_records().filter(|row| row.is_ok()).count();
    assert_eq!(rows, 3_000);
    assert_eq!(error, format!("probes.csv: {} bytes\n", fuseboard_app::format::count(text.len() as u64)));
    assert_eq!(files(folder.path()), ["probes.csv"], "nothing beside it");

    let (code, said, _) = export(&[]).await;
    assert_eq!((code, said.as_str() == text), (Some(0), true), "standard output has the same");

    fs::write(folder.path().join("probes.csv"), "mine").expect("written");
    let (code, _, error) = export(&["-o", "probes.csv"]).await;
    assert_eq!(code, Some(2));
    assert!(error.contains("probes.csv exists") && error.contains("--force"), "{error}");
    assert_eq!(fs::read_to_string(folder.path().join("probes.csv")).expect("the file"), "mine");
    let (code, ..) = export(&["-o", "probes.csv", "--force"]).await;
    assert_eq!(code, Some(0));
    assert_eq!(fs::read_to_string(folder.path().join("probes.csv")).expect("the file"), text);

    for (more, flag) in [
        (&["--from", "yesterday"][..], "--from"),
        (&["--breaker", "https:nobody.example"], "--breaker"),
        (&["--search", "npm"], "--search"),
        (&["--upstream", "npm"], "--upstream"),
        (&["--open", "true"], "--open"),
        (&["--open", "ajar"], "--open"),
        (&["--to", "2026-01-01T00:00:00Z", "--from", "2026-01-02T00:00:00Z"], "--to"),
    ] {
        let (code, said, error) = export(more).await;
        assert_eq!((code, said.as_str()), (Some(2), ""), "{error}");
        assert!(error.contains(flag), "{error}");
    }
    let (code, _, error) = run(folder.path(), &["export", "--format", "csv"]).await;
    assert!(code == Some(2) && error.contains("--what"), "{error}");
    let (code, _, error) = run(folder.path(), &["export", "--what", "audit", "--format", "html", "--url", &url]).await;
    assert!(code == Some(2) && error.contains("--format: must be one of csv, json, ndjson"), "{error}");
    let (code, _, error) = export(&["-o", "nowhere/probes.csv"]).await;
    assert!(code == Some(1) && error.contains("cannot write nowhere/probes.csv"), "{error}");
    assert_eq!(files(folder.path()), ["probes.csv"]);
}

/// The server ends in the middle, by its own fault and by the network's.
#[tokio::test]
async fn what_breaks_off_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("somebody comes");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("a request"));
        }
        let half = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\na,b\r\n\r\n";
        stream.write_all(half.as_bytes()).await.expect("sent");
    });
    let args = ["export", "--what", "audit", "--format", "csv", "--url", &url, "-o", "audit.csv"];
    let (code, _, error) = run(folder.path(), &args).await;
    serving.await.expect("no panic");
    assert_eq!(code, Some(1));
    assert!(error.contains("broke off after 5 bytes") && error.contains("audit.csv is not written"), "{error}");
    assert_eq!(files(folder.path()), Vec::<String>::new());
}

/// Somebody else's file gets the name while ours is on its way.
#[tokio::test]
async fn a_file_that_appears_meanwhile_is_not_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let theirs = folder.path().join("audit.csv");
    let file = theirs.clone();
    let serving = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("somebody comes");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("a request"));
        }
        // The command has looked by now: the request came after that.
        fs::write(&file, "theirs").expect("written");
        let whole = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\na,b\r\n";
        stream.write_all(whole.as_bytes()).await.expect("sent");
    });
    let args = ["export", "--what", "audit", "--format", "csv", "--url", &url, "-o", "audit.csv"];
    let (code, _, error) = run(folder.path(), &args).await;
    serving.await.expect("no panic");
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("audit.csv exists") && error.contains("--force"), "{error}");
    assert_eq!(fs::read_to_string(&theirs).expect("the file"), "theirs");
    assert_eq!(files(folder.path()), ["audit.csv"]);
}

#[tokio::test]
async fn a_store_that_breaks_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("store");
    fs::create_dir(&store).expect("a folder");
    seed::probes(&store.join("fuse.db"), 1_000).await;
    let server = Process::start(&store.join("fuse.db"), &[]).await;
    connect(&store.join("fuse.db")).await.execute("DROP TABLE probes").await.expect("the store is broken");
    let url = format!("http://{}", server.board);
    let args = ["export", "--what", "probes", "--format", "json", "--url", &url, "-o", "probes.json"];
    let (code, _, error) = run(folder.path(), &args).await;
    assert_eq!(code, Some(1));
    assert!(error.contains("went wrong inside Fuseboard"), "{error}");
    assert_eq!(files(folder.path()), ["store"]);
}
