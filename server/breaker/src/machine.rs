//! The breaker's machine: inputs with a time go in, events come out, nobody is called.
//!
//! It has two independent fields: the automatic state and the operator's override. While an override stands it alone
//! decides admission, and the automatic state goes on in its shadow with those calls it would have admitted itself.
//! Every change of either, and every reset that does something, begins a generation; a verdict from an earlier one is
//! late and changes nothing.
//!
//! Every input first does what was due before it (leases, the ends of overrides and cool-downs), stamped with the
//! moment it was due, so that what the machine becomes does not depend on how often somebody looks.
//!
//! [`admit`] lets calls in, [`verdict`] takes what they proved, [`command`] is the operator, [`restore`] the restart,
//! [`read`] the snapshot.

mod admit;
mod command;
mod mark;
mod read;
mod restore;
mod verdict;

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

pub(crate) use admit::{Ask, Grant, Refusal};
pub(crate) use mark::ProbeMark;
pub(crate) use read::Standing;
pub(crate) use verdict::{Ending, Held};

use crate::{
    backoff,
    event::{By, Cause, DrawnWait, Event, Mode, Override, Saved, State, Transition},
    outcome::RetryAfter,
    policy::Policy,
    snapshot::Counts,
    window::Memory,
};

/// The time of one input as the clock gave it. Without a wall time the machine estimates it from the last one it saw;
/// that is enough for inputs that make no event.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) now: Instant,
    pub(crate) wall: Option<SystemTime>,
}

/// The time inside the machine: never before an earlier input's.
#[derive(Debug, Clone, Copy)]
struct At {
    now: Instant,
    wall: SystemTime,
}

impl At {
    fn back_to(self, due: Instant) -> Self {
        let ago = self.now.saturating_duration_since(due);
        Self { now: due, wall: self.wall.checked_sub(ago).unwrap_or(self.wall) }
    }

    /// The moment as it was announced, where the wall clock still agrees: two clocks read one after the other are a
    /// microsecond apart.
    fn told_as(self, announced: Option<SystemTime>) -> Self {
        const NEAR: Duration = Duration::from_millis(1);
        let near = |told: &SystemTime| match told.duration_since(self.wall) {
            Ok(ahead) => ahead < NEAR,
            Err(behind) => behind.duration() < NEAR,
        };
        Self { wall: announced.filter(near).unwrap_or(self.wall), ..self }
    }
}

#[derive(Debug)]
pub(crate) struct Machine {
    id: Arc<str>,
    policy: Policy,
    state: Automatic,
    since: SystemTime,
    generation: u64,
    attempt: u32,
    held: Option<Box<Standstill>>,
    cooldown: Option<Cooldown>,
    down_since: Option<SystemTime>,
    opens: u64,
    memory: Memory,
    /// Successes that took no lock and refusals are counted elsewhere.
    counts: Counts,
    /// Permits that ended here; the others ended without a lock.
    ended: u64,
    dice: u64,
    last: Instant,
    anchor: (Instant, SystemTime),
    outbox: VecDeque<Event>,
    /// It left closed or was forced open since somebody last asked.
    went_down: bool,
    /// Evicted from its panel: it makes no more events.
    retired: bool,
}

#[derive(Debug)]
enum Automatic {
    Closed,
    Open(Waiting),
    HalfOpen(Round),
}

#[derive(Debug)]
struct Waiting {
    /// As drawn, or as cut by a reload.
    wait: Duration,
    until: Instant,
    next_probe_at: SystemTime,
    /// An operator's probe outside the wait.
    outside: Option<Arc<ProbeMark>>,
}

#[derive(Debug)]
struct Round {
    /// The wait that led here; shown, and kept for a restart.
    wait: Duration,
    good: u32,
    out: Vec<Arc<ProbeMark>>,
}

/// An override in force.
#[derive(Debug)]
struct Standstill {
    shown: Override,
    ends: Option<Instant>,
}

#[derive(Debug, Clone, Copy)]
struct Cooldown {
    ends: Instant,
    until: SystemTime,
}

/// What comes due by itself.
#[derive(Debug)]
enum Due {
    Lease(Arc<ProbeMark>),
    OverrideEnd,
    CooldownEnd,
}

impl Machine {
    /// Closed, with the jitter's dice set.
    pub(crate) fn new(id: Arc<str>, policy: Policy, now: Instant, wall: SystemTime, dice: u64) -> Self {
        Self {
            id,
            memory: Memory::new(&policy, now),
            policy,
            state: Automatic::Closed,
            since: wall,
            generation: 0,
            attempt: 0,
            held: None,
            cooldown: None,
            down_since: None,
            opens: 0,
            counts: Counts::default(),
            ended: 0,
            dice,
            last: now,
            anchor: (now, wall),
            outbox: VecDeque::new(),
            went_down: false,
            retired: false,
        }
    }

    /// Does what is due and says when to come again.
    pub(crate) fn tick(&mut self, moment: Moment) -> Option<Instant> {
        let at = self.enter(moment);
        if matches!(self.state, Automatic::Closed) {
            self.memory.prune(&self.policy, at.now);
        }
        self.next_due().map(|(due, _)| due)
    }

    pub(crate) fn outbox(&mut self) -> &mut VecDeque<Event> {
        &mut self.outbox
    }

    /// Whether it left closed or was forced open since this was last asked.
    pub(crate) fn take_went_down(&mut self) -> bool {
        std::mem::take(&mut self.went_down)
    }

    /// Begins an input: fixes its time and does what was due before it.
    fn enter(&mut self, moment: Moment) -> At {
        let now = moment.now.max(self.last);
        let wall = moment.wall.unwrap_or_else(|| {
            let since = now.saturating_duration_since(self.anchor.0);
            self.anchor.1.checked_add(since).unwrap_or(self.anchor.1)
        });
        self.last = now;
        if moment.wall.is_some() {
            self.anchor = (now, wall);
        }
        let at = At { now, wall };
        while let Some((due, what)) = self.next_due()
            && due <= now
        {
            let then = at.back_to(due);
            match what {
                Due::Lease(mark) => self.judge_lease(then, &mark),
                Due::OverrideEnd => {
                    let until = self.held.as_ref().and_then(|held| held.shown.until);
                    self.end_override(then.told_as(until), Cause::OverrideExpired, None, None);
                }
                Due::CooldownEnd => {
                    let until = self.cooldown.map(|cooldown| cooldown.until);
                    self.end_cooldown(then.told_as(until));
                }
            }
        }
        at
    }

    /// The earliest of what comes due by itself; of two at the same moment the lease, which began before.
    fn next_due(&self) -> Option<(Instant, Due)> {
        let mut next: Option<(Instant, Due)> = None;
        let mut offer = |due: Instant, what: Due| {
            if next.as_ref().is_none_or(|(earliest, _)| due < *earliest) {
                next = Some((due, what));
            }
        };
        if let Some(mark) = self.earliest_lease() {
            offer(mark.due(), Due::Lease(mark.clone()));
        }
        if let Some(ends) = self.held.as_ref().and_then(|held| held.ends) {
            offer(ends, Due::OverrideEnd);
        }
        if let Some(cooldown) = &self.cooldown {
            offer(cooldown.ends, Due::CooldownEnd);
        }
        next
    }

    /// The probe whose lease ends first. Under forced open nothing is sent and no lease is judged.
    fn earliest_lease(&self) -> Option<&Arc<ProbeMark>> {
        let out: &[Arc<ProbeMark>] = match &self.state {
            _ if self.mode() == Some(Mode::ForcedOpen) => &[],
            Automatic::Closed => &[],
            Automatic::Open(waiting) => waiting.outside.as_slice(),
            Automatic::HalfOpen(round) => &round.out,
        };
        out.iter().min_by_key(|mark| mark.due())
    }

    pub(crate) fn mode(&self) -> Option<Mode> {
        self.held.as_ref().map(|held| held.shown.mode)
    }

    fn state(&self) -> State {
        match self.state {
            Automatic::Closed => State::Closed,
            Automatic::Open(_) => State::Open,
            Automatic::HalfOpen(_) => State::HalfOpen,
        }
    }

    /// Draws a wait, opens, and hands the wait back for the row.
    fn open(&mut self, at: At, retry_after: Option<&RetryAfter>) -> DrawnWait {
        let share = backoff::roll(&mut self.dice);
        let drawn = backoff::draw(&self.policy.settings().wait, self.attempt, retry_after, share);
        if self.down_since.is_none() {
            self.down_since = Some(at.wall);
            self.went_down = true;
        }
        self.opens += 1;
        self.memory.clear(&self.policy);
        self.change(
            at,
            Automatic::Open(Waiting {
                wait: drawn.wait,
                until: at.now + drawn.wait,
                next_probe_at: at.wall.checked_add(drawn.wait).unwrap_or(at.wall),
                outside: None,
            }),
        );
        drawn
    }

    /// A round with `good` good verdicts already in.
    fn half_open(&mut self, at: At, good: u32, cause: Cause) {
        let from = self.state();
        let wait = self.wait().unwrap_or_default();
        self.change(at, Automatic::HalfOpen(Round { wait, good, out: Vec::new() }));
        self.emit(at.wall, from, cause, None, None);
    }

    fn close(&mut self, at: At) {
        self.attempt = 0;
        self.down_since = None;
        self.memory.clear(&self.policy);
        self.change(at, Automatic::Closed);
    }

    fn change(&mut self, at: At, state: Automatic) {
        self.state = state;
        self.since = at.wall;
        self.generation += 1;
    }

    fn end_cooldown(&mut self, at: At) {
        self.cooldown = None;
        self.emit(at.wall, self.state(), Cause::CooldownEnded, None, None);
    }

    /// The wait in force, or the one that led to the round.
    fn wait(&self) -> Option<Duration> {
        match &self.state {
            Automatic::Closed => None,
            Automatic::Open(waiting) => Some(waiting.wait),
            Automatic::HalfOpen(round) => Some(round.wait),
        }
    }

    /// Writes a row about what has just become so.
    fn emit(&mut self, at: SystemTime, from: State, cause: Cause, by: Option<By>, reason: Option<Arc<str>>) {
        let transition = Transition {
            breaker: self.id.clone(),
            at,
            from,
            to: self.state(),
            mode: self.mode(),
            generation: self.generation,
            cause,
            by,
            reason,
            failures: self.counts.failure,
            after: self.saved(),
        };
        self.push(Event::Transition(Box::new(transition)));
    }

    fn push(&mut self, event: Event) {
        if !self.retired {
            self.outbox.push_back(event);
        }
    }

    fn saved(&self) -> Saved {
        let next_probe_at = match &self.state {
            Automatic::Open(waiting) => Some(waiting.next_probe_at),
            Automatic::Closed | Automatic::HalfOpen(_) => None,
        };
        Saved {
            state: self.state(),
            since: self.since,
            attempt: self.attempt,
            wait: self.wait().unwrap_or_default(),
            next_probe_at,
            down_since: self.down_since,
            opens: self.opens,
            held: self.held.as_ref().map(|held| held.shown.clone()),
            cooldown_until: self.cooldown.map(|cooldown| cooldown.until),
        }
    }
}
