//! Connections, kept between calls. One pool per origin (and per answer to the question whether it may lie inside our
//! own network); h1 connections are lent to one call at a time, an h2 connection is shared. A connection goes back when
//! its response has been read to the end.

use std::{
    collections::HashMap,
    future::Future,
    pin::{Pin, pin},
    sync::{Arc, Weak},
    task::{Context, Poll},
    time::Duration,
};

use fuseboard_breaker::Phase;
use futures_util::future::Either;
use http::{Request, Response};
use hyper::{
    body::Incoming,
    client::conn::{TrySendError, http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use parking_lot::{Mutex, RwLock};
use rustls::RootCertStore;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    task::{Unconstrained, unconstrained},
    time::{Instant, Sleep, sleep_until, timeout_at},
};

use crate::{
    classify::{in_words, trouble},
    origin::Target,
    upload::RequestBody,
};

mod connect;
mod driver;
mod idle;
mod resolve;
pub(crate) use connect::{ConnectError, Resolved};
use connect::{Stream, Tls, connect};
use driver::{Driver, spawn};
use idle::{Http1, Http2, Idle, STREAMS};
pub(crate) use resolve::System;
pub use resolve::{Resolve, Resolving};

/// A response's head at most, over h1 and h2 alike.
const HEAD: u32 = 64 * 1024;

/// Taken in of one h2 stream before our client takes it, and of a connection as much as of all its streams: however many
/// clients are stuck, they leave room for the others.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = STREAMS as u32 * STREAM_WINDOW;
/// How often idle connections grow older, and at what age they are closed: after 45 to 60 seconds.
const SWEEP: Duration = Duration::from_secs(15);

/// All pools.
pub(crate) struct Client {
    tls: Arc<Tls>,
    names: Arc<dyn Resolve>,
    pools: RwLock<Pools>,
}

#[derive(Default)]
struct Pools {
    by_origin: HashMap<(Arc<str>, bool, bool), Arc<Pool>>,
    /// Forget unused pools when there are this many.
    prune_at: usize,
}

impl Client {
    pub(crate) fn new(extra_roots: RootCertStore, names: Arc<dyn Resolve>) -> Self {
        Self { tls: Arc::new(Tls::new(extra_roots)), names, pools: RwLock::default() }
    }

    /// The pool for an origin; `h2_only` skips the question which version is spoken on a plain connection.
    pub(crate) fn pool(&self, target: &Target, h2_only: bool) -> Arc<Pool> {
        let key = (Arc::clone(&target.origin), target.inside, h2_only);
        if let Some(pool) = self.pools.read().by_origin.get(&key) {
            return Arc::clone(pool);
        }
        let mut pools = self.pools.write();
        if pools.by_origin.len() >= pools.prune_at {
            pools.by_origin.retain(|_, pool| Arc::strong_count(pool) > 1 || !pool.idle.lock().is_empty());
            pools.prune_at = (pools.by_origin.len() * 2).max(64);
        }
        let make = || {
            let (tls, names) = (Arc::clone(&self.tls), Arc::clone(&self.names));
            Arc::new(Pool { target: target.clone(), h2_only, tls, names, idle: Mutex::default() })
        };
        Arc::clone(pools.by_origin.entry(key).or_insert_with(make))
    }
}

/// The connections of one origin.
pub(crate) struct Pool {
    target: Target,
    h2_only: bool,
    tls: Arc<Tls>,
    names: Arc<dyn Resolve>,
    idle: Mutex<Idle>,
}

/// A connection lent to one call. Dropped without [`Conn::give_back`], an h1 connection is closed.
pub(crate) struct Conn {
    sender: Sender,
    /// Whether it has served a call before, and may have been closed since.
    pub(crate) reused: bool,
    pub(crate) timer: Timer,
    pool: Arc<Pool>,
}

enum Sender {
    H1(http1::SendRequest<RequestBody>, Driver),
    H2(Http2),
}

/// The answer to a request, or the request itself if it was never sent.
pub(crate) type Answer = Result<Response<Incoming>, TrySendError<Request<RequestBody>>>;

impl Pool {
    /// Where the host may be reached. What it leads to is connected to by [`Pool::checkout`], so that nobody can answer
    /// one thing when it is judged and another when it is called.
    pub(crate) async fn resolve(&self, limit: Duration) -> Resolved {
        connect::resolve(&self.target, &*self.names, limit).await
    }

    /// An idle connection, or a new one within `limit` to what was `resolved` already. `fresh` looks at no idle one.
    pub(crate) async fn checkout(
        self: &Arc<Self>,
        limit: Duration,
        fresh: bool,
        resolved: Option<Resolved>,
    ) -> Result<Conn, ConnectError> {
        while !fresh && let Some(mut found) = self.take_idle() {
            let Sender::H1(send, driver) = &mut found.sender else { return Ok(found) };
            driver.catch_up();
            if send.is_ready() {
                return Ok(found);
            }
            // Its task has not come round to the end of the last response yet.
            if driver.is_apart()
                && let Ok(Ok(())) = timeout_at(Instant::now() + limit, send.ready()).await
            {
                return Ok(found);
            }
        }
        self.open(limit, fresh, resolved).await
    }

    fn take_idle(self: &Arc<Self>) -> Option<Conn> {
        let mut idle = self.idle.lock();
        if let Some(h2) = idle.shared() {
            return Some(self.lend(Sender::H2(h2), Timer::default(), true));
        }
        idle.free().map(|h1| self.lend(Sender::H1(h1.send, h1.driver), h1.timer, true))
    }

    async fn open(
        self: &Arc<Self>,
        limit: Duration,
        fresh: bool,
        resolved: Option<Resolved>,
    ) -> Result<Conn, ConnectError> {
        let stream = connect(&self.target, &*self.names, (&*self.tls, self.h2_only), limit, resolved).await?;
        let sender = match stream {
            Stream::Plain(stream) => start(stream, self.h2_only).await,
            Stream::Tls { stream, h2 } => start(stream, h2 || self.h2_only).await,
        };
        let sender = sender.map_err(|error| ConnectError::Failed {
            phase: Phase::Connect,
            error: in_words(&error),
            trouble: trouble(&error),
        })?;
        let Sender::H2(h2) = sender else { return Ok(self.lend(sender, Timer::default(), false)) };
        let mut idle = self.idle.lock();
        // Others may have opened one while we did; then ours is one too many.
        if !fresh && let Some(shared) = idle.shared() {
            return Ok(self.lend(Sender::H2(shared), Timer::default(), true));
        }
        let lent = h2.lend();
        idle.share(h2);
        self.sweep(&mut idle);
        drop(idle);
        Ok(self.lend(Sender::H2(lent), Timer::default(), false))
    }

    fn lend(self: &Arc<Self>, sender: Sender, timer: Timer, reused: bool) -> Conn {
        Conn { sender, reused, timer, pool: Arc::clone(self) }
    }

    fn sweep(self: &Arc<Self>, idle: &mut Idle) {
        if !idle.swept {
            idle.swept = true;
            tokio::spawn(sweep(Arc::downgrade(self)));
        }
    }
}

/// Lets idle connections grow old, until there are none.
async fn sweep(pool: Weak<Pool>) {
    loop {
        tokio::time::sleep(SWEEP).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut idle = pool.idle.lock();
        idle.grow_older();
        if idle.is_empty() {
            idle.swept = false;
            return;
        }
    }
}

async fn start<T>(io: T, h2: bool) -> hyper::Result<Sender>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    if h2 {
        let (send, connection) = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .keep_alive_interval(Duration::from_secs(20))
            .keep_alive_timeout(Duration::from_secs(20))
            .max_header_list_size(HEAD)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .handshake(TokioIo::new(io))
            .await?;
        spawn(connection);
        return Ok(Sender::H2(Http2::new(send)));
    }
    let (send, connection) = http1::Builder::new().max_header_size(HEAD as usize).handshake(TokioIo::new(io)).await?;
    Ok(Sender::H1(send, Driver::new(connection)))
}

impl Conn {
    pub(crate) fn is_h2(&self) -> bool {
        matches!(self.sender, Sender::H2(_))
    }

    /// Sends a request. Its answer is to be had by [`Conn::look`].
    pub(crate) fn send(
        &mut self,
        request: Request<RequestBody>,
    ) -> Unconstrained<impl Future<Output = Answer> + use<>> {
        unconstrained(match &mut self.sender {
            Sender::H1(send, driver) => {
                if !request.body().is_empty() {
                    driver.apart();
                }
                Either::Left(send.try_send_request(request))
            }
            Sender::H2(h2) => {
                if let Some(upload) = request.body().upload() {
                    h2.calls.watch(upload);
                }
                Either::Right(h2.send.try_send_request(request))
            }
        })
    }

    /// Looks for something this connection brings.
    pub(crate) fn look<T>(
        &mut self,
        cx: &mut Context<'_>,
        mut look: impl FnMut(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        match &mut self.sender {
            Sender::H1(_, driver) => driver.look(cx, look),
            Sender::H2(_) => look(cx),
        }
    }

    /// The head of a response is there.
    pub(crate) fn answered(&self) {
        if let Sender::H2(h2) = &self.sender {
            h2.heard();
        }
    }

    /// The response has been read to the end: the next call may have it.
    pub(crate) fn give_back(self) {
        if let Sender::H1(send, driver) = self.sender
            && !send.is_closed()
        {
            let mut idle = self.pool.idle.lock();
            if idle.keep(Http1 { send, driver, timer: self.timer }) {
                self.pool.sweep(&mut idle);
            }
        }
    }
}

/// One timer for one connection, made when it is first needed and set anew for each wait: moving a deadline further
/// away costs an atomic store, making a timer an allocation and a lock.
#[derive(Default)]
pub(crate) struct Timer(Option<Pin<Box<Sleep>>>);

impl Timer {
    /// Ready when `at` has passed; else wakes `cx` then.
    pub(crate) fn poll(&mut self, at: Instant, cx: &mut Context<'_>) -> Poll<()> {
        let sleep = self.0.get_or_insert_with(|| Box::pin(sleep_until(at)));
        if sleep.deadline() != at {
            sleep.as_mut().reset(at);
        }
        // Out of budget, a timer would wake its waker at once, and that need not be a task.
        pin!(tokio::task::unconstrained(sleep.as_mut())).poll(cx)
    }
}
