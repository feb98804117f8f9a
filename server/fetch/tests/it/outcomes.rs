//! Every way a call can end, met by a closed and by a half-open breaker: rules 2, 3, 13 and 23 to 29 in one table. Each
//! line says what the host (or the client) does and what that proves; the state, the counts, the permits and the rows of
//! the record follow from it.

mod hosts;

use std::sync::Arc;

use bytes::Bytes;
use fuseboard_breaker::{Event, Outcome, Phase, Probe, ProbeOutcome, State, Verdict, Why};
use fuseboard_fetch::{CallError, CallRecord, Upstream};
use http::Method;
use http_body_util::{BodyExt, Empty};

use self::hosts::{At, Bomb};
use crate::support::{
    Bench,
    bench::{SHORT, feed, outlast, request},
    soon, whole,
};

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Client {
    /// Asks and reads the answer to its end.
    Reads,
    /// Asks for the head alone.
    Head,
    /// Sends a small body and reads the answer.
    Sends,
    /// Sends 64 MB, as far as the host takes them, and reads the answer.
    Uploads,
    /// Sends a body that panics.
    Explodes,
    /// Sends a part of its body and no more.
    StallsSending,
    /// Sends a part of its body, then breaks off.
    BreaksOff,
    /// Leaves as soon as the host has the request.
    Leaves,
    /// Leaves after `abandoned_after` without a byte from the host.
    GivesUp,
    /// Leaves in the midst of the body.
    LeavesInBody,
    /// Takes the head and reads nothing.
    StallsReading,
    /// Sends a POST on a connection that served a GET before.
    PostsAgain,
}

/// One line of the table.
struct Line {
    /// What the host does.
    host: &'static str,
    client: Client,
    outcome: Outcome,
    phase: Option<Phase>,
    status: Option<u16>,
    why: Option<Why>,
}

const fn line(host: &'static str, client: Client, outcome: Outcome) -> Line {
    Line { host, client, outcome, phase: None, status: None, why: None }
}

impl Line {
    const fn status(self, status: u16) -> Self {
        Self { status: Some(status), ..self }
    }

    const fn phase(self, phase: Phase) -> Self {
        Self { phase: Some(phase), ..self }
    }

    const fn why(self, why: Why) -> Self {
        Self { why: Some(why), ..self }
    }
}

use Client::{
    BreaksOff, Explodes, GivesUp, Head, Leaves, LeavesInBody, PostsAgain, Reads, Sends, StallsReading, StallsSending,
    Uploads,
};
use Outcome::{Alive, Failure, Ignored, Success};

/// A host that fails, and where.
const fn fails(host: &'static str, phase: Phase) -> Line {
    line(host, Reads, Failure).phase(phase)
}

#[rustfmt::skip]
const TABLE: &[Line] = &[
    // Answers.
    line("200", Reads, Success).status(200),
    line("204", Reads, Success).status(204),
    line("302", Reads, Success).status(302),
    line("304", Reads, Success).status(304),
    line("200", Head, Success).status(200),
    line("chunked", Reads, Success).status(200),
    line("until the end of the connection", Reads, Success).status(200),
    line("trailers", Reads, Success).status(200),
    line("100 and 103 before 200", Reads, Success).status(200),
    line("404", Reads, Alive).status(404),
    line("410", Reads, Alive).status(410),
    line("429", Reads, Alive).status(429),
    line("501", Reads, Alive).status(501),
    line("505", Reads, Alive).status(505),
    line("408", Reads, Failure).status(408),
    line("500", Reads, Failure).status(500),
    line("503", Reads, Failure).status(503),
    line("503", Head, Failure).status(503),
    line("503 cut short", Reads, Failure).status(503),
    line("200 before the end of the upload", Uploads, Success).status(200),
    line("413 before the end of the upload", Uploads, Alive).status(413),
    line("takes the request's body", Sends, Success).status(200),
    // No connection.
    fails("refuses", Phase::Connect),
    fails("black hole", Phase::Connect),
    fails("name without an address", Phase::Dns),
    fails("resolver that does not answer", Phase::Dns),
    fails("no TLS", Phase::Tls),
    fails("wrong name in the certificate", Phase::Tls),
    fails("expired certificate", Phase::Tls),
    fails("unknown certificate", Phase::Tls),
    fails("hang-up in the handshake", Phase::Tls),
    // No request.
    line("takes nothing", Uploads, Failure).phase(Phase::Send),
    line("200", Explodes, Failure).phase(Phase::Panic),
    // No head.
    fails("hang before the head", Phase::Head),
    fails("drip of a head", Phase::Head),
    fails("endless 1xx", Phase::Head),
    fails("close before the head", Phase::Head),
    fails("reset before the head", Phase::Head),
    fails("cut in the head", Phase::Head),
    fails("garbage", Phase::Head),
    fails("huge headers", Phase::Head),
    fails("101 unasked", Phase::Head),
    fails("h2: RST_STREAM before the head", Phase::Head),
    fails("h2: huge headers", Phase::Head),
    fails("h2: GOAWAY and gone before the head", Phase::Head),
    // No whole body.
    fails("hang after one byte", Phase::Body).status(200),
    fails("300 of 1,000 bytes", Phase::Body).status(200),
    fails("no last chunk", Phase::Body).status(200),
    fails("bad chunk", Phase::Body).status(200),
    fails("reset in the body", Phase::Body).status(200),
    fails("drip of a body", Phase::Body).status(200),
    fails("404 cut short", Phase::Body).status(404),
    fails("h2: RST_STREAM in the body", Phase::Body).status(200),
    fails("h2: RST_STREAM without an error in the body", Phase::Body).status(200),
    fails("h2: GOAWAY in the body", Phase::Body).status(200),
    fails("h2: connection lost in the body", Phase::Body).status(200),
    line("h2: GOAWAY that lets the body finish", Reads, Success).status(200),
    line("h2: refused once", Reads, Success).status(200),
    line("h2: refused once", Sends, Success).status(200),
    line("h2: GOAWAY below our stream once", Reads, Success).status(200),
    line("h2: GOAWAY below our stream once", Sends, Success).status(200),
    // Our own client.
    line("hang before the head", Leaves, Ignored).why(Why::ClientGone),
    line("hang before the head", GivesUp, Failure).phase(Phase::Abandoned),
    line("black hole", GivesUp, Failure).phase(Phase::Abandoned),
    line("hang after one byte", LeavesInBody, Ignored).status(200).why(Why::ClientGone),
    line("endless", StallsReading, Ignored).status(200).why(Why::ClientGone),
    line("hang before the head", StallsSending, Ignored).why(Why::ClientGone),
    line("hang before the head", BreaksOff, Ignored).why(Why::ClientGone),
    // Ourselves.
    line("name that leads inside", Reads, Ignored).why(Why::OwnGuard),
    line("once a connection", PostsAgain, Ignored).why(Why::StaleConnection),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_outcome_met_by_a_closed_breaker() {
    for line in TABLE {
        met_closed(line).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_outcome_met_by_a_half_open_breaker() {
    for line in TABLE {
        met_half_open(line).await;
    }
}

#[tokio::test]
async fn r37_goaway_below_our_stream_is_retried_for_any_method_and_is_no_failure() {
    for method in [Method::GET, Method::POST] {
        let at = At::start("h2: GOAWAY below our stream once", Reads).await;
        let response = at.bench.call(&at.upstream, method, "/case").await.unwrap();
        assert_eq!(whole(response).await.unwrap().to_bytes(), "ok");
        assert_eq!(at.bench.verdict().await, (Success, None));
    }
}

#[tokio::test]
async fn r37_goaway_above_our_stream_proves_the_host_saw_it_and_nothing_is_sent_twice() {
    let at = At::start("h2: GOAWAY and gone before the head", Reads).await;
    let ended = at.bench.call(&at.upstream, Method::POST, "/case").await;
    assert!(matches!(ended, Err(CallError::Failed { phase: Phase::Head, .. })), "{ended:?}");
    assert_eq!(at.bench.verdict().await, (Failure, Some(Phase::Head)));
}

fn told(line: &Line) -> String {
    format!("host: {}, client: {:?}", line.host, line.client)
}

async fn met_closed(line: &Line) {
    let what = told(line);
    let at = At::start(line.host, line.client).await;
    let bench = &at.bench;
    // The guard stops only what was called before; what was never called has no breaker.
    let breaker = bench.panel.get_or_create(&at.upstream.breaker_id(), &at.upstream.policy).unwrap();
    at.warm(line.client == PostsAgain).await;
    let before = breaker.snapshot().counts;
    let record = act(&at, line.client).await;
    is_told(line, &record);

    let after = breaker.snapshot();
    assert_eq!((after.state, after.in_flight, after.generation), (State::Closed, 0, 0), "{what}");
    let counted = [
        (Success, after.counts.success - before.success),
        (Alive, after.counts.alive - before.alive),
        (Failure, after.counts.failure - before.failure),
        (Ignored, after.counts.ignored - before.ignored),
    ];
    for (outcome, count) in counted {
        assert_eq!(count, u64::from(outcome == line.outcome), "{what}: {outcome:?}");
    }
    let towards = if line.outcome == Failure { 1.0 } else { 0.0 };
    assert_eq!(after.rules[0].have, Some(towards), "{what}");
    assert!(bench.facts.0.lock().is_empty(), "{what}: nothing to write down");
}

async fn met_half_open(line: &Line) {
    let what = told(line);
    let at = At::start(line.host, line.client).await;
    let bench = &at.bench;
    let breaker = bench.panel.get_or_create(&at.upstream.breaker_id(), &at.upstream.policy).unwrap();
    at.warm(line.client == PostsAgain).await;
    for _ in 0..5 {
        breaker.try_acquire_owned().unwrap().settle(Verdict::failure());
    }
    assert_eq!(breaker.snapshot().state, State::Open);
    bench.advance(31);
    let record = act(&at, line.client).await;
    is_told(line, &record);

    let after = breaker.snapshot();
    let state = match line.outcome {
        Success | Alive => State::Closed,
        Failure => State::Open,
        Ignored => State::HalfOpen,
    };
    assert_eq!((after.state, after.in_flight, after.half_open.in_flight), (state, 0, 0), "{what}");
    assert_eq!(after.attempt, u32::from(line.outcome == Failure), "{what}");

    let facts = bench.facts.0.lock();
    let probes: Vec<&Probe> =
        facts.iter().filter_map(|fact| if let Event::Probe(probe) = fact { Some(probe) } else { None }).collect();
    let [probe] = probes[..] else { panic!("{what}: {probes:?}") };
    let evidence = probe.evidence.as_ref().unwrap_or_else(|| panic!("{what}: {probe:?}"));
    assert_eq!(probe.outcome, ProbeOutcome::Settled(line.outcome), "{what}");
    assert_eq!((evidence.phase, evidence.status, evidence.why), (line.phase, line.status, line.why), "{what}");
    assert_eq!(evidence.path.as_deref(), Some("/case"), "{what}");
    let transitions = facts.iter().filter_map(|fact| if let Event::Transition(row) = fact { Some(row) } else { None });
    let causes: Vec<&str> = transitions.map(|row| row.cause.as_str()).collect();
    let last = match line.outcome {
        Success | Alive => Some("probes_succeeded"),
        Failure => Some("probe_failed"),
        Ignored => None,
    };
    assert_eq!(causes, ["tripped", "wait_elapsed"].into_iter().chain(last).collect::<Vec<_>>(), "{what}");
    drop(facts);
    // The permit is free: the next call is a probe again.
    if line.outcome == Ignored {
        assert!(breaker.try_acquire().is_ok_and(|permit| permit.is_probe()), "{what}");
    }
}

fn is_told(line: &Line, record: &CallRecord) {
    let seen = (record.outcome, record.phase, record.status);
    assert_eq!(seen, (ProbeOutcome::Settled(line.outcome), line.phase, line.status), "{}", told(line));
}

/// Does what the client does, and waits for the verdict.
async fn act(at: &At, client: Client) -> CallRecord {
    let (bench, npm): (&Bench, &Arc<Upstream>) = (&at.bench, &at.upstream);
    match client {
        Reads | Head => {
            let method = if client == Head { Method::HEAD } else { Method::GET };
            if let Ok(response) = bench.call(npm, method, "/case").await {
                // Whether it is whole, the verdict says.
                let _ = whole(response).await;
            }
        }
        Sends | Uploads => {
            let (sender, body) = feed();
            for _ in 0..if client == Sends { 1 } else { 1024 } {
                sender.send(Ok(Bytes::from_static(&[0; 64 * 1024]))).unwrap();
            }
            drop(sender);
            if let Ok(response) = bench.forward(npm, request(npm, Method::POST, "/case", body)).await {
                let _ = whole(response).await;
            }
        }
        Explodes => assert!(bench.forward(npm, request(npm, Method::POST, "/case", Bomb)).await.is_err()),
        StallsSending | BreaksOff => {
            let (sender, body) = feed();
            sender.send(Ok("some".into())).unwrap();
            if client == BreaksOff {
                sender.send(Err(std::io::Error::other("gone"))).unwrap();
            }
            assert!(bench.forward(npm, request(npm, Method::POST, "/case", body)).await.is_err());
        }
        Leaves | GivesUp => {
            let patience = async {
                at.reached().await;
                if client == GivesUp {
                    outlast(SHORT).await;
                }
            };
            tokio::select! {
                // It has to be under way before its client's patience is: it is judged by how long it has lasted itself.
                biased;
                ended = bench.get(npm, "/case") => panic!("{ended:?}"),
                () = patience => {}
            }
        }
        LeavesInBody => {
            let mut response = bench.get(npm, "/case").await.unwrap();
            assert!(soon("a frame", response.body_mut().frame()).await.unwrap().is_ok());
        }
        StallsReading => {
            let response = bench.get(npm, "/case").await.unwrap();
            let record = bench.settled().await;
            drop(response);
            return record;
        }
        PostsAgain => {
            let posted = request(npm, Method::POST, "/case", Empty::<Bytes>::new());
            assert!(bench.forward(npm, posted).await.is_err());
        }
    }
    bench.settled().await
}
