//! Recording: 50,000 facts a second, how long taking one takes, and whether all of them are stored.
//!
//! `cargo bench -p fuseboard --bench recording -- [SECONDS]`; 10 s when not said otherwise.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use fuseboard::{
    calls::Calls,
    db::Db,
    history::{retention::Keep, runs},
    journal::{Journal, Start},
    live::Live,
};
use fuseboard_breaker::{Cause, Clock, Event, Outcome, Probe, ProbeOutcome, Saved, State, SystemClock, Transition};

const PER_SECOND: u64 = 50_000;
/// Facts between two looks at the clock.
const BURST: u64 = 50;

#[tokio::main(worker_threads = 2)]
async fn main() {
    let seconds = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(10);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let clock = Arc::new(SystemClock);
    let db = Db::open(&folder.path().join("fuseboard.db"), "bench", "0").await.expect("the store opens");
    let run = runs::begin(&db, clock.wall()).await.expect("the run begins");
    let journal = Journal::start(Start {
        db: &db,
        run,
        known: Vec::new(),
        incidents: Vec::new(),
        live: Some(Arc::new(Live::new(run.boot, 0, "0", clock.clone()))),
        calls: Arc::new(Calls::new(clock.clone())),
        tallies: Arc::default(),
        upstreams: Arc::default(),
        clock,
        journal_max: 64 << 20,
        keep: Keep::ALL,
    });

    let pushing = journal.clone();
    let (mut took, spent) = tokio::task::spawn_blocking(move || push(&pushing, seconds)).await.expect("pushing works");
    let waiting = journal.health().waiting;
    let began = Instant::now();
    journal.flush().await;
    let drained = began.elapsed();
    let health = journal.health();
    let stored: i64 = sqlx::query_scalar("SELECT (SELECT count(*) FROM transitions) + (SELECT count(*) FROM probes)")
        .fetch_one(db.read())
        .await
        .expect("the rows are counted");

    took.sort_unstable();
    let share = |share: f64| took[((took.len() - 1) as f64 * share) as usize];
    println!("pushed   {} facts in {spent:.1?}", took.len());
    println!("push     p50 {:?}  p99 {:?}  p99.9 {:?}  max {:?}", share(0.5), share(0.99), share(0.999), share(1.0));
    println!("stored   {stored}, dropped {}, {waiting} waiting at the end, drained in {drained:.1?}", health.dropped);
    println!("file     {} bytes a fact", db.bytes() / took.len() as u64);
    journal.close().await;
}

/// Pushes at the given rate, one transition to nine probes on 500 breakers; how long each push took, and all of it.
fn push(journal: &Journal, seconds: u64) -> (Vec<Duration>, Duration) {
    let ids: Vec<Arc<str>> = (0..500).map(|host| format!("https:host-{host}.example").into()).collect();
    let mut took = Vec::with_capacity((PER_SECOND * seconds) as usize);
    let began = Instant::now();
    for number in 0..PER_SECOND * seconds {
        if number.is_multiple_of(BURST) {
            let due = Duration::from_secs_f64(number as f64 / PER_SECOND as f64);
            if let Some(early) = due.checked_sub(began.elapsed()) {
                std::thread::sleep(early);
            }
        }
        let event = event(&ids[number as usize % ids.len()], number);
        let before = Instant::now();
        journal.push(event);
        took.push(before.elapsed());
    }
    (took, began.elapsed())
}

fn event(id: &Arc<str>, number: u64) -> Event {
    let at = SystemTime::now();
    if !number.is_multiple_of(10) {
        return Event::Probe(Probe {
            breaker: id.clone(),
            at,
            duration: Duration::from_millis(12),
            generation: number,
            outcome: ProbeOutcome::Settled(Outcome::Success),
            phase: None,
            evidence: None,
        });
    }
    let after = Saved {
        state: State::HalfOpen,
        since: at,
        attempt: 0,
        wait: Duration::ZERO,
        next_probe_at: None,
        down_since: Some(at),
        opens: 1,
        held: None,
        cooldown_until: None,
    };
    Event::Transition(Box::new(Transition {
        breaker: id.clone(),
        at,
        from: State::Open,
        to: State::HalfOpen,
        mode: None,
        generation: number,
        cause: Cause::WaitElapsed,
        by: None,
        reason: None,
        failures: 0,
        after,
    }))
}
