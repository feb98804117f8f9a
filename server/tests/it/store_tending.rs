//! Roll-ups and retention over a real file, at times of the tests' own.

use std::{collections::HashMap, path::Path, sync::Arc, time::Duration};

use chrono::{Days, NaiveDate, TimeZone};
use chrono_tz::Tz;
use fuseboard::{
    db::Db,
    history::{
        PageQuery, calls,
        incidents::{self, IncidentQuery},
        lane::{self, Window},
        retention::Keep,
        runs,
        tending::{MOST, Tending},
        transitions,
    },
    stamp::micros,
};
use fuseboard_app::wire::{
    time::Time,
    timeline::{Availability, Lane},
};
use fuseboard_breaker::{ManualClock, Mode};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::support::store::{Chain, Record, at, check_sequence, connect, file, go_to, number, probe, seed};

const PLENTY: u64 = 64_000_000;
const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

fn keep(transitions: Duration) -> Keep {
    Keep { transitions, probes: transitions, ..Keep::ALL }
}

/// Tends the record until there is nothing left to do.
async fn tend(db: &Db, keep: Keep, now: u64) {
    let mut writer = db.connect_writer().await.expect("a connection");
    let mut tending = Tending::new();
    for _ in 0..200_000 {
        if !tending.slice(db, &mut writer, &keep, micros(at(now))).await.expect("it is tended") {
            return;
        }
    }
    panic!("tending never ends");
}

fn window(from: u64, to: u64, width: u32, boot: u64) -> Window {
    let time = |millis| Time::from_micros(micros(at(millis)));
    Window { from: time(from), to: time(to), width, now: time(to), boot }
}

async fn lanes(db: &Db, window: Window) -> Vec<Lane> {
    let ids: Vec<String> = (0..5).map(|n| format!("b{n}")).collect();
    lane::lanes(db.read(), &ids, &window, &HashMap::new()).await.expect("they are drawn").lanes
}

fn availabilities(lanes: &[Lane]) -> Vec<Availability> {
    lanes.iter().map(|lane| lane.availability.expect("it is said")).collect()
}

/// Twelve days of five breakers in three runs with time nobody watched between them.
async fn eventful(path: &Path, clock: &Arc<ManualClock>, dice: &mut StdRng) -> (Db, u64) {
    let mut now = 5 * HOUR;
    go_to(clock, at(now));
    let mut open = None;
    for run in 0..3 {
        let record = Record::open(path, clock.clone(), PLENTY).await;
        let mut chains: Vec<_> = (0..5).map(|n| Chain::restored(&format!("b{n}"), at(now), &record.restored)).collect();
        for _ in 0..400 {
            now += dice.random_range(1..1_400_000);
            go_to(clock, at(now));
            let chain = &mut chains[dice.random_range(0..5)];
            let event = match dice.random_range(0..12) {
                0 => chain.reset(at(now), "again"),
                1 => chain.hold(Mode::ForcedOpen, None, at(now), "hold"),
                2 => chain.hold(Mode::ForcedClosed, None, at(now), "hold"),
                3 | 4 if chain.saved.held.is_some() => chain.expire(at(now)),
                5 => probe(&chain.id, at(now)),
                _ => chain.step(at(now)),
            };
            record.journal.push(event);
        }
        record.flush().await;
        if run == 2 {
            open = Some(record);
        } else {
            record.close().await;
            now += 7 * HOUR;
            go_to(clock, at(now));
        }
    }
    let record = open.expect("the last run");
    record.journal.close().await;
    (record.db, now)
}

#[tokio::test]
async fn r44_a_roll_up_says_what_the_transitions_say() {
    let (_folder, path) = file();
    let clock = Arc::new(ManualClock::new(at(0)));
    let mut dice = StdRng::seed_from_u64(seed());
    let (db, now) = eventful(&path, &clock, &mut dice).await;
    // Ends that are no whole hours, and ten pixels: a day and more each.
    let wide = window(3 * HOUR + 17, now - 1_234, 10, 3);
    let (exact, fine) = (lanes(&db, wide).await, lanes(&db, window(3 * HOUR + 17, now - 1_234, 4_000, 3)).await);
    // Two hours and more a pixel.
    let hourly = window(3 * HOUR + 17, now - 1_234, u32::try_from(now / (2 * HOUR) + 1).expect("small"), 3);
    let exact_hourly = lanes(&db, hourly).await;
    tend(&db, Keep::ALL, now + DAY).await;
    let mut reader = connect(&path).await;
    assert!(number(&mut reader, "SELECT count(*) FROM rolled_states WHERE span = 86400000000").await > 20);
    let rolled = lanes(&db, wide).await;
    assert_eq!(availabilities(&rolled), availabilities(&exact));
    assert_eq!(availabilities(&rolled), availabilities(&fine), "however it is drawn");
    let rolled_hourly = lanes(&db, hourly).await;
    assert_eq!(availabilities(&rolled_hourly), availabilities(&exact));
    assert!(rolled_hourly.iter().zip(&exact_hourly).any(|(rolled, exact)| rolled.at != exact.at), "drawn from hours");
    for ((lane, exact), fine) in rolled.iter().zip(&exact).zip(&fine) {
        assert!(lane.at.len() <= 20 && lane.at[0] == 0 && lane.at.is_sorted_by(|a, b| a < b), "{:?}", lane.at);
        let seen = |lane: &Lane, state| lane.state.contains(&state);
        assert_eq!(seen(lane, 'o'), seen(exact, 'o'));
        // At its ends it may show what is merged with its neighbours in the other.
        assert!(seen(fine, 'u') >= seen(lane, 'u') && seen(lane, 'u') >= seen(exact, 'u'));
        assert_ne!(lane.at, exact.at, "drawn from days");
    }
    // A row that comes late, with a time inside what is rolled up: it is rolled up again.
    let clock = Arc::new(ManualClock::new(at(0)));
    let record = Record::open(&path.with_file_name("late.db"), clock.clone(), PLENTY).await;
    let mut chain = Chain::new("b0", at(0));
    record.journal.push(chain.reset(at(0), "begin"));
    go_to(&clock, at(3 * DAY));
    record.flush().await;
    tend(&record.db, Keep::ALL, 3 * DAY).await;
    record.journal.push(chain.step(at(DAY + HOUR)));
    record.journal.push(chain.step(at(DAY + 2 * HOUR)));
    record.flush().await;
    tend(&record.db, Keep::ALL, 3 * DAY).await;
    let down = lanes(&record.db, window(DAY, 2 * DAY, 1, 1)).await[0].availability.map(|one| one.down_ms);
    assert_eq!(down, Some(23 * HOUR));
    record.close().await;
}

#[tokio::test]
async fn r47_retention_keeps_what_the_rest_stands_on() {
    let (_folder, path) = file();
    let clock = Arc::new(ManualClock::new(at(0)));
    let mut dice = StdRng::seed_from_u64(seed());
    let (db, now) = eventful(&path, &clock, &mut dice).await;
    let kept_for = Duration::from_millis(3 * DAY);
    let cut = now - 3 * DAY;
    let since = window(cut, now, 4_000, 3);
    let before = lanes(&db, since).await;
    let query = IncidentQuery { from: Some(since.from), limit: Some(1_000), ..IncidentQuery::default() };
    let mut reader = connect(&path).await;
    let incidents_before = incidents::page(&mut reader, &query).await.expect("they are read");
    let newest = "SELECT max(seq) FROM (SELECT max(seq) AS seq FROM transitions UNION SELECT max(seq) FROM probes
                  UNION SELECT max(seq) FROM audit)";
    let newest = number(&mut reader, newest).await;
    let all = number(&mut reader, "SELECT count(*) FROM transitions").await;

    tend(&db, keep(kept_for), now).await;
    let left = number(&mut reader, "SELECT count(*) FROM transitions").await;
    assert!(left < all * 2 / 3 && left > 0, "{left} of {all} are left");
    assert_eq!(lanes(&db, since).await, before, "what is drawn since the cut stays the same");
    assert_eq!(incidents::page(&mut reader, &query).await.expect("they are read"), incidents_before);
    for one in &incidents_before {
        let rows = PageQuery {
            breaker: Some(one.breaker.clone()),
            after: Some(one.course.opening.seq - 1),
            until: one.course.ending.as_ref().map(|ending| ending.seq),
            limit: Some(1_000),
            ..PageQuery::default()
        };
        let rows = transitions::page(db.read(), &rows).await.expect("they are read").rows;
        assert_eq!(rows.first().map(|row| row.seq), Some(one.course.opening.seq), "an incident's rows are whole");
    }
    let stale = number(
        &mut reader,
        "SELECT count(*) FROM breakers WHERE changed_seq > 0
         AND NOT EXISTS (SELECT 1 FROM transitions WHERE seq = breakers.changed_seq)",
    )
    .await;
    assert_eq!(stale, 0, "every breaker's newest transition is there");
    let orphans = "SELECT count(*) FROM incident_calls WHERE incident NOT IN (SELECT seq FROM incidents)";
    assert_eq!(number(&mut reader, orphans).await, 0);
    assert_eq!(
        number(&mut reader, "SELECT count(*) FROM overrides WHERE seq NOT IN (SELECT seq FROM transitions)").await,
        0
    );

    // Before the cut nothing is left, and nothing is made up: not by whichever roll-up is the one for so many pixels.
    for width in [1, 30, 1_000, 4_000] {
        for lane in lanes(&db, window(DAY, 2 * DAY, width, 3)).await {
            let all = lane.availability.expect("it is said");
            assert_eq!((&*lane.state, all.share, all.unknown_ms), (&['u'][..], None, DAY), "{width}");
        }
        let across = lanes(&db, window(DAY, now, width, 3)).await;
        for (across, since) in across.iter().zip(&before) {
            let down = |lane: &Lane| lane.availability.map_or(0, |one| one.down_ms);
            assert!(down(across).abs_diff(down(since)) <= 100, "{width}: {:?} and {:?}", down(across), down(since));
        }
    }

    // A second pass finds nothing, and no number is given out twice.
    tend(&db, keep(kept_for), now).await;
    assert_eq!(number(&mut reader, "SELECT count(*) FROM transitions").await, left);
    tend(&db, keep(Duration::from_millis(HOUR)), now + 400 * DAY).await;
    let run = runs::begin(&db, at(now + 400 * DAY)).await.expect("a run");
    assert_eq!(i64::try_from(run.next_seq).expect("small"), newest + 1);
}

#[tokio::test]
async fn r47_a_store_that_is_too_large_lets_the_oldest_go() {
    let (_folder, path) = file();
    let clock = Arc::new(ManualClock::new(at(0)));
    let record = Record::open(&path, clock.clone(), PLENTY).await;
    let mut chain = Chain::new("a", at(0));
    for n in 0..60 {
        record.journal.push(chain.step(at(n * HOUR)));
        for m in 0..400 {
            record.journal.push(probe(&chain.id, at(n * HOUR + m)));
        }
    }
    record.flush().await;
    record.journal.close().await;
    let db = record.db;
    let mut reader = connect(&path).await;
    let used =
        "SELECT (p.page_count - f.freelist_count) * 4096 FROM pragma_page_count AS p, pragma_freelist_count AS f";
    let (before, max_size) = (number(&mut reader, used).await, 1_500_000);
    assert!(before > 2_000_000, "{before}");
    tend(&db, Keep { max_size, ..Keep::ALL }, 60 * HOUR).await;
    let after = number(&mut reader, used).await;
    assert!(after <= i64::try_from(max_size).expect("small"), "{after} bytes are used");
    let oldest = number(&mut reader, "SELECT min(at) FROM probes").await;
    assert!(oldest > micros(at(10 * HOUR)), "the oldest went");
    assert_eq!(number(&mut reader, "SELECT count(*) FROM transitions").await, 60, "single probes go first");
    // However small it is to be, what the rest stands on stays.
    tend(&db, Keep { max_size: 1, ..Keep::ALL }, 60 * HOUR).await;
    assert!(number(&mut reader, "SELECT count(*) FROM transitions").await >= 1);
}

/// A store that knows one breaker, whose journal is closed.
async fn one_breaker(path: &Path) -> Db {
    let clock = Arc::new(ManualClock::new(at(0)));
    let record = Record::open(path, clock, PLENTY).await;
    record.journal.push(Chain::new("a", at(0)).step(at(0)));
    record.flush().await;
    record.journal.close().await;
    record.db
}

/// Every breaker has a row of the same minute, hour and day, and a burst may have a thousand rows of one microsecond.
#[tokio::test]
async fn r47_a_slice_is_no_larger_where_rows_share_a_time() {
    let (_folder, path) = file();
    let db = one_breaker(&path).await;
    let mut writer = connect(&path).await;
    let (many, then) = (3 * MOST, micros(at(0)));
    for sql in [
        "INSERT INTO breakers (id, policy, first_at, since) SELECT 'b' || n, '', {then}, {then} FROM many",
        "INSERT INTO calls SELECT key, {then}, 1, 1, 0, 0, 0, 0, 0, 0, x'' FROM breakers",
        "INSERT INTO rolled_calls SELECT 3600000000, key, {then}, 1, 0, 0, 0, 0, 0, 0, x'' FROM breakers",
        "INSERT INTO rolled_calls SELECT 86400000000, key, {then}, 1, 0, 0, 0, 0, 0, 0, x'' FROM breakers",
        "INSERT INTO rolled_states SELECT 3600000000, key, {then}, 0, 0, 0, 0, 0, 0 FROM breakers",
        "INSERT INTO rolled_states SELECT 21600000000, key, {then}, 0, 0, 0, 0, 0, 0 FROM breakers",
        "INSERT INTO rolled_states SELECT 86400000000, key, {then}, 0, 0, 0, 0, 0, 0 FROM breakers",
        "INSERT INTO probes (seq, boot, breaker, at, duration, generation, outcome, synthetic)
         SELECT 10 + n, 1, 2, {then}, 1, 1, 'success', 0 FROM many",
        "INSERT INTO transitions (seq, boot, breaker, at, from_state, to_state, generation, cause)
         SELECT 100000 + n, 1, 2, {then}, 'closed', 'closed', 1, '{}' FROM many",
        "INSERT INTO incidents (seq, boot, breaker, kind, started_at, ended_at, last_seq, marked_at, is_down, down, unknown,
             opens, good, bad, lost, void, overrides, cause)
         SELECT 100000 + n, 1, 2, 'tripped', {then}, {then}, 1, {then}, 0, 0, 0, 0, 0, 0, 0, 0, 0, '{}' FROM many",
        "INSERT INTO audit (seq, boot, at, actor, actor_verified, actor_via, action, breaker, detail)
         SELECT 200000 + n, 1, {then}, 'ana', 0, 'api', 'reset', 2, '{}' FROM many",
        "INSERT INTO marks VALUES ('rolled:calls:hour', {now}), ('rolled:calls:day', {now}),
             ('rolled:states:hour', {now}), ('rolled:states:6h', {now}), ('rolled:states:day', {now}), ('rolled:states:week', {now})",
    ] {
        let sql = format!(
            "{}{}",
            if sql.contains("many") { format!("WITH RECURSIVE many (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < {many}) ") } else { String::new() },
            sql.replace("{then}", &then.to_string()).replace("{now}", &micros(at(400 * DAY)).to_string())
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut writer).await.expect("rows");
    }
    const ROWS: &str =
        "SELECT (SELECT count(*) FROM probes) + (SELECT count(*) FROM calls) + (SELECT count(*) FROM rolled_calls)
        + (SELECT count(*) FROM rolled_states) + (SELECT count(*) FROM transitions) + (SELECT count(*) FROM incidents)
        + (SELECT count(*) FROM audit)";
    let (hour, mut tending) = (Duration::from_secs(3_600), Tending::new());
    let keep = Keep { probes: hour, transitions: hour, calls: hour, audit: hour, ..Keep::ALL };
    let (mut left, mut most) = (number(&mut writer, ROWS).await, 0);
    assert!(left >= 9 * many, "{left} rows");
    while tending.slice(&db, &mut writer, &keep, micros(at(400 * DAY))).await.expect("it is tended") {
        let now = number(&mut writer, ROWS).await;
        most = most.max(left - now);
        left = now;
    }
    assert!(left < 10, "{left} rows are left");
    assert!(most <= MOST, "{most} rows went at once");
}

#[tokio::test]
async fn r44_a_local_day_is_as_long_as_it_was_there() {
    let (_folder, path) = file();
    let clock = Arc::new(ManualClock::new(at(0)));
    let record = Record::open(&path, clock.clone(), PLENTY).await;
    let mut chain = Chain::new("b0", at(0));
    record.journal.push(chain.reset(at(0), "begin"));
    // 18 s down at 03:10 UTC of every day of a year.
    for day in 0..365 {
        let down = day * DAY + 3 * HOUR + 600_000;
        record.journal.push(chain.step(at(down)));
        record.journal.push(chain.step(at(down + 10_000)));
        record.journal.push(chain.step(at(down + 18_000)));
    }
    go_to(&clock, at(365 * DAY));
    record.flush().await;
    record.journal.close().await;
    let db = record.db;
    tend(&db, Keep::ALL, 365 * DAY + HOUR).await;
    let days = [
        ("Europe/Berlin", (2026, 3, 29), 23 * HOUR),
        ("Europe/Berlin", (2026, 10, 25), 25 * HOUR),
        ("Europe/Berlin", (2026, 6, 1), 24 * HOUR),
        ("America/Chicago", (2026, 3, 8), 23 * HOUR),
        ("America/Chicago", (2026, 11, 1), 25 * HOUR),
        ("Asia/Kolkata", (2026, 3, 29), 24 * HOUR),
        ("Australia/Lord_Howe", (2026, 4, 5), 24 * HOUR + HOUR / 2),
        ("Australia/Lord_Howe", (2026, 10, 4), 23 * HOUR + HOUR / 2),
    ];
    for (zone, (year, month, day), length) in days {
        let zone: Tz = zone.parse().expect("a zone");
        let date = NaiveDate::from_ymd_opt(year, month, day).expect("a day");
        let midnight = |date: NaiveDate| {
            let local = date.and_hms_opt(0, 0, 0).expect("midnight");
            Time(zone.from_local_datetime(&local).earliest().expect("there is one").to_utc())
        };
        let (from, to) = (midnight(date), midnight(date.checked_add_days(Days::new(1)).expect("the next day")));
        let now = Time::from_micros(micros(at(365 * DAY)));
        // A pixel of six hours and more, one of two, and one of seconds.
        for width in [1, 4, 12, 4_000] {
            let window = Window { from, to, width, now, boot: 1 };
            let lane = lane::lane(db.read(), "b0", &window, &HashMap::new()).await.expect("it is drawn");
            let known = lane.availability.expect("it is said");
            assert_eq!(lane.to.millis() - lane.from.millis(), i64::try_from(length).expect("small"), "{zone} {date}");
            assert_eq!((known.down_ms, known.unknown_ms, known.planned_ms), (18_000, 0, 0), "{zone} {date} {width} px");
            let share = known.share.expect("all of it is known");
            assert!((share - (1.0 - 18_000.0 / length as f64)).abs() < 1e-9 && share < 1.0, "{zone} {date}: {share}");
        }
    }
    // 18 s of 24 h is 99.98 %.
    let share = lanes(&db, window(DAY, 2 * DAY, 100, 1)).await[0].availability.and_then(|one| one.share);
    assert_eq!(format!("{:.2}", share.expect("known") * 100.0), "99.98");
}

#[tokio::test]
async fn call_totals_stay_the_same_when_they_are_rolled_up_and_their_minutes_go() {
    let (_folder, path) = file();
    let db = one_breaker(&path).await;
    let mut writer = connect(&path).await;
    for minute in 0..30 * 24 * 6 {
        sqlx::query("INSERT INTO calls VALUES (1, ?, 1, 7, 2, 1, 0, 0, 3, 0, x'')")
            .bind(micros(at(minute * 600_000)))
            .execute(&mut writer)
            .await
            .expect("a minute");
    }
    let series = async |from: u64, to: u64, width: u32| {
        let ends = (Time::from_micros(micros(at(from))), Time::from_micros(micros(at(to))));
        calls::series(db.read(), "a", ends, width).await.expect("it is read")
    };
    let (fine, days) = (series(20 * DAY, 21 * DAY, 200).await, series(0, 30 * DAY - 60_000, 30).await);
    tend(&db, Keep::ALL, 30 * DAY + HOUR).await;
    assert_eq!(number(&mut writer, "SELECT count(*) FROM rolled_calls WHERE span = 86400000000").await, 30);
    assert_eq!(series(20 * DAY, 21 * DAY, 200).await, fine, "minutes of two weeks are kept");
    assert_eq!(days.step_ms, DAY);
    assert_eq!(series(0, 30 * DAY - 60_000, 30).await, days);
    assert!(number(&mut writer, "SELECT min(at) FROM calls").await > micros(at(15 * DAY)), "older ones are not");
    let old = series(2 * DAY, 3 * DAY, 1_000).await;
    assert_eq!((old.ok.iter().sum::<u64>(), old.refused.iter().sum::<u64>()), (144 * 8, 144 * 3), "hours are");
    assert_eq!((old.ok.len(), old.step_ms), (24, HOUR));
    // What reaches back to where only hours are left has steps of an hour all along.
    let mixed = series(14 * DAY, 30 * DAY - 60_000, 4_000).await;
    assert_eq!((mixed.step_ms, mixed.ok.iter().sum::<u64>()), (HOUR, 16 * 144 * 8));
    // And whole hours a step, though 70 minutes would fit.
    let even = series(2 * DAY, 9 * DAY, 144).await;
    assert!(even.step_ms == 2 * HOUR && even.ok[1..80].iter().all(|ok| *ok == 12 * 8), "{:?}", even.ok);
    check_sequence(&path).await;
}

#[tokio::test]
async fn r15_a_clock_that_went_back_does_not_draw_closed_as_open() {
    let (_folder, path) = file();
    let clock = Arc::new(ManualClock::new(at(0)));
    let record = Record::open(&path, clock.clone(), PLENTY).await;
    let mut chain = Chain::new("b0", at(0));
    // It opens while the clock is two hours fast, and closes after that was put right.
    record.journal.push(chain.step(at(2 * HOUR)));
    record.journal.push(chain.step(at(1_000)));
    record.journal.push(chain.step(at(2_000)));
    go_to(&clock, at(3 * HOUR));
    record.flush().await;
    for (from, to) in [(HOUR, 3 * HOUR), (HOUR, 2 * HOUR), (2 * HOUR + 1, 3 * HOUR)] {
        let lane = &lanes(&record.db, window(from, to, 1_000, record.run.boot)).await[0];
        assert_eq!(lane.state, ['c'], "from {from} to {to}");
        assert_eq!(lane.availability.map(|one| one.down_ms), Some(0));
    }
    record.close().await;
}
