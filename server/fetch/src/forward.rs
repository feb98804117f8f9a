//! From a request to its last hop: the queue, the breaker of each origin on the way, redirects followed one by one.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use fuseboard_breaker::{Breaker, Panel, Refused, State};
use http::{
    HeaderMap, Method, Response, Uri,
    header::{EXPECT, USER_AGENT},
    request::Parts,
    uri::PathAndQuery,
};
use parking_lot::RwLock;
use url::{Position, Url};

use crate::{
    body::Body,
    budget::Budget,
    call::{Call, Intent},
    client::{Client, ConnectError, Pool, Resolved},
    error::{CallError, Guard, TurnedAway},
    guard::says_prohibited,
    headers::{Via, join_cookies, strip},
    hop::{Hop, Outgoing},
    observe::Desk,
    origin::{self, Target, redact_path},
    queue::{Full, Line, Place},
    redirect,
    upload::RequestBody,
    upstream::{Key, Protocol, Upstream},
};

/// Read of a redirect's own body at most, to keep its connection.
pub(crate) const WIND_UP: usize = 16 * 1024;

/// Among the extensions of a response that redirects were followed to: whose answer it is.
#[derive(Debug, Clone)]
pub struct Landed(pub Uri);

/// Everything a call needs.
pub(crate) struct Core {
    pub(crate) panel: Panel,
    pub(crate) desk: Arc<Desk>,
    pub(crate) client: Client,
    pub(crate) via: Via,
    pub(crate) seats: RwLock<HashMap<Arc<str>, Arc<Seat>>>,
}

/// An upstream as it is at work: its origin, its connections, its queue.
pub(crate) struct Seat {
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) target: Target,
    pub(crate) pool: Arc<Pool>,
    line: Option<Arc<Line>>,
    /// What may be spent on retries.
    pub(crate) budget: Arc<Budget>,
}

impl Seat {
    /// Waits for a place among those in flight.
    async fn enter(&self) -> Result<Option<Place>, Full> {
        match &self.line {
            Some(line) => line.enter().await.map(Some),
            None => Ok(None),
        }
    }
}

impl Core {
    /// The seat of a configured upstream, made anew when its configuration has changed.
    pub(crate) fn seat(&self, upstream: &Arc<Upstream>) -> Result<Arc<Seat>, CallError> {
        if let Some(seat) = self.seats.read().get(&upstream.name)
            && Arc::ptr_eq(&seat.upstream, upstream)
        {
            return Ok(Arc::clone(seat));
        }
        let mut seats = self.seats.write();
        // Calls in flight go on counting after a reload.
        let before = seats.get(&upstream.name);
        let line = before.and_then(|seat| seat.line.clone()).filter(|line| line.limits == upstream.queue);
        let line = line.unwrap_or_else(|| Arc::new(Line::new(upstream.queue)));
        let budget = before.map(|seat| Arc::clone(&seat.budget)).unwrap_or_default();
        let seat = Arc::new(Seat { budget, line: Some(line), ..self.make_seat(upstream)? });
        seats.insert(Arc::clone(&upstream.name), Arc::clone(&seat));
        Ok(seat)
    }

    /// A seat for one call, without a queue.
    pub(crate) fn make_seat(&self, upstream: &Arc<Upstream>) -> Result<Seat, CallError> {
        let inside = upstream.allow_private || says_prohibited(&upstream.url);
        let mut target = Target::new(&upstream.url, inside)
            .ok_or_else(|| CallError::BadRequest { message: format!("{} has no address to call", upstream.name) })?;
        if upstream.key == Key::Upstream {
            target.id = Arc::clone(&upstream.name);
        }
        let pool = self.client.pool(&target, upstream.protocol == Protocol::Grpc);
        Ok(Seat { upstream: Arc::clone(upstream), target, pool, line: None, budget: Arc::default() })
    }

    /// Sends a request on its way and follows it as far as the upstream's redirects may lead.
    pub(crate) async fn call(&self, seat: &Seat, parts: Parts, body: RequestBody) -> Result<Response<Body>, CallError> {
        let Parts { method, uri, version, mut headers, .. } = parts;
        let upstream = &seat.upstream;
        if self.via.signed(&headers) {
            return Err(Guard::Loop.into());
        }
        if method == Method::CONNECT {
            return Err(CallError::BadRequest { message: "CONNECT is for proxies of another kind".to_owned() });
        }
        strip(&mut headers);
        join_cookies(&mut headers);
        // Answered by our own server as soon as the body is asked for, which is at once.
        headers.remove(EXPECT);
        self.via.sign(&mut headers, version);
        let follow = upstream.redirects.follow && body.is_empty();
        let mut kept = headers.clone();
        let mut uri = uri;
        let mut body = body;
        let asked = |uri: &Uri| uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        let mut place = self.enter(seat, &asked(&uri), &headers).await?;
        let (mut target, mut pool) = self.locate(seat, &uri)?;
        if target.origin != seat.target.origin {
            // What the client says to the upstream is not for a host of its files.
            redirect::drop_secrets(&mut headers, &upstream.headers);
            kept.clone_from(&headers);
        }
        let mut followed = 0;
        let mut from = None;
        loop {
            let path = asked(&uri);
            let admitted = self.admitted(seat, (&target, &pool), (&path, &headers)).await;
            let (breaker, resolved) = admitted.map_err(|error| led_by(error, &from))?;
            let permit = breaker.try_acquire_owned().inspect_err(|refused| {
                self.refused(refused, &path, &headers);
            })?;
            let intent = Intent { method: method.clone(), path: path.clone(), synthetic: false };
            let mut call = Call::new(permit, upstream, &self.desk, intent);
            call.keep(place.take());
            let hop = Hop { target: &target, pool: &pool, via: &self.via, home: target.origin == seat.target.origin };
            let out = Outgoing {
                path,
                headers,
                body: std::mem::replace(&mut body, RequestBody::EMPTY),
                spare: &kept,
                resolved,
            };
            let mut response = hop.run(call, out).await.map_err(|error| led_by(error, &from))?;
            if followed > 0 {
                response.extensions_mut().insert(Landed(uri.clone()));
            }
            if !(follow && redirect::asks(&method, response.status())) {
                return Ok(response);
            }
            let Some(here) = url_of(&uri) else { return Ok(response) };
            let next = redirect::next(&upstream.redirects, &seat.target, &target, &here, response.headers());
            let too_many = matches!(next, Ok(Some(_))) && followed >= redirect::MOST;
            let next = match next {
                Ok(None) => return Ok(response),
                Ok(Some(_)) if too_many => {
                    Err(Guard::TooManyRedirects { max: redirect::MOST, from: Arc::clone(&target.origin) })
                }
                Ok(Some(url)) => Ok(url),
                Err(guard) => Err(guard),
            };
            // The one who redirects has answered; how the next one fares is not its business.
            place = response.body_mut().take_place();
            if let Err(error) = response.into_body().wind_up(WIND_UP).await {
                tracing::debug!(%error, "the body of a redirect broke off");
            }
            let next = next?;
            let (was, at) = (Arc::clone(&target.origin), uri_of(&next)?);
            (target, pool) = self.locate(seat, &at)?;
            if target.origin != was {
                redirect::drop_secrets(&mut kept, &upstream.headers);
            }
            headers = kept.clone();
            uri = at;
            from = Some(was);
            followed += 1;
        }
    }

    /// Where a URI leads: home, or to an origin of its own.
    fn locate<'a>(&self, seat: &'a Seat, uri: &Uri) -> Result<(Cow<'a, Target>, Cow<'a, Arc<Pool>>), CallError> {
        if seat.target.is_spelled(uri) {
            return Ok((Cow::Borrowed(&seat.target), Cow::Borrowed(&seat.pool)));
        }
        let elsewhere = url_of(uri).and_then(|url| Target::new(&url, seat.upstream.allow_private));
        let Some(target) = elsewhere else {
            return Err(CallError::BadRequest { message: "the address is no http or https one".to_owned() });
        };
        // A grpc upstream is called by its http address.
        if target.https == seat.target.https && target.authority == seat.target.authority {
            return Ok((Cow::Borrowed(&seat.target), Cow::Borrowed(&seat.pool)));
        }
        let pool = self.client.pool(&target, false);
        Ok((Cow::Owned(target), Cow::Owned(pool)))
    }

    /// The breaker of where a hop goes, and what its name leads to if that was looked up. A host we may not call gets no
    /// breaker, so that it never stands on the panel; a known one that leads elsewhere by now is stopped when the
    /// connection is made.
    pub(crate) async fn admitted(
        &self,
        seat: &Seat,
        (target, pool): (&Target, &Arc<Pool>),
        (path, headers): (&PathAndQuery, &HeaderMap),
    ) -> Result<(Breaker, Option<Resolved>), CallError> {
        let upstream = &seat.upstream;
        let make = || self.breaker(seat, &target.id, path, headers);
        let known = self.panel.get(&target.id);
        if target.inside || known.is_some() && matches!(target.host, origin::Place::Name(_)) {
            return Ok((known.map_or_else(make, Ok)?, None));
        }
        match pool.resolve(upstream.timeouts.connect.min(upstream.timeouts.total)).await {
            Err(ConnectError::Guard(guard)) => Err(guard.into()),
            resolved => Ok((known.map_or_else(make, Ok)?, Some(resolved))),
        }
    }

    pub(crate) fn breaker(
        &self,
        seat: &Seat,
        id: &str,
        path: &PathAndQuery,
        headers: &HeaderMap,
    ) -> Result<Breaker, CallError> {
        let breaker = self.panel.get_or_create(id, &seat.upstream.policy);
        breaker.map_err(|_| CallError::PanelFull(self.turned_away(seat, "panel_full", path, headers)))
    }

    /// A place among those in flight.
    pub(crate) async fn enter(
        &self,
        seat: &Seat,
        path: &PathAndQuery,
        headers: &HeaderMap,
    ) -> Result<Option<Place>, CallError> {
        let entered = seat.enter().await;
        entered.map_err(|Full| CallError::QueueFull(self.turned_away(seat, "queue_full", path, headers)))
    }

    /// There is no room for a call: it counts among its upstream's refused ones.
    fn turned_away(&self, seat: &Seat, reason: &str, path: &PathAndQuery, headers: &HeaderMap) -> TurnedAway {
        let breaker = Arc::clone(&seat.target.id);
        self.tell_refused(&breaker, reason, path, headers);
        let snapshot = self.panel.get(&breaker).map(|breaker| breaker.snapshot());
        TurnedAway {
            state: snapshot.as_ref().map_or(State::Closed, |snapshot| snapshot.state),
            mode: snapshot.and_then(|snapshot| snapshot.held).map(|held| held.mode),
            breaker,
        }
    }

    pub(crate) fn refused(&self, refused: &Refused, path: &PathAndQuery, headers: &HeaderMap) {
        self.tell_refused(&refused.breaker, refused.reason.as_str(), path, headers);
    }

    fn tell_refused(&self, breaker: &Arc<str>, reason: &str, path: &PathAndQuery, headers: &HeaderMap) {
        if let Some(observer) = &self.desk.observer {
            // One that is not ASCII counts too; its bytes are written so that no display is led astray by them.
            let agent = headers.get(USER_AGENT).map(|agent| match agent.to_str() {
                Ok(text) => Cow::Borrowed(text),
                Err(_) => Cow::Owned(agent.as_bytes().escape_ascii().to_string()),
            });
            observer.refused(breaker, reason, &redact_path(path), agent.as_deref());
        }
    }
}

/// Names whose redirect ran into the guard.
fn led_by(mut error: CallError, by: &Option<Arc<str>>) -> CallError {
    if let CallError::OwnGuard(Guard::ProhibitedAddress { from, .. }) = &mut error {
        from.clone_from(by);
    }
    error
}

fn url_of(uri: &Uri) -> Option<Url> {
    Url::parse(&uri.to_string()).ok()
}

pub(crate) fn uri_of(url: &Url) -> Result<Uri, CallError> {
    let text = format!(
        "{}://{}{}",
        url.scheme(),
        &url[Position::BeforeHost..Position::AfterPort],
        &url[Position::BeforePath..Position::AfterQuery]
    );
    text.parse().map_err(|error: http::uri::InvalidUri| CallError::BadRequest { message: error.to_string() })
}
