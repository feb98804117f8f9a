//! A store with a past that nobody has to live through. It ended a minute ago: what is older than it is kept for goes while
//! a test reads it.

use std::path::Path;

use fuseboard::db::Db;
use sqlx::Connection;

use super::soon;

/// A store whose record holds this many probes of an earlier run, a second apart.
pub(crate) async fn probes(path: &Path, count: i64) {
    let probes = "
        INSERT INTO probes (seq, boot, breaker, at, duration, generation, outcome, phase, why, status, error, method,
                            path, synthetic)
        SELECT n, 1, 1, began + n * 1000000, 1500, n, 'failure', 'head', NULL, 503, NULL, 'GET',
               '/some/rather/long/path/of/a/package/that/is/not/there/' || n, 0 FROM numbers, past";
    seed(path, count, &[probes]).await;
}

/// The same with incidents: each opens and closes half a second later.
pub(crate) async fn incidents(path: &Path, count: i64) {
    let rows = |seq: &str, at: &str, from: &str, to: &str, cause: &str| {
        format!(
            "INSERT INTO transitions (seq, boot, breaker, at, from_state, to_state, generation, cause)
             SELECT {seq}, 1, 1, {at}, '{from}', '{to}', n, '{{\"kind\":\"{cause}\"}}' FROM numbers, past"
        )
    };
    let (at, end) = ("began + n * 1000000", "began + n * 1000000 + 500000");
    let incidents = format!(
        "INSERT INTO incidents (seq, boot, breaker, kind, started_at, ended_at, last_seq, marked_at, is_down, down,
                                unknown, opens, good, bad, lost, void, overrides, cause, ended_by)
         SELECT 2 * n - 1, 1, 1, 'tripped', {at}, {end}, 2 * n, {end}, 0, 500000, 0, 1, 0, 0, 0, 0, 0,
                '{{\"kind\":\"tripped\"}}', '{{\"kind\":\"reset\"}}' FROM numbers, past"
    );
    let opened = rows("2 * n - 1", at, "closed", "open", "tripped");
    let closed = rows("2 * n", end, "open", "closed", "reset");
    seed(path, count, &[&opened, &closed, &incidents]).await;
}

async fn seed(path: &Path, count: i64, statements: &[&str]) {
    let seeding = async {
        let db = Db::open(path, "fuse-0", "1.0").await.expect("the store opens");
        let mut writer = db.connect_writer().await.expect("the store opens");
        let past = format!("past (began) AS (SELECT (unixepoch() - 60 - {count}) * 1000000)");
        let rows = format!(
            "WITH {past} INSERT INTO runs (boot, started_at, alive_at, ended_at, version, pid, node)
             SELECT 1, began, unixepoch() * 1000000, unixepoch() * 1000000, '1.0', 1, 'fuse-0' FROM past;
             WITH {past} INSERT INTO breakers (key, id, policy, first_at, since)
             SELECT 1, 'https:seed.example', '', began, began FROM past;"
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(rows)).execute(&mut writer).await.expect("the run is written");
        for insert in statements {
            let numbers = "numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)";
            let sql = sqlx::AssertSqlSafe(format!("WITH RECURSIVE {numbers}, {past} {insert}"));
            sqlx::query(sql).bind(count).execute(&mut writer).await.expect("the rows are written");
        }
        writer.close().await.expect("closed");
        db.close().await;
    };
    soon("the seeding", seeding).await;
}
