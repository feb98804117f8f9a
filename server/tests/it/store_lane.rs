//! Lanes, call series and probe marks from a file whose rows are written here by hand.

use std::{collections::HashMap, path::Path};

use fuseboard::{
    db::Db,
    history::{
        calls,
        lane::{self, Change, Window},
        probes,
    },
};
use fuseboard_app::wire::{breaker::State, time::Time, timeline::Lane};

use crate::support::store::{connect, file};

/// 2026-01-01 00:00:00 UTC.
const DAY: i64 = 1_767_225_600_000_000;

fn at(millis: i64) -> i64 {
    DAY + millis * 1_000
}

fn window(from: i64, to: i64, width: u32) -> Window {
    Window { from: Time::from_micros(at(from)), to: Time::from_micros(at(to)), width, now: now(), boot: 3 }
}

/// Ten minutes after midnight.
fn now() -> Time {
    Time::from_micros(at(600_000))
}

/// Three runs: the first was killed (last alive at 120 s), the second ended in order at 240 s, the third is the present
/// one. Two breakers.
async fn fixture(path: &Path) -> Db {
    let db = Db::open(path, "fuse-1", "1.0").await.expect("it opens");
    let mut writer = connect(path).await;
    for (boot, started, alive, ended) in
        [(1, -10_000, 120_000, None), (2, 150_250, 240_000, Some(240_000)), (3, 300_000, 300_000, None)]
    {
        sqlx::query("INSERT INTO runs VALUES (?, ?, ?, ?, '1.0', 1, 'fuse-1')")
            .bind(boot)
            .bind(at(started))
            .bind(at(alive))
            .bind(ended.map(at))
            .execute(&mut writer)
            .await
            .expect("a run");
    }
    for (key, id, first) in [(1, "https:a.example", -5_000), (2, "https:b.example", 60_000)] {
        sqlx::query("INSERT INTO breakers (key, id, policy, first_at, since) VALUES (?, ?, 'registry', ?3, ?3)")
            .bind(key)
            .bind(id)
            .bind(at(first))
            .execute(&mut writer)
            .await
            .expect("a breaker");
    }
    let rows = [
        (1, 1, 1, -3_000, "closed", "open", None),
        (2, 1, 1, 27_001, "open", "half_open", None),
        (3, 1, 1, 27_133, "half_open", "closed", None),
        (4, 1, 1, 90_500, "closed", "closed", Some("forced_open")),
        // Ended while nobody watched, stamped with its due time.
        (5, 2, 1, 140_000, "closed", "closed", None),
        (6, 2, 2, 180_000, "closed", "open", None),
        (7, 2, 1, 200_000, "closed", "open", Some("forced_closed")),
        (8, 3, 1, 310_999, "open", "open", None),
    ];
    for (seq, boot, breaker, when, from, to, held) in rows {
        sqlx::query(
            "INSERT INTO transitions VALUES (?, ?, ?, ?, ?, ?, ?, 1, '{\"kind\":\"reset\"}', NULL, NULL, NULL, NULL)",
        )
        .bind(seq)
        .bind(boot)
        .bind(breaker)
        .bind(at(when))
        .bind(from)
        .bind(to)
        .bind(held)
        .execute(&mut writer)
        .await
        .expect("a transition");
    }
    db
}

/// Start, state, override, share down.
fn table(lane: &Lane) -> Vec<(u64, char, char, f64)> {
    (0..lane.at.len()).map(|i| (lane.at[i], lane.state[i], lane.held[i], lane.down[i])).collect()
}

#[tokio::test]
async fn r44_a_lane_equals_the_table_computed_by_hand() {
    let (_folder, path) = file();
    let db = fixture(&path).await;
    let lane =
        lane::lane(db.read(), "https:a.example", &window(0, 700_000, 1_000), &HashMap::new()).await.expect("read");
    assert_eq!((lane.from, lane.to), (Time::from_micros(at(0)), now()), "never later than now");
    assert_eq!(
        table(&lane),
        [
            (0, 'o', '-', 1.0),
            (27_001, 'h', '-', 1.0),
            (27_133, 'c', '-', 0.0),
            (90_500, 'c', 'o', 1.0),
            (120_000, 'u', '-', 0.0),
            (150_250, 'c', '-', 0.0),
            (200_000, 'o', 'c', 0.0),
            (240_000, 'u', '-', 0.0),
            (300_000, 'o', 'c', 0.0),
            (310_999, 'o', '-', 1.0),
        ]
    );
}

#[tokio::test]
async fn r44_a_state_from_before_the_window_is_looked_up() {
    let (_folder, path) = file();
    let db = fixture(&path).await;
    let ids = ["https:b.example".to_owned(), "https:none.example".to_owned(), "https:a.example".to_owned()];
    let timeline = lane::lanes(db.read(), &ids, &window(210_000, 230_000, 100), &HashMap::new()).await.expect("read");
    let lanes: Vec<_> = timeline.lanes.iter().map(|lane| (lane.breaker.as_str(), table(lane))).collect();
    assert_eq!(
        lanes,
        [
            ("https:b.example", vec![(0, 'o', '-', 1.0)]),
            ("https:none.example", vec![(0, 'u', '-', 0.0)]),
            ("https:a.example", vec![(0, 'o', 'c', 0.0)]),
        ]
    );
    assert_eq!(timeline.step_ms, 200);
    // Before its first row a breaker is unknown, whoever else was watched.
    let timeline =
        lane::lanes(db.read(), &ids[..1], &window(50_000, 70_000, 100), &HashMap::new()).await.expect("read");
    assert_eq!(table(&timeline.lanes[0]), [(0, 'u', '-', 0.0), (10_000, 'c', '-', 0.0)]);
}

#[tokio::test]
async fn what_the_store_does_not_have_yet_is_drawn_too() {
    let (_folder, path) = file();
    let db = fixture(&path).await;
    let change = |seq, when, from, to| Change { seq, at: at(when), from, to, held: None };
    let waiting = [
        // Written meanwhile: must not count twice.
        change(8, 310_999, State::Open, State::Open),
        change(9, 400_000, State::Open, State::HalfOpen),
        change(10, 400_250, State::HalfOpen, State::Closed),
    ];
    let unwritten = HashMap::from([("https:a.example".to_owned(), waiting.to_vec())]);
    let lane =
        lane::lane(db.read(), "https:a.example", &window(300_000, 600_000, 900), &unwritten).await.expect("read");
    assert_eq!(
        table(&lane),
        [(0, 'o', 'c', 0.0), (10_999, 'o', '-', 1.0), (100_000, 'h', '-', 1.0), (100_250, 'c', '-', 0.0),]
    );
    // All of it before the window.
    let lane =
        lane::lane(db.read(), "https:a.example", &window(500_000, 600_000, 900), &unwritten).await.expect("read");
    assert_eq!(table(&lane), [(0, 'c', '-', 0.0)]);
}

#[tokio::test]
async fn an_answer_has_at_most_twenty_thousand_spans() {
    let (_folder, path) = file();
    let db = fixture(&path).await;
    let ids = vec!["https:a.example".to_owned(); 500];
    let timeline = lane::lanes(db.read(), &ids, &window(0, 600_000, 5_000), &HashMap::new()).await.expect("read");
    assert_eq!(timeline.step_ms, 30_000, "20 pixels a lane");
    assert_eq!(timeline.lanes.len(), 500);
}

#[tokio::test]
async fn call_totals_and_probe_marks_share_the_lanes_axis() {
    let (_folder, path) = file();
    let db = fixture(&path).await;
    let mut writer = connect(&path).await;
    let mut fast = fuseboard::calls::histogram::Histogram::default();
    (0..9).for_each(|_| fast.add(std::time::Duration::from_millis(10)));
    let mut slow = fuseboard::calls::histogram::Histogram::default();
    slow.add(std::time::Duration::from_millis(1_000));
    for (minute, boot, success, failure, alive, refused, latency) in [
        (0, 1, 8, 1, 1, 0, &fast),
        (2, 1, 0, 1, 0, 3, &slow),
        (2, 2, 9, 0, 0, 4, &fast),
        (3, 2, 0, 0, 0, 5, &Default::default()),
    ] {
        sqlx::query("INSERT INTO calls VALUES (1, ?, ?, ?, ?, ?, 0, 0, ?, 0, ?)")
            .bind(at(minute * 60_000))
            .bind(boot)
            .bind(success)
            .bind(failure)
            .bind(alive)
            .bind(refused)
            .bind(latency.to_bytes())
            .execute(&mut writer)
            .await
            .expect("totals");
    }
    let stretch = (Time::from_micros(at(30_000)), Time::from_micros(at(240_000)));
    let series = calls::series(db.read(), "https:a.example", stretch, 100).await.expect("read");
    assert_eq!(series.step_ms, 60_000);
    assert_eq!(series.at, [-30_000, 90_000, 150_000]);
    assert_eq!((series.ok, series.failed, series.refused), (vec![9, 9, 0], vec![1, 1, 0], vec![0, 7, 5]));
    let about = |found: Option<f64>, ms: f64| found.is_some_and(|found| (found / ms - 1.0).abs() < 0.07);
    assert!(about(series.p50_ms[1], 10.0) && about(series.p95_ms[1], 1_000.0), "{:?}", series.p95_ms);
    assert_eq!(series.p50_ms[2], None);
    let merged = calls::series(db.read(), "https:a.example", stretch, 1).await.expect("read");
    assert_eq!((merged.step_ms, merged.refused), (300_000, vec![12]));

    for (seq, when, outcome) in [
        (20, 60_000, "failure"),
        (21, 60_900, "success"),
        (22, 61_000, "lost"),
        (23, 99_999, "alive"),
        (24, 100_000, "ignored"),
    ] {
        sqlx::query(
            "INSERT INTO probes (seq, boot, breaker, at, duration, generation, outcome, synthetic)
             VALUES (?, 1, 1, ?, 1, 1, ?, 0)",
        )
        .bind(seq)
        .bind(at(when))
        .bind(outcome)
        .execute(&mut writer)
        .await
        .expect("a probe");
    }
    // As the writer notes it.
    sqlx::query(
        "INSERT INTO numbered_days SELECT 'probes', at / 86400000000, min(seq), max(seq) FROM probes GROUP BY 2",
    )
    .execute(&mut writer)
    .await
    .expect("the days");
    let stretch = (Time::from_micros(at(0)), Time::from_micros(at(100_000)));
    let marks = probes::marks(db.read(), "https:a.example", stretch, 100).await.expect("read");
    assert_eq!((marks.at, marks.good, marks.bad), (vec![60_000, 61_000, 99_999], vec![1, 0, 1], vec![1, 1, 0]));
}
