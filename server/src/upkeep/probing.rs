//! Rule 20: a host nobody calls still recovers. Where an upstream has an `active_probe`, the runtime sends it when the
//! wait is over, and again until the round has a verdict.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use fuseboard_breaker::{Outcome, ProbeOutcome, Snapshot, State};
use fuseboard_fetch::Upstream;
use parking_lot::Mutex;

use super::Watch;
use crate::app::App;

/// How long after a probe that proved nothing the next one is sent.
const REST: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Running,
    RestsUntil(Instant),
}

/// Whose probe is out, and who rests.
#[derive(Default)]
pub(super) struct Turns(Mutex<HashMap<Arc<str>, Turn>>);

impl Turns {
    /// Sends this breaker's probe if its time has come; else says when it comes.
    pub(super) fn look(
        self: &Arc<Self>,
        app: &Arc<App>,
        watch: &Arc<Watch>,
        snapshot: &Snapshot,
        now: Instant,
    ) -> Option<Instant> {
        let Some(wanted) = wanted(snapshot, now) else {
            self.0.lock().retain(|id, turn| *id != snapshot.id || *turn == Turn::Running);
            return None;
        };
        let upstream = prober(app, &snapshot.id)?;
        let at = self.turn(&snapshot.id, wanted)?;
        if at > now {
            return Some(at);
        }
        self.0.lock().insert(snapshot.id.clone(), Turn::Running);
        let (turns, app, watch, id) = (self.clone(), app.clone(), watch.clone(), snapshot.id.clone());
        app.clone().lifecycle.spawn(async move {
            let proved = tokio::select! {
                answer = app.fetcher.probe_due(&upstream) => answer.is_ok_and(|answer| proved(answer.outcome)),
                () = app.lifecycle.soft() => return,
            };
            turns.done(&id, proved, app.clock.now());
            watch.look_at(id);
        });
        None
    }

    /// When this breaker may send, given when it wants to; never while one is out.
    fn turn(&self, id: &Arc<str>, wanted: Instant) -> Option<Instant> {
        match self.0.lock().get(id) {
            Some(Turn::Running) => None,
            Some(Turn::RestsUntil(until)) => Some(wanted.max(*until)),
            None => Some(wanted),
        }
    }

    fn done(&self, id: &Arc<str>, proved: bool, now: Instant) {
        let mut turns = self.0.lock();
        if proved {
            turns.remove(id);
        } else {
            turns.insert(id.clone(), Turn::RestsUntil(now + REST));
        }
    }
}

/// Under an override nobody waits for the machine.
fn wanted(snapshot: &Snapshot, now: Instant) -> Option<Instant> {
    match snapshot.state {
        _ if snapshot.held.is_some() => None,
        State::Closed => None,
        State::Open => Some(now + snapshot.next_probe_in.unwrap_or_default()),
        State::HalfOpen => (snapshot.half_open.in_flight < snapshot.half_open.permits).then_some(now),
    }
}

/// A failure has its wait; only what says nothing either way would be repeated at once.
fn proved(outcome: ProbeOutcome) -> bool {
    matches!(outcome, ProbeOutcome::Settled(Outcome::Success | Outcome::Alive | Outcome::Failure))
}

pub(super) fn prober(app: &App, id: &str) -> Option<Arc<Upstream>> {
    let upstreams = app.upstreams.load();
    let entry = upstreams.iter().find(|entry| &*entry.breaker == id && entry.upstream.active_probe.is_some())?;
    Some(entry.upstream.clone())
}

#[cfg(test)]
mod tests {
    use fuseboard_breaker::{Breaker, By, Clock, ManualClock, Mode, NoSink, OverrideEnd, Policy, Verdict};

    use super::*;

    #[test]
    fn a_probe_is_wanted_when_the_wait_is_over_and_while_the_round_has_room() {
        let clock = Arc::new(ManualClock::default());
        let breaker = Breaker::new("a", Policy::grpc(), clock.clone(), Arc::new(NoSink));
        let wanted = || wanted(&breaker.snapshot(), clock.now());
        assert_eq!(wanted(), None, "closed");
        for _ in 0..5 {
            breaker.try_acquire().expect("closed").settle(Verdict::failure());
        }
        assert_eq!(wanted(), Some(clock.now() + Duration::from_secs(15)));
        clock.advance(Duration::from_secs(20));
        assert_eq!(wanted(), Some(clock.now()), "overdue is now, never earlier");
        let probes: Vec<_> = (0..10).map(|_| breaker.try_acquire_owned().expect("a permit")).collect();
        assert_eq!(wanted(), None, "all permits are out");
        drop(probes);
        assert_eq!(wanted(), Some(clock.now()));
        let by = By { name: "ana".into(), verified: false, via: "api".into() };
        breaker.set_override(Mode::ForcedOpen, OverrideEnd::Never, by, "r");
        assert_eq!(wanted(), None, "under an override");
    }

    #[test]
    fn one_probe_is_out_at_a_time_and_an_idle_one_rests() {
        let clock = ManualClock::default();
        let (turns, id, now): (_, Arc<str>, _) = (Turns::default(), "a".into(), clock.now());
        assert_eq!(turns.turn(&id, now), Some(now));
        turns.0.lock().insert(id.clone(), Turn::Running);
        assert_eq!(turns.turn(&id, now), None);
        turns.done(&id, false, now);
        assert_eq!(turns.turn(&id, now), Some(now + REST));
        assert_eq!(turns.turn(&id, now + REST * 2), Some(now + REST * 2));
        turns.done(&id, true, now);
        assert_eq!(turns.turn(&id, now), Some(now));
    }
}
