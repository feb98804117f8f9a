//! One attempt against one host, permit in hand: a connection, the request, the response's head. Every end is judged
//! here or, when the future is dropped at one of its awaits, by the [`Call`] it owns.

use std::{
    future::{Future, poll_fn},
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use fuseboard_breaker::{Phase, Why};
use http::{
    HeaderMap, Method, Request, Response, StatusCode, Uri, Version,
    header::{CONTENT_LENGTH, HOST},
    uri::{PathAndQuery, Scheme},
};
use hyper::body::Incoming;
use tokio::time::Instant;

use crate::{
    body::Body,
    call::Call,
    classify::{closed_by_host, in_words, never_processed, trouble},
    client::{Answer, Conn, ConnectError, Pool, Resolved},
    error::{CallError, Trouble},
    grpc::Exchange,
    headers::{Via, is_coded, strip},
    origin::Target,
    timing::{Due, after, earlier},
    upload::{RequestBody, Turn},
    upstream::Upstream,
};

/// A pooled connection that was closed while idle says so at once; one that breaks later broke under our request.
const STALE_WITHIN: Duration = Duration::from_secs(1);

/// Where an attempt goes.
pub(crate) struct Hop<'a> {
    pub(crate) target: &'a Target,
    pub(crate) pool: &'a Arc<Pool>,
    pub(crate) via: &'a Via,
    /// Whether this is the upstream's own origin, the only one to see its configured headers.
    pub(crate) home: bool,
}

/// What is sent, already free of what belongs to the connection it came in on.
pub(crate) struct Outgoing<'a> {
    pub(crate) path: PathAndQuery,
    pub(crate) headers: HeaderMap,
    pub(crate) body: RequestBody,
    /// The headers once more, in case the request has to be sent twice.
    pub(crate) spare: &'a HeaderMap,
    /// Where the host is, if that was looked up already.
    pub(crate) resolved: Option<Resolved>,
}

impl Hop<'_> {
    /// Makes the attempt.
    pub(crate) async fn run(&self, mut call: Call, out: Outgoing<'_>) -> Result<Response<Body>, CallError> {
        let Outgoing { path, mut headers, mut body, spare, mut resolved } = out;
        let mut again = false;
        loop {
            let mut conn = self.connect(&mut call, again, resolved.take()).await?;
            let h2 = conn.is_h2();
            self.dress(&mut headers, &call.upstream, h2);
            let upload = body.upload().cloned();
            let kept = body.sent();
            let mut request = Request::new(body);
            *request.method_mut() = call.method().clone();
            *request.uri_mut() = self.uri(&path, h2)?;
            *request.headers_mut() = headers;
            let sent = Instant::now();
            call.sends(sent, upload.as_ref());
            let sending = pin!(conn.send(request));
            let answer = match wait(&mut call, &mut conn, sending).await {
                Ok(answer) => answer,
                Err(due) => return Err(self.late(&mut call, due)),
            };
            let mut failed = match answer {
                Ok(response) => {
                    conn.answered();
                    if let Some(kept) = &kept {
                        kept.seen();
                    }
                    let Some((error, trouble)) = unfit(&response) else {
                        return Ok(self.answered(call, conn, response));
                    };
                    call.fail(Phase::Head, error);
                    let breaker = Arc::clone(call.breaker());
                    return Err(CallError::Failed { breaker, phase: Phase::Head, error: error.to_owned(), trouble });
                }
                Err(failed) => failed,
            };
            let unsent = failed.take_message();
            let error = failed.into_error();
            // Nobody has seen the request: it is as if another connection had been picked in the first place.
            let unseen = unsent.is_some() && conn.reused || never_processed(&error);
            let stale = unseen || conn.reused && closed_by_host(&error) && sent.elapsed() < STALE_WITHIN;
            let repeatable = unseen || call.method().is_idempotent();
            if stale && !again {
                if let Some(request) = unsent {
                    let (parts, whole) = request.into_parts();
                    (again, headers, body) = (true, parts.headers, whole);
                    continue;
                }
                let same = match kept {
                    _ if !repeatable => None,
                    None => Some(RequestBody::EMPTY),
                    Some(kept) => kept.again(),
                };
                if let Some(same) = same {
                    (again, headers, body) = (true, spare.clone(), same);
                    continue;
                }
            }
            // Refused for the second time it still was not looked at.
            return Err(self.failed(&mut call, &error, stale && !again || never_processed(&error)));
        }
    }

    async fn connect(&self, call: &mut Call, fresh: bool, resolved: Option<Resolved>) -> Result<Conn, CallError> {
        let timeouts = &call.upstream.timeouts;
        let limit = timeouts.connect.min(timeouts.total);
        match self.pool.checkout(limit, fresh, resolved).await {
            Ok(conn) => Ok(conn),
            Err(ConnectError::Guard(guard)) => {
                call.ignore(Why::OwnGuard, Some(&guard.to_string()));
                Err(CallError::OwnGuard(guard))
            }
            Err(ConnectError::Failed { phase, error, trouble }) => {
                call.fail(phase, &error);
                Err(CallError::Failed { breaker: Arc::clone(call.breaker()), phase, error, trouble })
            }
        }
    }

    /// What this host alone gets to see: its own name and the headers configured for it.
    fn dress(&self, headers: &mut HeaderMap, upstream: &Upstream, h2: bool) {
        if self.home && !upstream.headers.is_empty() {
            for name in upstream.headers.keys() {
                headers.remove(name);
            }
            headers.extend(upstream.headers.clone());
        }
        if h2 {
            headers.remove(HOST);
        } else {
            headers.insert(HOST, self.target.authority.clone());
        }
    }

    fn uri(&self, path: &PathAndQuery, h2: bool) -> Result<Uri, CallError> {
        if !h2 {
            return Ok(Uri::from(path.clone()));
        }
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(if self.target.https { Scheme::HTTPS } else { Scheme::HTTP });
        parts.authority = Some(self.target.uri_authority.clone());
        parts.path_and_query = Some(path.clone());
        Uri::from_parts(parts).map_err(|error| CallError::BadRequest { message: error.to_string() })
    }

    fn answered(&self, mut call: Call, conn: Conn, response: Response<Incoming>) -> Response<Body> {
        let (mut parts, incoming) = response.into_parts();
        call.answered(parts.status, &parts.headers);
        strip(&mut parts.headers);
        self.via.sign(&mut parts.headers, parts.version);
        parts.version = Version::HTTP_11;
        if matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
            // It would tell of a body that is not there, and our own server could not frame the response.
            parts.headers.remove(CONTENT_LENGTH);
        }
        let bare = *call.method() == Method::HEAD
            || matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
            || http_body::Body::is_end_stream(&incoming);
        if !bare {
            return Response::from_parts(parts, Body::live(incoming, call, conn));
        }
        call.complete();
        if call.upload().is_none_or(|upload| upload.is_done()) {
            conn.give_back();
        }
        Response::from_parts(parts, Body::empty(call.take_place()))
    }

    fn late(&self, call: &mut Call, due: Due) -> CallError {
        let timeouts = &call.upstream.timeouts;
        let phase = if matches!(call.turn(), Turn::Done(_)) { Phase::Head } else { Phase::Send };
        let error = match due {
            Due::Client => {
                call.ignore(Why::ClientGone, Some("the client stopped sending"));
                return CallError::ClientGone;
            }
            Due::Deadline => {
                call.outlived_deadline();
                return CallError::Deadline { breaker: Arc::clone(call.breaker()) };
            }
            Due::FirstByte => format!("no response within {:?}", timeouts.first_byte),
            Due::Between => format!("the host took no byte of the request for {:?}", timeouts.between_bytes),
            Due::Total => format!("no response before the call was {:?} old", timeouts.total),
        };
        call.fail(phase, &error);
        CallError::Failed { breaker: Arc::clone(call.breaker()), phase, error, trouble: Trouble::Timeout }
    }

    fn failed(&self, call: &mut Call, error: &hyper::Error, stale: bool) -> CallError {
        let words = in_words(error);
        if call.turn() == Turn::Broken {
            call.broken_off(&words);
            return CallError::ClientGone;
        }
        let breaker = Arc::clone(call.breaker());
        if stale {
            call.ignore(Why::StaleConnection, Some(&words));
            return CallError::Stale { breaker };
        }
        let trouble = trouble(error);
        let phase = match call.turn() {
            Turn::Panicked => Phase::Panic,
            // Whatever is wrong with an answer, there was one.
            _ if matches!(trouble, Trouble::Malformed | Trouble::HeadTooLarge) => Phase::Head,
            Turn::Done(_) => Phase::Head,
            _ => Phase::Send,
        };
        call.fail(phase, &words);
        CallError::Failed { breaker, phase, error: words, trouble }
    }
}

/// Why an answer cannot be handed on, whatever else it says.
fn unfit(response: &Response<Incoming>) -> Option<(&'static str, Trouble)> {
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Some(("the host switched protocols although nobody asked it to", Trouble::Switched));
    }
    is_coded(response.headers()).then_some(("the host used a transfer coding nobody asked for", Trouble::Malformed))
}

/// Waits for the response's head, or for somebody's patience to end.
async fn wait(
    call: &mut Call,
    conn: &mut Conn,
    mut sending: Pin<&mut impl Future<Output = Answer>>,
) -> Result<Answer, Due> {
    let mut seen = None;
    poll_fn(|cx| {
        call.polling = true;
        let polled = conn.look(cx, |cx| sending.as_mut().poll(cx));
        call.polling = false;
        if let Poll::Ready(answer) = polled {
            return Poll::Ready(Ok(answer));
        }
        if let (true, Some(upload)) = (call.probe, call.upload()) {
            upload.notify(cx.waker());
            let turn = upload.turn();
            if seen.replace(turn) != Some(turn) {
                let client = call.exchange().is_none_or(Exchange::is_for_client_to_speak);
                call.moved(client && matches!(turn, Turn::Client(_)));
            }
        }
        loop {
            let (at, due) = due(call);
            let sending = !matches!(call.turn(), Turn::Done(_));
            let look = if sending {
                // Who is waited for may change without anybody waking us: look again before either could be due.
                let timeouts = &call.upstream.timeouts;
                let soon = timeouts.between_bytes.min(timeouts.client_idle).min(timeouts.first_byte);
                at.min(after(Instant::now(), soon))
            } else {
                at
            };
            if conn.timer.poll(look, cx).is_pending() {
                return Poll::Pending;
            }
            if at <= Instant::now() {
                return Poll::Ready(Err(due));
            }
        }
    })
    .await
}

fn due(call: &Call) -> (Instant, Due) {
    let timeouts = &call.upstream.timeouts;
    let waited = call.upload().map(|upload| upload.waited()).unwrap_or_default();
    let total = (after(call.started(), timeouts.total.saturating_add(waited)), Due::Total);
    if let Some(exchange) = call.exchange() {
        return match (exchange.budget, call.turn()) {
            (Some((_, deadline)), _) => earlier((deadline, Due::Deadline), total),
            (None, Turn::Client(since)) if exchange.sent().is_partial() => {
                (after(since, timeouts.client_idle), Due::Client)
            }
            (None, Turn::Client(_)) => total,
            (None, Turn::Host(since)) => earlier((after(since, timeouts.between_bytes), Due::Between), total),
            (None, Turn::Done(since) | Turn::Dropped(since)) => {
                earlier((after(since, timeouts.first_byte), Due::FirstByte), total)
            }
            (None, Turn::Broken | Turn::Panicked) => total,
        };
    }
    match call.turn() {
        Turn::Client(since) => {
            let patience = timeouts.client_idle;
            (after(since, call.upload().map_or(patience, |upload| upload.left(patience))), Due::Client)
        }
        Turn::Host(since) => earlier((after(since, timeouts.between_bytes), Due::Between), total),
        Turn::Done(since) | Turn::Dropped(since) => earlier((after(since, timeouts.first_byte), Due::FirstByte), total),
        Turn::Broken | Turn::Panicked => total,
    }
}
