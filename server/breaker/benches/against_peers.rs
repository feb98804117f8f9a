//! What a breaker costs a call, beside four peers in the same run: a successful call while closed, on one thread and on
//! two that share a breaker, and a refusal while open. Every peer is driven through its public interface, with a policy
//! as near to "five consecutive failures" as it has.

use std::{
    fmt,
    hint::black_box,
    pin::pin,
    sync::{Arc, Barrier},
    task::{Context, Poll, Waker},
    time::Duration,
};

use circuitbreaker_rs::{BreakerError, CircuitBreaker as Rs, DefaultPolicy};
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime};
use failsafe::CircuitBreaker as _;
use fuseboard_breaker::{Breaker, Clock, NoSink, Policy, SystemClock, Verdict};
use recloser::Recloser;
use tower::{Layer, Service, service_fn};
use tower_resilience_circuitbreaker::CircuitBreakerLayer;

/// Longer than any run: nothing that opened may half-open in the middle of a measurement.
const HOUR: Duration = Duration::from_secs(3_600);

/// The failure of a call, as one peer wants it: an `Error`.
#[derive(Debug, Clone, Copy)]
struct Failed;

impl fmt::Display for Failed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("failed")
    }
}

impl std::error::Error for Failed {}

fn fuseboard(policy: Policy) -> Breaker {
    Breaker::new("https:registry.example", policy, Arc::new(SystemClock), Arc::new(NoSink))
}

/// Whether the call was good is not known before it was made, as in the peers' closures.
fn verdict() -> Verdict {
    if black_box(true) { Verdict::success() } else { Verdict::failure() }
}

fn fuseboard_open() -> Breaker {
    let breaker = fuseboard(Policy::registry());
    while let Ok(permit) = breaker.try_acquire() {
        permit.settle(Verdict::failure());
    }
    breaker
}

fn failsafe_consecutive() -> impl failsafe::CircuitBreaker + Sync {
    let policy = failsafe::failure_policy::consecutive_failures(5, failsafe::backoff::constant(HOUR));
    failsafe::Config::new().failure_policy(policy).build()
}

fn recloser() -> Recloser {
    Recloser::custom().error_rate(0.5).closed_len(100).open_wait(HOUR).build()
}

fn circuitbreaker_rs() -> Rs<DefaultPolicy, Failed> {
    Rs::<DefaultPolicy, Failed>::builder().failure_threshold(0.5).cooldown(HOUR).build()
}

/// A tower service that answers what it is asked, at once.
fn tower_resilience() -> impl Service<bool, Future: Send> + Clone + Send + Sync {
    let layer = CircuitBreakerLayer::builder().consecutive_failures(5).wait_duration_in_open(HOUR).build();
    let layer = layer.expect("its own settings are valid");
    layer.layer(service_fn(|good: bool| std::future::ready(if good { Ok(()) } else { Err(Failed) })))
}

/// One call of a service that never waits.
fn once<S: Service<bool>>(service: &mut S, good: bool) -> bool {
    let mut cx = Context::from_waker(Waker::noop());
    assert!(service.poll_ready(&mut cx).is_ready());
    let mut answer = pin!(service.call(good));
    loop {
        // Pending is the other thread holding the peer's own lock.
        match answer.as_mut().poll(&mut cx) {
            Poll::Ready(answer) => return answer.is_ok(),
            Poll::Pending => std::thread::yield_now(),
        }
    }
}

/// Two threads make the same call at the same time; the figure is what one of them waits for one call.
fn two_threads(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, call: impl Fn() + Sync) {
    group.bench_function(name, |bench| {
        bench.iter_custom(|calls| {
            let together = Barrier::new(2);
            let run = || {
                together.wait();
                let start = SystemClock.now();
                for _ in 0..calls {
                    call();
                }
                start.elapsed()
            };
            std::thread::scope(|scope| {
                let other = scope.spawn(run);
                let mine = run();
                mine.max(other.join().expect("no call panics"))
            })
        });
    });
}

fn closed(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("closed, success, one thread");
    let breaker = fuseboard(Policy::registry());
    group.bench_function("fuseboard, borrowed permit", |bench| {
        bench.iter(|| breaker.try_acquire().map(|permit| permit.settle(verdict())));
    });
    group.bench_function("fuseboard, owned permit", |bench| {
        bench.iter(|| breaker.try_acquire_owned().map(|permit| permit.settle(verdict())));
    });
    let peer = failsafe_consecutive();
    group.bench_function("failsafe, consecutive", |bench| {
        bench.iter(|| peer.call(|| black_box(Ok::<(), Failed>(()))));
    });
    let peer = recloser();
    group.bench_function("recloser", |bench| bench.iter(|| peer.call(|| black_box(Ok::<(), Failed>(())))));
    let mut peer = tower_resilience();
    group.bench_function("tower-resilience", |bench| bench.iter(|| once(&mut peer, black_box(true))));
    let peer = circuitbreaker_rs();
    group.bench_function("circuitbreaker-rs", |bench| bench.iter(|| peer.call(|| black_box(Ok::<(), Failed>(())))));
    group.finish();
}

fn closed_two(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("closed, success, two threads on one breaker");
    let breaker = fuseboard(Policy::registry());
    two_threads(&mut group, "fuseboard, borrowed permit", || {
        let _ = black_box(breaker.try_acquire().map(|permit| permit.settle(verdict())));
    });
    two_threads(&mut group, "fuseboard, owned permit", || {
        let _ = black_box(breaker.try_acquire_owned().map(|permit| permit.settle(verdict())));
    });
    let peer = failsafe_consecutive();
    two_threads(&mut group, "failsafe, consecutive", || {
        let _ = black_box(peer.call(|| black_box(Ok::<(), Failed>(()))));
    });
    let peer = recloser();
    two_threads(&mut group, "recloser", || {
        let _ = black_box(peer.call(|| black_box(Ok::<(), Failed>(()))));
    });
    // A service is cloned for each caller, as tower does it.
    let peer = tower_resilience();
    two_threads(&mut group, "tower-resilience", || {
        black_box(once(&mut peer.clone(), true));
    });
    let peer = circuitbreaker_rs();
    two_threads(&mut group, "circuitbreaker-rs", || {
        let _ = black_box(peer.call(|| black_box(Ok::<(), Failed>(()))));
    });
    group.finish();
}

fn refusing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("open, refusing, one thread");
    group.bench_function("the clock alone", |bench| bench.iter(|| black_box(SystemClock.now())));
    let breaker = fuseboard_open();
    group.bench_function("fuseboard", |bench| {
        bench.iter(|| breaker.try_acquire().is_err());
    });
    let peer = failsafe_consecutive();
    while !matches!(peer.call(|| Err::<(), Failed>(Failed)), Err(failsafe::Error::Rejected)) {}
    group.bench_function("failsafe, consecutive", |bench| bench.iter(|| peer.call(|| Ok::<(), Failed>(()))));
    let peer = recloser();
    while !matches!(peer.call(|| Err::<(), Failed>(Failed)), Err(recloser::Error::Rejected)) {}
    group.bench_function("recloser", |bench| bench.iter(|| peer.call(|| Ok::<(), Failed>(()))));
    let mut peer = tower_resilience();
    for _ in 0..10 {
        once(&mut peer, false);
    }
    group.bench_function("tower-resilience", |bench| bench.iter(|| once(&mut peer, true)));
    let peer = circuitbreaker_rs();
    for _ in 0..10_000 {
        if matches!(peer.call(|| Err::<(), Failed>(Failed)), Err(BreakerError::Open)) {
            break;
        }
    }
    group.bench_function("circuitbreaker-rs", |bench| bench.iter(|| peer.call(|| Ok::<(), Failed>(()))));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2))
        .without_plots();
    targets = closed, closed_two, refusing
}
criterion_main!(benches);
