//! Writes the record of a year, row for row as a process that ran it would have.

mod calls;
mod facts;
mod life;
mod rows;

use std::{
    path::Path,
    time::{Instant, SystemTime},
};

use fuseboard::{
    db::Db,
    history::{retention::Keep, tending::Tending},
    stamp,
};
use rand::{SeedableRng, rngs::StdRng};
use sqlx::{Connection, SqliteConnection};

pub(super) const BREAKERS: usize = 500;
pub(super) const TRANSITIONS: usize = 5_000_000;
pub(super) const DAY: i64 = 86_400_000_000;
pub(super) const SECOND: i64 = 1_000_000;
/// Rows of one statement.
pub(super) const CHUNK: usize = 500;

/// Writes it; an existing file is refused.
pub(crate) async fn write(file: &Path) {
    assert!(!file.exists(), "{} exists already; name a file that does not", file.display());
    let began = Instant::now();
    let db = Db::open(file, "seed", "0").await.expect("the store is made");
    let mut writer = db.connect_writer().await.expect("a connection");
    // It is made anew if this is cut off; nothing else writes to it.
    sqlx::raw_sql("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000").execute(&mut writer).await.expect("set");
    let now = stamp::micros(SystemTime::now()) / SECOND * SECOND;
    let runs = life::runs(now - 365 * DAY, now);
    let mut dice = StdRng::seed_from_u64(7);

    let mut to = writer.begin().await.expect("a transaction");
    // Indexes are made once at the end.
    let indexes: Vec<(String, String)> = sqlx::query_as(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL
         AND tbl_name IN ('transitions', 'probes', 'incidents', 'calls', 'rolled_calls', 'audit', 'overrides')",
    )
    .fetch_all(&mut *to)
    .await
    .expect("the indexes");
    for (name, _) in &indexes {
        run(&mut to, format!("DROP INDEX {name}")).await;
    }
    for (boot, (from, until)) in runs.iter().enumerate() {
        run(&mut to, format!("INSERT INTO runs VALUES ({}, {from}, {until}, {until}, '0', 1, 'seed')", boot + 1)).await;
    }
    for key in 1..=BREAKERS {
        let first = runs[0].0;
        run(
            &mut to,
            format!(
                "INSERT INTO breakers (key, id, policy, first_at, since)
                 VALUES ({key}, 'https:registry-{key:03}.packages.example', 'registry', {first}, {first})"
            ),
        )
        .await;
    }
    let all = life::all(&mut dice, &runs);
    println!("{} transitions of {BREAKERS} breakers lived after {:.0?}", all.len(), began.elapsed());
    let down = facts::write(&mut to, &all, &runs).await;
    println!("with probes and incidents written after {:.0?}", began.elapsed());
    for (breaker, down) in down.iter().enumerate() {
        calls::write(&mut to, &mut dice, breaker, down, (runs[0].0, now)).await;
    }
    println!("with calls after {:.0?}", began.elapsed());
    for (_, sql) in &indexes {
        run(&mut to, sql.clone()).await;
    }
    for kind in ["transitions", "probes", "audit"] {
        run(
            &mut to,
            format!("INSERT INTO numbered_days SELECT '{kind}', at / {DAY}, min(seq), max(seq) FROM {kind} GROUP BY 2"),
        )
        .await;
    }
    for (what, days) in
        [("rolled:calls:hour", 14), ("kept:calls:minute", 14), ("rolled:calls:day", 180), ("kept:calls:hour", 180)]
    {
        let day = (now - days * DAY) / DAY * DAY;
        run(&mut to, format!("INSERT INTO marks VALUES ('{what}', {day})")).await;
    }
    to.commit().await.expect("it is written");
    println!("with indexes after {:.0?}", began.elapsed());

    // What is left to roll up is rolled up as the server does.
    let mut tending = Tending::new();
    let keep = Keep { max_size: u64::MAX, ..Keep::ALL };
    while tending.slice(&db, &mut writer, &keep, now).await.expect("it is rolled up") {}
    run(&mut writer, "PRAGMA wal_checkpoint(TRUNCATE)".into()).await;
    writer.close().await.expect("it is closed");
    println!("rolled up after {:.0?}: {:.1} GB in {}", began.elapsed(), db.bytes() as f64 / 1e9, file.display());
    db.close().await;
}

pub(super) async fn run(to: &mut SqliteConnection, sql: String) {
    sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(to).await.expect("it runs");
}
