//! One breaker, the clock it believes and everything it said.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use fuseboard_breaker::{
    Applied, Breaker, By, Clock, Event, EventSink, ManualClock, Mode, OverrideEnd, OwnedPermit, Policy, PolicySettings,
    Probe, Refused, RefusedReason, RetryAfter, Saved, Settled, Snapshot, State, Transition, Verdict,
};

pub(crate) const NANO: Duration = Duration::from_nanos(1);

pub(crate) const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

/// Keeps every event in the order it came.
#[derive(Default)]
pub(crate) struct Log(Mutex<Vec<Event>>);

impl EventSink for Log {
    fn record(&self, event: Event) {
        self.0.lock().expect("no test panics while it records").push(event);
    }
}

impl Log {
    pub(crate) fn events(&self) -> Vec<Event> {
        self.0.lock().expect("no test panics while it records").clone()
    }

    pub(crate) fn transitions(&self) -> Vec<Transition> {
        self.events()
            .into_iter()
            .filter_map(|event| match event {
                Event::Transition(row) => Some(*row),
                Event::Probe(_) => None,
            })
            .collect()
    }

    pub(crate) fn probes(&self) -> Vec<Probe> {
        self.events()
            .into_iter()
            .filter_map(|event| match event {
                Event::Probe(probe) => Some(probe),
                Event::Transition(_) => None,
            })
            .collect()
    }
}

pub(crate) struct Rig {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) log: Arc<Log>,
    pub(crate) breaker: Breaker,
}

/// The policy `registry` without jitter, so that waits are 30, 60, 120, 240, 300, 300 s to the nanosecond.
pub(crate) fn registry() -> PolicySettings {
    let mut settings = PolicySettings::registry();
    settings.wait.jitter = 0.0;
    settings
}

/// `registry` with other half-open numbers.
pub(crate) fn half_open(probes: u32, successes: u32) -> PolicySettings {
    let mut settings = registry();
    settings.half_open.probes = probes;
    settings.half_open.successes = successes;
    settings
}

pub(crate) fn policy(settings: PolicySettings) -> Policy {
    Policy::new(settings).expect("the settings of a scenario can recover")
}

pub(crate) fn ana() -> By {
    By { name: "ana".into(), verified: false, via: "board".into() }
}

pub(crate) fn retry_after(wait: Duration) -> Option<Box<RetryAfter>> {
    Some(Box::new(RetryAfter { raw: wait.as_secs().to_string().into(), wait }))
}

impl Rig {
    pub(crate) fn new(settings: PolicySettings) -> Self {
        let (clock, log) = (Arc::new(ManualClock::default()), Arc::new(Log::default()));
        let breaker = Breaker::new("https:registry.example", policy(settings), clock.clone(), log.clone());
        Self { clock, log, breaker }
    }

    /// A breaker as a new process finds it: its clock stands at `wall`.
    pub(crate) fn restored(settings: PolicySettings, wall: SystemTime, saved: Saved) -> Self {
        let (clock, log) = (Arc::new(ManualClock::new(wall)), Arc::new(Log::default()));
        let breaker = Breaker::restore("https:registry.example", policy(settings), clock.clone(), log.clone(), saved);
        Self { clock, log, breaker }
    }

    /// Tripped just now.
    pub(crate) fn open(settings: PolicySettings) -> Self {
        let rig = Self::new(settings);
        rig.trip();
        rig
    }

    /// Tripped, and its first wait just over: the next call is a probe.
    pub(crate) fn due(settings: PolicySettings) -> Self {
        let rig = Self::open(settings);
        rig.wait_out();
        rig
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    pub(crate) fn wall(&self) -> SystemTime {
        self.clock.wall()
    }

    /// Takes a permit that must be there.
    #[track_caller]
    pub(crate) fn admit(&self) -> OwnedPermit {
        self.breaker.try_acquire_owned().unwrap_or_else(|refused| panic!("refused: {refused}"))
    }

    /// Is refused, as it must be.
    #[track_caller]
    pub(crate) fn refused(&self) -> Refused {
        match self.breaker.try_acquire() {
            Err(refused) => refused,
            Ok(permit) => panic!("admitted in generation {} while {:?}", permit.generation(), self.state()),
        }
    }

    #[track_caller]
    pub(crate) fn refused_for(&self, reason: RefusedReason) {
        assert_eq!(self.refused().reason, reason);
    }

    #[track_caller]
    pub(crate) fn call(&self, verdict: Verdict) -> Settled {
        self.breaker.try_acquire().unwrap_or_else(|refused| panic!("refused: {refused}")).settle(verdict)
    }

    #[track_caller]
    pub(crate) fn fail(&self, times: u32) {
        for _ in 0..times {
            assert_eq!(self.call(Verdict::failure()), Settled::Counted);
        }
    }

    #[track_caller]
    pub(crate) fn ok(&self) {
        assert_eq!(self.call(Verdict::success()), Settled::Counted);
    }

    #[track_caller]
    pub(crate) fn alive(&self) {
        assert_eq!(self.call(Verdict::alive()), Settled::Counted);
    }

    pub(crate) fn ignored(&self) {
        self.call(Verdict::ignored());
    }

    /// Five failures at one instant.
    #[track_caller]
    pub(crate) fn trip(&self) {
        self.fail(5);
        assert_eq!(self.state(), State::Open);
    }

    /// Moves to the very instant the wait ends.
    #[track_caller]
    pub(crate) fn wait_out(&self) {
        self.advance(self.snap().next_probe_in.expect("an open breaker has a next probe"));
    }

    pub(crate) fn snap(&self) -> Snapshot {
        self.breaker.snapshot()
    }

    pub(crate) fn state(&self) -> State {
        self.snap().state
    }

    pub(crate) fn next_in(&self) -> Option<Duration> {
        self.snap().next_probe_in
    }

    /// How much of its first rule the breaker remembers.
    pub(crate) fn have(&self) -> f64 {
        self.snap().rules[0].have.unwrap_or(0.0)
    }

    #[track_caller]
    pub(crate) fn held(&self, mode: Mode, end: OverrideEnd) {
        assert_eq!(self.breaker.set_override(mode, end, ana(), "CDN move"), Applied::Changed);
    }

    #[track_caller]
    pub(crate) fn release(&self) {
        self.breaker.release(ana(), "moved").expect("an override to release");
    }

    /// The words of every transition's cause, oldest first.
    pub(crate) fn causes(&self) -> Vec<&'static str> {
        self.log.transitions().iter().map(|row| row.cause.as_str()).collect()
    }

    #[track_caller]
    pub(crate) fn last(&self) -> Transition {
        self.log.transitions().pop().expect("a transition was recorded")
    }
}
