//! The live feed: complete, in order, resumable, and no hindrance to a shutdown.

use fuseboard_app::wire::event::FeedEvent;
use fuseboard_breaker::{Mode, OverrideEnd};
use futures_util::FutureExt;
use http::Method;
use serde_json::json;
use tokio::{io::AsyncWriteExt, net::TcpSocket};

use crate::{
    api_breakers::trip,
    support::{
        desk::Desk,
        process::Process,
        soon,
        sse::{Feed, Frame},
        switch::Switch,
    },
};

async fn hold(app: &Desk, host: &Switch, mode: &str) {
    let path = format!("/api/v1/breakers/{}/override", host.breaker());
    let body = json!({"mode": mode, "reason": "r", "until": null});
    let answer = app.act(Method::PUT, &path, body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

fn id(frame: &Frame) -> &str {
    frame.id.as_deref().expect("a fact has an id")
}

#[tokio::test]
async fn a_stream_greets_and_brings_what_happens() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    let mut feed = app.feed("/api/v1/events", None).await;
    let hello = feed.next().await.expect("a greeting");
    let FeedEvent::Hello(hello) = hello.event else { panic!("{hello:?}") };
    assert_eq!(hello.version, env!("CARGO_PKG_VERSION"));
    assert_eq!(hello.cursor, app.app().journal.cursor());

    trip(&app, &host, "npm").await;
    let tripped = feed.cause("tripped").await;
    assert_eq!(tripped.breaker, host.breaker());
    let stats = feed.until("the breaker's numbers", |event| match event {
        FeedEvent::Stats(stats) => stats.breakers.iter().find(|one| one.id == tripped.breaker).cloned(),
        _ => None,
    });
    assert_eq!(stats.await.counts.failure, 5);

    hold(&app, &host, "forced_open").await;
    let set = feed.fact().await;
    let audit = feed.fact().await;
    assert!(matches!(&set.event, FeedEvent::Transition(event) if event.after.held.is_some()), "{set:?}");
    let FeedEvent::Audit(row) = &audit.event else { panic!("{audit:?}") };
    assert_eq!(id(&audit), format!("{}-{}", hello.cursor.split('-').next().expect("a boot"), row.seq));
}

#[tokio::test]
async fn r45_a_reader_that_comes_back_misses_and_repeats_nothing() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    let mut whole = app.feed("/api/v1/events", None).await;
    let hello = whole.fact().await;
    let mut seen = Vec::new();
    let mut last = id(&hello).to_owned();
    for round in 0..6 {
        hold(&app, &host, if round % 2 == 0 { "forced_open" } else { "forced_closed" }).await;
        // A reader that reads one fact and leaves; the second one is waiting when it comes back. The id of the header
        // wins over the one in the address.
        let mut feed = app.feed(&format!("/api/v1/events?after={}", id(&hello)), Some(&last)).await;
        assert!(matches!(feed.fact().await.event, FeedEvent::Hello(_)), "it can be served");
        let fact = feed.fact().await;
        last = id(&fact).to_owned();
        seen.push(last.clone());
    }
    let mut rest = app.feed("/api/v1/events", Some(&last)).await;
    assert!(matches!(rest.fact().await.event, FeedEvent::Hello(_)));
    while seen.len() < 12 {
        seen.push(id(&rest.fact().await).to_owned());
    }
    let mut all = Vec::new();
    while all.len() < 12 {
        all.push(id(&whole.fact().await).to_owned());
    }
    assert_eq!(seen, all);
}

#[tokio::test]
async fn r45_a_cursor_that_cannot_be_served_gets_one_resync() {
    let host = Switch::start().await;
    let mut app = Desk::start(&host.upstream("npm")).await;
    hold(&app, &host, "forced_open").await;
    let old = app.app().journal.cursor();
    app.restart().await;
    let ahead = format!("{}-999999", app.app().journal.cursor().split('-').next().expect("a boot"));
    for cursor in [old.as_str(), "0-0", "nonsense", &ahead] {
        let mut feed = app.feed("/api/v1/events", Some(cursor)).await;
        let first = feed.fact().await;
        let FeedEvent::Resync(hello) = first.event else { panic!("{cursor}: {first:?}") };
        assert_eq!(hello.cursor, app.app().journal.cursor());
        hold(&app, &host, "forced_open").await;
        let next = feed.fact().await;
        assert!(!matches!(next.event, FeedEvent::Resync(_)), "one is enough: {next:?}");
    }
    // An empty one says that nothing was seen yet; the address counts then.
    for (path, resync) in [("/api/v1/events", false), ("/api/v1/events?after=0-0", true)] {
        for empty in ["", " "] {
            let first = app.feed(path, Some(empty)).await.fact().await;
            assert_eq!(matches!(first.event, FeedEvent::Resync(_)), resync, "{path}: {first:?}");
        }
    }
    assert_eq!(app.get("/api/v1/events?after=nonsense").await.problem(), (422, Some("after".into())));
}

#[tokio::test]
async fn r45_fifty_idle_streams_do_not_hold_up_a_shutdown() {
    let host = Switch::start().await;
    let mut app = Desk::start(&host.upstream("npm")).await;
    let mut feeds = Vec::new();
    for _ in 0..50 {
        let mut feed = app.feed("/api/v1/events", None).await;
        feed.fact().await;
        feeds.push(feed);
    }
    let lifecycle = app.app().lifecycle.clone();
    app.stop().await;
    assert!(lifecycle.is_stopping());
    for feed in feeds {
        feed.ends().await;
    }
}

/// Browsers open no more than six connections of HTTP/1.1 to one server; it is not the server that sets that bound.
#[tokio::test]
async fn r45_eight_tabs_on_http_1_hear_the_same_and_leave_room_for_questions() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    let mut tabs = Vec::new();
    for _ in 0..8 {
        let mut tab = app.feed("/api/v1/events", None).await;
        assert!(matches!(tab.fact().await.event, FeedEvent::Hello(_)));
        tabs.push(tab);
    }
    for round in 0..4 {
        hold(&app, &host, if round % 2 == 0 { "forced_open" } else { "forced_closed" }).await;
    }
    let mut heard = Vec::new();
    for tab in &mut tabs {
        let mut ids = Vec::new();
        while ids.len() < 8 {
            ids.push(id(&tab.fact().await).to_owned());
        }
        heard.push(ids);
    }
    assert!(heard.iter().all(|ids| *ids == heard[0]), "{heard:?}");
    assert_eq!(app.get("/api/v1/breakers").await.status, 200);
}

/// A tab that is put to sleep reads nothing for a long time: nobody waits for it, and when it wakes up it is told.
#[tokio::test]
async fn r45_a_reader_that_stalls_holds_nobody_up_and_is_told_what_it_missed() {
    let host = Switch::start().await;
    let app = Desk::start(&host.upstream("npm")).await;
    let mut asleep = app.feed("/api/v1/events", None).await;
    asleep.fact().await;
    let mut awake = app.feed("/api/v1/events", None).await;
    awake.fact().await;
    // More than the feed keeps and than the sockets between take, each with a reason as long as one may be.
    let breaker = app.app().panel.get(&host.breaker()).expect("it is there");
    let by = crate::support::app::somebody();
    for round in 0..10_000_u32 {
        let mode = if round % 2 == 0 { Mode::ForcedOpen } else { Mode::ForcedClosed };
        breaker.set_override(mode, OverrideEnd::Never, by.clone(), &"r".repeat(500));
    }
    app.stored().await;
    let last = app.app().journal.last_seq();
    // Facts in order until the gap, then one resync and the present.
    let mut seen = 0;
    let resync = async {
        loop {
            let frame = asleep.fact().await;
            if let FeedEvent::Resync(hello) = frame.event {
                return hello.cursor;
            }
            assert_eq!(id(&frame), format!("{}-{}", boot(&app), seen + 1), "no gap without a word");
            seen += 1;
        }
    };
    assert_eq!(soon("the resync", resync).await, format!("{}-{last}", boot(&app)), "the present");
    assert!(seen < last, "it cannot have heard all of it");
    hold(&app, &host, "forced_open").await;
    assert_eq!(id(&asleep.fact().await), format!("{}-{}", boot(&app), last + 1), "and on from there");
    let next = awake.until("the last action", |event| match event {
        FeedEvent::Audit(row) if row.seq == last + 2 => Some(()),
        _ => None,
    });
    next.await;
}

fn boot(app: &Desk) -> String {
    app.app().journal.cursor().split('-').next().expect("a boot").to_owned()
}

#[tokio::test]
async fn r45_fifty_idle_streams_and_sigterm() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Process::serve(folder.path(), "", "info").await;
    let at = server.board.parse().expect("an address");
    let mut feeds = Vec::new();
    for _ in 0..50 {
        let mut feed = Feed::open(at, "/api/v1/events", None).await;
        feed.fact().await;
        feeds.push(feed);
    }
    let (log, status) = server.terminate().await;
    assert!(status.success(), "{status}");
    assert!(!log.contains("connections were cut off"), "it was held up: {log}");
    for feed in feeds {
        feed.ends().await;
    }
}

/// A tab that is put to sleep with its connection full of what it did not read: the stop waits for it for a moment, not
/// for the whole drain.
#[tokio::test]
async fn r45_a_reader_that_stalls_does_not_hold_up_a_shutdown() {
    let host = Switch::start().await;
    let mut app = Desk::start(&host.upstream("npm")).await;
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4_096).expect("a small one");
    let mut asleep = soon("a connection", socket.connect(app.admin())).await.expect("it is taken");
    asleep.write_all(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("it is asked");
    let mut awake = app.feed("/api/v1/events", None).await;
    awake.fact().await;
    let breaker = app.app().panel.get(&host.breaker()).expect("it is there");
    let by = crate::support::app::somebody();
    // In portions that the feed keeps, so that each one is written: more in all than the sockets between take.
    for portion in 0..10 {
        for round in 0..600_u32 {
            let mode = if round % 2 == 0 { Mode::ForcedOpen } else { Mode::ForcedClosed };
            breaker.set_override(mode, OverrideEnd::Never, by.clone(), &"r".repeat(500));
        }
        let last = app.app().journal.last_seq();
        let heard = awake.until("the portion's end", |event| match event {
            FeedEvent::Audit(row) if row.seq == last => Some(()),
            FeedEvent::Resync(_) => panic!("portion {portion} is larger than what the feed keeps"),
            _ => None,
        });
        heard.await;
    }
    let lifecycle = app.app().lifecycle.clone();
    app.stop().await;
    assert!(lifecycle.hard().now_or_never().is_none(), "the drain ran out waiting for somebody who reads nothing");
}
