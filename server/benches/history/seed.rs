//! Writes a year of history: breakers that fail in their own ways, some daily, most now and then.

use std::{
    path::Path,
    time::{Duration, Instant, SystemTime},
};

use fuseboard::{
    calls::histogram::Histogram,
    db::Db,
    history::{retention::Keep, tending::Tending},
    stamp,
};
use rand::{Rng, RngExt, SeedableRng, rngs::StdRng};
use sqlx::{Connection, QueryBuilder, Sqlite, SqliteConnection};

const BREAKERS: i64 = 500;
const TRANSITIONS: usize = 5_000_000;
const DAY: i64 = 86_400_000_000;
const SECOND: i64 = 1_000_000;
/// Rows of one statement.
const CHUNK: usize = 500;

/// What happens to a breaker.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Tripped,
    Probing,
    Failed,
    Closed,
}

struct Incident {
    seq: i64,
    last_seq: i64,
    breaker: i64,
    start: i64,
    end: i64,
    failed_probes: i64,
}

/// Writes it; an existing file is refused.
pub(crate) async fn write(file: &Path) {
    assert!(!file.exists(), "{} exists already; name a file that does not", file.display());
    let began = Instant::now();
    let db = Db::open(file, "seed", "0").await.expect("the store is made");
    let mut writer = db.connect_writer().await.expect("a connection");
    // It is made anew if this is cut off; nothing else writes to it.
    sqlx::raw_sql("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000").execute(&mut writer).await.expect("set");
    let now = stamp::micros(SystemTime::now()) / DAY * DAY;
    let start = now - 365 * DAY;
    let mut dice = StdRng::seed_from_u64(7);

    let mut to = writer.begin().await.expect("a transaction");
    // Indexes are made once at the end.
    let indexes: Vec<(String, String)> = sqlx::query_as(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL
         AND tbl_name IN ('transitions', 'probes', 'incidents', 'calls', 'rolled_calls')",
    )
    .fetch_all(&mut *to)
    .await
    .expect("the indexes");
    for (name, _) in &indexes {
        run(&mut to, format!("DROP INDEX {name}")).await;
    }
    run(&mut to, format!("INSERT INTO runs VALUES (1, {start}, {now}, {now}, '0', 1, 'seed')")).await;
    for key in 1..=BREAKERS {
        run(
            &mut to,
            format!(
                "INSERT INTO breakers (key, id, policy, first_at, since)
                 VALUES ({key}, 'https:registry-{key:03}.packages.example', 'registry', {start}, {start})"
            ),
        )
        .await;
    }
    let steps = steps(&mut dice, start, now);
    let (incidents, last) = facts(&mut to, &steps).await;
    println!("{} transitions, {} incidents after {:.0?}", steps.len(), incidents.len(), began.elapsed());
    courses(&mut to, &incidents).await;
    totals(&mut to, &mut dice, start, now).await;
    audit(&mut to, last, now).await;
    for (_, sql) in &indexes {
        run(&mut to, sql.clone()).await;
    }
    for (kind, table) in [("transitions", "transitions"), ("probes", "probes"), ("audit", "audit")] {
        run(
            &mut to,
            format!(
                "INSERT INTO numbered_days SELECT '{kind}', at / {DAY}, min(seq), max(seq) FROM {table} GROUP BY 2"
            ),
        )
        .await;
    }
    run(
        &mut to,
        "UPDATE breakers SET changed_seq = coalesce((SELECT max(seq) FROM transitions WHERE breaker = key), 0)".into(),
    )
    .await;
    run(&mut to, format!("INSERT INTO marks VALUES ('rolled:calls:hour', {now}), ('rolled:calls:day', {now})")).await;
    to.commit().await.expect("it is written");
    println!("written and indexed after {:.0?}", began.elapsed());

    let mut tending = Tending::new();
    let keep = Keep { max_size: u64::MAX, ..Keep::ALL };
    while tending.slice(&db, &mut writer, &keep, now).await.expect("it is rolled up") {}
    run(&mut writer, "PRAGMA wal_checkpoint(TRUNCATE)".into()).await;
    writer.close().await.expect("it is closed");
    println!("rolled up after {:.0?}: {:.1} GB in {}", began.elapsed(), db.bytes() as f64 / 1e9, file.display());
    db.close().await;
}

async fn run(to: &mut SqliteConnection, sql: String) {
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(to).await.expect("it runs");
}

/// Everything that happens, in time's order. The first breakers fail often, the last hardly ever.
fn steps(dice: &mut StdRng, start: i64, now: i64) -> Vec<(i64, i64, Step)> {
    let weight = |key: i64| 1.0 / (key as f64 + 30.0);
    let all: f64 = (1..=BREAKERS).map(weight).sum();
    let mut steps = Vec::with_capacity(TRANSITIONS + TRANSITIONS / 10);
    for key in 1..=BREAKERS {
        let wanted = (TRANSITIONS as f64 * weight(key) / all * 1.02) as i64;
        let mut left = wanted;
        // About nine rows an incident, spread over the year.
        let pause = (now - start) / (wanted / 9).max(1);
        let mut at = start + dice.random_range(0..pause.max(2));
        while left > 0 && at < now {
            steps.push((at, key, Step::Tripped));
            left -= 3;
            let mut wait = 30 * SECOND;
            let mut end = at;
            loop {
                end += wait - wait / 10 * dice.random_range(0..10) / 10;
                steps.push((end, key, Step::Probing));
                end += dice.random_range(20_000..900_000);
                if dice.random_range(0..4) == 0 || wait > (pause / 8).max(60 * SECOND) {
                    break;
                }
                steps.push((end, key, Step::Failed));
                left -= 2;
                wait = (wait * 2).min(300 * SECOND);
            }
            steps.push((end, key, Step::Closed));
            at = end + dice.random_range(1..(2 * pause - (end - at)).max(2 * SECOND));
        }
    }
    steps.sort_unstable_by_key(|(at, key, _)| (*at, *key));
    while steps.last().is_some_and(|(at, ..)| *at >= now) {
        steps.pop();
    }
    steps
}

/// Transitions and probes under one sequence.
async fn facts(to: &mut SqliteConnection, steps: &[(i64, i64, Step)]) -> (Vec<Incident>, i64) {
    const TRIPPED: &str = r#"{"kind":"tripped","rule":"failures","counts":{"have":5,"calls":5},"threshold":{"need":5,"within_ms":10000},"wait_ms":30000,"jitter_ms":1200,"phase":"connect","status":null,"error":"connection refused","deciding":5,"path":"/lodash"}"#;
    const FAILED: &str = r#"{"kind":"probe_failed","wait_ms":60000,"jitter_ms":2200,"phase":"head","status":503,"error":null,"deciding":1,"path":"/lodash"}"#;
    let mut open: Vec<Option<Incident>> = (0..=BREAKERS).map(|_| None).collect();
    let mut incidents = Vec::new();
    let (mut seq, mut generation) = (0, 0);
    let mut transitions: Vec<(i64, i64, i64, Step, i64)> = Vec::with_capacity(CHUNK);
    let mut probes: Vec<(i64, i64, i64, bool)> = Vec::with_capacity(CHUNK);
    for (at, key, step) in steps.iter().copied() {
        if matches!(step, Step::Failed | Step::Closed) {
            seq += 1;
            probes.push((seq, key, at - 20_000, step == Step::Closed));
        }
        (seq, generation) = (seq + 1, generation + 1);
        transitions.push((seq, key, at, step, generation));
        let slot = &mut open[usize::try_from(key).expect("small")];
        match (step, slot.as_mut()) {
            (Step::Tripped, _) => {
                *slot = Some(Incident { seq, last_seq: 0, breaker: key, start: at, end: 0, failed_probes: 0 });
            }
            (Step::Failed, Some(incident)) => incident.failed_probes += 1,
            (Step::Closed, Some(_)) => {
                if let Some(incident) = slot.take() {
                    incidents.push(Incident { last_seq: seq, end: at, ..incident });
                }
            }
            _ => {}
        }
        if transitions.len() == CHUNK {
            flush_transitions(to, &mut transitions, (TRIPPED, FAILED)).await;
        }
        if probes.len() == CHUNK {
            flush_probes(to, &mut probes).await;
        }
    }
    flush_transitions(to, &mut transitions, (TRIPPED, FAILED)).await;
    flush_probes(to, &mut probes).await;
    incidents.extend(open.into_iter().flatten());
    (incidents, seq)
}

async fn flush_transitions(
    to: &mut SqliteConnection,
    rows: &mut Vec<(i64, i64, i64, Step, i64)>,
    (tripped, failed): (&'static str, &'static str),
) {
    if rows.is_empty() {
        return;
    }
    let mut sql = QueryBuilder::<Sqlite>::new(
        "INSERT INTO transitions (seq, boot, breaker, at, from_state, to_state, generation, cause) ",
    );
    sql.push_values(rows.drain(..), |mut values, (seq, key, at, step, generation)| {
        let (from, into, cause) = match step {
            Step::Tripped => ("closed", "open", tripped),
            Step::Probing => ("open", "half_open", r#"{"kind":"wait_elapsed"}"#),
            Step::Failed => ("half_open", "open", failed),
            Step::Closed => ("half_open", "closed", r#"{"kind":"probes_succeeded","good":1}"#),
        };
        values.push_bind(seq).push("1").push_bind(key).push_bind(at);
        values.push_bind(from).push_bind(into).push_bind(generation).push_bind(cause);
    });
    sql.build().execute(to).await.expect("they are written");
}

async fn flush_probes(to: &mut SqliteConnection, rows: &mut Vec<(i64, i64, i64, bool)>) {
    if rows.is_empty() {
        return;
    }
    let mut sql = QueryBuilder::<Sqlite>::new(
        "INSERT INTO probes (seq, boot, breaker, at, duration, generation, outcome, phase, status, method, path, synthetic) ",
    );
    sql.push_values(rows.drain(..), |mut values, (seq, key, at, good)| {
        let (outcome, phase, status) = if good { ("success", None, 200) } else { ("failure", Some("head"), 503) };
        values.push_bind(seq).push("1").push_bind(key).push_bind(at).push("18000").push("1");
        values.push_bind(outcome).push_bind(phase).push_bind(status).push("'GET'").push("'/lodash'").push("0");
    });
    sql.build().execute(to).await.expect("they are written");
}

async fn courses(to: &mut SqliteConnection, incidents: &[Incident]) {
    for rows in incidents.chunks(CHUNK) {
        let mut sql = QueryBuilder::<Sqlite>::new(
            "INSERT INTO incidents (seq, boot, breaker, kind, started_at, ended_at, last_seq, marked_at, is_down, down,
             unknown, opens, good, bad, lost, void, overrides, cause, ended_by) ",
        );
        sql.push_values(rows, |mut values, one| {
            let ended = one.last_seq > 0;
            values.push_bind(one.seq).push("1").push_bind(one.breaker).push("'tripped'").push_bind(one.start);
            values.push_bind(ended.then_some(one.end)).push_bind(ended.then_some(one.last_seq));
            values.push_bind(if ended { one.end } else { one.start }).push_bind(!ended);
            values.push_bind(if ended { one.end - one.start } else { 0 }).push("0").push_bind(one.failed_probes + 1);
            values.push_bind(i64::from(ended)).push_bind(one.failed_probes).push("0").push("0").push("0");
            values.push(r#"'{"kind":"tripped","rule":"failures","counts":{"have":5,"calls":5},"phase":"connect","wait_ms":30000}'"#);
            values.push(if ended { r#"'{"kind":"probes_succeeded","good":1}'"# } else { "NULL" });
        });
        sql.build().execute(&mut *to).await.expect("they are written");
    }
    run(
        to,
        r#"INSERT INTO incident_calls SELECT seq, 5 + bad, 40 + seq % 900, '[["/lodash",31],["/react",9]]', '[["npm/10",40]]' FROM incidents"#
            .into(),
    )
    .await;
}

/// Minutes of two days, hours of half a year, days of all of it.
async fn totals(to: &mut SqliteConnection, dice: &mut impl Rng, start: i64, now: i64) {
    let mut fast = Histogram::default();
    (0..40).for_each(|_| fast.add(Duration::from_millis(dice.random_range(8..60))));
    let latency = fast.to_bytes();
    for (table, span, from) in [
        ("calls (breaker, at, boot,", 60 * SECOND, now - 2 * DAY),
        ("rolled_calls (breaker, at, span,", 3_600 * SECOND, now - 180 * DAY),
        ("rolled_calls (breaker, at, span,", DAY, start),
    ] {
        let third = if span == 60 * SECOND { 1 } else { span };
        let sql = format!(
            "INSERT INTO {table} success, failure, alive, ignored, cancelled, refused, late, latency)
             WITH RECURSIVE steps (at) AS (SELECT {from} UNION ALL SELECT at + {span} FROM steps WHERE at + {span} < {now})
             SELECT key, at, {third}, 40 + (at / {span} + key) % 13, (at / {span} * key) % 3, 1, 0, 0, key % 5, 0, ?
             FROM breakers CROSS JOIN steps"
        );
        sqlx::query(sqlx::AssertSqlSafe(sql)).bind(&latency).execute(&mut *to).await.expect("they are written");
    }
}

/// A few a day.
async fn audit(to: &mut SqliteConnection, last: i64, now: i64) {
    run(
        to,
        format!(
            "INSERT INTO audit (seq, boot, at, actor, actor_verified, actor_via, action, breaker, reason, detail)
             WITH RECURSIVE rows (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM rows WHERE n < 2000)
             SELECT {last} + n, 1, {now} - (2000 - n) * {}, 'ana', 0, 'board', 'reset', n % {BREAKERS} + 1, 'mirror was replaced', '{{}}'
             FROM rows",
            365 * DAY / 2_000
        ),
    )
    .await;
}
