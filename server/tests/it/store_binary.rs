//! The store as the real binary keeps it.

use std::cell::Cell;

use serde_json::Value;
use tokio::{net::TcpListener, sync::Notify};

use crate::support::{
    process::{Process, request},
    soon,
    store::{check_incidents, check_sequence, connect, file, number},
};

#[tokio::test]
async fn r43_a_second_process_exits_2_and_names_the_first() {
    let (_folder, path) = file();
    let first = Process::start(&path, &[]).await;
    let (status, said) = Process::refused(&path).await;
    assert_eq!(status.code(), Some(2), "{said}");
    let pid = first.child.id().expect("it runs");
    assert!(said.contains(&format!("in use by process {pid} ")), "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r43_fifty_kills_of_the_server_lose_nothing_that_was_answered_and_leave_incidents_as_their_rows_say() {
    let (_folder, path) = file();
    // A port that was free a moment ago: every call to it is refused by the system.
    let closed = TcpListener::bind("127.0.0.1:0").await.and_then(|listener| listener.local_addr()).expect("a port");
    let upstreams = [format!("dead=http://{closed}")];
    let breaker = format!("/api/v1/breakers/http:{closed}");

    let mut answered: Vec<String> = Vec::new();
    // Whether the newest action in the store left the breaker held.
    let (mut incidents, mut held) = (0, false);
    for kill in 0..50 {
        let mut server = Process::start(&path, &upstreams).await;
        let (status, shown) = request(&server.board, "GET", &breaker, "").await.expect("an answer");
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        assert_eq!((status, !shown["override"].is_null()), (200, held), "kill {kill}: {shown}");
        // Some of the kills come before anything was answered, most a few calls after some answers.
        let (wanted, more) = (kill % 4, 1 + kill * 7 % 19);
        let (before, enough, called) = (answered.len(), Notify::new(), Notify::new());
        let calls_made = Cell::new(0);
        let (gateway, board) = (server.gateway.clone(), server.board.clone());
        // Calls that trip the breaker, and an operator who changes it all the time.
        let calls = async {
            while request(&gateway, "GET", "/dead/left-pad", "").await.is_ok() {
                calls_made.set(calls_made.get() + 1);
                called.notify_one();
            }
            std::future::pending::<()>().await;
        };
        let operate = async {
            for action in 0.. {
                let reason = format!("{kill}/{action}");
                let body = format!("{{\"reason\":\"{reason}\",\"by\":\"ana\"");
                let done = match action % 3 {
                    0 => {
                        let body = format!("{body},\"mode\":\"forced_open\",\"until\":null}}");
                        request(&board, "PUT", &format!("{breaker}/override"), &body).await
                    }
                    1 => request(&board, "POST", &format!("{breaker}/release"), &format!("{body}}}")).await,
                    _ => {
                        request(&board, "POST", &format!("{breaker}/reset"), &format!("{body},\"end_override\":true}}"))
                            .await
                    }
                };
                match done {
                    Ok((200, _)) => {
                        answered.push(reason);
                        if answered.len() - before == wanted {
                            enough.notify_one();
                        }
                    }
                    // A release right after a restart may find nothing to release.
                    Ok((409, _)) => {}
                    Ok((status, body)) => panic!("kill {kill}, action {action}: {status} {body}"),
                    Err(gone) => panic!("kill {kill}: the server ended by itself: {gone}"),
                }
            }
        };
        let moment = async {
            if wanted > 0 {
                soon(&format!("{wanted} answers before kill {kill}"), enough.notified()).await;
            }
            let until = calls_made.get() + more;
            while calls_made.get() < until {
                soon("a call more", called.notified()).await;
            }
        };
        tokio::select! {
            _ = async { tokio::join!(calls, operate) } => unreachable!("only the kill ends it"),
            () = moment => {}
        }
        server.kill().await;

        assert!(answered.len() >= before + wanted, "kill {kill}: {} answers of {wanted}", answered.len() - before);

        check_sequence(&path).await;
        incidents = check_incidents(&path).await;
        let mut reader = connect(&path).await;
        let stored: Vec<(String, String)> =
            sqlx::query_as("SELECT action, reason FROM audit WHERE actor LIKE '%ana' ORDER BY seq")
                .fetch_all(&mut reader)
                .await
                .expect("the file opens");
        let kept: Vec<_> = stored.iter().map(|(_, reason)| reason).filter(|reason| answered.contains(reason)).collect();
        assert_eq!(kept, Vec::from_iter(&answered), "kill {kill}: what was answered, once and in order");
        // One at a time was on its way when it was killed.
        assert!(stored.len() <= answered.len() + kill + 1, "{} stored, {} answered", stored.len(), answered.len());
        held = stored.last().is_some_and(|(action, _)| action.starts_with("override"));
    }
    assert!(incidents > 0);
    let mut reader = connect(&path).await;
    assert_eq!(number(&mut reader, "SELECT count(*) FROM runs WHERE ended_at IS NULL").await, 50);
}
