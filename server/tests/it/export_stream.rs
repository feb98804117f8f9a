//! An export while things go wrong: whoever asks leaves, the store breaks. Large enough that it cannot all wait in
//! buffers.

use std::sync::Arc;

use fuseboard::startup::Running;
use fuseboard_breaker::SystemClock;
use sqlx::Executor;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::{
    seed,
    server::{Place, stop},
    soon,
    store::connect,
};

/// Some 20 MB of NDJSON.
const ROWS: i64 = 60_000;

async fn started() -> (Place, Running) {
    let place = Place::new("node = \"test\"\n".into(), Arc::new(SystemClock));
    seed::probes(&place.store(), ROWS).await;
    let running = place.start().await;
    (place, running)
}

/// Asks, and reads the first bytes of the answer.
async fn ask(running: &Running) -> TcpStream {
    ask_over(running, "1.1").await
}

async fn ask_over(running: &Running, version: &str) -> TcpStream {
    let address = running.admin_addr;
    let mut stream = soon("a connection", TcpStream::connect(address)).await.expect("it listens");
    let request = format!(
        "GET /api/v1/export?what=probes&format=ndjson HTTP/{version}\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut head = [0; 4096];
    let read = soon("the answer's beginning", stream.read(&mut head)).await.expect("an answer");
    let head = String::from_utf8_lossy(&head[..read]).into_owned();
    assert!(head.starts_with(&format!("HTTP/{version} 200 OK\r\n")), "{head}");
    assert_eq!(head.to_ascii_lowercase().contains("transfer-encoding: chunked"), version == "1.1", "{head}");
    stream
}

async fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    // A connection that is reset shows what came before it.
    let _ = soon("the connection's end", stream.read_to_end(&mut rest)).await;
    rest
}

#[tokio::test]
async fn a_whole_file_ends_in_order_and_says_how_much_it_holds() {
    let (_place, running) = started().await;
    let rest = rest(ask(&running).await).await;
    assert!(rest.ends_with(b"\r\n0\r\n\r\n"), "the transfer's own end");
    let text = String::from_utf8_lossy(&rest);
    let end = text.lines().rev().find(|line| line.starts_with("{\"end\"")).expect("the last line");
    assert_eq!(end, format!("{{\"end\":{{\"rows\":{ROWS},\"in_force_at_from\":0,\"last_seq\":{ROWS}}}}}"));
    stop(running).await;
}

#[tokio::test]
async fn an_error_in_the_middle_is_seen_as_one() {
    let (place, running) = started().await;
    let stream = ask(&running).await;
    let mut other = connect(&place.store()).await;
    soon("the damage", other.execute("DROP TABLE probes")).await.expect("the store is broken");
    let rest = rest(stream).await;
    assert!(!rest.is_empty(), "something was under way");
    assert!(!rest.ends_with(b"0\r\n\r\n"), "a broken file must not look whole");
    assert!(!String::from_utf8_lossy(&rest).contains("{\"end\""));
    soon("the end", running.soft_stop()).await.ok();
}

#[tokio::test]
async fn over_http_1_0_where_only_the_connection_has_an_end_an_error_is_a_reset() {
    let (place, running) = started().await;
    let whole = rest(ask_over(&running, "1.0").await).await;
    assert!(whole.ends_with(b"}}\n") && String::from_utf8_lossy(&whole).contains("{\"end\""));
    let mut stream = ask_over(&running, "1.0").await;
    let mut other = connect(&place.store()).await;
    soon("the damage", other.execute("DROP TABLE probes")).await.expect("the store is broken");
    let mut rest = Vec::new();
    let ended = soon("the connection's end", stream.read_to_end(&mut rest)).await;
    assert_eq!(ended.map_err(|error| error.kind()), Err(std::io::ErrorKind::ConnectionReset));
    soon("the end", running.soft_stop()).await.ok();
}

#[tokio::test]
async fn whoever_leaves_takes_everything_along() {
    let (place, running) = started().await;
    for _ in 0..8 {
        // More than there are readers: each one that stayed behind would keep one.
        drop(ask(&running).await);
    }
    let pool = running.app.db.read();
    let idle = async {
        while pool.num_idle() != pool.size() as usize {
            tokio::task::yield_now().await;
        }
    };
    soon("the readers' return", idle).await;
    let mut other = connect(&place.store()).await;
    let (busy, ..): (i64, i64, i64) = soon(
        "a checkpoint that no reader holds up",
        sqlx::query_as("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut other),
    )
    .await
    .expect("it runs");
    assert_eq!(busy, 0, "a read transaction stayed behind");
    stop(running).await;
}
