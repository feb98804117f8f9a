//! What the trip rules remember of counted calls.
//!
//! Each rule of the policy has a track, in the policy's order. `failures` keeps exact times, since N failures in W must
//! trip at the N-th and not before; `consecutive` keeps the current run (its times too when it has a window); the rates
//! keep ten buckets of W/10. Beside them the last 20 calls are kept as evidence. What is older than its window never
//! counts again, and [`Memory::prune`] forgets it.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use crate::{
    outcome::{Evidence, Outcome},
    policy::{Policy, TripRule},
    snapshot::RuleSnapshot,
};

/// Evidence is kept of this many calls.
const KEPT: usize = 20;

/// One counted call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) at: Instant,
    pub(crate) outcome: Outcome,
    pub(crate) latency: Option<Duration>,
    pub(crate) evidence: Option<Box<Evidence>>,
}

/// A rule that was met.
#[derive(Debug)]
pub(crate) struct Trip {
    pub(crate) rule: TripRule,
    pub(crate) have: u64,
    pub(crate) calls: u64,
    pub(crate) evidence: Vec<Call>,
}

/// What one policy's rules remember.
#[derive(Debug)]
pub(crate) struct Memory {
    tracks: Vec<Track>,
    /// The last failures, for the rules that count them one by one.
    failures: VecDeque<Call>,
    /// The last counted calls, for the rates.
    calls: VecDeque<Call>,
    /// Where bucket 0 of every rate begins.
    origin: Instant,
}

#[derive(Debug)]
enum Track {
    Failures(VecDeque<Instant>),
    /// A run without a window is only counted.
    Run(u64),
    TimedRun(VecDeque<Instant>),
    Rate(Buckets),
}

impl Track {
    fn new(rule: &TripRule) -> Self {
        match rule {
            TripRule::Failures { .. } => Self::Failures(VecDeque::new()),
            TripRule::Consecutive { within: None, .. } => Self::Run(0),
            TripRule::Consecutive { within: Some(_), .. } => Self::TimedRun(VecDeque::new()),
            TripRule::FailureRate { .. } | TripRule::SlowRate { .. } => Self::Rate(Buckets::default()),
        }
    }
}

impl Memory {
    pub(crate) fn new(policy: &Policy, origin: Instant) -> Self {
        let tracks = policy.settings().trip.iter().map(Track::new).collect();
        Self { tracks, failures: VecDeque::new(), calls: VecDeque::new(), origin }
    }

    /// Counts a success, failure or alive, and names the first rule it meets.
    pub(crate) fn count(&mut self, policy: &Policy, call: Call) -> Option<Trip> {
        let (now, outcome, latency) = (call.at, call.outcome, call.latency);
        let settings = policy.settings();
        self.keep(policy, call);
        let mut met = None;
        for (rule, track) in settings.trip.iter().zip(&mut self.tracks) {
            let counted = match (rule, track) {
                (&TripRule::Failures { failures, within }, Track::Failures(times)) if outcome == Outcome::Failure => {
                    forget(times, now, within);
                    times.push_back(now);
                    reached(times.len(), failures)
                }
                (&TripRule::Consecutive { consecutive, within }, track) => match outcome {
                    Outcome::Failure => extend_run(track, now, consecutive, within),
                    Outcome::Success => break_run(track),
                    Outcome::Alive if settings.alive_breaks_run => break_run(track),
                    Outcome::Alive | Outcome::Ignored => None,
                },
                (&TripRule::FailureRate { failure_rate, within, min_calls }, Track::Rate(buckets)) => {
                    let bad = outcome == Outcome::Failure;
                    buckets.add(self.origin, now, within, bad);
                    if bad { buckets.judge(self.origin, now, within, failure_rate, min_calls) } else { None }
                }
                (&TripRule::SlowRate { slow_rate, slow_after, within, min_calls }, Track::Rate(buckets)) => {
                    let slow = latency.is_some_and(|latency| latency >= slow_after);
                    buckets.add(self.origin, now, within, slow);
                    if slow { buckets.judge(self.origin, now, within, slow_rate, min_calls) } else { None }
                }
                _ => None,
            };
            if met.is_none() {
                met = counted.map(|counted| (*rule, counted));
            }
        }
        let (rule, (have, calls)) = met?;
        Some(Trip { rule, have, calls, evidence: self.evidence(&rule, have, now) })
    }

    /// Takes over what the rules that `new` shares with `old` have counted.
    pub(crate) fn change_policy(&mut self, old: &Policy, new: &Policy) {
        let mut before: Vec<Option<Track>> = self.tracks.drain(..).map(Some).collect();
        let rules = &old.settings().trip;
        self.tracks = new
            .settings()
            .trip
            .iter()
            .map(|rule| {
                let kept = rules.iter().zip(&mut before).find(|(was, track)| *was == rule && track.is_some());
                kept.and_then(|(_, track)| track.take()).unwrap_or_else(|| Track::new(rule))
            })
            .collect();
    }

    pub(crate) fn clear(&mut self, policy: &Policy) {
        self.tracks = policy.settings().trip.iter().map(Track::new).collect();
        self.failures = VecDeque::new();
        self.calls = VecDeque::new();
    }

    /// Forgets what no longer counts; true when nothing is left.
    pub(crate) fn prune(&mut self, policy: &Policy, now: Instant) -> bool {
        let mut empty = true;
        for (rule, track) in policy.settings().trip.iter().zip(&mut self.tracks) {
            let within = window(rule).unwrap_or_default();
            empty &= match track {
                Track::Failures(times) | Track::TimedRun(times) => {
                    forget(times, now, within);
                    times.is_empty()
                }
                Track::Run(length) => *length == 0,
                Track::Rate(buckets) => {
                    let idle = buckets.sum(self.origin, now, within).1 == 0;
                    if idle {
                        *buckets = Buckets::default();
                    }
                    idle
                }
            };
        }
        if empty {
            self.failures = VecDeque::new();
            self.calls = VecDeque::new();
        }
        empty
    }

    /// Whether a success has a run to break.
    pub(crate) fn run_pending(&self) -> bool {
        self.tracks.iter().any(|track| match track {
            Track::Run(length) => *length > 0,
            Track::TimedRun(times) => !times.is_empty(),
            Track::Failures(_) | Track::Rate(_) => false,
        })
    }

    pub(crate) fn snapshot(&self, policy: &Policy, now: Instant) -> Vec<RuleSnapshot> {
        let rules = policy.settings().trip.iter().zip(&self.tracks);
        rules
            .map(|(&rule, track)| {
                let within = window(&rule).unwrap_or_default();
                let have = match track {
                    Track::Failures(times) | Track::TimedRun(times) => {
                        Some(times.iter().filter(|&&time| counts(time, now, within)).count() as f64)
                    }
                    Track::Run(length) => Some(*length as f64),
                    Track::Rate(buckets) => share(buckets.sum(self.origin, now, within)),
                };
                RuleSnapshot { rule, have, need: need(&rule) }
            })
            .collect()
    }

    fn keep(&mut self, policy: &Policy, call: Call) {
        if policy.counts_failures() && call.outcome == Outcome::Failure {
            let copy = if policy.counts_successes() { Some(call.clone()) } else { None };
            push(&mut self.failures, call);
            if let Some(copy) = copy {
                push(&mut self.calls, copy);
            }
        } else if policy.counts_successes() {
            push(&mut self.calls, call);
        }
    }

    fn evidence(&self, rule: &TripRule, have: u64, now: Instant) -> Vec<Call> {
        match rule {
            TripRule::Failures { .. } | TripRule::Consecutive { .. } => {
                let decided = usize::try_from(have).unwrap_or(KEPT);
                self.failures.iter().skip(self.failures.len().saturating_sub(decided)).cloned().collect()
            }
            TripRule::FailureRate { within, .. } | TripRule::SlowRate { within, .. } => {
                self.calls.iter().filter(|call| counts(call.at, now, *within)).cloned().collect()
            }
        }
    }
}

/// The one comparison of age with window: exactly as old as the window is too old.
fn counts(time: Instant, now: Instant, within: Duration) -> bool {
    now.saturating_duration_since(time) < within
}

fn forget(times: &mut VecDeque<Instant>, now: Instant, within: Duration) {
    while times.front().is_some_and(|&time| !counts(time, now, within)) {
        times.pop_front();
    }
}

fn push(calls: &mut VecDeque<Call>, call: Call) {
    if calls.len() >= KEPT {
        calls.pop_front();
    }
    calls.push_back(call);
}

fn reached(have: usize, need: u32) -> Option<(u64, u64)> {
    let have = have as u64;
    (have >= u64::from(need)).then_some((have, have))
}

/// In a run with a window what is too old can be forgotten: a run that reaches across it does not trip either way.
fn extend_run(track: &mut Track, now: Instant, need: u32, within: Option<Duration>) -> Option<(u64, u64)> {
    match (track, within) {
        (Track::TimedRun(times), Some(within)) => {
            forget(times, now, within);
            times.push_back(now);
            reached(times.len(), need)
        }
        (Track::Run(length), None) => {
            *length = length.saturating_add(1);
            (*length >= u64::from(need)).then_some((*length, *length))
        }
        _ => None,
    }
}

fn break_run(track: &mut Track) -> Option<(u64, u64)> {
    match track {
        Track::TimedRun(times) => times.clear(),
        Track::Run(length) => *length = 0,
        Track::Failures(_) | Track::Rate(_) => {}
    }
    None
}

fn window(rule: &TripRule) -> Option<Duration> {
    match *rule {
        TripRule::Consecutive { within, .. } => within,
        TripRule::Failures { within, .. }
        | TripRule::FailureRate { within, .. }
        | TripRule::SlowRate { within, .. } => Some(within),
    }
}

fn need(rule: &TripRule) -> f64 {
    match *rule {
        TripRule::Failures { failures, .. } => f64::from(failures),
        TripRule::Consecutive { consecutive, .. } => f64::from(consecutive),
        TripRule::FailureRate { failure_rate, .. } => failure_rate,
        TripRule::SlowRate { slow_rate, .. } => slow_rate,
    }
}

/// A division, not a multiplication of the threshold: 3 of 30 must equal 0.1 as it is written.
fn share((bad, calls): (u64, u64)) -> Option<f64> {
    (calls > 0).then(|| bad as f64 / calls as f64)
}

const BUCKETS: usize = 10;

/// Ten buckets of a tenth of the window each, reused round and round; a bucket knows which tenth it holds.
#[derive(Debug, Default)]
struct Buckets(Option<Box<[Bucket; BUCKETS]>>);

#[derive(Debug, Default, Clone, Copy)]
struct Bucket {
    number: u64,
    bad: u64,
    calls: u64,
}

impl Buckets {
    fn add(&mut self, origin: Instant, now: Instant, within: Duration, bad: bool) {
        let number = number(origin, now, within);
        let buckets = self.0.get_or_insert_default();
        let bucket = &mut buckets[(number % BUCKETS as u64) as usize];
        if bucket.number != number {
            *bucket = Bucket { number, bad: 0, calls: 0 };
        }
        bucket.bad += u64::from(bad);
        bucket.calls += 1;
    }

    /// Bad ones and all in the window.
    fn sum(&self, origin: Instant, now: Instant, within: Duration) -> (u64, u64) {
        let current = number(origin, now, within);
        let Some(buckets) = &self.0 else { return (0, 0) };
        let live = buckets.iter().filter(|bucket| current.saturating_sub(bucket.number) < BUCKETS as u64);
        live.fold((0, 0), |sum, bucket| (sum.0 + bucket.bad, sum.1 + bucket.calls))
    }

    fn judge(&self, origin: Instant, now: Instant, within: Duration, need: f64, min_calls: u32) -> Option<(u64, u64)> {
        let sum = self.sum(origin, now, within);
        (sum.1 >= u64::from(min_calls) && share(sum).is_some_and(|share| share >= need)).then_some(sum)
    }
}

fn number(origin: Instant, now: Instant, within: Duration) -> u64 {
    let width = (within.as_nanos() / BUCKETS as u128).max(1);
    u64::try_from(now.saturating_duration_since(origin).as_nanos() / width).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
