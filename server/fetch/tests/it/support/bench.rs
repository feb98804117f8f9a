//! A fetcher whose breakers run on a manual clock, and everything that was told about its calls.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use fuseboard_breaker::{Breaker, Event, EventSink, ManualClock, Outcome, Panel, Phase, ProbeOutcome, Snapshot, State};
use fuseboard_fetch::{
    Body, CallError, CallObserver, CallRecord, FetchError, Fetcher, FetcherBuilder, ProbeAnswer, Timeouts, Trouble,
    Upstream,
};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::Empty;
use parking_lot::Mutex;
use tokio::sync::mpsc;

use super::{Host, Step, soon};

/// Breaker, reason, path, agent.
pub(crate) type Refusal = (String, String, String, Option<String>);

/// Takes down every call.
pub(crate) struct Book {
    sender: mpsc::UnboundedSender<CallRecord>,
    pub(crate) refused: Mutex<Vec<Refusal>>,
}

impl CallObserver for Book {
    fn settled(&self, call: &CallRecord) {
        // The test may be over already.
        let _ = self.sender.send(call.clone());
    }

    fn refused(&self, breaker: &Arc<str>, reason: &str, path: &str, agent: Option<&str>) {
        let line = (breaker.to_string(), reason.to_owned(), path.to_owned(), agent.map(str::to_owned));
        self.refused.lock().push(line);
    }
}

#[derive(Default)]
pub(crate) struct Facts(pub(crate) Mutex<Vec<Event>>);

impl EventSink for Facts {
    fn record(&self, event: Event) {
        self.0.lock().push(event);
    }
}

pub(crate) struct Bench {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) panel: Panel,
    pub(crate) fetcher: Fetcher,
    pub(crate) book: Arc<Book>,
    pub(crate) facts: Arc<Facts>,
    records: tokio::sync::Mutex<mpsc::UnboundedReceiver<CallRecord>>,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with(|builder| builder)
    }

    pub(crate) fn with(change: impl FnOnce(FetcherBuilder) -> FetcherBuilder) -> Self {
        let clock = Arc::new(ManualClock::default());
        let facts = Arc::new(Facts::default());
        let panel = Panel::new(100, clock.clone(), facts.clone());
        let (sender, records) = mpsc::unbounded_channel();
        let book = Arc::new(Book { sender, refused: Mutex::default() });
        let builder = Fetcher::builder(panel.clone(), clock.clone()).observer(book.clone()).via("fuse-test");
        let fetcher = change(builder).build();
        Self { clock, panel, fetcher, book, facts, records: tokio::sync::Mutex::new(records) }
    }

    pub(crate) fn breaker(&self, id: &str) -> Breaker {
        self.panel.get(id).unwrap_or_else(|| panic!("there is no breaker {id}"))
    }

    pub(crate) fn snapshot(&self, host: &Host) -> Snapshot {
        self.breaker(&host.breaker()).snapshot()
    }

    pub(crate) fn state(&self, host: &Host) -> State {
        self.snapshot(host).state
    }

    /// The next call to be settled.
    pub(crate) async fn settled(&self) -> CallRecord {
        let mut records = self.records.lock().await;
        soon("a verdict", records.recv()).await.unwrap()
    }

    /// Outcome and phase of the next call to be settled.
    pub(crate) async fn verdict(&self) -> (Outcome, Option<Phase>) {
        let record = self.settled().await;
        match record.outcome {
            ProbeOutcome::Settled(outcome) => (outcome, record.phase),
            other => panic!("settled as {other:?}"),
        }
    }

    /// Whether nothing was settled that has not been asked for.
    pub(crate) async fn quiet(&self) -> bool {
        self.records.lock().await.try_recv().is_err()
    }

    /// A GET through the gateway's door.
    pub(crate) async fn get(&self, upstream: &Arc<Upstream>, path: &str) -> Result<Response<Body>, CallError> {
        self.call(upstream, Method::GET, path).await
    }

    pub(crate) async fn call(
        &self,
        upstream: &Arc<Upstream>,
        method: Method,
        path: &str,
    ) -> Result<Response<Body>, CallError> {
        let what = format!("an answer to {method} {path}");
        let request = request(upstream, method, path, Empty::<Bytes>::new());
        soon(&what, self.fetcher.forward(upstream, request)).await
    }

    /// Any request through the gateway's door.
    pub(crate) async fn forward<B>(
        &self,
        upstream: &Arc<Upstream>,
        request: Request<B>,
    ) -> Result<Response<Body>, CallError>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        soon("an answer", self.fetcher.forward(upstream, request)).await
    }

    pub(crate) async fn fetch(&self, url: &str) -> Result<Bytes, FetchError> {
        soon(url, self.fetcher.fetch(url)).await
    }

    pub(crate) async fn fetch_with_headers(&self, url: &str, headers: HeaderMap) -> Result<Bytes, FetchError> {
        soon(url, self.fetcher.fetch_with_headers(url, headers)).await
    }

    pub(crate) async fn fetch_observed_with_headers(
        &self,
        url: &str,
        headers: HeaderMap,
    ) -> Result<Response<Body>, FetchError> {
        soon(url, self.fetcher.fetch_observed_with_headers(url, headers)).await
    }

    pub(crate) async fn head(&self, url: &str) -> Result<Response<()>, FetchError> {
        soon(url, self.fetcher.head(url)).await
    }

    pub(crate) async fn probe(&self, upstream: &Arc<Upstream>) -> Result<ProbeAnswer, CallError> {
        soon("a probe's answer", self.fetcher.probe(upstream)).await
    }

    pub(crate) async fn probe_due(&self, upstream: &Arc<Upstream>) -> Result<ProbeAnswer, CallError> {
        soon("a due probe's answer", self.fetcher.probe_due(upstream)).await
    }

    /// Opens the breaker of a host that answers 503.
    pub(crate) async fn trip(&self, upstream: &Arc<Upstream>) {
        for _ in 0..5 {
            let response = self.get(upstream, "/").await.unwrap();
            assert_eq!(response.status(), 503);
            self.settled().await;
        }
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }
}

/// A request as the gateway makes it: the upstream's absolute address, path and query as received.
pub(crate) fn request<B>(upstream: &Upstream, method: Method, path: &str, body: B) -> Request<B> {
    let base = upstream.url.as_str().trim_end_matches('/');
    Request::builder().method(method).uri(format!("{base}{path}")).body(body).unwrap()
}

/// An upstream with timeouts far beyond the test's own deadline, to be shortened by those who want one to pass.
pub(crate) fn upstream(url: &str, change: impl FnOnce(&mut Upstream)) -> Arc<Upstream> {
    let long = Duration::from_secs(120);
    let mut upstream = Upstream::plain("npm", url).unwrap();
    upstream.timeouts =
        Timeouts { connect: long, first_byte: long, between_bytes: long, client_idle: long, total: long };
    change(&mut upstream);
    Arc::new(upstream)
}

/// Lets this much time pass: a call to a host that never answers ends by its own timeout.
pub(crate) async fn outlast(time: Duration) {
    let bench = Bench::new();
    let host = Host::start(|_| vec![Step::Hang]).await;
    let silent = upstream(&host.url("/"), |upstream| upstream.timeouts.first_byte = time);
    let ended = soon("the timeout", bench.get(&silent, "/")).await;
    assert!(matches!(ended, Err(CallError::Failed { trouble: Trouble::Timeout, .. })), "{ended:?}");
}

/// A timeout that is meant to pass.
pub(crate) const SHORT: Duration = Duration::from_millis(80);

/// One that is meant to be kept where only a host that is slow on purpose may miss it, on a busy machine too.
pub(crate) const AMPLE: Duration = Duration::from_secs(1);

/// A request's body that the test sends piece by piece; let go of the sender, it ends. An `Err` is our client's own end.
pub(crate) struct Feed(mpsc::UnboundedReceiver<Result<Bytes, std::io::Error>>);

pub(crate) type Feeder = mpsc::UnboundedSender<Result<Bytes, std::io::Error>>;

pub(crate) fn feed() -> (Feeder, Feed) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (sender, Feed(receiver))
}

impl http_body::Body for Feed {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
        self.0.poll_recv(cx).map(|data| data.map(|data| data.map(http_body::Frame::data)))
    }
}
