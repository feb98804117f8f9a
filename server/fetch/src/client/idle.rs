//! The connections of one origin that may take another call: those of HTTP/1.1 that have none, and those of h2 with room.

use std::{
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use hyper::client::conn::{http1, http2};
use parking_lot::Mutex;

use super::{Timer, driver::Driver};
use crate::upload::{RequestBody, Upload};

/// Idle connections kept for one origin.
const MOST_IDLE: usize = 512;
/// Calls on one h2 connection before another is opened; what most servers allow.
pub(super) const STREAMS: usize = 100;
/// The host has a window of its own for a connection, and one request it does not read may use it up. After this long such
/// a connection gets no new calls.
const CLOGGED: Duration = Duration::from_millis(100);
/// Calls on one h2 connection that its host has shown no sign of. Clients may leave all of them at once, and a host that
/// finds more than twenty calls taken back before it looked at them takes it for an attack and ends the connection, with
/// whoever else is on it (the h2 library does so, to name one).
const UNHEARD: u64 = 20;
/// With so many connections a call goes over a clogged one all the same.
const MOST_H2: usize = 32;
/// Sweeps an idle connection is closed after.
const OLD: u8 = 4;

#[derive(Default)]
pub(super) struct Idle {
    h1: Vec<(u8, Http1)>,
    h2: Vec<(u8, Http2)>,
    /// Somebody lets them grow older.
    pub(super) swept: bool,
}

pub(super) struct Http1 {
    pub(super) send: http1::SendRequest<RequestBody>,
    pub(super) driver: Driver,
    pub(super) timer: Timer,
}

#[derive(Clone)]
pub(super) struct Http2 {
    pub(super) send: http2::SendRequest<RequestBody>,
    /// Each call holds a clone, so the count tells how many there are.
    pub(super) calls: Arc<Calls>,
    /// Which call over this connection it is lent to, from 1.
    turn: u64,
}

/// What is on its way over one h2 connection.
#[derive(Default)]
pub(super) struct Calls {
    uploads: Mutex<Vec<Weak<Upload>>>,
    begun: AtomicU64,
    /// The latest of them to be answered. A host looks at calls in the order they come.
    heard: AtomicU64,
}

impl Http2 {
    pub(super) fn new(send: http2::SendRequest<RequestBody>) -> Self {
        Self { send, calls: Arc::default(), turn: 0 }
    }

    /// The same, for one more call.
    pub(super) fn lend(&self) -> Self {
        let turn = self.calls.begun.fetch_add(1, Ordering::Relaxed) + 1;
        Self { turn, ..self.clone() }
    }

    /// The host has answered this call.
    pub(super) fn heard(&self) {
        self.calls.heard.fetch_max(self.turn, Ordering::Relaxed);
    }

    fn has_room(&self) -> bool {
        Arc::strong_count(&self.calls) <= STREAMS
    }

    /// Whether the host may take no more of it for now, or may not want to.
    fn is_clogged(&self) -> bool {
        let unheard = self.calls.begun.load(Ordering::Relaxed) - self.calls.heard.load(Ordering::Relaxed);
        unheard >= UNHEARD || self.calls.are_stuck()
    }
}

impl Calls {
    pub(super) fn watch(&self, upload: &Arc<Upload>) {
        let mut uploads = self.uploads.lock();
        uploads.retain(|upload| upload.upgrade().is_some_and(|upload| !upload.is_done()));
        uploads.push(Arc::downgrade(upload));
    }

    fn are_stuck(&self) -> bool {
        self.uploads.lock().iter().filter_map(Weak::upgrade).any(|upload| upload.is_stuck(CLOGGED))
    }
}

impl Idle {
    pub(super) fn is_empty(&self) -> bool {
        self.h1.is_empty() && self.h2.is_empty()
    }

    /// Keeps one for the next call, unless there are enough.
    pub(super) fn keep(&mut self, h1: Http1) -> bool {
        let room = self.h1.len() < MOST_IDLE;
        if room {
            self.h1.push((0, h1));
        }
        room
    }

    /// One of those that serve one call at a time.
    pub(super) fn free(&mut self) -> Option<Http1> {
        std::iter::from_fn(|| self.h1.pop()).map(|(_, h1)| h1).find(|h1| !h1.send.is_closed())
    }

    pub(super) fn share(&mut self, h2: Http2) {
        self.h2.push((0, h2));
    }

    /// One of those that calls share, if it has room.
    pub(super) fn shared(&mut self) -> Option<Http2> {
        if self.h2.is_empty() {
            return None;
        }
        self.h2.retain(|(_, h2)| !h2.send.is_closed());
        let crowded = self.h2.len() >= MOST_H2;
        let free = self.h2.iter().position(|(_, h2)| h2.has_room() && !h2.is_clogged());
        let at = free.or_else(|| self.h2.iter().position(|(_, h2)| crowded && h2.has_room()))?;
        let (age, h2) = &mut self.h2[at];
        *age = 0;
        Some(h2.lend())
    }

    pub(super) fn grow_older(&mut self) {
        self.h1.retain_mut(|(age, h1)| {
            *age += 1;
            h1.driver.catch_up();
            *age < OLD && !h1.send.is_closed()
        });
        self.h2.retain_mut(|(age, h2)| {
            *age = if Arc::strong_count(&h2.calls) > 1 { 0 } else { *age + 1 };
            *age < OLD && !h2.send.is_closed()
        });
    }
}
