//! `fuseboard backup`: a copy in order, while the server writes and while none runs.

use std::fs;

use crate::support::{
    process::{Process, request, run},
    store::{check_sequence, connect, number},
};

#[tokio::test]
async fn a_copy_is_taken_while_the_server_writes_and_while_none_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("fuse.db");
    let upstreams = ["npm=http://127.0.0.1:9".to_owned()];
    let mut server = Process::start(&store, &upstreams).await;
    let path = "/api/v1/breakers/http:127.0.0.1:9/override";
    let hold = async |reason: &str| {
        let body = format!(r#"{{"mode":"forced_open","reason":"{reason}","until":null,"by":"ana"}}"#);
        let (status, body) = request(&server.board, "PUT", path, &body).await.expect("an answer");
        assert_eq!(status, 200, "{body}");
    };
    hold("before").await;
    let url = format!("sqlite:{}", store.display());
    let backup = async |copy: &str| run(folder.path(), &["backup", copy, "--store", &url]).await;
    let backing_up = async {
        let (code, said, error) = backup("one.db").await;
        assert_eq!((code, error.as_str()), (Some(0), ""));
        assert!(said.starts_with("one.db: ") && said.contains("the record up to number"), "{said}");
    };
    let writing = async {
        for nth in 0..50 {
            hold(&nth.to_string()).await;
        }
    };
    tokio::join!(backing_up, writing);
    let copied = check_sequence(&folder.path().join("one.db")).await;
    assert!(copied >= 2, "what was answered before is in it");

    // Neither a stale copy nor anything else is written over.
    let before = fs::read(folder.path().join("one.db")).expect("the copy");
    let (code, _, error) = backup("one.db").await;
    assert_eq!(code, Some(2));
    assert!(error.contains("one.db exists"), "{error}");
    assert_eq!(fs::read(folder.path().join("one.db")).expect("the copy"), before);

    server.kill().await;
    let (code, _, error) = backup("two.db").await;
    assert_eq!((code, error.as_str()), (Some(0), ""));
    let newest = check_sequence(&folder.path().join("two.db")).await;
    assert_eq!(newest, check_sequence(&store).await, "all of it");
    assert!(newest > copied);

    // A server starts on it as on any store.
    let again = Process::start(&folder.path().join("two.db"), &upstreams).await;
    let (_, shown) = request(&again.board, "GET", "/api/v1/breakers/http:127.0.0.1:9", "").await.expect("an answer");
    assert!(shown.contains(r#""mode":"forced_open""#) && shown.contains(r#""reason":"49""#), "{shown}");
    let left: Vec<_> = fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".part"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test]
async fn what_is_no_store_is_not_copied() {
    let folder = tempfile::tempdir().expect("a folder");
    let backup = async |store: &str| run(folder.path(), &["backup", "copy.db", "--store", store]).await;
    let (code, _, error) = backup("sqlite:nothing.db").await;
    assert_eq!(code, Some(1));
    assert!(error.contains("nothing.db cannot be opened"), "{error}");
    assert!(!folder.path().join("nothing.db").exists(), "asking makes none");

    let mut other = {
        use sqlx::ConnectOptions;
        let options = sqlx::sqlite::SqliteConnectOptions::new().filename(folder.path().join("other.db"));
        options.create_if_missing(true).connect().await.expect("it opens")
    };
    number(&mut other, "CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1); SELECT x FROM theirs").await;
    let (code, _, error) = backup("sqlite:other.db").await;
    assert_eq!(code, Some(1));
    assert!(error.contains("another program"), "{error}");

    fs::write(folder.path().join("noise.db"), "this is no database at all, whatever its name says").expect("written");
    let (code, _, error) = backup("sqlite:noise.db").await;
    assert_eq!(code, Some(1));
    assert!(error.contains("noise.db"), "{error}");
    assert!(!folder.path().join("copy.db").exists());
    drop(connect(&folder.path().join("other.db")).await);
}
