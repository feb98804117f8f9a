use std::time::Duration;

use fuseboard_app::wire::{
    event::{Actor, Audit, StoreHealth},
    time::Time,
};
use fuseboard_breaker::clock::ManualClock;
use futures_util::FutureExt;

use super::*;

fn live(last: u64) -> Arc<Live> {
    Arc::new(Live::new(7, last, "1.0", Arc::new(ManualClock::default())))
}

fn fact(seq: u64) -> Arc<Published> {
    let actor = Actor { name: "ana".into(), verified: false, via: "api".into() };
    let audit = Audit {
        seq,
        node: "fuse-1".into(),
        at: Time::from_micros(0),
        actor,
        action: "reload".into(),
        breaker: None,
        reason: Some("line one\nline two".into()),
        detail: serde_json::Map::new(),
    };
    Published::new(seq, FeedEvent::Audit(Box::new(audit)))
}

/// What is there now; `None` when the reader would wait.
fn now(reader: &mut Subscription) -> Option<Sent> {
    reader.next().now_or_never().map(|sent| sent.expect("the feed is open"))
}

fn place(sent: Option<Sent>) -> (String, String) {
    let sent = sent.expect("an event is there");
    (sent.name.to_owned(), sent.id.unwrap_or_default())
}

fn at(name: &str, seq: u64) -> (String, String) {
    (name.to_owned(), format!("7-{seq}"))
}

#[test]
fn r45_a_cursor_resumes_without_gap_or_repeat() {
    let live = live(0);
    (1..=10).for_each(|seq| live.publish(fact(seq)));
    let mut reader = live.subscribe(Some("7-4".parse().unwrap()));
    assert_eq!(place(now(&mut reader)), at("hello", 4));
    live.publish(fact(11));
    for seq in 5..=11 {
        assert_eq!(place(now(&mut reader)), at("audit", seq));
    }
    assert_eq!(now(&mut reader), None);
    live.publish(fact(12));
    assert_eq!(place(now(&mut reader)), at("audit", 12));
}

#[test]
fn r45_a_new_reader_begins_in_the_present() {
    let live = live(0);
    live.publish(fact(1));
    let mut reader = live.subscribe(None);
    let hello = now(&mut reader).unwrap();
    let data: Hello = serde_json::from_str(&hello.data).unwrap();
    assert_eq!((hello.name, data.cursor.as_str(), data.version.as_str()), ("hello", "7-1", "1.0"));
    assert_eq!(now(&mut reader), None);
}

#[test]
fn r45_a_cursor_that_cannot_be_served_gets_one_resync() {
    let live = live(100);
    (101..=105).for_each(|seq| live.publish(fact(seq)));
    // Of another run, never given out, and from before this run.
    for cursor in ["6-103", "7-106", "7-99"] {
        let mut reader = live.subscribe(Some(cursor.parse().unwrap()));
        assert_eq!(place(now(&mut reader)), at("resync", 105), "{cursor}");
        assert_eq!(now(&mut reader), None, "{cursor}");
    }
    // Both ends of what can be served.
    for (cursor, first) in [("7-100", Some(101)), ("7-105", None)] {
        let mut reader = live.subscribe(Some(cursor.parse().unwrap()));
        assert_eq!(now(&mut reader).unwrap().name, "hello", "{cursor}");
        assert_eq!(now(&mut reader).map(|sent| sent.id), first.map(|seq| Some(format!("7-{seq}"))), "{cursor}");
    }
}

#[test]
fn r45_a_slow_reader_gets_one_resync_and_goes_on() {
    let live = live(0);
    let mut reader = live.subscribe(None);
    assert_eq!(now(&mut reader).unwrap().name, "hello");
    let last = RING as u64 + 1;
    (1..=last).for_each(|seq| live.publish(fact(seq)));
    assert_eq!(place(now(&mut reader)), at("resync", last));
    assert_eq!(now(&mut reader), None);
    live.publish(fact(last + 1));
    assert_eq!(place(now(&mut reader)), at("audit", last + 1));
}

#[test]
fn a_reader_exactly_as_slow_as_the_ring_misses_nothing() {
    let live = live(0);
    let mut reader = live.subscribe(None);
    assert_eq!(now(&mut reader).unwrap().name, "hello");
    (1..=RING as u64).for_each(|seq| live.publish(fact(seq)));
    for seq in 1..=RING as u64 {
        assert_eq!(place(now(&mut reader)), at("audit", seq));
    }
}

#[test]
fn r46_an_event_is_one_line_of_data() {
    let live = live(0);
    let mut reader = live.subscribe(None);
    now(&mut reader);
    live.publish(fact(1));
    let sent = now(&mut reader).unwrap();
    assert!(!sent.data.contains('\n'), "{}", sent.data);
    let back: Audit = serde_json::from_str(&sent.data).unwrap();
    assert_eq!(back.reason.as_deref(), Some("line one\nline two"));
}

#[test]
fn the_feed_knows_how_many_listen() {
    let live = live(0);
    let readers = [live.subscribe(None), live.subscribe(None)];
    assert_eq!(live.streams(), 2);
    drop(readers);
    assert_eq!(live.streams(), 0);
}

#[test]
fn stats_have_no_id_and_only_the_newest_round_is_sent() {
    let live = live(0);
    let mut reader = live.subscribe(None);
    now(&mut reader);
    for waiting in 1..=3 {
        let store = StoreHealth { waiting, ..StoreHealth::default() };
        live.publish_stats(Stats { now: Time::from_micros(0), breakers: Vec::new(), store, findings: Vec::new() });
    }
    let sent = now(&mut reader).unwrap();
    let stats: Stats = serde_json::from_str(&sent.data).unwrap();
    assert_eq!((sent.name, sent.id, stats.store.waiting), ("stats", None, 3));
    assert_eq!(now(&mut reader), None);
}

#[tokio::test]
async fn r45_fifty_idle_streams_end_when_the_feed_is_closed() {
    let live = live(0);
    let readers: Vec<_> = (0..50)
        .map(|_| {
            let mut reader = live.subscribe(None);
            tokio::spawn(async move {
                let mut seen = 0;
                while reader.next().await.is_some() {
                    seen += 1;
                }
                seen
            })
        })
        .collect();
    tokio::task::yield_now().await;
    live.close();
    for reader in readers {
        let seen = tokio::time::timeout(Duration::from_secs(5), reader).await.expect("the stream ends").unwrap();
        assert!(seen <= 1);
    }
    assert_eq!(live.subscribe(None).next().await, None);
}

#[test]
fn only_two_whole_numbers_are_a_cursor() {
    assert_eq!("3-14".parse(), Ok(Cursor { boot: 3, seq: 14 }));
    for text in ["", "3", "-", "3-", "-4", "a-4", "3-+4", "3-4-5", "99999999999999999999-1"] {
        assert_eq!(text.parse::<Cursor>(), Err(BadCursor), "{text:?}");
    }
}
