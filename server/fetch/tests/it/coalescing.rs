//! Rule 36: identical GETs under way share one attempt.

use std::{pin::pin, sync::Arc};

use bytes::Bytes;
use fuseboard_breaker::{Outcome, Phase, State};
use fuseboard_fetch::{Body, BodyError, CallError, Upstream};
use futures_util::future::{join_all, poll_immediate};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Empty};

use crate::support::{
    Bench, Host, Step,
    bench::{request, upstream},
    host::{Gate, send},
    soon, whole,
};

const OK: &str = "HTTP/1.1 200 OK\ncontent-length: 2\n\nok";
/// More than is kept of one body.
const LARGE: usize = 9 << 20;

fn sharing(host: &Host) -> Arc<Upstream> {
    upstream(&host.url("/"), |upstream| upstream.coalesce = true)
}

/// Takes these steps once the gate is open.
async fn gated(steps: Vec<Step>) -> (Host, Gate) {
    let gate = Gate::new();
    let hold = gate.clone();
    let host = Host::start(move |_| [vec![Step::Gate(hold.clone())], steps.clone()].concat()).await;
    (host, gate)
}

/// This many clients ask for the same, all before the host answers.
async fn together(
    bench: &Bench,
    npm: &Arc<Upstream>,
    host: &Host,
    gate: &Gate,
    clients: usize,
) -> Vec<Result<Response<Body>, CallError>> {
    let mut asking = pin!(join_all((0..clients).map(|_| bench.get(npm, "/x"))));
    assert!(poll_immediate(asking.as_mut()).await.is_none());
    let arrived = async {
        tokio::select! {
            answers = &mut asking => panic!("{answers:?}"),
            () = host.received(1) => {}
        }
    };
    arrived.await;
    gate.open();
    soon("everybody's answer", asking).await
}

#[tokio::test]
async fn r36_identical_gets_share_one_request_and_one_verdict() {
    let bench = Bench::new();
    let (host, gate) = gated(vec![send(OK)]).await;
    let npm = sharing(&host);
    for response in together(&bench, &npm, &host, &gate, 50).await {
        let response = response.unwrap();
        assert_eq!((response.status().as_u16(), response.headers()["content-length"].as_bytes()), (200, &b"2"[..]));
        assert_eq!(whole(response).await.unwrap().to_bytes(), "ok");
    }
    assert_eq!(bench.verdict().await, (Outcome::Success, None));
    assert!(bench.quiet().await);
    assert_eq!((host.count(), bench.snapshot(&host).counts.success), (1, 1));
    // What is over is over.
    whole(bench.get(&npm, "/x").await.unwrap()).await.unwrap();
    assert_eq!(host.count(), 2);
}

#[tokio::test]
async fn r36_whatever_differs_has_an_attempt_of_its_own() {
    let bench = Bench::new();
    let (host, gate) = gated(vec![send(OK)]).await;
    let npm = sharing(&host);
    let mut asked: Vec<Request<Empty<Bytes>>> = Vec::new();
    for path in ["/x", "/X", "/x?", "/x?a", "/%78"] {
        asked.push(request(&npm, Method::GET, path, Empty::new()));
    }
    for (name, value) in [
        ("authorization", "Bearer ana"),
        ("authorization", "Bearer ben"),
        ("accept", "text/html"),
        ("accept-encoding", "gzip"),
        ("range", "bytes=0-1"),
        ("if-none-match", "\"a\""),
        ("x-anything", "1"),
        // Twice the same, and each for itself.
        ("cookie", "a=b"),
        ("cookie", "a=b"),
    ] {
        let mut request = request(&npm, Method::GET, "/x", Empty::new());
        request.headers_mut().insert(name, value.parse().unwrap());
        asked.push(request);
    }
    asked.push(request(&npm, Method::HEAD, "/x", Empty::new()));
    // What speaks of the connection alone makes no difference.
    let mut same = request(&npm, Method::GET, "/x", Empty::new());
    same.headers_mut().insert("connection", "keep-alive".parse().unwrap());
    let different = asked.len();
    asked.push(same);
    let asking = join_all(asked.into_iter().map(|request| bench.forward(&npm, request)));
    let opening = async {
        host.received(different).await;
        gate.open();
    };
    let (answers, ()) = soon("the answers", futures_util::future::join(asking, opening)).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(host.count(), different);
}

#[tokio::test]
async fn r36_whoever_leaves_does_not_fail_the_others_and_all_leaving_cancels() {
    let bench = Bench::new();
    let (host, gate) = gated(vec![send(OK)]).await;
    let npm = sharing(&host);
    let mut first = Box::pin(bench.get(&npm, "/x"));
    let mut second = Box::pin(bench.get(&npm, "/x"));
    assert!(poll_immediate(first.as_mut()).await.is_none());
    assert!(poll_immediate(second.as_mut()).await.is_none());
    drop(first);
    let opening = async {
        host.received(1).await;
        gate.open();
    };
    let (answer, ()) = soon("the answer", futures_util::future::join(second, opening)).await;
    assert_eq!(whole(answer.unwrap()).await.unwrap().to_bytes(), "ok");
    assert_eq!((bench.verdict().await, host.count()), ((Outcome::Success, None), 1));

    let silent = Host::start(|_| vec![Step::Hang]).await;
    let npm = sharing(&silent);
    let mut all = Box::pin(join_all((0..3).map(|_| bench.get(&npm, "/x"))));
    let arrived = async {
        tokio::select! {
            answers = &mut all => panic!("{answers:?}"),
            () = silent.received(1) => {}
        }
    };
    soon("the request", arrived).await;
    drop(all);
    silent.left(1).await;
    assert_eq!(bench.verdict().await, (Outcome::Ignored, None));
    let snapshot = bench.snapshot(&silent);
    assert_eq!((snapshot.in_flight, snapshot.counts.ignored, silent.count()), (0, 1, 1));
}

#[tokio::test]
async fn r36_a_failure_and_a_refusal_are_everybodys() {
    let bench = Bench::new();
    let (host, gate) = gated(vec![Step::Close]).await;
    let npm = sharing(&host);
    for ended in together(&bench, &npm, &host, &gate, 3).await {
        assert!(matches!(ended, Err(CallError::Failed { phase: Phase::Head, .. })), "{ended:?}");
    }
    assert_eq!(bench.snapshot(&host).counts.failure, 1);
    for _ in 0..4 {
        bench.get(&npm, "/x").await.unwrap_err();
    }
    assert_eq!((bench.state(&host), host.count()), (State::Open, 5));
    for ended in join_all((0..3).map(|_| bench.get(&npm, "/x"))).await {
        assert!(matches!(ended, Err(CallError::Refused(_))), "{ended:?}");
    }
    assert_eq!(host.count(), 5);
}

#[tokio::test]
async fn r36_a_body_cut_short_is_an_error_for_everybody() {
    let bench = Bench::new();
    let (host, gate) = gated(vec![send("HTTP/1.1 200 OK\ncontent-length: 1000\n\nab"), Step::Close]).await;
    let npm = sharing(&host);
    for response in together(&bench, &npm, &host, &gate, 3).await {
        let error = whole(response.unwrap()).await.unwrap_err();
        assert!(matches!(error, BodyError::Broken { .. }), "{error:?}");
    }
    assert_eq!((bench.verdict().await, host.count()), ((Outcome::Failure, Some(Phase::Body)), 1));
}

#[tokio::test]
async fn r36_who_waits_for_more_is_woken_although_the_one_who_asked_for_it_has_left() {
    let bench = Bench::new();
    let (rest, hold) = (Gate::new(), Gate::new());
    let (held, resting) = (hold.clone(), rest.clone());
    let host = Host::start(move |_| {
        let head = "HTTP/1.1 200 OK\ncontent-length: 4\n\nab";
        vec![Step::Gate(held.clone()), send(head), Step::Gate(resting.clone()), send("cd")]
    })
    .await;
    let npm = sharing(&host);
    let mut bodies: Vec<Body> = Vec::new();
    for response in together(&bench, &npm, &host, &hold, 2).await {
        let mut body = response.unwrap().into_body();
        assert_eq!(soon("a frame", body.frame()).await.unwrap().unwrap().into_data().unwrap(), "ab");
        bodies.push(body);
    }
    let [mut stays, mut leaves] = <[Body; 2]>::try_from(bodies).unwrap();
    let staying = tokio::spawn(async move { stays.frame().await.unwrap().unwrap().into_data().unwrap() });
    tokio::task::yield_now().await;
    assert!(poll_immediate(leaves.frame()).await.is_none());
    drop(leaves);
    rest.open();
    assert_eq!(soon("the rest", staying).await.unwrap(), "cd");
    assert_eq!(bench.verdict().await, (Outcome::Success, None));
}

fn large(head: &str, length: usize) -> Vec<Step> {
    let Step::Send(mut bytes) = send(head) else { unreachable!("send makes a Send") };
    bytes.extend((0..length).map(|at| u8::try_from(at % 251).unwrap()));
    vec![Step::Send(bytes)]
}

fn is_whole(body: &Bytes, length: usize) -> bool {
    body.len() == length && body.iter().enumerate().all(|(at, byte)| usize::from(*byte) == at % 251)
}

#[tokio::test]
async fn r36_a_slow_reader_of_what_can_be_kept_stalls_nobody_and_gets_all_of_it() {
    let bench = Bench::new();
    let length = 2 << 20;
    let (host, gate) = gated(large(&format!("HTTP/1.1 200 OK\ncontent-length: {length}\n\n"), length)).await;
    let npm = sharing(&host);
    let mut answers = together(&bench, &npm, &host, &gate, 3).await.into_iter().map(Result::unwrap);
    let (slow, fast, leaver) = (answers.next().unwrap(), answers.next().unwrap(), answers.next().unwrap());
    drop(leaver);
    assert!(is_whole(&whole(fast).await.unwrap().to_bytes(), length));
    assert_eq!(bench.verdict().await, (Outcome::Success, None));
    assert!(is_whole(&whole(slow).await.unwrap().to_bytes(), length));
    assert_eq!(host.count(), 1);
}

#[tokio::test]
async fn r36_what_is_too_large_to_be_kept_is_asked_for_by_each() {
    let bench = Bench::new();
    let (host, gate) = gated(large(&format!("HTTP/1.1 200 OK\ncontent-length: {LARGE}\n\n"), LARGE)).await;
    let npm = sharing(&host);
    for response in together(&bench, &npm, &host, &gate, 2).await {
        assert!(is_whole(&whole(response.unwrap()).await.unwrap().to_bytes(), LARGE));
    }
    assert_eq!(host.count(), 2);
}

#[tokio::test]
async fn r36_a_reader_too_far_behind_a_body_of_unknown_length_loses_the_rest_and_says_so() {
    let bench = Bench::new();
    let mut steps = large(&format!("HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n{LARGE:x}\n"), LARGE);
    steps.push(send("\n0\n\n"));
    let (host, gate) = gated(steps).await;
    let npm = sharing(&host);
    let mut answers = together(&bench, &npm, &host, &gate, 2).await.into_iter().map(Result::unwrap);
    let (slow, fast) = (answers.next().unwrap(), answers.next().unwrap());
    assert!(is_whole(&whole(fast).await.unwrap().to_bytes(), LARGE));
    assert!(matches!(whole(slow).await, Err(BodyError::FellBehind)));
    assert_eq!((bench.verdict().await, host.count()), ((Outcome::Success, None), 1));
}

#[tokio::test]
async fn r36_what_there_is_no_room_for_is_asked_for_by_each() {
    // Of an answer of unknown length 4 MiB may be kept, and 64 MiB of all.
    const SHARED: usize = 16;
    let bench = Bench::new();
    let rest = Gate::new();
    let (host, gate) = gated(vec![
        send("HTTP/1.1 200 OK\ntransfer-encoding: chunked\n\n2\nok\n"),
        Step::Gate(rest.clone()),
        send("0\n\n"),
    ])
    .await;
    let npm = sharing(&host);
    let paths: Vec<String> = (0..=SHARED).flat_map(|answer| [format!("/{answer}"), format!("/{answer}")]).collect();
    let mut asking = pin!(join_all(paths.iter().map(|path| bench.get(&npm, path))));
    let arrived = async {
        tokio::select! {
            answers = &mut asking => panic!("{answers:?}"),
            () = host.received(SHARED + 1) => {}
        }
    };
    soon("a request for each", arrived).await;
    gate.open();
    let answers = soon("everybody's answer", asking).await;
    assert_eq!(host.count(), SHARED + 2, "one was asked for twice");
    rest.open();
    for answer in answers {
        assert_eq!(whole(answer.unwrap()).await.unwrap().to_bytes(), "ok");
    }
    // Read to their end they leave their room to others.
    for response in together(&bench, &npm, &host, &gate, 2).await {
        whole(response.unwrap()).await.unwrap();
    }
    assert_eq!(host.count(), SHARED + 3);
}
