//! Asking again. Every attempt passes the queue and the breaker like a call of its own, and a refusal ends the chain: it
//! is what the client gets. Asked again is what may be (an idempotent request without a body) when the host failed and
//! nothing of its answer went out. The load this adds is bounded: five calls earn one retry, so that a host in trouble
//! gets at most a fifth more than it would without us.

use std::time::Duration;

use fuseboard_breaker::{Outcome, Phase};
use http::{Response, request::Parts};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::{
    body::Body,
    classify,
    error::{CallError, Trouble},
    forward::{Core, Seat, WIND_UP},
    timing::after,
    upload::RequestBody,
    upstream::Retry,
};

/// Makes a call, and makes it again as far as the upstream's `retry` allows.
pub(crate) async fn call(
    core: &Core,
    seat: &Seat,
    parts: Parts,
    body: RequestBody,
) -> Result<Response<Body>, CallError> {
    let rules = &seat.upstream.retry;
    if rules.attempts < 2 {
        return core.call(seat, parts, body).await;
    }
    if !body.is_empty() || !parts.method.is_idempotent() {
        let ended = core.call(seat, parts, body).await;
        if reached(&ended) {
            seat.budget.earn();
        }
        return ended;
    }
    let mut made = 0;
    loop {
        let ended = core.call(seat, parts.clone(), RequestBody::EMPTY).await;
        if made == 0 && reached(&ended) {
            seat.budget.earn();
        }
        made += 1;
        let Some(floor) = worth_another(core, seat, &ended) else { return ended };
        if made >= rules.attempts || !seat.budget.spend() {
            return ended;
        }
        rest(ended, pause(rules, made - 1, rand::random::<f64>()).max(floor)).await;
    }
}

/// Whether the host had anything to do with it.
fn reached(ended: &Result<Response<Body>, CallError>) -> bool {
    matches!(ended, Ok(_) | Err(CallError::Failed { .. } | CallError::Stale { .. }))
}

/// Whether another attempt could end better, and what the host would have us wait before it.
fn worth_another(core: &Core, seat: &Seat, ended: &Result<Response<Body>, CallError>) -> Option<Duration> {
    match ended {
        Ok(response) => {
            if classify::status(&seat.upstream.classify, response.status()) != Outcome::Failure {
                return None;
            }
            let wish = classify::retry_after(response.headers(), core.desk.clock.wall());
            let wait = wish.map(|wish| wish.wait).unwrap_or_default();
            (wait <= seat.upstream.retry.max).then_some(wait)
        }
        // A panic is ours, and a certificate will not be another one so soon.
        Err(
            CallError::Failed { phase: Phase::Panic, .. } | CallError::Failed { trouble: Trouble::Certificate, .. },
        ) => None,
        Err(CallError::Failed { .. }) => Some(Duration::ZERO),
        Err(_) => None,
    }
}

/// The pause after this many retries, between half of what it has grown to and all of it. `share` is in [0, 1).
fn pause(rules: &Retry, retries: u32, share: f64) -> Duration {
    let grown = 2_u32.checked_pow(retries).and_then(|times| rules.base.checked_mul(times));
    let grown = grown.map_or(rules.max, |grown| grown.min(rules.max));
    grown.saturating_sub(grown.mul_f64(share / 2.0))
}

/// Lets the time pass. The answer nobody will see is read on meanwhile, to keep its connection; its place among those in
/// flight goes to whoever waits for one.
async fn rest(ended: Result<Response<Body>, CallError>, pause: Duration) {
    let until = after(Instant::now(), pause);
    if let Ok(response) = ended {
        let mut body = response.into_body();
        drop(body.take_place());
        // Whatever became of it, its verdict is in.
        let _ = timeout_at(until, body.wind_up(WIND_UP)).await;
    }
    sleep_until(until).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r31_pauses_double_up_to_max_and_are_shortened_by_half_at_most() {
        let rules = Retry { attempts: 9, base: Duration::from_millis(500), max: Duration::from_secs(5) };
        let whole: Vec<u128> = (0..6).map(|retries| pause(&rules, retries, 0.0).as_millis()).collect();
        assert_eq!(whole, [500, 1000, 2000, 4000, 5000, 5000]);
        for retries in [31, 32, 63, 64, u32::MAX] {
            assert_eq!(pause(&rules, retries, 0.0), rules.max, "{retries}");
        }
        for share in [0.0, 0.3, 0.999_999] {
            let pause = pause(&rules, 1, share);
            assert!(pause > Duration::from_millis(500) && pause <= Duration::from_secs(1), "{share}: {pause:?}");
        }
        let endless = Retry { base: Duration::MAX, max: Duration::MAX, ..rules };
        assert_eq!(pause(&endless, 9, 0.0), Duration::MAX);
    }
}
