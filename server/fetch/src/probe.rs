//! Probes we send ourselves: an operator's, or the one of an upstream that nobody calls. They pass no queue and follow no
//! redirect; whatever the host does is an answer.

use std::{sync::Arc, time::Duration};

use fuseboard_breaker::{Breaker, OwnedPermit, Phase, ProbeOutcome, Refused};
use http::{
    HeaderMap, HeaderValue, Method,
    header::{CONTENT_TYPE, TE, USER_AGENT},
    uri::PathAndQuery,
};
use http_body_util::Full;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::{
    call::{Call, Intent},
    error::CallError,
    forward::Core,
    grpc::{Exchange, health},
    hop::{Hop, Outgoing},
    observe::{CallObserver, CallRecord, Desk},
    origin::redact_path,
    upload::{RequestBody, Sent},
    upstream::{ActiveProbe, Protocol, Upstream},
};

/// What a probe found.
#[derive(Debug, Clone)]
pub struct ProbeAnswer {
    /// Which breaker.
    pub breaker: Arc<str>,
    /// The method it was asked with.
    pub method: Method,
    /// The path it was asked for, query values redacted.
    pub path: String,
    /// What it proved.
    pub outcome: ProbeOutcome,
    /// The status, if the host answered; of a gRPC call its code.
    pub status: Option<u16>,
    /// The gRPC code by its name.
    pub code: Option<&'static str>,
    /// Where it ended, if it failed.
    pub phase: Option<Phase>,
    /// What went wrong, in words.
    pub error: Option<String>,
    /// How long it took.
    pub duration: Duration,
}

/// Read of a probe's answer at most.
const PROBE_BODY: usize = 1 << 20;

impl Core {
    /// Sends a probe with the permit `acquire` gets for it.
    pub(crate) async fn probe(
        &self,
        upstream: &Arc<Upstream>,
        acquire: impl Fn(&Breaker) -> Result<OwnedPermit, Refused>,
    ) -> Result<ProbeAnswer, CallError> {
        let seat = self.seat(upstream)?;
        let Question { method, path, headers, body, exchange } = Question::new(upstream)?;
        let nobody = HeaderMap::new();
        let breaker = self.breaker(&seat, &seat.target.id, &path, &nobody)?;
        let permit = acquire(&breaker).inspect_err(|refused| self.refused(refused, &path, &nobody))?;
        let started = Instant::now();
        let witness = Arc::new(Witness { behind: self.desk.observer.clone(), seen: Mutex::new(None) });
        let desk = Arc::new(Desk { clock: Arc::clone(&self.desk.clock), observer: Some(witness.clone()) });
        let intent = Intent { method: method.clone(), path: path.clone(), synthetic: true };
        let shown = redact_path(&path).into_owned();
        let mut call = Call::new(permit, upstream, &desk, intent);
        if let Some(exchange) = exchange {
            call.speaks(exchange);
        }
        let spare = headers.clone();
        let hop = Hop { target: &seat.target, pool: &seat.pool, via: &self.via, home: true };
        let out = Outgoing { path, headers, body, spare: &spare, resolved: None };
        let error = match hop.run(call, out).await {
            Ok(response) => response.into_body().wind_up(PROBE_BODY).await.err().map(|error| error.to_string()),
            Err(CallError::Failed { error, .. }) => Some(error),
            Err(error @ CallError::Stale { .. }) => Some(error.to_string()),
            Err(other) => return Err(other),
        };
        let seen = witness.seen.lock().take();
        let error = error.or_else(|| seen.as_ref().and_then(|call| call.error.as_deref().map(str::to_owned)));
        Ok(ProbeAnswer {
            breaker: Arc::clone(&seat.target.id),
            method,
            path: shown,
            outcome: seen.as_ref().map_or(ProbeOutcome::Cancelled, |call| call.outcome),
            status: seen.as_ref().and_then(|call| call.status),
            code: seen.as_ref().and_then(|call| call.code),
            phase: seen.as_ref().and_then(|call| call.phase),
            error,
            duration: started.elapsed(),
        })
    }
}

/// What we call ourselves when nobody else asks.
pub(crate) fn agent() -> HeaderValue {
    HeaderValue::from_static(concat!("fuseboard/", env!("CARGO_PKG_VERSION")))
}

/// What is asked.
struct Question {
    method: Method,
    path: PathAndQuery,
    headers: HeaderMap,
    body: RequestBody,
    exchange: Option<Exchange>,
}

impl Question {
    fn new(upstream: &Upstream) -> Result<Self, CallError> {
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, agent());
        if upstream.protocol == Protocol::Grpc {
            return Ok(Self::health(upstream, headers));
        }
        let (method, path) = match &upstream.active_probe {
            Some(ActiveProbe::Http { method, path }) => (method.clone(), path.as_str()),
            _ => match &upstream.url[url::Position::BeforePath..url::Position::AfterQuery] {
                "" => (Method::HEAD, "/"),
                path => (Method::HEAD, path),
            },
        };
        let bad = |message: String| CallError::BadRequest { message: format!("active_probe.path: {message}") };
        if !path.starts_with('/') {
            return Err(bad(format!("{path:?} does not start with a slash")));
        }
        let path = PathAndQuery::try_from(path).map_err(|error| bad(error.to_string()))?;
        Ok(Self { method, path, headers, body: RequestBody::EMPTY, exchange: None })
    }

    fn health(upstream: &Upstream, mut headers: HeaderMap) -> Self {
        let service = match &upstream.active_probe {
            Some(ActiveProbe::Health { service }) => service.as_str(),
            _ => "",
        };
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert(TE, HeaderValue::from_static("trailers"));
        let (body, sent) = Sent::new(Full::new(health::question(service)));
        let (method, path) = (Method::POST, PathAndQuery::from_static(health::CHECK));
        Self { method, path, headers, body, exchange: Some(Exchange::checking(sent)) }
    }
}

/// Remembers what became of one call.
struct Witness {
    behind: Option<Arc<dyn CallObserver>>,
    seen: Mutex<Option<CallRecord>>,
}

impl CallObserver for Witness {
    fn settled(&self, call: &CallRecord) {
        *self.seen.lock() = Some(call.clone());
        if let Some(behind) = &self.behind {
            behind.settled(call);
        }
    }

    fn refused(&self, breaker: &Arc<str>, reason: &str, path: &str, agent: Option<&str>) {
        if let Some(behind) = &self.behind {
            behind.refused(breaker, reason, path, agent);
        }
    }
}
