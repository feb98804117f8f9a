//! Rule 25: the permit travels with the body.

use bytes::Bytes;
use fuseboard_breaker::{Outcome, Phase};
use fuseboard_fetch::{Body, BodyError};
use http::{Method, Response};
use http_body_util::BodyExt;

use crate::support::{
    Bench, Host, Step,
    bench::{AMPLE, SHORT, feed, outlast, request, upstream},
    host::{Gate, send},
    soon, whole,
};

async fn read(response: Response<Body>) -> Result<Bytes, BodyError> {
    whole(response).await.map(http_body_util::Collected::to_bytes)
}

/// The client gets the first bytes, then an error; the host gets a failure in phase body.
async fn breaks_off(steps: Vec<Step>) {
    let bench = Bench::new();
    let host = Host::start(move |_| steps.clone()).await;
    let npm = upstream(&host.url("/"), |upstream| upstream.timeouts.between_bytes = SHORT);
    let mut response = bench.get(&npm, "/").await.unwrap();
    assert_eq!(response.status(), 200);
    let first = soon("a frame", response.body_mut().frame()).await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(first.len(), 300);
    let error = read(response).await.unwrap_err();
    assert!(matches!(&error, BodyError::Broken { breaker, .. } if **breaker == *host.breaker()), "{error:?}");
    assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Body)));
    let counts = bench.snapshot(&host).counts;
    assert_eq!((counts.failure, counts.success, bench.snapshot(&host).in_flight), (1, 0, 0));
}

fn with_300_bytes(head: &str) -> Step {
    let Step::Send(mut bytes) = send(head) else { unreachable!("send makes a Send") };
    bytes.extend([b'x'; 300]);
    Step::Send(bytes)
}

#[tokio::test]
async fn r25_300_of_1000_bytes_is_a_failure() {
    breaks_off(vec![with_300_bytes("HTTP/1.1 200 OK\ncontent-length: 1000\n\n"), Step::Close]).await;
}

#[tokio::test]
async fn r25_a_stall_is_a_failure() {
    breaks_off(vec![with_300_bytes("HTTP/1.1 200 OK\ncontent-length: 1000\n\n"), Step::Hang]).await;
}

#[tokio::test]
async fn r25_a_chunked_body_without_its_last_chunk_is_a_failure() {
    let chunk = with_300_bytes("HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n12c\n");
    breaks_off(vec![chunk, send("\n"), Step::Close]).await;
}

#[tokio::test]
async fn r25_a_reset_is_a_failure() {
    let bench = Bench::new();
    let gate = Gate::new();
    let hold = gate.clone();
    let host = Host::start(move |_| {
        let head = with_300_bytes("HTTP/1.1 200 OK\ncontent-length: 1000\n\n");
        vec![head, Step::Gate(hold.clone()), Step::Reset]
    })
    .await;
    let npm = upstream(&host.url("/"), |_| {});
    let mut response = bench.get(&npm, "/").await.unwrap();
    assert!(soon("a frame", response.body_mut().frame()).await.unwrap().is_ok());
    gate.open();
    assert!(read(response).await.is_err());
    assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Body)));
}

#[tokio::test]
async fn r25_success_settles_at_the_end_of_the_body_and_not_before() {
    let bench = Bench::new();
    let gate = Gate::new();
    let hold = gate.clone();
    let host = Host::start(move |_| {
        vec![send("HTTP/1.1 200 OK\ncontent-length: 4\n\nab"), Step::Gate(hold.clone()), send("cd")]
    })
    .await;
    let npm = upstream(&host.url("/"), |_| {});
    let mut response = bench.get(&npm, "/").await.unwrap();
    assert!(soon("a frame", response.body_mut().frame()).await.unwrap().is_ok());
    assert!(bench.quiet().await);
    assert_eq!(bench.snapshot(&host).in_flight, 1);
    gate.open();
    assert_eq!(read(response).await.unwrap(), "cd");
    assert_eq!(bench.verdict().await, (Outcome::Success, None));
    assert_eq!(bench.snapshot(&host).in_flight, 0);
}

#[tokio::test]
async fn r25_a_failing_status_settles_at_the_head_and_nothing_after_it_changes_that() {
    let bench = Bench::new();
    let gate = Gate::new();
    let hold = gate.clone();
    let host = Host::start(move |_| {
        let head = "HTTP/1.1 503 Service Unavailable\ncontent-length: 1000\n\nab";
        vec![send(head), Step::Gate(hold.clone()), Step::Close]
    })
    .await;
    let npm = upstream(&host.url("/"), |_| {});
    let response = bench.get(&npm, "/").await.unwrap();
    let record = bench.settled().await;
    assert_eq!((record.status, record.phase), (Some(503), None));
    assert_eq!(bench.snapshot(&host).counts.failure, 1);
    gate.open();
    assert!(read(response).await.is_err(), "a short body is an error for the client all the same");
    assert!(bench.quiet().await);
    assert_eq!(bench.snapshot(&host).counts.failure, 1);
}

#[tokio::test]
async fn r25_head_204_and_304_settle_at_the_head() {
    let bench = Bench::new();
    for (method, answer, length) in [
        (Method::HEAD, "HTTP/1.1 200 OK\ncontent-length: 1000\n\n", Some("1000")),
        (Method::GET, "HTTP/1.1 204 No Content\n\n", None),
        (Method::GET, "HTTP/1.1 304 Not Modified\ncontent-length: 1000\n\n", None),
        (Method::GET, "HTTP/1.1 200 OK\ncontent-length: 0\n\n", Some("0")),
    ] {
        let host = Host::answering(answer).await;
        let npm = upstream(&host.url("/"), |_| {});
        let response = bench.call(&npm, method, "/").await.unwrap();
        assert_eq!(bench.verdict().await, (Outcome::Success, None));
        assert!(http_body::Body::is_end_stream(response.body()));
        let said = response.headers().get("content-length").map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(said.as_deref(), length, "{answer}");
    }
}

#[tokio::test]
async fn r25_no_timer_runs_against_the_host_while_our_client_does_not_read() {
    let bench = Bench::new();
    let host =
        Host::start(|_| vec![send("HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n2\nab\n"), send("2\ncd\n0\n\n")])
            .await;
    let npm = upstream(&host.url("/"), |upstream| {
        (upstream.timeouts.between_bytes, upstream.timeouts.total) = (AMPLE, AMPLE);
    });
    let mut response = bench.get(&npm, "/").await.unwrap();
    assert!(soon("a frame", response.body_mut().frame()).await.unwrap().is_ok());
    outlast(AMPLE + SHORT).await;
    assert!(bench.quiet().await);
    assert_eq!(read(response).await.unwrap(), "cd");
    assert_eq!(bench.verdict().await, (Outcome::Success, None));
}

#[tokio::test]
async fn r25_a_client_that_does_not_read_ends_the_call_as_ignored_and_frees_the_host() {
    let bench = Bench::new();
    let host = Host::start(|_| vec![send("HTTP/1.1 200 OK\ncontent-length: 99999999\n\n"), Step::Flood]).await;
    let npm = upstream(&host.url("/"), |upstream| upstream.timeouts.client_idle = SHORT);
    let mut response = bench.get(&npm, "/").await.unwrap();
    assert!(soon("a frame", response.body_mut().frame()).await.unwrap().is_ok());
    assert_eq!(bench.verdict().await, (Outcome::Ignored, None));
    host.left(1).await;
    let error = soon("the error", response.body_mut().frame()).await.unwrap().unwrap_err();
    assert!(matches!(error, BodyError::ClientStalled), "{error:?}");
    assert!(soon("the end", response.body_mut().frame()).await.is_none());
    assert_eq!(bench.snapshot(&host).in_flight, 0);
}

#[tokio::test]
async fn r25_a_client_that_takes_a_frame_in_pieces_is_not_idle() {
    let bench = Bench::new();
    let host =
        Host::start(|_| vec![send("HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n2\nab\n"), send("2\ncd\n0\n\n")])
            .await;
    let npm = upstream(&host.url("/"), |upstream| upstream.timeouts.client_idle = AMPLE);
    let mut response = bench.get(&npm, "/").await.unwrap();
    assert!(soon("a frame", response.body_mut().frame()).await.unwrap().is_ok());
    // Together longer than the client may be idle.
    for _ in 0..=AMPLE.as_millis() / SHORT.as_millis() {
        response.body_mut().hands_on(4096);
        outlast(SHORT).await;
    }
    assert!(bench.quiet().await);
    assert_eq!(read(response).await.unwrap(), "cd");
    assert_eq!(bench.verdict().await, (Outcome::Success, None));
}

/// So many chunks of this length at once, and then nothing.
async fn in_chunks(length: usize, chunks: usize) -> Host {
    let chunk = format!("{length:x}\n{}\n", "x".repeat(length));
    let text = format!("HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n{}", chunk.repeat(chunks));
    Host::start(move |_| vec![send(&text), Step::Hang]).await
}

#[tokio::test]
async fn r25_a_client_that_takes_a_byte_now_and_then_is_as_good_as_idle() {
    let chunks = usize::try_from(AMPLE.as_millis() / SHORT.as_millis()).unwrap() + 2;
    for (length, stalls) in [(1, true), (4096, false)] {
        let bench = Bench::new();
        let host = in_chunks(length, chunks).await;
        let npm = upstream(&host.url("/"), |upstream| upstream.timeouts.client_idle = AMPLE);
        let mut response = bench.get(&npm, "/").await.unwrap();
        let mut ended = None;
        for _ in 0..chunks {
            if let Err(error) = soon("a frame", response.body_mut().frame()).await.unwrap() {
                ended = Some(error);
                break;
            }
            outlast(SHORT).await;
        }
        assert_eq!(matches!(ended, Some(BodyError::ClientStalled)), stalls, "{length}: {ended:?}");
        assert_eq!(bench.quiet().await, !stalls);
        assert_eq!(bench.snapshot(&host).in_flight, u64::from(!stalls));
    }
}

#[tokio::test]
async fn r25_what_a_client_is_handed_at_a_time_is_bounded() {
    let bench = Bench::new();
    let host = Host::start(|_| vec![send("HTTP/1.1 200 OK\ncontent-length: 99999999\n\n"), Step::Flood]).await;
    let npm = upstream(&host.url("/"), |_| {});
    let mut response = bench.get(&npm, "/").await.unwrap();
    let (mut read, mut largest) = (0, 0);
    while read < 64 << 20 {
        let frame = soon("a frame", response.body_mut().frame()).await.unwrap().unwrap().into_data().unwrap();
        read += frame.len();
        largest = largest.max(frame.len());
    }
    assert!(
        largest > 64 << 10 && largest <= 128 << 10,
        "a slow client would have to take {largest} bytes within client_idle"
    );
}

#[tokio::test]
async fn r25_a_client_that_never_asks_for_the_body_ends_the_call_as_ignored() {
    let bench = Bench::new();
    let host = Host::start(|_| vec![send("HTTP/1.1 200 OK\ncontent-length: 4\n\n"), Step::Hang]).await;
    let npm = upstream(&host.url("/"), |upstream| upstream.timeouts.client_idle = SHORT);
    let response = bench.get(&npm, "/").await.unwrap();
    assert_eq!(bench.verdict().await, (Outcome::Ignored, None));
    host.left(1).await;
    assert!(matches!(read(response).await, Err(BodyError::ClientStalled)));
}

#[tokio::test]
async fn r25_no_timer_runs_against_the_host_while_our_client_sends() {
    let bench = Bench::new();
    let host = Host::start(|_| vec![Step::ReadBody, send("HTTP/1.1 200 OK\ncontent-length: 2\n\nok")]).await;
    let npm = upstream(&host.url("/"), |upstream| {
        let timeouts = &mut upstream.timeouts;
        (timeouts.first_byte, timeouts.between_bytes, timeouts.total) = (AMPLE, AMPLE, AMPLE);
    });
    let (sender, body) = feed();
    let feeding = async {
        sender.send(Ok("one".into())).unwrap();
        outlast(AMPLE + SHORT).await;
        sender.send(Ok("two".into())).unwrap();
        drop(sender);
    };
    let call = bench.forward(&npm, request(&npm, Method::POST, "/", body));
    let (response, ()) = soon("the response", futures_util::future::join(call, feeding)).await;
    assert_eq!(read(response.unwrap()).await.unwrap(), "ok");
    assert_eq!(host.body(), b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n");
    assert_eq!(bench.verdict().await, (Outcome::Success, None));
}

#[tokio::test]
async fn r25_trailers_end_a_body_as_well_as_its_last_chunk_does() {
    let bench = Bench::new();
    let host = Host::start(|_| {
        vec![send("HTTP/1.1 200 OK\ntransfer-encoding: chunked\ntrailer: x-sum\n\n2\nhi\n0\nx-sum: 42\n\n")]
    })
    .await;
    let npm = upstream(&host.url("/"), |_| {});
    let mut response = bench.get(&npm, "/").await.unwrap();
    let mut trailers = None;
    while trailers.is_none() {
        let frame = soon("a frame", response.body_mut().frame()).await.unwrap().unwrap();
        trailers = frame.into_trailers().ok();
    }
    assert_eq!(trailers.unwrap()["x-sum"], "42");
    // As a server does that has seen the trailers: it asks for no more.
    drop(response);
    assert_eq!(bench.verdict().await, (Outcome::Success, None));
}

#[tokio::test]
async fn r35_a_length_beside_chunks_does_not_cut_the_body_short() {
    let bench = Bench::new();
    let host = Host::start(|_| {
        vec![send("HTTP/1.1 200 OK\ncontent-length: 3\ntransfer-encoding: chunked\n\n5\nhello\n0\n\n")]
    })
    .await;
    let npm = upstream(&host.url("/"), |_| {});
    let response = bench.get(&npm, "/").await.unwrap();
    assert_eq!(response.headers().get("content-length"), None);
    assert_eq!(read(response).await.unwrap(), "hello");
    assert_eq!(bench.verdict().await, (Outcome::Success, None));
}

/// Answers at once and in full, and takes no byte more of the request.
fn early() -> Vec<Step> {
    vec![send("HTTP/1.1 200 OK\ncontent-length: 2\n\nok"), Step::Gate(Gate::new())]
}

#[tokio::test]
async fn a_complete_answer_lets_go_of_an_upload_the_host_does_not_want() {
    for read_on in [true, false] {
        let bench = Bench::new();
        let host = Host::start(|_| early()).await;
        let npm = upstream(&host.url("/"), |_| {});
        // More than any socket and any buffer of ours takes in, and no end in sight.
        let (sender, body) = feed();
        for _ in 0..1024 {
            sender.send(Ok(Bytes::from_static(&[0; 64 * 1024]))).unwrap();
        }
        let response = soon("the answer", bench.forward(&npm, request(&npm, Method::POST, "/", body))).await.unwrap();
        assert!(!sender.is_closed(), "until the answer is complete the host may still want it");
        if read_on {
            assert_eq!(read(response).await.unwrap(), "ok");
        } else {
            drop(response);
        }
        soon("the upload's end", sender.closed()).await;
        let expected = if read_on { Outcome::Success } else { Outcome::Ignored };
        assert_eq!(bench.verdict().await, (expected, None));
    }
}
