//! Rules 23, 24, 27, 28: what is a failure, and in which phase.

use std::time::Duration;

use bytes::Bytes;
use fuseboard_breaker::{Cause, Event, Outcome, Phase, RefusedReason, State};
use fuseboard_fetch::{CallError, FetchError, Trouble};
use http::Method;
use tokio::net::TcpListener;

use crate::support::{
    Bench, Host, Step,
    bench::{SHORT, feed, request, upstream},
    host::send,
    soon, whole,
};

fn failed(ended: Result<http::Response<fuseboard_fetch::Body>, CallError>) -> (Phase, Trouble) {
    match ended {
        Err(CallError::Failed { phase, trouble, .. }) => (phase, trouble),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn r28_a_refused_connection_is_a_failure_in_phase_connect() {
    let bench = Bench::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let npm = upstream(&url, |_| {});
    assert_eq!(failed(bench.get(&npm, "/").await), (Phase::Connect, Trouble::Refused));
    assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Connect)));
}

#[tokio::test]
async fn r28_a_name_without_an_address_is_a_failure_in_phase_dns() {
    let bench = Bench::new();
    let npm = upstream("http://nobody.invalid/", |upstream| upstream.timeouts.connect = Duration::from_secs(5));
    let ended = bench.get(&npm, "/").await;
    let text = ended.as_ref().map(drop).unwrap_err().to_string();
    assert_eq!(text.matches("nobody.invalid").count(), 1, "{text}");
    assert_eq!(failed(ended), (Phase::Dns, Trouble::Other));
    assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Dns)));
}

#[tokio::test]
async fn r28_a_host_that_speaks_no_tls_is_a_failure_in_phase_tls() {
    let bench = Bench::new();
    let host = Host::start(|_| vec![Step::Close]).await;
    let npm = upstream(&format!("https://{}/", host.address), |upstream| upstream.timeouts.connect = SHORT);
    assert_eq!(failed(bench.get(&npm, "/").await), (Phase::Tls, Trouble::Timeout));
    assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Tls)));
}

#[tokio::test]
async fn r28_a_reset_before_the_head_is_a_failure_in_phase_head() {
    let bench = Bench::new();
    let host = Host::start(|_| vec![Step::Reset]).await;
    let npm = upstream(&host.url("/"), |_| {});
    assert_eq!(failed(bench.get(&npm, "/").await), (Phase::Head, Trouble::Cut));
    assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Head)));
    assert_eq!(host.count(), 1, "a fresh connection that breaks is not tried again");
}

#[tokio::test]
async fn r27_the_upstreams_own_timeouts_are_failures() {
    let bench = Bench::new();
    let host = Host::start(|_| vec![Step::Hang]).await;
    let first = upstream(&host.url("/"), |upstream| upstream.timeouts.first_byte = SHORT);
    assert_eq!(failed(soon("first_byte", bench.get(&first, "/")).await), (Phase::Head, Trouble::Timeout));
    assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Head)));
    let total = upstream(&host.url("/"), |upstream| upstream.timeouts.total = SHORT);
    assert_eq!(failed(soon("total", bench.get(&total, "/")).await), (Phase::Head, Trouble::Timeout));
    assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Head)));
}

#[tokio::test]
async fn r25_a_host_that_does_not_take_the_request_is_a_failure_in_phase_send() {
    let bench = Bench::new();
    let host = Host::start(|_| vec![Step::Gate(crate::support::host::Gate::new())]).await;
    let npm = upstream(&host.url("/"), |upstream| upstream.timeouts.between_bytes = SHORT);
    // More than any socket and any buffer of ours takes in.
    let (sender, body) = feed();
    for _ in 0..1024 {
        sender.send(Ok(Bytes::from_static(&[0; 64 * 1024]))).unwrap();
    }
    let ended = soon("between_bytes", bench.forward(&npm, request(&npm, Method::POST, "/", body))).await;
    assert_eq!(failed(ended), (Phase::Send, Trouble::Timeout));
    assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Send)));
}

#[tokio::test]
async fn r23_a_hundred_404_pass_through_and_leave_the_breaker_closed() {
    let bench = Bench::new();
    let host = Host::answering("HTTP/1.1 404 Not Found\ncontent-length: 2\n\nno").await;
    let npm = upstream(&host.url("/"), |_| {});
    for _ in 0..100 {
        let response = bench.get(&npm, "/x").await.unwrap();
        assert_eq!(response.status(), 404);
        let body = whole(response).await.unwrap().to_bytes();
        assert_eq!(body, "no");
        assert_eq!(bench.verdict().await, (Outcome::Alive, None));
    }
    assert_eq!((bench.state(&host), bench.snapshot(&host).counts.alive), (State::Closed, 100));
    let error = bench.fetch(&host.url("/x?token=s3cret")).await.unwrap_err();
    assert_eq!(error.to_string(), format!("http://{}/x?token=*** does not exist (status 404)", host.address));
}

#[tokio::test]
async fn r24_a_429_passes_through_and_cools_down_only_when_told_to() {
    let bench = Bench::new();
    let host = Host::answering("HTTP/1.1 429 Too Many Requests\nretry-after: 20\ncontent-length: 0\n\n").await;
    let patient = upstream(&host.url("/"), |_| {});
    for _ in 0..2 {
        assert_eq!(bench.get(&patient, "/").await.unwrap().status(), 429);
        assert_eq!(bench.verdict().await, (Outcome::Alive, None));
    }
    let error = bench.fetch(&host.url("/")).await.unwrap_err();
    let wish = Some(Duration::from_secs(20));
    assert!(matches!(&error, FetchError::RateLimited { retry_in, .. } if *retry_in == wish), "{error:?}");
    bench.settled().await;

    let cooling = upstream(&host.url("/"), |upstream| upstream.classify.cooldown = true);
    assert_eq!(bench.get(&cooling, "/").await.unwrap().status(), 429);
    let Err(CallError::Refused(refused)) = bench.get(&cooling, "/").await else { panic!("the call was made") };
    assert_eq!((refused.reason, refused.retry_after), (RefusedReason::CoolingDown, wish));
    assert_eq!((host.count(), bench.state(&host)), (4, State::Closed));
    bench.advance(20);
    assert_eq!(bench.get(&cooling, "/").await.unwrap().status(), 429);
}

#[tokio::test]
async fn r24_a_429_counts_when_told_to() {
    let bench = Bench::new();
    let host = Host::answering("HTTP/1.1 429 Too Many Requests\ncontent-length: 0\n\n").await;
    let npm = upstream(&host.url("/"), |upstream| upstream.classify.count_429 = true);
    for _ in 0..5 {
        assert_eq!(bench.get(&npm, "/").await.unwrap().status(), 429);
    }
    assert_eq!(bench.state(&host), State::Open);
}

#[tokio::test]
async fn r19_a_retry_after_on_the_response_that_trips_is_a_floor_for_the_wait() {
    let bench = Bench::new();
    let host = Host::answering("HTTP/1.1 503 Service Unavailable\nretry-after: 120\ncontent-length: 0\n\n").await;
    let npm = upstream(&host.url("/"), |_| {});
    bench.trip(&npm).await;
    let Err(CallError::Refused(refused)) = bench.get(&npm, "/").await else { panic!("the call was made") };
    assert_eq!(refused.retry_after, Some(Duration::from_secs(120)));
}

#[tokio::test]
async fn r39_what_is_recorded_of_a_failure_holds_no_secret() {
    let bench = Bench::new();
    let host = Host::answering("HTTP/1.1 503 Service Unavailable\ncontent-length: 0\n\n").await;
    let npm = upstream(&host.url("/"), |_| {});
    for _ in 0..5 {
        bench.get(&npm, "/a/b?token=s3cret&s3cret").await.unwrap();
    }
    let facts = bench.facts.0.lock();
    let Some(Event::Transition(opened)) = facts.first() else { panic!("{facts:?}") };
    let Cause::Tripped { evidence, .. } = &opened.cause else { panic!("{opened:?}") };
    assert_eq!(evidence.len(), 5);
    for call in evidence {
        assert_eq!(call.evidence.path.as_deref(), Some("/a/b?token=***&***"));
        assert_eq!((call.evidence.method.as_deref(), call.evidence.status), (Some("GET"), Some(503)));
    }
    assert!(!format!("{facts:?}").contains("s3cret"));
}

#[tokio::test]
async fn r25_the_queue_turns_away_whom_it_has_no_room_for() {
    let bench = Bench::new();
    let host = Host::start(|_| vec![send("HTTP/1.1 200 OK\ncontent-length: 1000\n\nab"), Step::Hang]).await;
    let npm = upstream(&host.url("/"), |upstream| {
        (upstream.queue.concurrent, upstream.queue.waiting) = (1, 0);
    });
    let first = bench.get(&npm, "/").await.unwrap();
    assert!(matches!(bench.get(&npm, "/").await, Err(CallError::QueueFull(_))));
    assert_eq!((host.count(), bench.snapshot(&host).in_flight), (1, 1));
    drop(first);
    assert!(bench.get(&npm, "/").await.is_ok());
}

#[tokio::test]
async fn r28_switching_protocols_unasked_is_a_failure_in_phase_head() {
    let bench = Bench::new();
    let host =
        Host::start(|_| vec![send("HTTP/1.1 101 Switching Protocols\nupgrade: x\nconnection: upgrade\n\n")]).await;
    let npm = upstream(&host.url("/"), |_| {});
    assert_eq!(failed(bench.get(&npm, "/").await), (Phase::Head, Trouble::Switched));
    assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Head)));
}

#[tokio::test]
async fn r28_an_answer_that_is_no_http_is_a_failure_of_its_own_kind() {
    let large = format!("HTTP/1.1 200 OK\nx-large: {}\n\n", "x".repeat(2_000_000));
    let many = format!("HTTP/1.1 200 OK\n{}\n", "x-many: x\n".repeat(101));
    for (answer, trouble) in [
        ("SSH-2.0-OpenSSH_9.2\n\n", Trouble::Malformed),
        ("HTTP/1.1 200 OK\ncontent-length: many\n\n", Trouble::Malformed),
        ("HTTP/1.1 200 OK\ncontent-length: 2\ncontent-length: 3\n\n", Trouble::Malformed),
        ("HTTP/1.1 2000 OK\n\n", Trouble::Malformed),
        ("HTTP/1.1 200 OK\nno colon\n\n", Trouble::Malformed),
        ("HTTP/1.1 200 OK\ntransfer-encoding: gzip, chunked\n\n0\n\n", Trouble::Malformed),
        (&large, Trouble::HeadTooLarge),
        (&many, Trouble::HeadTooLarge),
        ("HTTP/1.1 200 OK\nx-half: ", Trouble::Cut),
        ("", Trouble::Cut),
    ] {
        let bench = Bench::new();
        let steps = [send(answer), Step::Close];
        let host = Host::start(move |_| steps.to_vec()).await;
        let npm = upstream(&host.url("/"), |_| {});
        let shown = &answer[..answer.len().min(60)];
        let ended = soon(shown, bench.get(&npm, "/")).await;
        assert_eq!(failed(ended), (Phase::Head, trouble), "{shown}");
        assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Head)), "{shown}");
    }
}

#[tokio::test]
async fn r28_a_host_that_ends_the_tls_handshake_cut_the_connection() {
    let bench = Bench::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let npm = upstream(&format!("https://{}/", listener.local_addr().unwrap()), |_| {});
    let hang_up = async { drop(soon("the connection", listener.accept()).await.unwrap()) };
    let (ended, ()) = soon("the end", futures_util::future::join(bench.get(&npm, "/"), hang_up)).await;
    assert_eq!(failed(ended), (Phase::Tls, Trouble::Cut));
}
