//! Rule 31: asking again, and what it may cost the host.

use std::{
    collections::HashMap,
    pin::pin,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use fuseboard_breaker::{Outcome, Phase, State};
use fuseboard_fetch::{CallError, Retry, Upstream};
use futures_util::future::poll_immediate;
use http::Method;
use http_body_util::Full;

use crate::support::{
    Bench, Host, Step,
    bench::{request, upstream},
    host::send,
    soon, whole,
};

const OK: &str = "HTTP/1.1 200 OK\ncontent-length: 2\n\nok";
const DOWN: &str = "HTTP/1.1 503 Service Unavailable\ncontent-length: 4\n\ndown";

fn retrying(host: &Host, attempts: u32, change: impl FnOnce(&mut Upstream)) -> Arc<Upstream> {
    upstream(&host.url("/"), |upstream| {
        upstream.retry = Retry { attempts, base: Duration::from_millis(1), max: Duration::from_millis(50) };
        change(upstream);
    })
}

/// Answers `/ok` well, and anything else by these steps.
async fn failing(steps: Vec<Step>) -> Host {
    Host::start(move |seen| if seen.target == "/ok" { vec![send(OK)] } else { steps.clone() }).await
}

/// Good calls, five for one retry.
async fn earn(bench: &Bench, npm: &Arc<Upstream>, retries: usize) {
    for _ in 0..retries * 5 {
        whole(bench.get(npm, "/ok").await.unwrap()).await.unwrap();
        assert_eq!(bench.verdict().await, (Outcome::Success, None));
    }
}

/// How often the host was asked for anything but `/ok`.
fn asked(host: &Host) -> usize {
    host.seen().iter().filter(|seen| seen.target != "/ok").count()
}

#[tokio::test]
async fn r31_a_host_that_always_fails_sees_five_requests_and_a_refusal_ends_the_chain() {
    let bench = Bench::new();
    let host = failing(vec![send(DOWN)]).await;
    let npm = retrying(&host, 3, |_| {});
    earn(&bench, &npm, 10).await;
    let first = bench.get(&npm, "/x").await.unwrap();
    assert_eq!((first.status().as_u16(), asked(&host)), (503, 3), "all attempts were made");
    assert_eq!(whole(first).await.unwrap().to_bytes(), "down", "the last answer is the client's");
    let ended = bench.get(&npm, "/x").await;
    let Err(CallError::Refused(refused)) = ended else { panic!("{ended:?}") };
    assert_eq!((refused.state, asked(&host)), (State::Open, 5));
    assert!(matches!(bench.get(&npm, "/x").await, Err(CallError::Refused(_))));
    assert_eq!((asked(&host), bench.snapshot(&host).counts.refused), (5, 2), "a refusal is asked once");
}

#[tokio::test]
async fn r31_an_idempotent_request_without_a_body_is_made_again() {
    for (method, fault) in [
        (Method::GET, vec![send(DOWN)]),
        (Method::GET, vec![Step::Close]),
        (Method::DELETE, vec![Step::Reset]),
        (Method::HEAD, vec![send("HTTP/1.1 408 Request Timeout\ncontent-length: 4\n\n")]),
    ] {
        let bench = Bench::new();
        let faults = Mutex::new(vec![fault]);
        let host = Host::start(move |seen| match seen.target.as_str() {
            "/x" => faults
                .lock()
                .unwrap()
                .pop()
                .unwrap_or_else(|| vec![send(if seen.method == "HEAD" { "HTTP/1.1 200 OK\n\n" } else { OK })]),
            // A connection that had been idle before it broke would be another case.
            _ => vec![send("HTTP/1.1 200 OK\ncontent-length: 2\nconnection: close\n\nok"), Step::Close],
        })
        .await;
        let npm = retrying(&host, 2, |_| {});
        earn(&bench, &npm, 1).await;
        let response = bench.call(&npm, method.clone(), "/x").await.unwrap();
        assert_eq!((response.status().as_u16(), asked(&host)), (200, 2), "{method}");
        whole(response).await.unwrap();
        let verdicts = [bench.verdict().await.0, bench.verdict().await.0];
        assert_eq!(verdicts, [Outcome::Failure, Outcome::Success], "each attempt has a verdict of its own");
    }
}

#[tokio::test]
async fn r31_no_other_request_is_made_again() {
    let bench = Bench::new();
    let host = failing(vec![Step::ReadBody, send(DOWN)]).await;
    let npm = retrying(&host, 3, |_| {});
    earn(&bench, &npm, 3).await;
    assert_eq!(bench.call(&npm, Method::POST, "/x").await.unwrap().status(), 503);
    let body = Full::new(Bytes::from_static(b"body"));
    assert_eq!(bench.forward(&npm, request(&npm, Method::PUT, "/x", body)).await.unwrap().status(), 503);
    assert_eq!(asked(&host), 2);
    let off = retrying(&host, 1, |_| {});
    assert_eq!(bench.get(&off, "/x").await.unwrap().status(), 503);
    assert_eq!(asked(&host), 3);
}

#[tokio::test]
async fn r31_what_the_host_answers_well_or_in_part_is_not_asked_for_again() {
    for (answer, verdict) in [
        ("HTTP/1.1 404 Not Found\ncontent-length: 0\n\n", (Outcome::Alive, None)),
        ("HTTP/1.1 429 Too Many Requests\ncontent-length: 0\n\n", (Outcome::Alive, None)),
        ("HTTP/1.1 200 OK\ncontent-length: 1000\n\nthe first bytes went out", (Outcome::Failure, Some(Phase::Body))),
    ] {
        let bench = Bench::new();
        let host = failing(vec![send(answer), Step::Close]).await;
        let npm = retrying(&host, 3, |_| {});
        earn(&bench, &npm, 3).await;
        let response = bench.get(&npm, "/x").await.unwrap();
        assert_eq!(whole(response).await.is_err(), verdict.0 == Outcome::Failure, "{answer}");
        assert_eq!((bench.verdict().await, asked(&host)), (verdict, 1), "{answer}");
    }
}

#[tokio::test]
async fn r31_a_host_that_asks_for_a_longer_pause_than_max_is_left_alone() {
    for (wish, requests) in [("1", 1), ("0", 2), ("Wed, 21 Oct 2099 07:28:00 GMT", 1), ("soon", 2)] {
        let bench = Bench::new();
        let answer = format!("HTTP/1.1 503 Service Unavailable\nretry-after: {wish}\ncontent-length: 0\n\n");
        let host = failing(vec![send(&answer)]).await;
        let npm = retrying(&host, 2, |_| {});
        earn(&bench, &npm, 1).await;
        let response = bench.get(&npm, "/x").await.unwrap();
        assert_eq!((response.status().as_u16(), asked(&host)), (503, requests), "{wish}");
    }
}

#[tokio::test]
async fn r31_retries_add_a_fifth_to_the_load_at_most() {
    let bench = Bench::new();
    let tries = Mutex::new(HashMap::new());
    let host = Host::start(move |seen| {
        let mut tries = tries.lock().unwrap();
        let again = tries.insert(seen.target.clone(), ()).is_some();
        vec![send(if again { OK } else { DOWN })]
    })
    .await;
    let npm = retrying(&host, 3, |_| {});
    let mut good = 0;
    for call in 0..50 {
        good += usize::from(bench.get(&npm, &format!("/{call}")).await.unwrap().status() == 200);
        // Spread out, so that the failures do not trip.
        bench.advance(11);
    }
    assert_eq!((host.count(), good), (60, 10));
}

#[tokio::test]
async fn r31_a_pause_keeps_nobody_from_the_host() {
    // Whether the failed attempt's answer is whole or its rest is still waited for.
    let head = "HTTP/1.1 503 Service Unavailable\ncontent-length: 4\n\n";
    for steps in [vec![send(DOWN)], vec![send(head), Step::Hang]] {
        let bench = Bench::new();
        let host = failing(steps).await;
        let npm = retrying(&host, 2, |upstream| {
            (upstream.retry.base, upstream.retry.max) = (Duration::from_secs(3600), Duration::from_secs(3600));
            (upstream.queue.concurrent, upstream.queue.waiting) = (1, 0);
        });
        earn(&bench, &npm, 1).await;
        let mut pausing = pin!(bench.get(&npm, "/x"));
        let verdict = async {
            tokio::select! {
                ended = &mut pausing => panic!("{ended:?}"),
                verdict = bench.verdict() => verdict,
            }
        };
        assert_eq!(soon("the first attempt's end", verdict).await, (Outcome::Failure, None));
        // The pause begins when the rest of the answer is read.
        let next = async {
            loop {
                assert!(poll_immediate(pausing.as_mut()).await.is_none());
                match bench.get(&npm, "/ok").await {
                    Ok(response) => break response,
                    Err(error) => assert!(matches!(error, CallError::QueueFull(_)), "{error:?}"),
                }
                tokio::task::yield_now().await;
            }
        };
        let response = soon("a place", next).await;
        assert_eq!(response.status(), 200);
        assert_eq!((asked(&host), bench.snapshot(&host).in_flight), (1, 1));
    }
}
