use super::*;
use crate::{
    clock::{Clock, ManualClock},
    policy::PolicySettings,
};

struct Bench {
    policy: Policy,
    memory: Memory,
    start: Instant,
}

fn bench(trip: Vec<TripRule>) -> Bench {
    let policy = Policy::new(PolicySettings { trip, ..PolicySettings::registry() }).expect("valid rules");
    let start = ManualClock::default().now();
    Bench { memory: Memory::new(&policy, start), policy, start }
}

impl Bench {
    fn at(&mut self, millis: u64, outcome: Outcome) -> Option<Trip> {
        let at = self.start + Duration::from_millis(millis);
        self.memory.count(&self.policy, Call { at, outcome, latency: None, evidence: None })
    }

    fn have(&self, millis: u64) -> Option<f64> {
        self.memory.snapshot(&self.policy, self.start + Duration::from_millis(millis))[0].have
    }
}

fn rate(failure_rate: f64, min_calls: u32) -> Vec<TripRule> {
    vec![TripRule::FailureRate { failure_rate, within: Duration::from_secs(10), min_calls }]
}

#[test]
fn a_failure_counts_until_it_is_exactly_as_old_as_the_window() {
    let mut bench = bench(vec![TripRule::Failures { failures: 2, within: Duration::from_secs(10) }]);
    assert!(bench.at(0, Outcome::Failure).is_none());
    assert_eq!(bench.have(9_999), Some(1.0));
    assert_eq!(bench.have(10_000), Some(0.0));
    assert!(bench.at(10_000, Outcome::Failure).is_none());
    assert!(bench.at(19_999, Outcome::Failure).is_some());
}

#[test]
fn evidence_is_the_deciding_calls_and_at_most_twenty() {
    let mut bench = bench(vec![TripRule::Failures { failures: 30, within: Duration::from_secs(10) }]);
    for millis in 0..29 {
        assert!(bench.at(millis, Outcome::Failure).is_none());
    }
    let trip = bench.at(29, Outcome::Failure).expect("the thirtieth trips");
    assert_eq!((trip.have, trip.evidence.len()), (30, 20));
    assert_eq!(trip.evidence[0].at, bench.start + Duration::from_millis(10), "oldest first");
}

#[test]
fn a_rate_reached_exactly_trips_whatever_its_binary_form() {
    for (bad, calls, rate_) in [(3, 30, 0.1), (7, 10, 0.7), (3, 10, 0.3), (29, 50, 0.58), (1, 1, 1.0)] {
        let mut bench = bench(rate(rate_, calls));
        for _ in 0..calls - bad {
            assert!(bench.at(0, Outcome::Success).is_none());
        }
        for nth in 1..=bad {
            assert_eq!(bench.at(0, Outcome::Failure).is_some(), nth == bad, "{nth} of {bad} in {calls} at {rate_}");
        }
    }
}

#[test]
fn buckets_pass_over_idle_gaps() {
    let mut bench = bench(rate(0.5, 100));
    bench.at(500, Outcome::Failure);
    bench.at(1_500, Outcome::Success);
    assert_eq!(bench.have(9_999), Some(0.5));
    assert_eq!(bench.have(10_000), Some(0.0), "the first bucket is out");
    assert_eq!(bench.have(11_000), None, "no data is null");
    bench.at(1_000_500, Outcome::Failure);
    assert_eq!(bench.have(1_000_500), Some(1.0));
}

#[test]
fn unchanged_rules_keep_their_memory() {
    let keep = TripRule::Consecutive { consecutive: 5, within: None };
    let mut bench = bench(vec![TripRule::Failures { failures: 5, within: Duration::from_secs(10) }, keep]);
    for _ in 0..3 {
        bench.at(0, Outcome::Failure);
    }
    let trip = vec![keep, TripRule::Failures { failures: 6, within: Duration::from_secs(10) }];
    let new = Policy::new(PolicySettings { trip, ..PolicySettings::registry() }).expect("valid rules");
    bench.memory.change_policy(&bench.policy, &new);
    let have: Vec<_> = bench.memory.snapshot(&new, bench.start).iter().map(|rule| rule.have).collect();
    assert_eq!(have, [Some(3.0), Some(0.0)]);
}

#[test]
fn pruning_forgets_what_no_longer_counts() {
    let mut bench = bench(vec![TripRule::Consecutive { consecutive: 5, within: Some(Duration::from_secs(30)) }]);
    bench.at(0, Outcome::Failure);
    assert!(bench.memory.run_pending());
    assert!(!bench.memory.prune(&bench.policy, bench.start + Duration::from_millis(29_999)));
    assert!(bench.memory.prune(&bench.policy, bench.start + Duration::from_secs(30)));
    assert!(!bench.memory.run_pending());
}
