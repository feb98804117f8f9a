//! What survives: an end in order, and fifty that were not.

use std::{process::Stdio, sync::Arc, time::Duration};

use fuseboard_breaker::{Cause, Clock, ManualClock, Mode, SystemClock};
use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::ChildStdout,
};

use crate::support::{
    soon,
    store::{Chain, Record, at, check_sequence, closed, connect, file, number},
};

const PLENTY: u64 = 64 << 20;

#[tokio::test]
async fn r21_a_restart_reads_back_what_was_saved() {
    let (_folder, path) = file();
    let record = Record::open(&path, Arc::new(SystemClock), PLENTY).await;
    let mut open = Chain::new("https:open.example", at(0));
    open.saved.attempt = 3;
    open.saved.opens = 9;
    open.saved.wait = Duration::from_micros(29_500_001);
    open.saved.next_probe_at = Some(at(30_000));
    open.saved.down_since = Some(at(7));
    open.saved.cooldown_until = Some(at(90_000));
    record.journal.push(open.step(at(10)));
    let mut held = Chain::new("accounts", at(0));
    record.journal.push(held.hold(Mode::ForcedClosed, Some(Duration::from_secs(60)), at(11), "known good"));
    let mut gone = Chain::new("https:gone.example", at(0));
    record.journal.push(gone.change(gone.saved.state, Cause::Evicted, at(12), None));
    record.journal.seen(&"https:quiet.example".into(), "grpc");
    let last = record.journal.last_seq();
    record.close().await;

    let again = Record::open(&path, Arc::new(SystemClock), PLENTY).await;
    assert_eq!(again.run.next_seq, last + 1);
    let read: Vec<_> = again.restored.breakers.iter().map(|one| &*one.id).collect();
    assert_eq!(read, ["accounts", "https:open.example", "https:quiet.example"], "held, not closed, the rest");
    assert_eq!(again.restored.breakers[0].saved, held.saved);
    assert_eq!(again.restored.breakers[1].saved, open.saved);
    let quiet = &again.restored.breakers[2];
    assert_eq!((quiet.policy.as_str(), &quiet.saved), ("grpc", &closed(quiet.saved.since)));
    let newest = again.journal.last_transition("accounts").expect("it is remembered");
    assert_eq!((newest.cause.kind.as_str(), newest.reason.as_deref()), ("override_set", Some("known good")));
    again.close().await;
}

#[tokio::test]
async fn two_runs_in_one_minute_add_up() {
    let (_folder, path) = file();
    let clock = Arc::new(ManualClock::default());
    for _ in 0..2 {
        let record = Record::open(&path, clock.clone(), PLENTY).await;
        (0..3).for_each(|_| record.calls.refuse(&"a".into()));
        record.close().await;
    }
    let mut reader = connect(&path).await;
    assert_eq!(number(&mut reader, "SELECT sum(refused) FROM calls").await, 6);
    assert_eq!(number(&mut reader, "SELECT count(DISTINCT at) FROM calls").await, 1);
}

/// The process that is killed: restores, pushes facts, and says which operators' actions wait and which are durable. Does
/// nothing in a plain test run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_that_is_killed() {
    let Some(path) = std::env::var_os("FUSEBOARD_TEST_KILLED") else { return };
    let clock = Arc::new(SystemClock);
    println!("\nopens 0");
    let record = Record::open(path.as_ref(), clock.clone(), PLENTY).await;
    let restored = &record.restored;
    let mut chains: Vec<_> = ["a", "b", "c"].map(|id| Chain::restored(id, clock.wall(), restored)).into();
    for round in 0.. {
        for chain in &mut chains {
            (0..4).for_each(|_| {
                record.journal.push(chain.step(clock.wall()));
                record.journal.push(crate::support::store::probe(&chain.id, clock.wall()));
            });
        }
        let chain = &mut chains[round % 3];
        let hold = round % 2 == 0;
        let event = if hold {
            chain.hold(Mode::ForcedOpen, None, clock.wall(), "hold")
        } else {
            chain.reset(clock.wall(), "reset")
        };
        let seq = record.journal.push(event);
        println!("\npushed {seq}");
        record.durable(seq).await.expect("it is stored");
        println!("\nanswered {seq}");
    }
}

/// What the child says, or said before it was killed.
async fn said(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<(String, i64)> {
    while let Some(line) = soon("a line of the child", lines.next_line()).await.expect("it can be read") {
        // Of a line that was cut off the number may be another one; the end of its output shows it.
        if let Some((what, seq)) = line.split_once(' ')
            && let ("opens" | "pushed" | "answered", Ok(seq)) = (what, seq.parse())
        {
            return Some((what.to_owned(), seq));
        }
    }
    None
}

#[tokio::test]
async fn r43_fifty_kills_lose_nothing_that_was_answered() {
    let (_folder, path) = file();
    let (mut answered, mut opened) = (Vec::new(), 0);
    for kill in 0..50 {
        let mut child = tokio::process::Command::new(std::env::current_exe().expect("this binary"))
            .args(["child_that_is_killed", "--nocapture", "--test-threads=1"])
            .env("FUSEBOARD_TEST_KILLED", &path)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the child starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        // Some while it opens the store, half of the others while an action is on its way to the store, half right behind.
        let (moment, mut times) = match (kill % 10, kill % 2) {
            (0, _) => ("opens", 1),
            (_, 0) => ("answered", 1 + kill % 7),
            (_, _) => ("pushed", 1 + kill % 7),
        };
        let before = answered.len();
        let least = if moment == "answered" { times } else { times - 1 };
        opened += usize::from(moment != "opens");
        while times > 0 {
            let (what, seq) = said(&mut lines).await.expect("the child goes on until it is killed");
            answered.extend((what == "answered").then_some(seq));
            times -= usize::from(what == moment);
        }
        soon("the child's end", child.kill()).await.expect("it is killed");
        // What it had said by then was answered, too.
        while let Some((what, seq)) = said(&mut lines).await {
            answered.extend((what == "answered").then_some(seq));
        }
        assert!(answered.len() >= before + least, "kill {kill}: {} answers of {least}", answered.len() - before);

        // Killed while it first made its tables: none of them is there, and nothing was answered.
        if opened == 0 && !path.exists() {
            continue;
        }
        let mut reader = connect(&path).await;
        if opened == 0 && number(&mut reader, "SELECT count(*) FROM sqlite_schema WHERE name = 'audit'").await == 0 {
            continue;
        }
        check_sequence(&path).await;
        let stored: Vec<i64> =
            sqlx::query_scalar("SELECT audit.seq FROM audit JOIN transitions ON transitions.seq = audit.seq - 1")
                .fetch_all(&mut reader)
                .await
                .expect("the actions are read");
        let missing: Vec<_> = answered.iter().filter(|seq| stored.binary_search(seq).is_err()).collect();
        assert!(missing.is_empty(), "kill {kill}: answered and not stored: {missing:?}");
        // One at a time was on its way: no more than one of each run is there beyond those.
        assert!(stored.len() <= answered.len() + kill + 1, "{} stored, {} answered", stored.len(), answered.len());
    }
    assert_eq!(opened, 45);
    let mut reader = connect(&path).await;
    let unended = number(&mut reader, "SELECT count(*) FROM runs WHERE ended_at IS NULL").await;
    assert!(unended >= 45, "{unended} runs");
    assert_eq!(number(&mut reader, "SELECT count(*) FROM runs").await, unended, "none ended in order");
}
