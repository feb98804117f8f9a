//! Rule 1 on a multi-threaded runtime: however many ask at once, P are let in.

use std::sync::Arc;

use fuseboard_breaker::{OwnedPermit, RefusedReason, State, Verdict};
use tokio::sync::Barrier;

use crate::harness::{Rig, half_open};

const TASKS: usize = 200;

/// Two hundred tasks released together; what each of them got.
async fn released_together(rig: &Rig) -> Vec<Result<OwnedPermit, RefusedReason>> {
    let together = Arc::new(Barrier::new(TASKS));
    let tasks: Vec<_> = (0..TASKS)
        .map(|_| {
            let (breaker, together) = (rig.breaker.clone(), together.clone());
            tokio::spawn(async move {
                together.wait().await;
                breaker.try_acquire_owned().map_err(|refused| refused.reason)
            })
        })
        .collect();
    let mut answers = Vec::with_capacity(TASKS);
    for task in tasks {
        answers.push(task.await.expect("no task panics"));
    }
    answers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r01_two_hundred_tasks_get_p_permits_500_times_of_500() {
    for round in 0..500 {
        let permits = [1, 2, 3, 10][round % 4];
        let rig = Rig::due(half_open(permits, permits));
        let answers = released_together(&rig).await;
        let refused = answers.iter().filter(|answer| matches!(answer, Err(RefusedReason::ProbesTaken))).count();
        let admitted: Vec<_> = answers.into_iter().flatten().collect();
        assert_eq!((admitted.len(), refused), (permits as usize, TASKS - permits as usize), "round {round}");
        assert!(admitted.iter().all(OwnedPermit::is_probe));
        assert_eq!(rig.snap().half_open.in_flight, permits);
        // All but one of them come back; exactly so many are free.
        let mut kept = admitted;
        let last = kept.pop().expect("at least one");
        drop(kept);
        let again = released_together(&rig).await.into_iter().flatten().count();
        assert_eq!(again, permits as usize - 1, "round {round}");
        drop(last);
        assert_eq!((rig.state(), rig.snap().in_flight), (State::HalfOpen, 0));
        assert_eq!(rig.causes(), ["tripped", "wait_elapsed"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r13_a_verdict_among_two_hundred_tasks_is_counted_once() {
    for round in 0..100 {
        let rig = Rig::due(half_open(10, 10));
        let admitted: Vec<_> = released_together(&rig).await.into_iter().flatten().collect();
        let good = round % 2 == 0;
        let tasks: Vec<_> = admitted
            .into_iter()
            .map(|permit| {
                let verdict = if good { Verdict::success() } else { Verdict::failure() };
                tokio::spawn(async move { permit.settle(verdict) })
            })
            .collect();
        for task in tasks {
            task.await.expect("no task panics");
        }
        let (state, cause) = if good { (State::Closed, "probes_succeeded") } else { (State::Open, "probe_failed") };
        assert_eq!((rig.state(), rig.snap().in_flight), (state, 0));
        assert_eq!(rig.causes(), ["tripped", "wait_elapsed", cause]);
        assert_eq!(rig.log.probes().len(), 10);
    }
}
