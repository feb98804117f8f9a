//! Rule 34: where a redirect or a name leads to is looked at before anybody connects.

use fuseboard_breaker::{Outcome, Policy, ProbeOutcome, State};
use fuseboard_fetch::{CallError, FetchError, Guard};

use crate::support::{Bench, Host, Step, bench::upstream, host::send};

const OK: &str = "HTTP/1.1 200 OK\ncontent-length: 2\n\nok";

async fn redirecting(location: String) -> Host {
    let answer = format!("HTTP/1.1 302 Found\nlocation: {location}\ncontent-length: 0\n\n");
    Host::start(move |_| vec![send(&answer), Step::ReadBody]).await
}

#[tokio::test]
async fn r34_a_redirect_into_our_own_network_is_stopped_and_proves_nothing() {
    for by_name in [false, true] {
        let bench = Bench::new();
        let inner = Host::answering(OK).await;
        let port = inner.address.port();
        let place = if by_name { format!("localhost:{port}") } else { inner.address.to_string() };
        let host = redirecting(format!("http://{place}/secrets")).await;
        let npm = upstream(&host.url("/"), |upstream| upstream.redirects.hosts = vec!["*".to_owned()]);
        let ended = bench.get(&npm, "/").await;
        let Err(CallError::OwnGuard(guard @ Guard::ProhibitedAddress { kind: "loopback", host: named, .. })) = &ended
        else {
            panic!("{ended:?}");
        };
        assert!(place.starts_with(named.as_str()), "{named}");
        assert_eq!((inner.count(), inner.connections()), (0, 0));
        let way = if by_name { "localhost, which leads to " } else { "" };
        let from = host.breaker();
        // The name may lead to either family's.
        let text = guard.to_string().replace("::1", "127.0.0.1");
        assert!(text.starts_with(&format!("{from} redirects to {way}127.0.0.1, a loopback address; ")), "{text}");

        assert_eq!(bench.verdict().await, (Outcome::Success, None));
        assert!(bench.quiet().await, "nothing was proved");
        let breakers: Vec<_> = bench.fetcher.states().into_iter().map(|(id, _)| id.to_string()).collect();
        assert_eq!(breakers, [host.breaker()], "a host that was never called is not on the panel");
    }
}

#[tokio::test]
async fn r28_a_known_host_that_now_leads_into_our_own_network_gets_its_permit_back() {
    let bench = Bench::new();
    let inner = Host::answering(OK).await;
    let place = format!("http:localhost:{}", inner.address.port());
    let known = bench.panel.get_or_create(&place, &Policy::registry()).unwrap();
    let host = redirecting(format!("http://localhost:{}/secrets", inner.address.port())).await;
    let npm = upstream(&host.url("/"), |upstream| upstream.redirects.hosts = vec!["*".to_owned()]);
    let ended = bench.get(&npm, "/").await;
    assert!(matches!(ended, Err(CallError::OwnGuard(Guard::ProhibitedAddress { .. }))), "{ended:?}");
    assert_eq!(bench.verdict().await, (Outcome::Success, None));
    let stopped = bench.settled().await;
    assert_eq!((&*stopped.breaker, stopped.outcome), (&*place, ProbeOutcome::Settled(Outcome::Ignored)));
    let snapshot = known.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.counts.failure, snapshot.state), (0, 0, State::Closed));
    assert_eq!(inner.connections(), 0);
}

#[tokio::test]
async fn r34_the_operators_own_address_is_meant() {
    let bench = Bench::new();
    let host = Host::answering(OK).await;
    for place in [host.address.to_string(), format!("localhost:{}", host.address.port())] {
        let npm = upstream(&format!("http://{place}/"), |_| {});
        assert_eq!(bench.get(&npm, "/").await.unwrap().status(), 200, "{place}");
    }
}

#[tokio::test]
async fn r34_allow_private_lets_redirects_in() {
    let bench = Bench::new();
    let inner = Host::answering(OK).await;
    let host = redirecting(inner.url("/")).await;
    let npm = upstream(&host.url("/"), |upstream| {
        upstream.redirects.hosts = vec!["127.0.0.1".to_owned()];
        upstream.allow_private = true;
    });
    assert_eq!(bench.get(&npm, "/").await.unwrap().status(), 200);
    assert_eq!(inner.count(), 1);
}

#[tokio::test]
async fn r34_a_connection_that_may_not_be_made_is_not_borrowed_from_one_who_may() {
    let bench = Bench::new();
    let inner = Host::answering(OK).await;
    assert_eq!(bench.fetch(&inner.url("/")).await.unwrap(), "ok");
    let host = redirecting(inner.url("/")).await;
    let error = bench.fetch(&host.url("/")).await.unwrap_err();
    assert!(matches!(error, FetchError::OwnGuard(Guard::ProhibitedAddress { .. })), "{error:?}");
    assert_eq!(inner.count(), 1);
}
