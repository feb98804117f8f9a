//! The journal on a real file: order, durability, a store that refuses, and the bound on what may wait for it.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use fuseboard::{
    history::{PageQuery, audit, overrides, probes, transitions},
    journal::AuditDraft,
};
use fuseboard_app::wire::event::{Actor, Audit, TransitionEvent};
use fuseboard_breaker::{Clock, Event, Mode, SystemClock};
use sqlx::Connection;

use crate::support::{
    soon,
    store::{Chain, Record, at, check_sequence, connect, file, number, probe},
};

const PLENTY: u64 = 64 << 20;

fn of(breaker: &str) -> PageQuery {
    PageQuery { breaker: Some(breaker.into()), ..PageQuery::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r40_one_sequence_for_everything_in_the_order_it_happened() {
    let (_folder, path) = file();
    let record = Record::open(&path, Arc::new(SystemClock), PLENTY).await;
    let mut feed = record.live.subscribe(None);
    let pushers: Vec<_> = (0..4)
        .map(|thread| {
            let journal = record.journal.clone();
            std::thread::spawn(move || {
                let mut chains = [Chain::new(&format!("a{thread}"), at(0)), Chain::new(&format!("b{thread}"), at(0))];
                let mut last = 0;
                for round in 0..200 {
                    let chain = &mut chains[round % 2];
                    let event = match round % 10 {
                        9 => chain.reset(at(round as u64), "stuck"),
                        3 | 6 => probe(&chain.id, at(round as u64)),
                        _ => chain.step(at(round as u64)),
                    };
                    let seq = journal.push(event);
                    assert!(seq > last, "a later fact has a later number");
                    last = seq;
                }
            })
        })
        .collect();
    for pusher in pushers {
        pusher.join().expect("pushing works");
    }
    record.flush().await;

    // 800 facts, 80 of them an operator's, each with its audit row.
    assert_eq!(check_sequence(&path).await, 880);
    let mut reader = connect(&path).await;
    let paired = "SELECT count(*) FROM audit JOIN transitions ON transitions.seq = audit.seq - 1
                  WHERE audit.breaker = transitions.breaker AND transitions.actor IS NOT NULL";
    assert_eq!(number(&mut reader, paired).await, 80);
    // The feed has the same order, one event a number.
    assert_eq!(soon("hello", feed.next()).await.map(|hello| hello.name), Some("hello"));
    for seq in 1..=880 {
        let sent = soon("the feed", feed.next()).await.expect("the feed is open");
        assert_eq!(sent.id, Some(format!("{}-{seq}", record.run.boot)));
    }
    record.close().await;
}

#[tokio::test]
async fn the_feed_and_the_store_say_the_same() {
    let (_folder, path) = file();
    let record = Record::open(&path, Arc::new(SystemClock), PLENTY).await;
    let mut feed = record.live.subscribe(None);
    let mut chain = Chain::new("https:registry.example", at(0));
    record.journal.push(chain.hold(Mode::ForcedOpen, Some(Duration::from_secs(600)), at(5), "CDN move"));
    record.flush().await;
    soon("hello", feed.next()).await.expect("hello");
    let transition: TransitionEvent =
        serde_json::from_str(&soon("the transition", feed.next()).await.expect("the transition").data)
            .expect("it parses");
    let action: Audit = serde_json::from_str(&soon("its audit row", feed.next()).await.expect("its audit row").data)
        .expect("it parses");
    let stored = transitions::page(record.db.read(), &of(&chain.id)).await.expect("it is read");
    assert_eq!(stored.rows, std::slice::from_ref(&transition.row));
    assert_eq!(transition.row.cause.detail["until"], "2026-01-01T00:10:00.005000Z");
    assert_eq!(transition.after.held.as_ref().map(|held| held.by.as_str()), Some("unverified: ana"));
    assert_eq!(record.journal.last_transition(&chain.id).as_deref(), Some(&transition.row));
    let stored = audit::page(record.db.read(), &of(&chain.id)).await.expect("it is read");
    assert_eq!(stored.rows, std::slice::from_ref(&action));
    assert_eq!((action.action.as_str(), action.seq), ("override_set", 2));
    assert_eq!(action.detail["mode"], "forced_open");
    record.close().await;
}

#[tokio::test]
async fn r42_an_action_is_in_the_file_before_it_is_answered() {
    let (_folder, path) = file();
    let record = Record::open(&path, Arc::new(SystemClock), PLENTY).await;
    let mut chain = Chain::new("https:registry.example", at(0));
    record.journal.push(chain.step(at(1)));
    let seq = record.journal.push(chain.reset(at(2), "checked by hand"));
    assert_eq!(record.journal.last_action(&chain.id), Some(seq));
    record.durable(seq).await.expect("it is stored");

    let mut other = connect(&path).await;
    let row: (i64, String, bool, String, String, i64) =
        sqlx::query_as("SELECT seq, actor, actor_verified, actor_via, reason, at FROM audit WHERE action = 'reset'")
            .fetch_one(&mut other)
            .await
            .expect("the row is there");
    let when = 1_767_225_600_002_000;
    assert_eq!(row, (seq as i64, "unverified: ana".into(), false, "api".into(), "checked by hand".into(), when));

    // An action without a transition, on a breaker that has none.
    let actor = Actor { name: "ben".into(), verified: true, via: "board".into() };
    let (action, breaker) = ("probe".to_owned(), Some("http:127.0.0.1:9001".to_owned()));
    let draft = AuditDraft { actor, action, breaker, reason: None, detail: serde_json::Map::new() };
    let seq = record.journal.push_audit(draft);
    record.durable(seq).await.expect("it is stored");
    let page = audit::page(record.db.read(), &of("http:127.0.0.1:9001")).await.expect("it is read");
    assert_eq!(page.rows.iter().map(|row| (row.seq, row.action.as_str())).collect::<Vec<_>>(), [(seq, "probe")]);
    record.close().await;
}

#[tokio::test]
async fn r43_closing_writes_everything_and_marks_the_end() {
    let (_folder, path) = file();
    let record = Record::open(&path, Arc::new(SystemClock), PLENTY).await;
    let mut chain = Chain::new("a", at(0));
    (0..5_000).for_each(|step| {
        record.journal.push(chain.step(at(step)));
    });
    record.calls.refuse(&chain.id);
    record.close().await;
    assert_eq!(check_sequence(&path).await, 5_000);
    let mut reader = connect(&path).await;
    assert_eq!(number(&mut reader, "SELECT count(*) FROM runs WHERE ended_at = alive_at").await, 1);
    assert_eq!(number(&mut reader, "SELECT sum(refused) FROM calls").await, 1);
}

/// The other process of `r41_…`: holds the file's write lock until its input ends. Does nothing in a plain test run.
#[tokio::test]
async fn child_that_locks_the_file() {
    let Some(path) = std::env::var_os("FUSEBOARD_TEST_LOCK") else { return };
    let mut connection = connect(path.as_ref()).await;
    let held = connection.begin_with("BEGIN IMMEDIATE").await.expect("the lock is taken");
    println!("\nlocked");
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).expect("the input ends");
    held.rollback().await.expect("the lock is given back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r41_thirty_seconds_locked_by_another_process_lose_nothing() {
    use tokio::io::{AsyncBufReadExt, BufReader};
    let (_folder, path) = file();
    let record = Record::open(&path, Arc::new(SystemClock), PLENTY).await;
    let mut child = tokio::process::Command::new(std::env::current_exe().expect("this binary"))
        .args(["child_that_locks_the_file", "--nocapture", "--test-threads=1"])
        .env("FUSEBOARD_TEST_LOCK", &path)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("the other process starts");
    let mut said = BufReader::new(child.stdout.take().expect("its output")).lines();
    let locked = async { while said.next_line().await.expect("it talks").expect("it locks the file") != "locked" {} };
    soon("the other process's lock", locked).await;

    // Load for 30 s, by the load's own clock; then the other process is told to let go.
    let mut chain = Chain::new("a", at(0));
    let mut ticks = tokio::time::interval(Duration::from_millis(2));
    let (began, mut pushed, mut longest) = (Instant::now(), 0, Duration::ZERO);
    while began.elapsed() < Duration::from_secs(30) {
        ticks.tick().await;
        let before = Instant::now();
        let wall = SystemClock.wall();
        record.journal.push(if pushed % 3 == 0 { probe(&chain.id, wall) } else { chain.step(wall) });
        longest = longest.max(before.elapsed());
        pushed += 1;
    }
    let health = record.journal.health();
    assert_eq!(health.error.as_deref(), Some("locked by another process"));
    assert!(health.failing_since.is_some() && health.waiting >= pushed, "{health:?} after {pushed} facts");
    assert!(longest < Duration::from_secs(1), "a push waited {longest:?}");
    let refused = record.durable(record.journal.last_seq()).await.expect_err("nothing is stored yet");
    assert_eq!(refused.error, "locked by another process");
    let mut reader = connect(&path).await;
    assert_eq!(number(&mut reader, "SELECT count(*) FROM transitions").await, 0);

    drop(child.stdin.take());
    record.flush().await;
    let health = record.journal.health();
    assert_eq!((health.failing_since, health.error, health.waiting, health.dropped), (None, None, 0, 0));
    assert_eq!(check_sequence(&path).await, pushed as i64);
    soon("the other process's end", child.wait()).await.expect("it ends");
    record.close().await;
}

#[tokio::test]
async fn r41_beyond_the_bound_probes_go_before_transitions_and_a_gap_says_so() {
    let (_folder, path) = file();
    let record = Record::open(&path, Arc::new(SystemClock), 200_000).await;
    let mut other = connect(&path).await;
    let held = other.begin_with("BEGIN IMMEDIATE").await.expect("the lock is taken");
    let mut chain = Chain::new("a", at(0));
    for step in 0..1_000 {
        record.journal.push(probe(&chain.id, at(step)));
        if step % 10 == 0 {
            record.journal.push(chain.step(at(step)));
        }
    }
    let health = record.journal.health();
    assert!(health.dropped > 0 && health.dropped <= 1_000, "{health:?}");
    held.rollback().await.expect("the lock is given back");
    record.flush().await;
    assert_eq!(check_sequence(&path).await, 1_100);
    assert_eq!(number(&mut other, "SELECT count(*) FROM transitions").await, 100, "every transition");
    let (probes, gone) = ("SELECT count(*) FROM probes", "SELECT sum(probes) FROM gaps");
    let (kept, gone) = (number(&mut other, probes).await, number(&mut other, gone).await);
    assert_eq!((kept + gone, gone), (1_000, health.dropped as i64));
    record.close().await;
}

#[tokio::test]
async fn r41_far_beyond_the_bound_the_newest_transition_and_what_operators_did_go_last() {
    let (_folder, path) = file();
    let record = Record::open(&path, Arc::new(SystemClock), 50_000).await;
    let mut other = connect(&path).await;
    let held = other.begin_with("BEGIN IMMEDIATE").await.expect("the lock is taken");
    let mut chain = Chain::new("a", at(0));
    let action = record.journal.push(chain.reset(at(0), "before it all"));
    (1..500).for_each(|step| {
        record.journal.push(chain.step(at(step)));
    });
    let waiting = record.journal.unwritten();
    held.rollback().await.expect("the lock is given back");
    record.durable(action).await.expect("the operator's action outlived the rest");
    record.flush().await;
    assert_eq!(check_sequence(&path).await, 501);
    let lost = number(&mut other, "SELECT sum(transitions) FROM gaps").await;
    assert!(lost > 400, "{lost}");
    assert_eq!(waiting["a"].len() as i64, number(&mut other, "SELECT count(*) FROM transitions").await);
    let newest = transitions::page(record.db.read(), &of("a")).await.expect("it is read").rows.remove(0);
    assert_eq!(Some(&newest), record.journal.last_transition("a").as_deref());
    // With nothing but operators' actions the oldest goes, and whoever waits for it is told.
    let held = other.begin_with("BEGIN IMMEDIATE").await.expect("the lock is taken");
    let first = record.journal.push(chain.reset(at(501), "first"));
    (0..100).for_each(|step| {
        record.journal.push(chain.reset(at(502 + step), "next"));
    });
    held.rollback().await.expect("the lock is given back");
    let refused = record.durable(first).await.expect_err("it was given up");
    assert!(refused.error.contains("given up"), "{refused}");
    record.flush().await;
    check_sequence(&path).await;
    record.close().await;
}

#[tokio::test]
async fn overrides_have_a_life_of_their_own() {
    let (_folder, path) = file();
    let record = Record::open(&path, Arc::new(SystemClock), PLENTY).await;
    let mut chain = Chain::new("a", at(0));
    let hour = Some(Duration::from_secs(3_600));
    let events = [
        chain.step(at(1)),
        chain.hold(Mode::ForcedOpen, None, at(2), "CDN move"),
        chain.hold(Mode::ForcedOpen, hour, at(3), "an hour more"),
        chain.step(at(4)),
        chain.expire(at(3_600_003)),
        chain.hold(Mode::ForcedClosed, hour, at(3_600_004), "trust me"),
        chain.reset(at(3_600_005), "done"),
    ];
    events.into_iter().for_each(|event: Event| {
        record.journal.push(event);
    });
    record.flush().await;
    let mut steps = overrides::of(record.db.read(), "a", 100).await.expect("they are read");
    steps.reverse();
    let lives: Vec<_> = steps.iter().map(|step| (step.what.as_str(), step.mode, step.reason.as_deref())).collect();
    use fuseboard_app::wire::breaker::Mode::{ForcedClosed, ForcedOpen};
    assert_eq!(
        lives,
        [
            ("set", ForcedOpen, Some("CDN move")),
            ("changed", ForcedOpen, Some("an hour more")),
            ("ended", ForcedOpen, None),
            ("set", ForcedClosed, Some("trust me")),
            ("ended", ForcedClosed, Some("done")),
        ]
    );
    assert_eq!(steps[1].until.map(|until| until.to_string()).as_deref(), Some("2026-01-01T01:00:00.003000Z"));
    assert_eq!(steps[2].actor, None);
    record.close().await;
}

#[tokio::test]
async fn pages_go_both_ways_and_say_what_comes_next() {
    let (_folder, path) = file();
    let record = Record::open(&path, Arc::new(SystemClock), PLENTY).await;
    let (a, b): (Arc<str>, Arc<str>) = ("a".into(), "b".into());
    for step in 0..10 {
        record.journal.push(probe(if step % 2 == 0 { &a } else { &b }, at(step * 1_000)));
    }
    record.flush().await;
    let page = |query: PageQuery| {
        let reader = record.db.read().clone();
        async move {
            let page = probes::page(&reader, &query).await.expect("it is read");
            (page.rows.iter().map(|row| row.seq).collect::<Vec<_>>(), page.next)
        }
    };
    let limit = Some(4);
    assert_eq!(page(PageQuery { limit, ..PageQuery::default() }).await, (vec![10, 9, 8, 7], Some(7)));
    let before = Some(7);
    assert_eq!(page(PageQuery { limit, before, ..PageQuery::default() }).await, (vec![6, 5, 4, 3], Some(3)));
    let before = Some(3);
    assert_eq!(page(PageQuery { limit, before, ..PageQuery::default() }).await, (vec![2, 1], None));
    let after = Some(0);
    assert_eq!(page(PageQuery { limit, after, ..PageQuery::default() }).await, (vec![1, 2, 3, 4], Some(4)));
    assert_eq!(page(PageQuery { limit: Some(5), ..of("b") }).await, (vec![10, 8, 6, 4, 2], None));
    let time = |millis| Some(fuseboard::stamp::time(at(millis)));
    let stretch = PageQuery { from: time(2_000), to: time(5_000), ..PageQuery::default() };
    assert_eq!(page(stretch).await, (vec![5, 4, 3], None));
    assert_eq!(page(of("never heard of")).await, (vec![], None));
    record.close().await;
}
