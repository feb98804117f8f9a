//! The tower service around a breaker, held to what callers of a tower service may rely on.

use std::{
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Duration,
};

use fuseboard_breaker::{
    Breaker, By, ManualClock, Mode, NoSink, OverrideEnd, Policy, Refused, RefusedReason, Snapshot, State, Verdict,
    tower::{BoxError, BreakerLayer, BreakerService, HeldOpen, JudgeBy, judge_by},
};
use tokio::sync::Semaphore;
use tower::{Layer, Service, limit::ConcurrencyLimit, service_fn};
use tower_test::mock::{self, Handle, Mock, SendResponse, Spawn};

type Judge = JudgeBy<fn(&Result<&'static str, BoxError>) -> Verdict>;

fn judge(answer: &Result<&'static str, BoxError>) -> Verdict {
    if answer.is_ok() { Verdict::success() } else { Verdict::failure() }
}

struct Rig {
    clock: Arc<ManualClock>,
    layer: BreakerLayer<Judge>,
}

impl Rig {
    /// Two failures in a row open it for 15 s; one probe at a time closes it.
    fn new() -> Self {
        let clock = Arc::new(ManualClock::default());
        let mut settings = fuseboard_breaker::PolicySettings::grpc();
        settings.trip = vec![fuseboard_breaker::TripRule::Consecutive { consecutive: 2, within: None }];
        settings.half_open.probes = 1;
        settings.half_open.successes = 1;
        let policy = Policy::new(settings).expect("it can recover");
        let breaker = Breaker::new("accounts", policy, clock.clone(), Arc::new(NoSink));
        Self { clock, layer: BreakerLayer::new(breaker, judge_by(judge as _)) }
    }

    fn breaker(&self) -> &Breaker {
        self.layer.breaker()
    }

    fn snap(&self) -> Snapshot {
        self.breaker().snapshot()
    }

    fn trip(&self) {
        while let Ok(permit) = self.breaker().try_acquire() {
            permit.settle(Verdict::failure());
        }
        assert_eq!(self.snap().state, State::Open);
    }

    fn wait_over(&self) {
        self.clock.advance(Duration::from_secs(15));
    }

    #[expect(clippy::type_complexity, reason = "a mock's two ends")]
    fn spawn(
        &self,
    ) -> (Spawn<BreakerService<Mock<&'static str, &'static str>, Judge>>, Handle<&'static str, &'static str>) {
        mock::spawn_layer(self.layer.clone())
    }
}

fn by() -> By {
    By { name: "ana".into(), verified: true, via: "test".into() }
}

fn now<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    std::pin::Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// What the service behind was sent; the answer is the test's to give.
fn received(handle: &mut Handle<&'static str, &'static str>, wanted: &str) -> SendResponse<&'static str> {
    match handle.poll_request() {
        Poll::Ready(Some((request, answer))) => {
            assert_eq!(request, wanted);
            answer
        }
        _ => panic!("the service was sent nothing"),
    }
}

/// The reason of an answer that is a refusal.
fn reason<F: Future<Output = Result<&'static str, BoxError>> + Unpin>(mut answer: F) -> RefusedReason {
    let Poll::Ready(Err(error)) = now(&mut answer) else { panic!("it must be refused at once") };
    error.downcast::<Refused>().expect("a refusal").reason
}

#[test]
fn calls_pass_and_their_answers_are_judged() {
    let rig = Rig::new();
    let (mut service, mut handle) = rig.spawn();
    for (answer, success, failure) in [(Ok("yes"), 1, 0), (Err("no"), 1, 1)] {
        assert!(service.poll_ready().is_ready());
        assert_eq!(rig.snap().in_flight, 0, "readiness reserves nothing");
        let mut call = service.call("ana");
        assert_eq!(rig.snap().in_flight, 1);
        assert!(now(&mut call).is_pending());
        let send = received(&mut handle, "ana");
        match answer {
            Ok(text) => send.send_response(text),
            Err(text) => send.send_error(text),
        }
        let Poll::Ready(got) = now(&mut call) else { panic!("it was answered") };
        assert_eq!(got.map_err(|error| error.to_string()), answer.map_err(ToOwned::to_owned));
        let counts = rig.snap().counts;
        assert_eq!((rig.snap().in_flight, counts.success, counts.failure), (0, success, failure));
    }
}

#[test]
fn a_stuck_service_does_not_stop_a_refusal() {
    let rig = Rig::new();
    let (mut service, mut handle) = rig.spawn();
    handle.allow(0);
    assert!(service.poll_ready().is_pending(), "closed, the service's own readiness counts");
    rig.trip();
    assert!(service.poll_ready().is_ready());
    assert_eq!(reason(service.call("ana")), RefusedReason::Open);
    assert!(handle.poll_request().is_pending(), "the service received nothing");
}

#[test]
fn readiness_that_found_it_refusing_refuses_even_if_the_wait_has_just_ended() {
    let rig = Rig::new();
    let (mut service, mut handle) = rig.spawn();
    rig.trip();
    assert!(service.poll_ready().is_ready());
    rig.wait_over();
    assert_eq!(reason(service.call("ana")), RefusedReason::Open);
    assert!(handle.poll_request().is_pending());
    assert_eq!(rig.snap().state, State::Open, "no probe was spent on it");
    // Asked anew, it is a probe.
    assert!(service.poll_ready().is_ready());
    let mut call = service.call("ana");
    assert_eq!(rig.snap().state, State::HalfOpen);
    received(&mut handle, "ana").send_response("yes");
    assert!(matches!(now(&mut call), Poll::Ready(Ok("yes"))));
    assert_eq!(rig.snap().state, State::Closed);
}

#[test]
fn refusals_are_counted_when_they_are_given_not_when_readiness_finds_them() {
    let rig = Rig::new();
    let (mut service, _handle) = rig.spawn();
    rig.trip();
    let before = rig.snap().counts.refused;
    for _ in 0..3 {
        assert!(service.poll_ready().is_ready());
    }
    assert_eq!(rig.snap().counts.refused, before);
    reason(service.call("ana"));
    assert_eq!(rig.snap().counts.refused, before + 1);
}

#[test]
fn readiness_that_is_dropped_loses_no_permit() {
    let rig = Rig::new();
    rig.trip();
    rig.wait_over();
    // Were a probe's permit reserved by becoming ready, the one there is would be gone.
    for _ in 0..10 {
        let (mut service, _handle) = rig.spawn();
        assert!(service.poll_ready().is_ready());
    }
    assert_eq!((rig.snap().state, rig.snap().in_flight), (State::Open, 0));
    let (mut service, _handle) = rig.spawn();
    assert!(service.poll_ready().is_ready());
    let call = service.call("ana");
    assert_eq!((rig.snap().state, rig.snap().half_open.in_flight), (State::HalfOpen, 1));
    drop(call);
    let snap = rig.snap();
    assert_eq!((snap.half_open.in_flight, snap.in_flight, snap.counts.cancelled), (0, 0, 1));
}

#[test]
fn of_many_ready_at_once_only_as_many_pass_as_there_are_permits() {
    let rig = Rig::new();
    rig.trip();
    rig.wait_over();
    let (mut first, mut handle) = rig.spawn();
    let mut second = first.clone();
    assert!(first.poll_ready().is_ready() && second.poll_ready().is_ready());
    let mut probe = first.call("first");
    assert_eq!(reason(second.call("second")), RefusedReason::ProbesTaken);
    received(&mut handle, "first").send_response("yes");
    assert!(now(&mut probe).is_ready());
    assert!(handle.poll_request().is_pending());
}

#[test]
fn who_waits_for_the_service_is_woken_when_calls_become_refused() {
    type Change = fn(&Rig);
    let changes: [(&str, Change); 3] = [
        ("it opens", Rig::trip),
        ("an operator holds it open", |rig| {
            rig.breaker().set_override(Mode::ForcedOpen, OverrideEnd::Never, by(), "a test");
        }),
        ("the last probe's permit goes", |rig| {
            rig.trip();
            rig.wait_over();
            std::mem::forget(rig.breaker().try_acquire_owned().expect("a probe"));
        }),
    ];
    for (name, change) in changes {
        let rig = Rig::new();
        let (mut service, mut handle) = rig.spawn();
        handle.allow(0);
        assert!(service.poll_ready().is_pending());
        assert!(service.poll_ready().is_pending(), "asking again keeps its place");
        assert!(!service.is_woken());
        rig.breaker().tick();
        assert!(!service.is_woken(), "{name}: nothing has changed yet");
        change(&rig);
        assert!(service.is_woken(), "{name}");
        assert!(service.poll_ready().is_ready(), "{name}");
        let _ = reason(service.call("ana"));
    }
}

#[test]
fn each_of_many_waiters_is_woken_and_those_gone_leave_nothing_behind() {
    let rig = Rig::new();
    let (first, mut handle) = rig.spawn();
    handle.allow(0);
    let mut waiting: Vec<_> = (0..100).map(|_| first.clone()).collect();
    for service in &mut waiting {
        assert!(service.poll_ready().is_pending());
    }
    let gone: Vec<_> = waiting.drain(..50).collect();
    drop(gone);
    let mut ready = first.clone();
    assert!(ready.poll_ready().is_pending());
    handle.allow(1);
    assert!(ready.is_woken() && ready.poll_ready().is_ready(), "ready by itself, it waits no longer");
    let held = ready.waker_ref_count();
    rig.trip();
    assert!(waiting.iter().all(Spawn::is_woken));
    assert_eq!(held, 1, "nobody else keeps a ready one's waker");
    let mut last = first.clone();
    assert!(last.poll_ready().is_ready());
}

#[test]
fn the_readied_service_is_the_one_that_is_called() {
    // A mock panics when it is called without having been ready itself.
    let rig = Rig::new();
    let (mut service, mut handle) = rig.spawn();
    assert!(service.poll_ready().is_ready());
    let clone = service.clone();
    let mut call = service.call("ana");
    received(&mut handle, "ana").send_response("yes");
    assert!(matches!(now(&mut call), Poll::Ready(Ok(_))));
    let mut clone = clone;
    assert!(clone.poll_ready().is_ready());
    drop(clone.call("ben"));
}

#[test]
fn what_the_service_holds_for_a_refused_call_is_given_back() {
    let rig = Rig::new();
    let room = Arc::new(Semaphore::new(1));
    let inner = service_fn(|_: &'static str| std::future::ready(Ok::<_, BoxError>("yes")));
    let service = rig.layer.layer(ConcurrencyLimit::with_semaphore(inner, room.clone()));
    let mut cx = Context::from_waker(Waker::noop());
    let (mut ready, mut queued) = (service.clone(), service.clone());
    assert!(ready.poll_ready(&mut cx).is_ready());
    assert_eq!(room.available_permits(), 0);
    assert!(queued.poll_ready(&mut cx).is_pending(), "no room: it queues");
    rig.trip();
    // Ready before it opened, refused by the call itself.
    assert_eq!(reason(ready.call("ana")), RefusedReason::Open);
    // The place in the queue came to this one; found refusing, it must not keep it.
    assert!(queued.poll_ready(&mut cx).is_ready());
    assert_eq!(room.available_permits(), 1);
    assert_eq!(reason(queued.call("ana")), RefusedReason::Open);
    // So the probe finds room.
    rig.wait_over();
    let mut probe = service.clone();
    assert!(probe.poll_ready(&mut cx).is_ready());
    assert!(matches!(now(&mut probe.call("ana")), Poll::Ready(Ok("yes"))));
    assert_eq!(rig.snap().state, State::Closed);
}

#[test]
fn an_error_of_readiness_is_the_services_own_and_no_evidence() {
    let rig = Rig::new();
    let (mut service, mut handle) = rig.spawn();
    handle.send_error("worn out");
    let Poll::Ready(Err(error)) = service.poll_ready() else { panic!("the service's own error") };
    assert_eq!(error.to_string(), "worn out");
    assert_eq!((rig.snap().in_flight, rig.snap().counts), (0, fuseboard_breaker::snapshot::Counts::default()));
    // While calls are refused nobody asks it.
    rig.trip();
    assert!(matches!(service.poll_ready(), Poll::Ready(Ok(()))));
    assert_eq!(reason(service.call("ana")), RefusedReason::Open);
}

#[test]
fn r03_a_call_that_is_dropped_gives_its_permit_back() {
    let rig = Rig::new();
    let (mut service, mut handle) = rig.spawn();
    for poll_first in [false, true] {
        assert!(service.poll_ready().is_ready());
        let mut call = service.call("ana");
        if poll_first {
            assert!(now(&mut call).is_pending());
        }
        drop(call);
        let _ = handle.poll_request();
    }
    let snap = rig.snap();
    assert_eq!((snap.in_flight, snap.counts.cancelled, snap.counts.failure), (0, 2, 0));
}

#[test]
fn r04_a_panic_while_it_is_polled_or_called_is_a_failure() {
    let rig = Rig::new();
    let mut cx = Context::from_waker(Waker::noop());
    let mut polled = rig
        .layer
        .layer(service_fn(|_: ()| Box::pin(poll_fn(|_| -> Poll<Result<&'static str, BoxError>> { panic!("polled") }))));
    assert!(polled.poll_ready(&mut cx).is_ready());
    let mut call = polled.call(());
    assert!(catch_unwind(AssertUnwindSafe(|| now(&mut call))).is_err());
    assert_eq!((rig.snap().in_flight, rig.snap().counts.failure), (0, 1));

    let mut called =
        rig.layer.layer(service_fn(|_: ()| -> std::future::Ready<Result<&'static str, BoxError>> { panic!("called") }));
    assert!(called.poll_ready(&mut cx).is_ready());
    assert!(catch_unwind(AssertUnwindSafe(|| called.call(()))).is_err());
    assert_eq!((rig.snap().in_flight, rig.snap().state), (0, State::Open));
}

#[test]
fn an_override_that_is_over_refuses_no_more() {
    let rig = Rig::new();
    let (mut service, mut handle) = rig.spawn();
    rig.breaker().set_override(Mode::ForcedOpen, OverrideEnd::After(Duration::from_secs(60)), by(), "a test");
    assert!(service.poll_ready().is_ready());
    assert_eq!(reason(service.call("ana")), RefusedReason::ForcedOpen);
    rig.clock.advance(Duration::from_secs(60));
    assert!(service.poll_ready().is_ready());
    let mut call = service.call("ana");
    received(&mut handle, "ana").send_response("yes");
    assert!(matches!(now(&mut call), Poll::Ready(Ok("yes"))));
}

#[test]
fn what_passes_without_a_permit_hears_of_an_operator_and_of_nothing_else() {
    let rig = Rig::new();
    let mut watching: Vec<_> = (0..3).map(|_| tokio_test::task::spawn(HeldOpen::new(rig.breaker()))).collect();
    assert!(watching.iter_mut().all(|held| held.poll().is_pending()));
    rig.trip();
    let refused = rig.breaker().try_acquire().map(drop);
    assert!(refused.is_err() && watching.iter_mut().all(|held| !held.is_woken() && held.poll().is_pending()));
    let gone = watching.pop();
    drop(gone);
    rig.breaker().set_override(Mode::ForcedClosed, OverrideEnd::Never, by(), "a test");
    assert!(watching.iter().all(|held| !held.is_woken()));
    rig.breaker().set_override(Mode::ForcedOpen, OverrideEnd::Never, by(), "a test");
    for held in &mut watching {
        assert!(held.is_woken());
        let Poll::Ready(refused) = held.poll() else { panic!("it is held open") };
        assert_eq!((refused.reason, refused.retry_after), (RefusedReason::ForcedOpen, None));
    }
    rig.breaker().release(by(), "a test").expect("it is held");
    assert!(tokio_test::task::spawn(HeldOpen::new(rig.breaker())).poll().is_pending());
}
