//! The watchdog: invariants of the running process, looked at from outside every few seconds by a task of its own, so that
//! a stuck upkeep is seen too. It takes no permit and moves no state; only a lease that nobody judged is judged then.
//!
//! - Open past its wait while calls are refused or a probe is configured, and no probe was sent.
//! - A probe that holds its permit past its lease.
//! - A breaker that is not what its newest row says, in the journal's memory or, once that is drained, in the store.
//!
//! What may be a matter of a moment counts when two rounds in a row see it unchanged.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

use fuseboard_app::wire::breaker::{Mode, State};
use fuseboard_breaker::Snapshot;

use crate::{
    app::App,
    findings::{Kind, Seen},
    history::breakers::{self, Written},
    journal::convert,
    stamp,
};

/// How often it looks.
const LOOK: Duration = Duration::from_secs(10);
/// How late what is due may be: the upkeep looks at half-open breakers every second.
const GRACE: Duration = Duration::from_secs(3);

/// What it saw, to be looked through by whoever wants to know now.
pub type Shared = Arc<tokio::sync::Mutex<Watchdog>>;

/// Runs until the process stops.
pub async fn run(app: Arc<App>, watchdog: Shared) {
    let mut tick = tokio::time::interval(LOOK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = tick.tick() => watchdog.lock().await.round(&app).await,
            () = app.lifecycle.soft() => return,
        }
    }
}

/// What it saw the last time.
#[derive(Debug, Default)]
pub struct Watchdog {
    last: HashMap<Arc<str>, Last>,
    suspects: BTreeMap<String, (u64, String)>,
}

/// One breaker at the last round.
#[derive(Debug, Clone, Copy)]
struct Last {
    generation: u64,
    refused: u64,
    /// Since when it has been due, as far as rounds saw it.
    due_since: Option<Instant>,
}

impl Watchdog {
    /// Looks once at everything and says what stands.
    pub async fn round(&mut self, app: &App) {
        let (before, rows) = (app.journal.drained(), self.written(app).await);
        let breakers = app.panel.breakers();
        let snapshots: Vec<_> = breakers.iter().map(|breaker| breaker.snapshot()).collect();
        let rows = rows.filter(|_| before.is_some() && app.journal.drained() == before);
        let mut seen = self.overdue(&snapshots, app.clock.now(), |id| super::probing::prober(app, id).is_some());
        for breaker in breakers.iter().filter(|one| seen.contains_key(&(Kind::Lease, one.id().to_string()))) {
            breaker.tick();
        }
        let mut suspects = BTreeMap::new();
        for snapshot in &snapshots {
            let remembered = app.journal.last_transition(&snapshot.id);
            let row = remembered.as_ref().map(|row| (row.seq, row.to, row.held));
            let stored = rows.as_ref().map(|rows| rows.get(&*snapshot.id));
            if let Some(says) = disagreement(snapshot, row, stored) {
                suspects.insert(snapshot.id.to_string(), (snapshot.generation, says));
            }
        }
        for (id, suspect) in &suspects {
            if self.suspects.get(id) == Some(suspect) {
                seen.insert((Kind::Disagreement, id.clone()), suspect.1.clone());
            }
        }
        self.suspects = suspects;
        app.findings.set(seen, stamp::time(app.clock.wall()));
    }

    async fn written(&self, app: &App) -> Option<HashMap<String, Written>> {
        // A store in trouble is told of elsewhere.
        breakers::written(app.db.read()).await.ok()
    }

    /// What is late, judged by the breakers alone.
    fn overdue(&mut self, snapshots: &[Snapshot], now: Instant, probed: impl Fn(&str) -> bool) -> Seen {
        let mut seen = Seen::new();
        let mut last = HashMap::with_capacity(snapshots.len());
        for one in snapshots {
            let id = || one.id.to_string();
            if let Some(over) = one.lease_over_for.filter(|over| *over >= GRACE) {
                let lease = one.policy.settings().half_open.lease.as_secs();
                let detail =
                    format!("a probe of {} holds its permit {} s past its lease of {lease} s", one.id, over.as_secs());
                seen.insert((Kind::Lease, id()), detail);
            }
            let before = self.last.get(&one.id).filter(|before| before.generation == one.generation);
            let due = one.probe_due && one.held.is_none();
            // Due in this round and the one before.
            let known = before.and_then(|before| Some((before, before.due_since?))).filter(|_| due);
            if let Some((before, since)) = known {
                let late = now.saturating_duration_since(since);
                let refused = one.counts.refused.saturating_sub(before.refused);
                if refused > 0 {
                    let detail =
                        format!("{} is past its wait and refused {refused} calls instead of probing with one", one.id);
                    seen.insert((Kind::Unprobed, id()), detail);
                } else if probed(&one.id) && late >= LOOK && one.in_flight == 0 {
                    let detail = format!(
                        "{} has been due for {} s and its configured probe was not sent",
                        one.id,
                        late.as_secs()
                    );
                    seen.insert((Kind::Unprobed, id()), detail);
                }
            }
            last.insert(
                one.id.clone(),
                Last {
                    generation: one.generation,
                    refused: one.counts.refused,
                    due_since: due.then(|| known.map_or(now, |(_, since)| since)),
                },
            );
        }
        self.last = last;
        seen
    }
}

/// Where a breaker and its newest row differ. `stored` is absent while the journal is not drained.
fn disagreement(
    live: &Snapshot,
    remembered: Option<(u64, State, Option<Mode>)>,
    stored: Option<Option<&Written>>,
) -> Option<String> {
    let (state, held) = (convert::state(live.state), live.held.as_ref().map(|held| convert::mode(held.mode)));
    let (seq, to, mode) = remembered?;
    let is = said(state, held);
    if (to, mode) != (state, held) {
        return Some(format!("{} is {is} and its newest row, {seq}, says {}", live.id, said(to, mode)));
    }
    let stored = stored?;
    match stored {
        Some(row) if row.seq == seq && (row.to, row.held) == (state, held) && row.saved == (state, held) => None,
        Some(row) => Some(format!(
            "{} is {is} since row {seq} and the store says {} in row {}, {} for a restart",
            live.id,
            said(row.to, row.held),
            row.seq,
            said(row.saved.0, row.saved.1)
        )),
        None => Some(format!("{} is {is} since row {seq}, which is not in the store", live.id)),
    }
}

fn said(state: State, held: Option<Mode>) -> String {
    let state = match state {
        State::Closed => "closed",
        State::Open => "open",
        State::HalfOpen => "half-open",
    };
    match held {
        None => state.to_owned(),
        Some(Mode::ForcedOpen) => format!("{state} under forced open"),
        Some(Mode::ForcedClosed) => format!("{state} under forced closed"),
    }
}

#[cfg(test)]
mod tests {
    use fuseboard_breaker::{Breaker, Clock, ManualClock, NoSink, Policy, Verdict};

    use super::*;

    fn open() -> (Arc<ManualClock>, Breaker) {
        let clock = Arc::new(ManualClock::default());
        let breaker = Breaker::new("a", Policy::registry(), clock.clone(), Arc::new(NoSink));
        for _ in 0..5 {
            breaker.try_acquire().expect("closed").settle(Verdict::failure());
        }
        (clock, breaker)
    }

    fn kinds(seen: &Seen) -> Vec<Kind> {
        seen.keys().map(|(kind, _)| *kind).collect()
    }

    #[test]
    fn a_permit_held_past_its_lease_is_found_once_nobody_judged_it() {
        let (clock, breaker) = open();
        clock.advance(Duration::from_secs(30));
        let hanging = breaker.try_acquire_owned().expect("the wait is over");
        let mut watchdog = Watchdog::default();
        let mut look = || watchdog.overdue(&[breaker.snapshot()], clock.now(), |_| false);
        clock.advance(Duration::from_secs(40) + GRACE - Duration::from_nanos(1));
        assert_eq!(kinds(&look()), []);
        clock.advance(Duration::from_nanos(1));
        let seen = look();
        assert_eq!(kinds(&seen), [Kind::Lease]);
        assert!(seen.values().all(|detail| detail.contains("3 s past its lease of 40 s")), "{seen:?}");
        breaker.tick();
        assert_eq!(kinds(&look()), [], "a tick judges it");
        drop(hanging);
    }

    #[test]
    fn a_due_probe_that_is_not_sent_is_found() {
        let (clock, breaker) = open();
        let mut watchdog = Watchdog::default();
        let mut look = |probed: bool| watchdog.overdue(&[breaker.snapshot()], clock.now(), |_| probed);
        clock.advance(Duration::from_secs(30));
        assert_eq!(kinds(&look(true)), [], "it has only just become due");
        clock.advance(LOOK - Duration::from_nanos(1));
        assert_eq!(kinds(&look(true)), []);
        clock.advance(Duration::from_nanos(1));
        assert_eq!(kinds(&look(false)), [], "nobody calls and nothing is configured: it is latched, which is no fault");
        assert_eq!(kinds(&look(true)), [Kind::Unprobed]);
    }

    /// No breaker does this; its snapshot is made up.
    #[test]
    fn calls_refused_past_the_wait_are_found() {
        let (clock, breaker) = open();
        let mut watchdog = Watchdog::default();
        clock.advance(Duration::from_secs(30));
        let due = breaker.snapshot();
        assert_eq!(kinds(&watchdog.overdue(std::slice::from_ref(&due), clock.now(), |_| false)), []);
        let mut refusing = due.clone();
        refusing.counts.refused += 7;
        let seen = watchdog.overdue(&[refusing.clone()], clock.now(), |_| false);
        assert_eq!(kinds(&seen), [Kind::Unprobed]);
        assert!(seen.values().all(|detail| detail.contains("refused 7 calls")), "{seen:?}");
        refusing.counts.refused += 1;
        refusing.generation += 1;
        assert_eq!(kinds(&watchdog.overdue(&[refusing], clock.now(), |_| false)), [], "it has moved on meanwhile");
    }

    #[test]
    fn a_row_that_says_something_else_is_found() {
        let (_, breaker) = open();
        let live = breaker.snapshot();
        let written = |seq, to, saved| Written { seq, to, held: None, saved: (saved, None) };
        let row = Some((7, State::Open, None));
        let good = written(7, State::Open, State::Open);
        assert_eq!(disagreement(&live, row, Some(Some(&good))), None);
        assert_eq!(disagreement(&live, row, None), None, "the journal is not drained");
        assert_eq!(disagreement(&live, None, None), None, "it never changed");
        assert!(disagreement(&live, Some((7, State::Closed, None)), None).is_some());
        assert!(disagreement(&live, Some((7, State::Open, Some(Mode::ForcedOpen))), None).is_some());
        for bad in [
            written(6, State::Open, State::Open),
            written(7, State::Closed, State::Open),
            written(7, State::Open, State::Closed),
        ] {
            assert!(disagreement(&live, row, Some(Some(&bad))).is_some(), "{bad:?}");
        }
        assert!(disagreement(&live, row, Some(None)).is_some());
    }
}
