//! No query of the record reads a big table from end to end.

use std::path::Path;

use sqlx::{AssertSqlSafe, SqliteConnection};

use super::{
    PageQuery,
    calls::{self, HOUR},
    incidents::{
        self,
        query::{IncidentQuery, OfUpstream, Part},
    },
    numbered::Kind,
    retention::What,
};
use crate::{calls::MINUTE, db::Db};

/// What may have millions of rows, and the names queries give it.
const BIG: [&str; 14] = [
    "transitions",
    "probes",
    "calls",
    "audit",
    "incidents",
    "incident_calls",
    "overrides",
    "rolled_calls",
    "rolled_states",
    "row",
    "later",
    "earlier",
    "opening",
    "counted",
];

/// Every complete statement that stands as a text in the modules of the record.
fn statements() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![folder.join("history")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable").path()) {
            if entry.is_dir() {
                folders.push(entry);
                continue;
            }
            let name = entry.file_name().expect("a name").to_string_lossy().into_owned();
            if name == "plans.rs" || name == "tests.rs" {
                continue;
            }
            let code = std::fs::read_to_string(&entry).expect("text");
            let code = code.split("#[cfg(test)]").next().unwrap_or_default();
            found.extend(texts(code).into_iter().map(|text| (name.clone(), text)));
        }
    }
    let whole = |text: &str| {
        ["SELECT ", "INSERT ", "UPDATE ", "DELETE "].iter().any(|verb| text.starts_with(verb))
            // The beginning of one that is put together, or the pattern of one; those are below.
            && !text.starts_with("SELECT row.seq, ")
            && !text.ends_with(") ")
            && !text.contains('{')
    };
    found.retain(|(_, text)| whole(text));
    found
}

/// The string literals of some Rust.
fn texts(code: &str) -> Vec<String> {
    let (mut found, mut chars) = (Vec::new(), code.chars().peekable());
    let mut before = ' ';
    while let Some(c) = chars.next() {
        match c {
            '/' if before == '/' => while chars.next_if(|c| *c != '\n').is_some() {},
            // A character that would be taken for something else.
            '\'' if chars.next_if_eq(&'\\').is_some() || chars.peek() == Some(&'"') => {
                chars.next();
            }
            '"' => {
                let mut text = String::new();
                while let Some(c) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' => match chars.next() {
                            Some('\n') => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                            Some(escaped) => text.push(escaped),
                            None => break,
                        },
                        c => text.push(c),
                    }
                }
                found.push(text);
            }
            _ => {}
        }
        before = c;
    }
    found
}

async fn plan(reader: &mut SqliteConnection, sql: &str) -> Vec<String> {
    let rows: Vec<(i64, i64, i64, String)> = sqlx::query_as(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}")))
        .fetch_all(reader)
        .await
        .unwrap_or_else(|error| panic!("{error} in {sql}"));
    rows.into_iter().map(|row| row.3).collect()
}

fn scans(plan: &[String]) -> Vec<&String> {
    plan.iter()
        .filter(|step| {
            // Partial indexes: only of those that last, or are long.
            let few = step.contains("incidents_open") || step.contains("incidents_long");
            let mut words = step.split(' ');
            !few && words.next() == Some("SCAN") && words.next().is_some_and(|table| BIG.contains(&table))
        })
        .collect()
}

fn composed() -> Vec<(String, String)> {
    let time = |micros| Some(fuseboard_app::wire::time::Time::from_micros(micros));
    let mut all = Vec::new();
    for breaker in [None, Some("a".to_owned())] {
        for (from, to) in [(None, None), (time(1), None), (None, time(2)), (time(1), time(2))] {
            for (before, after) in [(None, None), (Some(9), None), (None, Some(9))] {
                let query = PageQuery { breaker: breaker.clone(), from, to, before, after, ..PageQuery::default() };
                for (kind, select) in [
                    (Kind::Transitions, super::transitions::SELECT),
                    (Kind::Probes, super::probes::SELECT),
                    (Kind::Audit, super::audit::SELECT),
                ] {
                    all.push((format!("{query:?}"), query.statement(kind, select).sql().as_str().to_owned()));
                }
            }
        }
    }
    all.extend(of_incidents().into_iter().map(|(_, what, sql)| (what, sql)));
    all.push(("newest".into(), format!("{}{}", super::transitions::SELECT, super::transitions::NEWEST)));
    all.push(("open".into(), format!("{} WHERE true{} ORDER BY row.seq", incidents::SELECT, incidents::OPEN)));
    for what in What::ALL {
        all.push((format!("the edge of {what:?}"), what.edge()));
        all.push((format!("what goes of {what:?}"), what.delete()));
    }
    for span in [MINUTE, HOUR] {
        all.push((format!("calls of {span}"), calls::statement(span)));
    }
    all.push(("one".into(), format!("{} WHERE row.seq = ?", incidents::SELECT)));
    all
}

/// A row that another part of the statement named.
const BY_NUMBER: &str = "SEARCH row USING INTEGER PRIMARY KEY (rowid=?)";

/// Every statement that asks for incidents, with where it must look for them.
fn of_incidents() -> Vec<(&'static str, String, String)> {
    let time = |micros| Some(fuseboard_app::wire::time::Time::from_micros(micros));
    let mut all = Vec::new();
    for (from, to) in [(None, None), (time(1), None), (None, time(2)), (time(1), time(2))] {
        for (before, after) in [(None, None), (Some(9), None), (None, Some(9))] {
            for open in [None, Some(true), Some(false)] {
                for (keys, long) in [(None, false), (None, true), (Some(&[1; 3]), false), (Some(&[1; 3]), true)] {
                    let upstream = keys.map(|_| OfUpstream { name: "npm".into(), breaker: None });
                    let query = IncidentQuery { from, to, before, after, open, upstream, ..IncidentQuery::default() };
                    let part = Part { numbers: 3..=9, long };
                    let keys = keys.map(|keys| &keys[..]);
                    let sql = incidents::query::statement(&query, keys, &part, 100);
                    let place = match keys {
                        _ if part.few(&query) => BY_NUMBER,
                        Some(_) => "SEARCH row USING INDEX incidents_by_breaker (breaker=? AND seq>? AND seq<?)",
                        None => "SEARCH row USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
                    };
                    let what = format!("{query:?} {part:?} of {keys:?}");
                    all.push((place, what, sql.sql().as_str().to_owned()));
                }
            }
        }
    }
    all
}

#[tokio::test]
async fn no_query_reads_a_big_table_from_end_to_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let db = Db::open(&folder.path().join("fuseboard.db"), "fuse-1", "1").await.expect("it opens");
    let mut reader = db.connect_writer().await.expect("a connection");
    // A plan lists what a changed key would have to look for in the tables that name it; no key is ever changed.
    sqlx::query("PRAGMA foreign_keys = OFF").execute(&mut reader).await.expect("it is set");
    let (written, composed) = (statements(), composed());
    assert!(written.len() > 40, "only {} statements were found", written.len());
    let mut faults = Vec::new();
    for (place, sql) in written.iter().chain(&composed) {
        let plan = plan(&mut reader, sql).await;
        faults.extend(scans(&plan).into_iter().map(|step| format!("{place}: {step}\n    {sql}")));
    }
    for (place, what, sql) in of_incidents() {
        let plan: Vec<_> = plan(&mut reader, &sql).await.iter().map(|step| step.replace("COVERING ", "")).collect();
        let elsewhere = plan.iter().any(|step| step.starts_with("SEARCH row ") && step != place && step != BY_NUMBER);
        if elsewhere || !plan.iter().any(|step| step == place) {
            faults.push(format!("{what}: not {place}: {plan:?}\n    {sql}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // The check itself: one that does is found.
    let plan = plan(&mut reader, "SELECT count(*) FROM probes WHERE outcome = 'lost'").await;
    assert_eq!(scans(&plan).len(), 1, "{plan:?}");
}
