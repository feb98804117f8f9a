//! A configuration that could never recover is refused, by the name of the field.

use std::time::Duration;

use fuseboard_breaker::{Policy, PolicySettings, TripRule};

use crate::harness::{NANO, secs};

type Change = fn(&mut PolicySettings);

const MS: Duration = Duration::from_millis(1);
const W: Duration = secs(10);

fn rules(settings: &mut PolicySettings, rule: TripRule) {
    settings.trip = vec![rule];
}

fn failures(failures: u32, within: Duration) -> TripRule {
    TripRule::Failures { failures, within }
}

fn failure_rate(failure_rate: f64, within: Duration, min_calls: u32) -> TripRule {
    TripRule::FailureRate { failure_rate, within, min_calls }
}

fn slow_rate(slow_rate: f64, slow_after: Duration, min_calls: u32) -> TripRule {
    TripRule::SlowRate { slow_rate, slow_after, within: W, min_calls }
}

#[test]
fn what_could_never_recover_is_refused_by_name() {
    let table: &[(&str, Change)] = &[
        ("trip", |s| s.trip.clear()),
        ("trip[0].failures", |s| rules(s, failures(0, W))),
        ("trip[0].within", |s| rules(s, failures(5, Duration::ZERO))),
        ("trip[0].within", |s| rules(s, failures(5, Duration::MAX))),
        ("trip[1].failures", |s| s.trip.push(failures(0, W))),
        ("trip[0].consecutive", |s| rules(s, TripRule::Consecutive { consecutive: 0, within: None })),
        ("trip[0].within", |s| rules(s, TripRule::Consecutive { consecutive: 5, within: Some(Duration::ZERO) })),
        ("trip[0].failure_rate", |s| rules(s, failure_rate(0.0, W, 4))),
        ("trip[0].failure_rate", |s| rules(s, failure_rate(-0.5, W, 4))),
        ("trip[0].failure_rate", |s| rules(s, failure_rate(1.0 + f64::EPSILON, W, 4))),
        ("trip[0].failure_rate", |s| rules(s, failure_rate(f64::NAN, W, 4))),
        ("trip[0].failure_rate", |s| rules(s, failure_rate(50.0, W, 4))),
        ("trip[0].min_calls", |s| rules(s, failure_rate(0.5, W, 0))),
        ("trip[0].within", |s| rules(s, failure_rate(0.5, Duration::ZERO, 4))),
        ("trip[0].slow_rate", |s| rules(s, slow_rate(0.0, secs(2), 4))),
        ("trip[0].slow_rate", |s| rules(s, slow_rate(1.1, secs(2), 4))),
        ("trip[0].slow_rate", |s| rules(s, slow_rate(f64::INFINITY, secs(2), 4))),
        ("trip[0].min_calls", |s| rules(s, slow_rate(0.5, secs(2), 0))),
        ("wait.first", |s| s.wait.first = Duration::ZERO),
        ("wait.first", |s| s.wait.first = MS - NANO),
        ("wait.factor", |s| s.wait.factor = 0.99),
        ("wait.factor", |s| s.wait.factor = f64::NAN),
        ("wait.factor", |s| s.wait.factor = f64::INFINITY),
        ("wait.max", |s| s.wait.max = s.wait.first - NANO),
        ("wait.max", |s| s.wait.max = Duration::MAX),
        ("wait.max", |s| (s.wait.first, s.wait.max) = (secs(30), Duration::ZERO)),
        ("wait.jitter", |s| s.wait.jitter = -0.1),
        ("wait.jitter", |s| s.wait.jitter = 1.0),
        ("wait.jitter", |s| s.wait.jitter = f64::NAN),
        ("half_open.probes", |s| s.half_open.probes = 0),
        ("half_open.successes", |s| s.half_open.successes = 0),
        ("half_open.lease", |s| s.half_open.lease = Duration::ZERO),
        ("half_open.lease", |s| s.half_open.lease = Duration::MAX),
    ];
    for (row, (field, change)) in table.iter().enumerate() {
        let mut settings = PolicySettings::registry();
        change(&mut settings);
        let error = Policy::new(settings).expect_err(&format!("row {row}: {field}"));
        assert_eq!(error.field, *field, "row {row}: {error}");
        assert!(error.message.len() > 10, "row {row}: the message says what it takes: {error}");
        assert!(error.to_string().starts_with(field), "row {row}: {error}");
    }
}

#[test]
fn what_is_just_within_is_taken() {
    let table: &[Change] = &[
        |_| {},
        |s| *s = PolicySettings::grpc(),
        |s| rules(s, failures(1, MS)),
        |s| rules(s, TripRule::Consecutive { consecutive: 1, within: None }),
        |s| rules(s, failure_rate(1.0, W, 1)),
        |s| rules(s, failure_rate(f64::MIN_POSITIVE, W, 1)),
        |s| rules(s, slow_rate(1.0, secs(2), 1)),
        |s| s.wait.first = MS,
        |s| s.wait.factor = 1.0,
        |s| s.wait.max = s.wait.first,
        |s| s.wait.max = secs(60 * 86_400),
        |s| s.wait.jitter = 0.0,
        |s| s.wait.jitter = 0.99,
        |s| (s.half_open.probes, s.half_open.successes) = (1, 1),
        |s| s.half_open.lease = MS,
    ];
    for (row, change) in table.iter().enumerate() {
        let mut settings = PolicySettings::registry();
        change(&mut settings);
        let policy = Policy::new(settings.clone()).unwrap_or_else(|error| panic!("row {row}: {error}"));
        assert_eq!(*policy.settings(), settings);
    }
}

#[test]
fn the_built_in_policies_are_what_they_say() {
    let registry = Policy::registry().settings().clone();
    assert_eq!(registry.trip, [failures(5, secs(10))]);
    assert_eq!((registry.wait.first, registry.wait.factor), (secs(30), 2.0));
    assert_eq!((registry.wait.max, registry.wait.jitter), (secs(300), 0.1));
    let half_open = registry.half_open;
    assert_eq!((half_open.probes, half_open.successes, half_open.lease), (1, 1, secs(40)));
    assert!(!registry.alive_breaks_run);

    let grpc = Policy::grpc().settings().clone();
    assert_eq!(grpc.trip, [TripRule::Consecutive { consecutive: 5, within: Some(secs(30)) }]);
    assert_eq!((grpc.wait.first, grpc.wait.factor), (secs(15), 1.0));
    assert_eq!((grpc.wait.max, grpc.wait.jitter), (secs(15), 0.0));
    let half_open = grpc.half_open;
    assert_eq!((half_open.probes, half_open.successes, half_open.lease), (10, 10, secs(40)));
    assert!(grpc.alive_breaks_run);
}
