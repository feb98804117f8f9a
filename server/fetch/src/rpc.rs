//! From a gRPC request to its one hop: no redirect, no second attempt but for what the host never looked at, and the
//! caller's deadline over all of it. The answer streams, and is judged at its end.

use fuseboard_breaker::{Breaker, Mode, tower::HeldOpen};
use http::{HeaderValue, Response, header::TE, request::Parts, uri::PathAndQuery};
use tokio::time::{Instant, timeout_at};

use crate::{
    body::Body,
    call::{Call, Intent},
    error::{CallError, Guard},
    forward::{Core, Seat},
    grpc::{self, Exchange},
    headers::strip,
    hop::{Hop, Outgoing},
    timing::after,
    upload::{RequestBody, Sent},
};

impl Core {
    /// Sends a gRPC request on its way.
    pub(crate) async fn call_grpc(
        &self,
        seat: &Seat,
        parts: Parts,
        (body, sent): (RequestBody, Sent),
    ) -> Result<Response<Body>, CallError> {
        let given = fuseboard_breaker::grpc::timeout(&parts.headers);
        let Some(given) = given else { return self.one(seat, parts, (body, sent), None).await };
        let breaker = seat.target.id.clone();
        let deadline = after(Instant::now(), given);
        if given.is_zero() {
            return Err(CallError::Deadline { breaker });
        }
        // Let go of at the deadline, the call finds out by itself whose it was.
        let call = self.one(seat, parts, (body, sent), Some(deadline));
        timeout_at(deadline, call).await.unwrap_or(Err(CallError::Deadline { breaker }))
    }

    async fn one(
        &self,
        seat: &Seat,
        parts: Parts,
        (body, sent): (RequestBody, Sent),
        deadline: Option<Instant>,
    ) -> Result<Response<Body>, CallError> {
        let Parts { method, uri, version, mut headers, .. } = parts;
        let upstream = &seat.upstream;
        if self.via.signed(&headers) {
            return Err(Guard::Loop.into());
        }
        strip(&mut headers);
        headers.insert(TE, HeaderValue::from_static("trailers"));
        self.via.sign(&mut headers, version);
        let path = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        let place = self.enter(seat, &path, &headers).await?;
        let (breaker, resolved) = self.admitted(seat, (&seat.target, &seat.pool), (&path, &headers)).await?;
        let counted = grpc::service(path.path())
            .is_none_or(|service| !upstream.classify.uncounted.iter().any(|aside| aside == service));
        let intent = Intent { method, path: path.clone(), synthetic: false };
        let mut call = if counted || held_open(&breaker) {
            let permit = breaker.try_acquire_owned().inspect_err(|refused| self.refused(refused, &path, &headers))?;
            Call::new(permit, upstream, &self.desk, intent)
        } else {
            Call::uncounted(&breaker, upstream, &self.desk, intent)
        };
        // What the host gets of the deadline is what the queue left of it.
        let left = |deadline: Instant| (deadline.saturating_duration_since(Instant::now()), deadline);
        call.speaks(Exchange::new(sent, deadline.map(left)));
        call.keep(place);
        let spare = headers.clone();
        let hop = Hop { target: &seat.target, pool: &seat.pool, via: &self.via, home: true };
        let out = Outgoing { path, headers, body, spare: &spare, resolved };
        if counted {
            return hop.run(call, out).await;
        }
        tokio::select! {
            biased;
            refused = HeldOpen::new(&breaker) => Err(refused.into()),
            answer = hop.run(call, out) => answer,
        }
    }
}

/// Reading takes no permit and moves nothing.
fn held_open(breaker: &Breaker) -> bool {
    breaker.snapshot().held.is_some_and(|held| held.mode == Mode::ForcedOpen)
}
