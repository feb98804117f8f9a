//! Rules 28 and 34: what a name leads to, as a resolver of the test's own says.

use std::{
    future::pending,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use fuseboard_breaker::{Outcome, Phase, Policy};
use fuseboard_fetch::{CallError, Guard, Resolve, Resolving, Trouble};

use crate::support::{
    Bench, Host, Step,
    bench::{SHORT, upstream},
    host::send,
};

const OK: &str = "HTTP/1.1 200 OK\ncontent-length: 2\n\nok";

/// Gives its answers one after the other, the last one for ever; none at all is a name nobody answers for.
pub(crate) struct Names {
    answers: Mutex<Vec<io::Result<Vec<SocketAddr>>>>,
    pub(crate) asked: Mutex<Vec<String>>,
}

impl Names {
    pub(crate) fn new(mut answers: Vec<io::Result<Vec<SocketAddr>>>) -> Arc<Self> {
        answers.reverse();
        Arc::new(Self { answers: Mutex::new(answers), asked: Mutex::default() })
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

impl Resolve for Names {
    fn resolve(&self, host: Arc<str>, port: u16) -> Resolving {
        self.asked.lock().unwrap().push(format!("{host}:{port}"));
        match self.answers.lock().unwrap().pop() {
            Some(answer) => Box::pin(async move { answer }),
            None => Box::pin(pending()),
        }
    }
}

fn bench(names: &Arc<Names>) -> Bench {
    let names = Arc::clone(names);
    Bench::with(|builder| builder.resolver(names))
}

/// An address of the ranges kept for documentation: nobody is there.
fn nobody(port: u16) -> SocketAddr {
    SocketAddr::from(([203, 0, 113, 1], port))
}

#[tokio::test]
async fn r34_a_name_is_resolved_once_and_connected_to_as_it_was_judged() {
    let inner = Host::answering(OK).await;
    // Judged, it is an address outside; called, it would be one inside.
    let names = Names::new(vec![Ok(vec![nobody(inner.address.port())]), Ok(vec![inner.address])]);
    let bench = bench(&names);
    let location = format!("http://rebound.example:{}/secrets", inner.address.port());
    let host = Host::start(move |_| {
        vec![send(&format!("HTTP/1.1 302 Found\nlocation: {location}\ncontent-length: 0\n\n")), Step::ReadBody]
    })
    .await;
    let npm = upstream(&host.url("/"), |upstream| {
        upstream.redirects.hosts = vec!["*".to_owned()];
        upstream.timeouts.connect = SHORT;
    });
    let ended = bench.get(&npm, "/").await;
    assert!(matches!(ended, Err(CallError::Failed { phase: Phase::Connect, .. })), "{ended:?}");
    assert_eq!(names.asked(), [format!("rebound.example:{}", inner.address.port())]);
    assert_eq!(inner.connections(), 0);
}

#[tokio::test]
async fn r34_one_inner_address_among_several_stops_the_call() {
    let inner = Host::answering(OK).await;
    let port = inner.address.port();
    let names = Names::new(vec![Ok(vec![nobody(port), inner.address])]);
    let bench = bench(&names);
    let npm = upstream(&format!("http://mixed.example:{port}/"), |_| {});
    let ended = bench.get(&npm, "/").await;
    assert!(matches!(ended, Err(CallError::OwnGuard(Guard::ProhibitedAddress { .. }))), "{ended:?}");
    assert_eq!((inner.connections(), bench.fetcher.states()), (0, vec![]));
}

#[tokio::test]
async fn r28_a_name_that_cannot_be_resolved_is_a_failure_whether_or_not_the_host_is_known() {
    for known in [false, true] {
        let nxdomain = || Err(io::Error::other("no such name"));
        let names = Names::new(vec![nxdomain(), nxdomain()]);
        let bench = bench(&names);
        if known {
            bench.panel.get_or_create("http:gone.example", &Policy::registry()).unwrap();
        }
        let npm = upstream("http://gone.example/", |_| {});
        let ended = bench.get(&npm, "/").await;
        assert!(
            matches!(ended, Err(CallError::Failed { phase: Phase::Dns, trouble: Trouble::Other, .. })),
            "{ended:?}"
        );
        assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Dns)));
        assert_eq!(names.asked().len(), 1, "known: {known}");
    }
}

#[tokio::test]
async fn r28_a_resolver_that_does_not_answer_is_waited_for_once() {
    let names = Names::new(vec![]);
    let bench = bench(&names);
    let npm = upstream("http://silent.example/", |upstream| upstream.timeouts.connect = SHORT);
    let ended = bench.get(&npm, "/").await;
    assert!(matches!(ended, Err(CallError::Failed { phase: Phase::Dns, trouble: Trouble::Timeout, .. })), "{ended:?}");
    assert_eq!(bench.verdict().await, (Outcome::Failure, Some(Phase::Dns)));
    assert_eq!(names.asked().len(), 1);
}
