//! The front door.
use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use fuseboard_breaker::{Clock, Panel, Phase, Policy, ProbeOutcome, State};
use http::{HeaderMap, Request, Response};

use crate::{
    body::Body,
    error::{CallError, FetchError},
    observe::CallObserver,
    upstream::Upstream,
};

/// Fetches through breakers. Cloning shares it.
#[derive(Clone)]
pub struct Fetcher(Arc<Inner>);

struct Inner {
    panel: Panel,
}

/// Makes a [`Fetcher`].
pub struct FetcherBuilder {
    panel: Panel,
}

/// What a probe found.
#[derive(Debug, Clone)]
pub struct ProbeAnswer {
    /// Which breaker.
    pub breaker: Arc<str>,
    /// What it proved.
    pub outcome: ProbeOutcome,
    /// The status, if the host answered.
    pub status: Option<u16>,
    /// Where it ended, if it failed.
    pub phase: Option<Phase>,
    /// What went wrong, in words.
    pub error: Option<String>,
    /// How long it took.
    pub duration: Duration,
}

impl Fetcher {
    /// Starts a builder.
    pub fn builder(panel: Panel, _clock: Arc<dyn Clock>) -> FetcherBuilder {
        FetcherBuilder { panel }
    }

    /// The bytes of a URL.
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
    pub async fn fetch_with_headers(&self, _url: &str, _headers: HeaderMap) -> Result<Bytes, FetchError> {
        Ok(Bytes::new())
    }

    /// Status, headers and body.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub async fn fetch_observed_with_headers(
        &self,
        _url: &str,
        _headers: HeaderMap,
    ) -> Result<Response<Body>, FetchError> {
        Ok(Response::new(Body::default()))
    }

    /// Status and headers alone.
    ///
    /// # Errors
    /// See [`FetchError`].
    pub async fn head(&self, _url: &str) -> Result<Response<()>, FetchError> {
        Ok(Response::new(()))
    }

    /// Every breaker's automatic state, by id.
    pub fn states(&self) -> Vec<(Arc<str>, State)> {
        self.0.panel.breakers().iter().map(|breaker| (breaker.id().clone(), breaker.snapshot().state)).collect()
    }

    /// The gateway's way in: the request's URI is already the upstream's absolute one.
    ///
    /// # Errors
    /// See [`CallError`].
    pub async fn forward<B>(&self, _upstream: &Arc<Upstream>, _request: Request<B>) -> Result<Response<Body>, CallError>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        Err(CallError::QueueFull)
    }

    /// An operator's probe, outside the wait.
    ///
    /// # Errors
    /// The breaker refuses.
    pub async fn probe(&self, _upstream: &Arc<Upstream>) -> Result<ProbeAnswer, CallError> {
        Err(CallError::PanelFull)
    }

    /// The probe of an upstream that nobody calls, when its wait is over.
    ///
    /// # Errors
    /// The breaker refuses.
    pub async fn probe_due(&self, _upstream: &Arc<Upstream>) -> Result<ProbeAnswer, CallError> {
        Err(CallError::PanelFull)
    }
}

impl FetcherBuilder {
    /// Who counts calls.
    #[must_use]
    pub fn observer(self, _observer: Arc<dyn CallObserver>) -> Self {
        self
    }

    /// What this gateway calls itself in `Via`; a request that already carries it is a loop.
    #[must_use]
    pub fn via(self, _pseudonym: &str) -> Self {
        self
    }

    /// The policy of breakers made for URLs no upstream names.
    #[must_use]
    pub fn policy(self, _policy: Policy) -> Self {
        self
    }

    /// Builds it.
    pub fn build(self) -> Fetcher {
        Fetcher(Arc::new(Inner { panel: self.panel }))
    }
}
