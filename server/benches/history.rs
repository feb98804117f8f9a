//! The record of a year: 500 breakers, five million transitions. `seed FILE` writes one (as `cargo xtask seed-history`
//! does), `FILE` asks it what the board and the API ask and prints how long that took and how much was sent; without
//! either both are done in a folder of its own.

#[path = "history/seed.rs"]
mod seed;

use std::{
    collections::HashMap,
    io::Write,
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use flate2::{Compression, write::GzEncoder};
use fuseboard::{
    db::{Db, carry::Carrier},
    history::{
        PageQuery, audit, calls,
        incidents::{self, IncidentQuery},
        lane::{self, Window},
        probes,
        retention::Keep,
        tending::Tending,
        transitions,
    },
    stamp,
};
use fuseboard_app::wire::time::Time;
use serde::Serialize;

const DAY: i64 = 86_400_000_000;

#[tokio::main]
async fn main() {
    let given: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    match given.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["seed", file] => seed::write(Path::new(file)).await,
        [file] => measure(Path::new(file)).await,
        _ => {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let file = folder.path().join("year.db");
            seed::write(&file).await;
            measure(&file).await;
        }
    }
}

async fn measure(file: &Path) {
    let db = Db::open(file, "bench", "0").await.expect("the store opens");
    let now = stamp::micros(SystemTime::now());
    let ids: Vec<String> = sqlx::query_scalar("SELECT id FROM breakers WHERE id NOT LIKE 'https:quiet-%' ORDER BY key")
        .fetch_all(db.read())
        .await
        .expect("the breakers");
    let busiest = ids[0].clone();
    println!("{} breakers, {:.1} GB\n", ids.len(), db.bytes() as f64 / 1e9);
    println!("| what | median | longest | JSON | gzip |\n| --- | ---: | ---: | ---: | ---: |");

    let page = |breaker: Option<&str>, ago: Option<i64>, before| PageQuery {
        breaker: breaker.map(str::to_owned),
        from: ago.map(|ago| Time::from_micros(now - (ago + 7) * DAY)),
        to: ago.map(|ago| Time::from_micros(now - ago * DAY)),
        before,
        ..PageQuery::default()
    };
    let lists = [
        ("newest", page(None, None, None)),
        ("half-way", page(None, None, Some(2_500_000))),
        ("one breaker", page(Some(&busiest), None, None)),
        ("a week, 11 months ago", page(None, Some(330), None)),
        ("a week of one breaker, 11 months ago", page(Some(&busiest), Some(330), None)),
    ];
    for (name, query) in &lists {
        row(&format!("transitions, {name}"), async || transitions::page(db.read(), query).await.expect("read")).await;
    }
    for (name, query) in &lists {
        row(&format!("probes, {name}"), async || probes::page(db.read(), query).await.expect("read")).await;
    }
    for (name, query) in [&lists[0], &lists[3]] {
        row(&format!("audit, {name}"), async || audit::page(db.read(), query).await.expect("read")).await;
    }
    let time = |ago: i64| Some(Time::from_micros(now - ago * DAY));
    let some = IncidentQuery::default;
    let quiet = quiet(&db, 200).await;
    for (name, query) in [
        ("newest", some()),
        ("open", IncidentQuery { open: Some(true), ..some() }),
        ("one breaker", IncidentQuery { breakers: Some(vec![busiest.clone()]), ..some() }),
        ("a hundred breakers", IncidentQuery { breakers: Some(ids[300..400].to_vec()), ..some() }),
        ("two hundred quiet breakers", IncidentQuery { breakers: Some(quiet), ..some() }),
        ("all breakers", IncidentQuery { breakers: Some(ids.clone()), ..some() }),
        ("a week, 11 months ago", IncidentQuery { from: time(337), to: time(330), ..some() }),
        ("the year, oldest first", IncidentQuery { from: time(360), after: Some(0), ..some() }),
    ] {
        row(&format!("incidents, {name}"), async || {
            let mut reader = db.read().acquire().await.expect("a connection");
            let found = incidents::page(&mut reader, &query).await.expect("read");
            found.iter().map(|one| one.shown(Vec::new)).collect::<Vec<_>>()
        })
        .await;
    }
    for (name, days) in [("an hour", 0), ("a day", 1), ("a week", 7), ("a month", 30), ("a year", 365)] {
        let from = if days == 0 { now - DAY / 24 } else { now - days * DAY };
        let (from, to) = (Time::from_micros(from), Time::from_micros(now));
        let window = Window { from, to, width: 1_000, now: to, boot: 1 };
        row(&format!("one lane, {name}"), async || {
            let mut lane = lane::lane(db.read(), &busiest, &window, &HashMap::new()).await.expect("drawn");
            lane.calls = Some(calls::series(db.read(), &busiest, (from, to), 1_000).await.expect("read"));
            lane.probes = Some(probes::marks(db.read(), &busiest, (from, to), 1_000).await.expect("read"));
            lane
        })
        .await;
        row(&format!("100 lanes, {name}"), async || {
            lane::lanes(db.read(), &ids[..100], &window, &HashMap::new()).await.expect("drawn")
        })
        .await;
        row(&format!("all {} lanes, {name}", ids.len()), async || {
            lane::lanes(db.read(), &ids, &window, &HashMap::new()).await.expect("drawn")
        })
        .await;
    }
    tend(&db, now).await;
}

/// The ids of so many breakers that never had an incident; they are put beside those that are counted above.
async fn quiet(db: &Db, count: usize) -> Vec<String> {
    let mut writer = db.connect_writer().await.expect("a connection");
    let ids: Vec<String> = (0..count).map(|n| format!("https:quiet-{n}.packages.example")).collect();
    for id in &ids {
        sqlx::query("INSERT OR IGNORE INTO breakers (id, policy, first_at, since) VALUES (?, 'registry', 0, 0)")
            .bind(id)
            .execute(&mut writer)
            .await
            .expect("it is written");
    }
    ids
}

/// Asks five times after once for the page cache; prints the median, the longest and the size of the answer.
async fn row<T: Serialize>(what: &str, ask: impl AsyncFn() -> T) {
    let mut took = Vec::new();
    let mut json = Vec::new();
    for round in 0..6 {
        let began = Instant::now();
        json = serde_json::to_vec(&ask().await).expect("it is written");
        if round > 0 {
            took.push(began.elapsed());
        }
    }
    took.sort_unstable();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::new(4));
    gzip.write_all(&json).expect("it is compressed");
    let size = gzip.finish().expect("it is compressed").len();
    let ms = |took: Duration| took.as_secs_f64() * 1_000.0;
    println!(
        "| {what} | {:.1} ms | {:.1} ms | {} kB | {} kB |",
        ms(took[2]),
        ms(took[4]),
        json.len() / 1_000,
        size / 1_000
    );
}

/// A month more is deleted: how long each slice held the writer.
async fn tend(db: &Db, now: i64) {
    let mut writer = db.connect_writer().await.expect("a connection");
    let (mut tending, mut carrier, mut took) = (Tending::new(), Carrier::new(db), Vec::new());
    let age = Duration::from_secs(335 * 86_400);
    let keep = Keep { transitions: age, probes: Duration::from_secs(30 * 86_400), ..Keep::ALL };
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(60) {
        let slice = Instant::now();
        let more = tending.slice(db, &mut writer, &keep, now).await.expect("it is tended");
        took.push(slice.elapsed());
        carrier.wrote(100);
        if !more {
            break;
        }
    }
    carrier.end().await;
    took.sort_unstable();
    let share = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    println!(
        "\nretention: {} slices in {:.1?}: median {:.1?}, 99th of a hundred {:.1?}, longest {:.1?}",
        took.len(),
        began.elapsed(),
        share(0.5),
        share(0.99),
        share(1.0)
    );
}
