//! The front door: fetching by URL for those who use the crate, forwarding for the gateway, probing for its upkeep.

use std::sync::Arc;

use bytes::Bytes;
use fuseboard_breaker::{Breaker, Clock, Panel, Policy, State};
use futures_util::FutureExt;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri, header::USER_AGENT};
use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use url::Url;

use crate::{
    body::Body,
    classify,
    client::{Client, Resolve, System},
    coalesce::{Crowd, Key},
    error::{BodyError, CallError, FetchError, Guard},
    forward::{Core, Landed, Seat, WIND_UP, uri_of},
    headers::Via,
    observe::{CallObserver, Desk},
    origin::redact,
    probe::{ProbeAnswer, agent},
    retry,
    upload::{BoxError, RequestBody, Sent},
    upstream::{Protocol, Timeouts, Upstream, UpstreamError},
};

/// Fetches through breakers, one for each origin. Cloning shares breakers and connections.
#[derive(Clone)]
pub struct Fetcher(Arc<Inner>);

struct Inner {
    core: Core,
    crowd: Arc<Crowd>,
    policy: Policy,
    timeouts: Timeouts,
    max_body: u64,
}

/// Makes a [`Fetcher`].
pub struct FetcherBuilder {
    panel: Panel,
    clock: Arc<dyn Clock>,
    observer: Option<Arc<dyn CallObserver>>,
    via: Via,
    roots: RootCertStore,
    names: Arc<dyn Resolve>,
    policy: Policy,
    timeouts: Timeouts,
    max_body: u64,
}

/// A library caller's bodies are collected up to this size unless it says otherwise.
const MAX_BODY: u64 = 1 << 30;

impl Fetcher {
    /// Starts a builder. Breakers live in `panel`; `clock` gives the times written into records.
    pub fn builder(panel: Panel, clock: Arc<dyn Clock>) -> FetcherBuilder {
        FetcherBuilder {
            panel,
            clock,
            observer: None,
            via: Via::new("fuseboard"),
            roots: RootCertStore::empty(),
            names: Arc::new(System),
            policy: Policy::registry(),
            timeouts: Timeouts::default(),
            max_body: MAX_BODY,
        }
    }

    /// The bytes of a URL.
    ///
    /// ```
    /// # use std::{io::{Read, Write}, net::TcpListener, sync::Arc, thread};
    /// # let server = TcpListener::bind("127.0.0.1:0")?;
    /// # let url = format!("http://{}/lodash", server.local_addr()?);
    /// # thread::spawn(move || {
    /// #     for answer in ["200 OK\r\ncontent-length: 5\r\n\r\nhello", "404 Not Found\r\ncontent-length: 0\r\n\r\n"] {
    /// #         let (mut socket, _) = server.accept().unwrap();
    /// #         let mut request = [0; 4096];
    /// #         let _ = socket.read(&mut request).unwrap();
    /// #         write!(socket, "HTTP/1.1 {answer}").unwrap();
    /// #     }
    /// # });
    /// use fuseboard_breaker::{NoSink, Panel, State, SystemClock};
    /// use fuseboard_fetch::{FetchError, Fetcher};
    ///
    /// # tokio::runtime::Runtime::new()?.block_on(async {
    /// let clock = Arc::new(SystemClock);
    /// let panel = Panel::new(10_000, clock.clone(), Arc::new(NoSink));
    /// let fetcher = Fetcher::builder(panel, clock).build();
    ///
    /// assert_eq!(fetcher.fetch(&url).await?, "hello");
    /// // The host answered, so a missing page is no mark against it.
    /// assert!(matches!(fetcher.fetch(&url).await, Err(FetchError::NotFound { status: 404, .. })));
    /// // Nobody listens there any more: the host is down.
    /// assert!(matches!(fetcher.fetch(&url).await, Err(FetchError::UpstreamDown { .. })));
    ///
    /// let (breaker, state) = &fetcher.states()[0];
    /// assert!(breaker.starts_with("http:127.0.0.1:"));
    /// assert_eq!(*state, State::Closed); // One failure does not trip it.
    /// # Ok::<(), FetchError>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// See [`FetchError`].
    pub async fn fetch(&self, url: &str) -> Result<Bytes, FetchError> {
        self.fetch_with_headers(url, HeaderMap::new()).await
    }

    /// The bytes of a URL, asked for with these headers.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub async fn fetch_with_headers(&self, url: &str, headers: HeaderMap) -> Result<Bytes, FetchError> {
        let (response, breaker) = self.ask(Method::GET, url, headers).await?;
        if !response.status().is_success() {
            let status = response.status().as_u16();
            wind_up(response).await;
            return Err(FetchError::Status { url: self.redacted(url), status });
        }
        let max = self.0.max_body;
        match response.into_body().collect(max).await {
            Ok(Some(bytes)) => Ok(bytes),
            Ok(None) => Err(Guard::TooLarge { max }.into()),
            Err(error) => Err(down(breaker, None, error.to_string())),
        }
    }

    /// Status, headers and body, for statuses below 400. The call is over, and in half-open the probe's permit given
    /// back, when the body has been read to its end or dropped.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub async fn fetch_observed_with_headers(
        &self,
        url: &str,
        headers: HeaderMap,
    ) -> Result<Response<Body>, FetchError> {
        self.ask(Method::GET, url, headers).await.map(|(response, _)| response)
    }

    /// Status and headers alone, asked for with HEAD, for statuses below 400.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub async fn head(&self, url: &str) -> Result<Response<()>, FetchError> {
        self.ask(Method::HEAD, url, HeaderMap::new()).await.map(|(response, _)| response.map(drop))
    }

    /// Every breaker's automatic state, by id.
    pub fn states(&self) -> Vec<(Arc<str>, State)> {
        let breakers = self.0.core.panel.breakers();
        let mut states: Vec<_> =
            breakers.iter().map(|breaker| (Arc::clone(breaker.id()), breaker.snapshot().state)).collect();
        states.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        states
    }

    /// The gateway's way in: the request's URI is already the upstream's absolute one, its path and query as received.
    /// The response streams, and holds its permit until its body ends.
    ///
    /// # Errors
    /// See [`CallError`]; whatever the host answered, a failing status too, is a response.
    pub async fn forward<B>(&self, upstream: &Arc<Upstream>, request: Request<B>) -> Result<Response<Body>, CallError>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let seat = self.0.core.seat(upstream)?;
        let (parts, body) = request.into_parts();
        if upstream.protocol == Protocol::Grpc {
            return self.0.core.call_grpc(&seat, parts, Sent::new(body)).await;
        }
        let body = RequestBody::new(body);
        let Some(key) = Key::new(upstream, &parts, &body) else {
            return retry::call(&self.0.core, &seat, parts, body).await;
        };
        let ask = || {
            let (fetcher, seat, parts) = (self.clone(), Arc::clone(&seat), parts.clone());
            async move { retry::call(&fetcher.0.core, &seat, parts, RequestBody::EMPTY).await }.boxed()
        };
        self.0.crowd.call(key, ask).await
    }

    /// An operator's probe: one request, outside the wait of an open breaker.
    ///
    /// # Errors
    /// The breaker refuses, there is no room for one, or one of our guards stops the call. A probe the host failed is
    /// an answer.
    pub async fn probe(&self, upstream: &Arc<Upstream>) -> Result<ProbeAnswer, CallError> {
        self.0.core.probe(upstream, Breaker::acquire_probe).await
    }

    /// The probe of an upstream nobody calls, once its wait is over.
    ///
    /// # Errors
    /// As [`Fetcher::probe`]; before the wait is over the breaker refuses.
    pub async fn probe_due(&self, upstream: &Arc<Upstream>) -> Result<ProbeAnswer, CallError> {
        self.0.core.probe(upstream, Breaker::try_acquire_owned).await
    }

    /// Asks, and sorts what comes back into answers and errors.
    async fn ask(
        &self,
        method: Method,
        url: &str,
        mut headers: HeaderMap,
    ) -> Result<(Response<Body>, Arc<str>), FetchError> {
        let (seat, uri) = self.seat_for(url)?;
        headers.entry(USER_AGENT).or_insert_with(agent);
        let mut request = Request::new(());
        (*request.method_mut(), *request.uri_mut(), *request.headers_mut()) = (method, uri.clone(), headers);
        let response = self.0.core.call(&seat, request.into_parts().0, RequestBody::EMPTY).await?;
        let at = response.extensions().get().map_or(uri, |Landed(at)| at.clone());
        let status = response.status();
        let breaker: Arc<str> = Url::parse(&at.to_string())
            .map_or_else(|_| Arc::clone(&seat.target.id), |at| crate::origin::breaker_id(&at).into());
        let rules = &seat.upstream.classify;
        let error = match status.as_u16() {
            _ if classify::status(rules, status) == fuseboard_breaker::Outcome::Failure => {
                down(breaker, Some(status), format!("{} answered with status {status}", redact(&at)))
            }
            ..400 => return Ok((response, breaker)),
            404 | 410 => FetchError::NotFound { url: redact(&at), status: status.as_u16() },
            429 => {
                let wish = classify::retry_after(response.headers(), self.0.core.desk.clock.wall());
                FetchError::RateLimited { breaker, retry_in: wish.map(|wish| wish.wait) }
            }
            _ => FetchError::Status { url: redact(&at), status: status.as_u16() },
        };
        wind_up(response).await;
        Err(error)
    }

    fn seat_for(&self, url: &str) -> Result<(Seat, Uri), FetchError> {
        let bad = |message: String| FetchError::BadRequest(message);
        let url = Url::parse(url).map_err(|error| bad(format!("that is no URL: {error}")))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(bad(format!("{:?} is not spoken; it takes http or https", url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(bad("the URL holds a user or password; send an Authorization header".to_owned()));
        }
        let uri = uri_of(&url)?;
        let mut upstream = Upstream::new("fetch".into(), url, Protocol::Http);
        upstream.redirects.hosts = vec!["*".to_owned()];
        (upstream.policy, upstream.timeouts) = (self.0.policy.clone(), self.0.timeouts);
        let seat = self.0.core.make_seat(&Arc::new(upstream))?;
        Ok((seat, uri))
    }

    fn redacted(&self, url: &str) -> String {
        url.parse::<Uri>().map(|uri| redact(&uri)).unwrap_or_default()
    }
}

fn down(breaker: Arc<str>, status: Option<StatusCode>, reason: String) -> FetchError {
    FetchError::UpstreamDown { breaker, retry_in: None, refused: None, status: status.map(|s| s.as_u16()), reason }
}

/// An answer whose body nobody wants is an answer all the same.
async fn wind_up(response: Response<Body>) {
    let ended: Result<(), BodyError> = response.into_body().wind_up(WIND_UP).await;
    if let Err(error) = ended {
        tracing::debug!(%error, "the body of an unwanted answer broke off");
    }
}

impl FetcherBuilder {
    /// Who counts calls.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn CallObserver>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// What this gateway calls itself in `Via`; a request that already carries it is a loop.
    #[must_use]
    pub fn via(mut self, pseudonym: &str) -> Self {
        self.via = Via::new(pseudonym);
        self
    }

    /// Who turns names into addresses, in place of the operating system.
    #[must_use]
    pub fn resolver(mut self, names: Arc<dyn Resolve>) -> Self {
        self.names = names;
        self
    }

    /// The policy of breakers for URLs that no upstream names.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self
    }

    /// The timeouts for URLs that no upstream names.
    #[must_use]
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// The largest body [`Fetcher::fetch`] collects; 1 GiB unless set.
    #[must_use]
    pub fn max_body(mut self, bytes: u64) -> Self {
        self.max_body = bytes;
        self
    }

    /// Certificates (PEM) to trust beside the system's own.
    ///
    /// # Errors
    /// The text holds no certificate, or one that cannot be read.
    pub fn trust_pem(mut self, pem: &[u8]) -> Result<Self, UpstreamError> {
        let fault = |message: String| UpstreamError { field: "trust", message };
        let mut any = false;
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| fault(error.to_string()))?;
            self.roots.add(certificate).map_err(|error| fault(error.to_string()))?;
            any = true;
        }
        if any { Ok(self) } else { Err(fault("holds no certificate; it takes PEM text".to_owned())) }
    }

    /// Builds it.
    pub fn build(self) -> Fetcher {
        let Self { panel, clock, observer, via, roots, names, policy, timeouts, max_body } = self;
        let desk = Arc::new(Desk { clock, observer });
        let core = Core { panel, desk, client: Client::new(roots, names), via, seats: Default::default() };
        Fetcher(Arc::new(Inner { core, crowd: Crowd::new(), policy, timeouts, max_body }))
    }
}
