//! Lanes as the API answers them: how much is in one answer at most, and what counts as down.

use fuseboard_app::wire::{
    time::Time,
    timeline::{Availability, Lane, Timeline},
};
use sqlx::SqliteConnection;

use crate::support::{desk::Desk, store::connect};

const SECOND: i64 = 1_000_000;
const DAY: i64 = 86_400 * SECOND;
/// 2026-01-01 00:00:00 UTC.
const START: i64 = 1_767_225_600 * SECOND;

async fn run(writer: &mut SqliteConnection, sql: String) {
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(writer).await.expect("it runs");
}

/// A server whose record is that of an earlier run, which watched the first days of 2026 and so many breakers, `u000` and
/// on.
async fn with_record(breakers: usize, rows: impl AsyncFnOnce(&mut SqliteConnection)) -> Desk {
    let upstream = |n| {
        format!(
            "[[upstream]]\nname = \"u{n:03}\"\nurl = \"http://127.0.0.1:9\"\npolicy = \"quick\"\nkey = \"upstream\"\n"
        )
    };
    let mut app = Desk::start(&(0..breakers).map(upstream).collect::<String>()).await;
    app.stored().await;
    app.while_stopped(async |store| {
        let mut writer = connect(&store).await;
        let until = START + 10 * DAY;
        run(&mut writer, format!("UPDATE runs SET started_at = {START}, alive_at = {until}, ended_at = {until}")).await;
        run(&mut writer, "DELETE FROM breakers".into()).await;
        for n in 0..breakers {
            run(
                &mut writer,
                format!(
                    "INSERT INTO breakers (key, id, policy, first_at, since)
                     VALUES ({}, 'u{n:03}', 'quick', {START}, {START})",
                    n + 1
                ),
            )
            .await;
        }
        rows(&mut writer).await;
    })
    .await;
    app
}

fn time(micros: i64) -> String {
    Time::from_micros(micros).to_string()
}

/// Of each breaker 400 changes in an hour.
async fn flapping(writer: &mut SqliteConnection) {
    run(
        writer,
        format!(
            "INSERT INTO transitions (seq, boot, breaker, at, from_state, to_state, generation, cause)
             WITH RECURSIVE steps (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM steps WHERE n < 399)
             SELECT 1 + n * 1000 + key, 1, key, {START} + n * {}, iif(n % 2, 'open', 'closed'),
                 iif(n % 2, 'closed', 'open'), n, '{{\"kind\":\"reset\"}}' FROM breakers CROSS JOIN steps",
            9 * SECOND
        ),
    )
    .await;
    run(
        writer,
        format!(
            "INSERT INTO probes (seq, boot, breaker, at, duration, generation, outcome, synthetic)
             WITH RECURSIVE steps (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM steps WHERE n < 999)
             SELECT 1000000 + n, 1, 1, {START} + n * {}, 1, 1, iif(n % 3, 'success', 'failure'), 0 FROM steps",
            3 * SECOND
        ),
    )
    .await;
    run(
        writer,
        format!(
            "INSERT INTO calls WITH RECURSIVE steps (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM steps WHERE n < 59)
             SELECT 1, {START} + n * {}, 1, 5, 0, 0, 0, 0, 2, 0, x'' FROM steps",
            60 * SECOND
        ),
    )
    .await;
    for kind in ["transitions", "probes"] {
        run(
            writer,
            format!("INSERT INTO numbered_days SELECT '{kind}', at / {DAY}, min(seq), max(seq) FROM {kind} GROUP BY 2"),
        )
        .await;
    }
}

#[tokio::test]
async fn answers_about_time_are_bounded() {
    let app = with_record(120, flapping).await;
    let hour = format!("from={}&to={}", time(START), time(START + 3_600 * SECOND));

    let page: Timeline = app.read(&format!("/api/v1/timeline?{hour}&sort=id&width=4000")).await;
    assert_eq!(page.lanes.len(), 100, "a hundred lanes unless more are asked for");
    let rest: Timeline =
        app.read(&format!("/api/v1/timeline?{hour}&sort=id&after={}", page.next.expect("there are more"))).await;
    assert_eq!((rest.lanes.len(), rest.next.as_deref(), rest.lanes[0].breaker.as_str()), (20, None, "u100"));

    let spans = |page: &Timeline| page.lanes.iter().map(|lane| lane.at.len()).sum::<usize>();
    let all: Timeline = app.read(&format!("/api/v1/timeline?{hour}&sort=id&width=4000&limit=10000")).await;
    assert_eq!((all.lanes.len(), all.next.as_deref()), (120, None));
    assert!((5_000..=20_000).contains(&spans(&all)), "{} spans of 48,000", spans(&all));
    assert_eq!(all.step_ms, 3_600_000_u64.div_ceil(20_000 / 2 / 120), "the step says how they were merged");
    assert_eq!(app.get(&format!("/api/v1/timeline?{hour}&limit=10001")).await.problem(), (422, Some("limit".into())));
    assert_eq!(app.get(&format!("/api/v1/timeline?{hour}&width=4001")).await.problem(), (422, Some("width".into())));

    for width in [1, 7, 50] {
        let lane: Lane = app.read(&format!("/api/v1/breakers/u000/timeline?{hour}&width={width}")).await;
        let (calls, probes) = (lane.calls.expect("calls"), lane.probes.expect("probes"));
        assert!((1..=2 * width).contains(&lane.at.len()), "{} spans on {width} px", lane.at.len());
        assert!((1..=width).contains(&probes.at.len()), "{} marks on {width} px", probes.at.len());
        assert_eq!(probes.good.iter().chain(&probes.bad).sum::<u32>(), 1_000, "every probe is in a mark");
        assert!((1..=width).contains(&calls.at.len()), "{} steps on {width} px", calls.at.len());
        assert_eq!(calls.refused.iter().sum::<u64>(), 120, "every call is in a step");
    }
    let wide: Lane = app.read(&format!("/api/v1/breakers/u000/timeline?{hour}&width=4000")).await;
    assert_eq!(wide.at.len(), 400, "what fits is exact");
}

async fn one_bad_day(writer: &mut SqliteConnection) {
    let (open, half, closed) = ("open", "half_open", "closed");
    let rows = [
        // 10 s open and 8 s half-open on the first day.
        (100, closed, open, None),
        (110, open, half, None),
        (118, half, closed, None),
        // An hour of planned work on the second.
        (86_400 + 100, closed, closed, Some("forced_open")),
        (86_400 + 3_700, closed, closed, None),
        // Forced closed over an open shadow for ten minutes of the third, open without it for one before.
        (2 * 86_400 + 40, closed, open, None),
        (2 * 86_400 + 100, open, open, Some("forced_closed")),
        (2 * 86_400 + 700, open, closed, Some("forced_closed")),
        (2 * 86_400 + 800, closed, closed, None),
    ];
    for (seq, (at, from, to, held)) in rows.into_iter().enumerate() {
        sqlx::query(
            "INSERT INTO transitions (seq, boot, breaker, at, from_state, to_state, held, generation, cause)
             VALUES (?1, 1, 1, ?2, ?3, ?4, ?5, 1, '{\"kind\":\"reset\"}')",
        )
        .bind(i64::try_from(seq + 1).expect("small"))
        .bind(START + at * SECOND)
        .bind(from)
        .bind(to)
        .bind(held)
        .execute(&mut *writer)
        .await
        .expect("a row");
    }
}

#[tokio::test]
async fn r44_half_open_is_down_and_planned_work_is_told_apart() {
    let app = with_record(1, one_bad_day).await;
    let day = async |nth: i64| {
        let (from, to) = (time(START + nth * DAY), time(START + (nth + 1) * DAY));
        let lane: Lane = app.read(&format!("/api/v1/breakers/u000/timeline?from={from}&to={to}")).await;
        lane.availability.expect("it is said")
    };
    let quiet = Availability {
        share: Some(1.0),
        down_ms: 0,
        planned_ms: 0,
        unknown_ms: 0,
        forced_closed_ms: 0,
        cooldown_ms: 0,
    };
    let share = |down: f64| Some((86_400.0 - down) / 86_400.0);
    let first = day(0).await;
    assert_eq!(first, Availability { share: share(18.0), down_ms: 18_000, ..quiet }, "half-open is down");
    assert_eq!(format!("{:.2} %", first.share.expect("known") * 100.0), "99.98 %");
    let planned = Availability { share: share(3_600.0), down_ms: 3_600_000, planned_ms: 3_600_000, ..quiet };
    assert_eq!(day(1).await, planned, "down, and planned");
    let forced = Availability { share: share(60.0), down_ms: 60_000, forced_closed_ms: 700_000, ..quiet };
    assert_eq!(day(2).await, forced, "what flows over an open shadow is up");
    assert_eq!(day(3).await, quiet, "100 % is said of a day without any");
}

async fn cooled(writer: &mut SqliteConnection) {
    let started = |wait: i64| format!("{{\"kind\":\"cooldown_started\",\"wait_ms\":{}}}", wait * 1_000);
    let ended = "{\"kind\":\"cooldown_ended\"}".to_owned();
    // Ended by itself, begun anew before it was over, and one that goes on after the hour.
    let rows = [
        (100, started(60)),
        (160, ended.clone()),
        (1_000, started(60)),
        (1_030, started(60)),
        (1_090, ended),
        (3_590, started(60)),
    ];
    for (seq, (at, cause)) in rows.into_iter().enumerate() {
        sqlx::query(
            "INSERT INTO transitions (seq, boot, breaker, at, from_state, to_state, generation, cause)
             VALUES (?1, 1, 1, ?2, 'closed', 'closed', 1, ?3)",
        )
        .bind(i64::try_from(seq + 1).expect("small"))
        .bind(START + at * SECOND)
        .bind(cause)
        .execute(&mut *writer)
        .await
        .expect("a row");
    }
}

#[tokio::test]
async fn r24_a_lane_says_when_it_cooled_down_and_not_more_often_than_it_has_pixels() {
    let app = with_record(1, cooled).await;
    let hour = format!("from={}&to={}", time(START), time(START + 3_600 * SECOND));
    let lane: Lane = app.read(&format!("/api/v1/breakers/u000/timeline?{hour}&width=4000")).await;
    assert_eq!(lane.cooldowns, [(100_000, 160_000), (1_000_000, 1_090_000), (3_590_000, 3_650_000)]);
    assert_eq!(lane.availability.expect("it is said").cooldown_ms, 160_000, "of the last one what is in the hour");
    assert_eq!((lane.state, lane.down), (vec!['c'], vec![0.0]), "it is closed all the while");
    let two: Lane = app.read(&format!("/api/v1/breakers/u000/timeline?{hour}&width=2")).await;
    assert_eq!(two.cooldowns, [(100_000, 1_090_000), (3_590_000, 3_650_000)]);
}
