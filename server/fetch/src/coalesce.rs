//! Identical GETs share one attempt: one request, one verdict, everybody answered. Whoever asks before the answer's head is
//! there joins those who wait for it; no one of them is special, so anybody may leave, and when all have left the attempt
//! is dropped with them. Identical means the same address and the same end-to-end headers, and never a cookie.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared, WeakShared},
};
use http::{
    HeaderName, HeaderValue, Method, Response, Uri,
    header::{COOKIE, EXPECT},
    request, response,
};
use parking_lot::Mutex;
use tokio::sync::Semaphore;

use crate::{
    body::{
        Body,
        shared::{Common, Reader, Turn},
    },
    error::CallError,
    headers::strip,
    upload::RequestBody,
    upstream::Upstream,
};

/// KiB kept for clients of shared answers, of all upstreams together.
const ROOM: usize = 64 << 10;

/// What makes two requests the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    upstream: Arc<str>,
    uri: Uri,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Key {
    /// Nothing when the request must have an attempt of its own.
    pub(crate) fn new(upstream: &Upstream, parts: &request::Parts, body: &RequestBody) -> Option<Self> {
        let shares = upstream.coalesce && parts.method == Method::GET && body.is_empty();
        if !shares || parts.headers.contains_key(COOKIE) {
            return None;
        }
        let mut headers = parts.headers.clone();
        strip(&mut headers);
        headers.remove(EXPECT);
        let mut headers: Vec<_> = headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        // By name alone: of one name the order of the values matters.
        headers.sort_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
        Some(Self { upstream: Arc::clone(&upstream.name), uri: parts.uri.clone(), headers })
    }
}

/// Every attempt that can still be joined.
pub(crate) struct Crowd {
    waiting: Mutex<HashMap<Key, Joinable>>,
    room: Arc<Semaphore>,
}

struct Joinable {
    attempt: WeakShared<Attempt>,
    common: Weak<Common>,
}

type Attempt = BoxFuture<'static, Result<response::Parts, CallError>>;

/// What an attempt comes to.
pub(crate) type Answer = Result<Response<Body>, CallError>;

impl Crowd {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { waiting: Mutex::default(), room: Arc::new(Semaphore::new(ROOM)) })
    }

    /// Joins the attempt under way, or begins one with `ask`; asks for itself alone when the answer cannot be shared.
    pub(crate) async fn call(self: &Arc<Self>, key: Key, ask: impl Fn() -> BoxFuture<'static, Answer>) -> Answer {
        let (attempt, reader) = self.join(key, &ask);
        let head = attempt.await?;
        match reader.turn() {
            Turn::Whole(body) | Turn::Together(body) => Ok(Response::from_parts(head, body)),
            Turn::Alone => ask().await,
        }
    }

    fn join(self: &Arc<Self>, key: Key, ask: impl FnOnce() -> BoxFuture<'static, Answer>) -> (Shared<Attempt>, Reader) {
        let mut waiting = self.waiting.lock();
        let known = waiting.get(&key);
        if let Some((attempt, common)) = known.and_then(|known| known.attempt.upgrade().zip(known.common.upgrade())) {
            return (attempt, Reader::new(&common));
        }
        let common = Arc::new(Common::default());
        let reader = Reader::new(&common);
        let entry = Listed { crowd: Arc::clone(self), key: key.clone(), common: Arc::downgrade(&common) };
        let attempt = attempt(ask(), entry, Arc::clone(&common)).boxed().shared();
        if let Some(weak) = attempt.downgrade() {
            waiting.insert(key, Joinable { attempt: weak, common: Arc::downgrade(&common) });
        }
        (attempt, reader)
    }
}

async fn attempt(
    asking: BoxFuture<'static, Answer>,
    entry: Listed,
    common: Arc<Common>,
) -> Result<response::Parts, CallError> {
    let answer = asking.await;
    let room = Arc::clone(&entry.crowd.room);
    // Whoever comes from here on has missed the beginning.
    drop(entry);
    let (head, body) = answer?.into_parts();
    common.begin(body, &room);
    Ok(head)
}

/// An attempt's place in the list, for as long as it can be joined.
struct Listed {
    crowd: Arc<Crowd>,
    key: Key,
    common: Weak<Common>,
}

impl Drop for Listed {
    fn drop(&mut self) {
        let mut waiting = self.crowd.waiting.lock();
        if waiting.get(&self.key).is_some_and(|known| Weak::ptr_eq(&known.common, &self.common)) {
            waiting.remove(&self.key);
        }
    }
}
