//! Pages are cut by number, so that they stay exact while rows are written and whatever the wall clock does.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::{Duration, SystemTime},
};

use fuseboard_app::wire::event::{Audit, Page, Transition};
use fuseboard_breaker::{Breaker, ManualClock, Mode, OverrideEnd};
use serde::de::DeserializeOwned;

use crate::support::{
    app::{TestApp, somebody},
    http, soon,
};

const UPSTREAM: &str = "[[upstream]]\nname = \"npm\"\nurl = \"http://127.0.0.1:9\"\n";

async fn page<Row: DeserializeOwned>(app: &TestApp, query: &str) -> Page<Row> {
    let got = http::get(app.admin(), &format!("/api/v1/{query}")).await;
    assert_eq!(got.status, 200, "{query}");
    serde_json::from_value(got.json()).expect("a page")
}

/// An operator who cannot decide, under a clock that jumps an hour either way.
fn write(breaker: &Breaker, clock: &ManualClock, until: &AtomicBool) {
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
    for round in 0_u32.. {
        if until.load(SeqCst) && round >= 1_000 {
            return;
        }
        let hour = Duration::from_secs(3_600);
        clock.set_wall(if round % 3 == 0 { start - hour } else { start + hour + Duration::from_millis(round.into()) });
        let mode = if round % 2 == 0 { Mode::ForcedOpen } else { Mode::ForcedClosed };
        breaker.set_override(mode, OverrideEnd::Never, somebody(), &format!("{round}"));
        std::thread::yield_now();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_stay_exact_while_rows_are_written_and_the_clock_steps_back() {
    let (app, clock) = TestApp::manual(UPSTREAM).await;
    let (enough, breaker) = (Arc::new(AtomicBool::new(false)), app.breaker("http:127.0.0.1:9"));
    let writer = {
        let (enough, clock, breaker) = (enough.clone(), clock.clone(), breaker.clone());
        std::thread::spawn(move || write(&breaker, &clock, &enough))
    };
    // Upwards behind the writer, and again and again downwards from wherever it stands.
    let (mut up, mut last) = (Vec::new(), 0);
    let mut downs = Vec::new();
    for walk in 0..6 {
        let mut down: Vec<u64> = Vec::new();
        let mut before = String::new();
        for _ in 0..20 {
            let rows: Page<Transition> = page(&app, &format!("transitions?limit=7{before}")).await;
            down.extend(rows.rows.iter().map(|row| row.seq));
            let Some(next) = rows.next else { break };
            before = format!("&before={next}");
            let rows: Page<Transition> = page(&app, &format!("transitions?limit=5&after={last}")).await;
            up.extend(rows.rows.iter().map(|row| row.seq));
            last = up.last().copied().unwrap_or(0);
        }
        downs.push(down);
        enough.store(walk == 5, SeqCst);
    }
    writer.join().expect("it writes");
    soon("the record's writing", app.app().journal.flush()).await;
    loop {
        let rows: Page<Transition> = page(&app, &format!("transitions?limit=1000&after={last}")).await;
        up.extend(rows.rows.iter().map(|row| row.seq));
        last = up.last().copied().unwrap_or(0);
        if rows.next.is_none() {
            break;
        }
    }
    let all: Vec<u64> = (1..=app.app().journal.last_seq()).step_by(2).collect();
    assert!(all.len() >= 1_000, "{}", all.len());
    assert_eq!(up, all, "upwards: every row once, in order, none of those written meanwhile left out");
    for down in downs.iter().filter(|down| !down.is_empty()) {
        let start = all.binary_search(&down[0]).expect("a row") + 1;
        let want: Vec<u64> = all[start - down.len()..start].iter().rev().copied().collect();
        assert_eq!(*down, want, "downwards: from where it began, whatever came on top");
    }
    // Times go back and forth within one page; numbers do not.
    let rows: Page<Transition> = page(&app, "transitions?limit=1000").await;
    assert!(rows.rows.is_sorted_by(|a, b| a.seq > b.seq) && !rows.rows.is_sorted_by(|a, b| a.at >= b.at));
    let audit: Page<Audit> = page(&app, "audit?limit=1000&after=0").await;
    assert!(audit.rows.is_sorted_by(|a, b| a.seq < b.seq));
    app.stop().await;
}

/// A list sorted by id has exact pages too: a place is a place even when its breaker is gone.
#[tokio::test]
async fn a_list_by_id_goes_on_behind_a_breaker_that_is_gone() {
    let upstreams: String =
        (1..=9).map(|n| format!("[[upstream]]\nname = \"u{n}\"\nurl = \"http://127.0.0.1:{n}\"\n")).collect();
    let app = TestApp::start(&upstreams).await;
    let ids = async |query: &str| -> Vec<String> {
        let got = http::get(app.admin(), &format!("/api/v1/breakers?sort=id{query}")).await;
        assert_eq!(got.status, 200, "{query}");
        got.json()["breakers"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|one| one["id"].as_str().expect("text").to_owned())
            .collect()
    };
    assert_eq!(ids("&after=http:127.0.0.1:5").await, ids("").await[5..]);
    assert_eq!(ids("&after=http:127.0.0.1:55").await, ids("").await[5..], "no breaker, but a place");
    assert_eq!(ids("&after=zzz").await, Vec::<String>::new());
    assert_eq!(http::get(app.admin(), "/api/v1/breakers?after=zzz").await.status, 422, "by trouble it has none");
    app.stop().await;
}
