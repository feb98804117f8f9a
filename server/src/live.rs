//! The live feed: the newest facts in a bounded ring, read by any number of streams at their own pace.
//!
//! Publishing never waits for a reader. A reader keeps only its place; when it comes back with a cursor the ring still
//! covers it goes on without gap or repeat, otherwise, or when it was too slow, it gets one `resync` and goes on from
//! the present. Facts are turned into JSON once, when the first reader asks.

use std::{
    collections::VecDeque,
    fmt,
    str::FromStr,
    sync::{Arc, OnceLock},
};

use fuseboard_app::wire::event::{FeedEvent, Hello, Stats};
use fuseboard_breaker::clock::Clock;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::stamp;

/// How many facts a reader may fall behind.
const RING: usize = 4096;

/// A place in the feed: the run and the number. Text form `<boot>-<seq>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The process run's row id.
    pub boot: u64,
    /// The last number seen.
    pub seq: u64,
}

impl fmt::Display for Cursor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}-{}", self.boot, self.seq)
    }
}

/// The text is not a cursor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor: cursors are <boot>-<seq>, two whole numbers, as `cursor` and the feed's ids say it")]
pub struct BadCursor;

impl FromStr for Cursor {
    type Err = BadCursor;

    fn from_str(text: &str) -> Result<Self, BadCursor> {
        let (boot, seq) = text.trim().split_once('-').ok_or(BadCursor)?;
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            plain.then(|| digits.parse().ok()).flatten().ok_or(BadCursor)
        };
        Ok(Self { boot: number(boot)?, seq: number(seq)? })
    }
}

/// A numbered fact in its wire form, shared by the feed and the writer.
#[derive(Debug)]
pub struct Published {
    /// Its place in the record.
    pub seq: u64,
    /// What happened.
    pub event: FeedEvent,
    json: OnceLock<Arc<str>>,
}

impl Published {
    /// Wraps an event that carries this number.
    pub fn new(seq: u64, event: FeedEvent) -> Arc<Self> {
        Arc::new(Self { seq, event, json: OnceLock::new() })
    }

    /// The event's data, written once however many read it.
    pub fn json(&self) -> Arc<str> {
        self.json.get_or_init(|| json(&self.event)).clone()
    }
}

/// One server-sent event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// `event:`.
    pub name: &'static str,
    /// `id:`; absent on `stats`.
    pub id: Option<String>,
    /// `data:`, JSON on one line.
    pub data: Arc<str>,
}

struct Ring {
    /// Numbers without a hole; the last one is `last`.
    events: VecDeque<Arc<Published>>,
    last: u64,
    stats: Option<Arc<str>>,
    stats_round: u64,
    closed: bool,
}

/// The feed. See the module.
pub struct Live {
    boot: u64,
    version: Arc<str>,
    clock: Arc<dyn Clock>,
    ring: Mutex<Ring>,
    wake: Notify,
    /// Each stream holds one of these.
    streams: Arc<()>,
}

impl fmt::Debug for Live {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Live").field("cursor", &self.cursor().to_string()).finish_non_exhaustive()
    }
}

impl Live {
    /// A feed of this run whose newest number so far is `last`.
    pub fn new(boot: u64, last: u64, version: impl Into<Arc<str>>, clock: Arc<dyn Clock>) -> Self {
        let ring = Ring { events: VecDeque::new(), last, stats: None, stats_round: 0, closed: false };
        Self {
            boot,
            version: version.into(),
            clock,
            ring: Mutex::new(ring),
            wake: Notify::new(),
            streams: Arc::new(()),
        }
    }

    /// Takes the next fact. Numbers come in order, without a hole.
    pub fn publish(&self, fact: Arc<Published>) {
        let mut ring = self.ring.lock();
        ring.last = fact.seq;
        if ring.events.len() == RING {
            ring.events.pop_front();
        }
        ring.events.push_back(fact);
        drop(ring);
        self.wake.notify_waiters();
    }

    /// Sends the numbers that move without a transition. Only the newest round is kept.
    pub fn publish_stats(&self, stats: Stats) {
        let data = json(&FeedEvent::Stats(Box::new(stats)));
        let mut ring = self.ring.lock();
        ring.stats = Some(data);
        ring.stats_round += 1;
        drop(ring);
        self.wake.notify_waiters();
    }

    /// Where the feed stands.
    pub fn cursor(&self) -> Cursor {
        Cursor { boot: self.boot, seq: self.ring.lock().last }
    }

    /// A reader that goes on after `after`, or from the present. Its first event is `hello` when that is possible and
    /// `resync` when the cursor cannot be served.
    pub fn subscribe(self: &Arc<Self>, after: Option<Cursor>) -> Subscription {
        let ring = self.ring.lock();
        let (name, seq) = match after {
            None => ("hello", ring.last),
            Some(after) if after.boot == self.boot && ring.covers(after.seq) => ("hello", after.seq),
            Some(_) => ("resync", ring.last),
        };
        let stats_round = ring.stats_round;
        drop(ring);
        Subscription { live: self.clone(), first: Some(name), seq, stats_round, _open: self.streams.clone() }
    }

    /// How many streams are open.
    pub fn streams(&self) -> u64 {
        Arc::strong_count(&self.streams) as u64 - 1
    }

    /// Ends every stream at once; facts published later reach nobody.
    pub fn close(&self) {
        self.ring.lock().closed = true;
        self.wake.notify_waiters();
    }

    fn hello(&self, name: &'static str, seq: u64) -> Sent {
        let cursor = Cursor { boot: self.boot, seq }.to_string();
        let now = stamp::time(self.clock.wall());
        let hello = Hello { cursor: cursor.clone(), now, version: self.version.to_string() };
        let event = if name == "resync" { FeedEvent::Resync(hello) } else { FeedEvent::Hello(hello) };
        Sent { name, id: Some(cursor), data: json(&event) }
    }
}

impl Ring {
    /// Everything after this number is still here.
    fn covers(&self, seq: u64) -> bool {
        let oldest = self.events.front().map_or(self.last + 1, |fact| fact.seq);
        seq <= self.last && seq + 1 >= oldest
    }
}

enum Step {
    Greet(&'static str),
    Send(Arc<Published>),
    Stats(Arc<str>),
    TooSlow,
    Wait,
    End,
}

/// One reader's place in the feed.
#[derive(Debug)]
pub struct Subscription {
    live: Arc<Live>,
    first: Option<&'static str>,
    seq: u64,
    stats_round: u64,
    _open: Arc<()>,
}

impl Subscription {
    /// The next event, waiting for it; `None` once the feed is closed. Safe to drop while it waits.
    pub async fn next(&mut self) -> Option<Sent> {
        let live = self.live.clone();
        loop {
            let mut woken = std::pin::pin!(live.wake.notified());
            // Before looking, so that nothing published in between is slept through.
            woken.as_mut().enable();
            match self.step() {
                Step::End => return None,
                Step::Send(fact) => {
                    let id = Cursor { boot: live.boot, seq: fact.seq }.to_string();
                    return Some(Sent { name: fact.event.name(), id: Some(id), data: fact.json() });
                }
                Step::Stats(data) => return Some(Sent { name: "stats", id: None, data }),
                Step::Greet(name) => return Some(live.hello(name, self.seq)),
                Step::TooSlow => return Some(live.hello("resync", self.seq)),
                Step::Wait => {}
            }
            woken.await;
        }
    }

    fn step(&mut self) -> Step {
        let ring = self.live.ring.lock();
        if ring.closed {
            return Step::End;
        }
        if let Some(name) = self.first.take() {
            return Step::Greet(name);
        }
        if !ring.covers(self.seq) {
            self.seq = ring.last;
            return Step::TooSlow;
        }
        if self.seq < ring.last {
            let behind = usize::try_from(ring.last - self.seq).unwrap_or(usize::MAX);
            if let Some(fact) = ring.events.len().checked_sub(behind).and_then(|index| ring.events.get(index)) {
                self.seq = fact.seq;
                return Step::Send(fact.clone());
            }
        }
        match &ring.stats {
            Some(data) if self.stats_round < ring.stats_round => {
                self.stats_round = ring.stats_round;
                Step::Stats(data.clone())
            }
            _ => Step::Wait,
        }
    }
}

fn json(event: &FeedEvent) -> Arc<str> {
    let text = match event {
        FeedEvent::Hello(data) | FeedEvent::Resync(data) => serde_json::to_string(data),
        FeedEvent::Transition(data) => serde_json::to_string(data),
        FeedEvent::Probe(data) => serde_json::to_string(data),
        FeedEvent::Audit(data) => serde_json::to_string(data),
        FeedEvent::Stats(data) => serde_json::to_string(data),
    };
    text.unwrap_or_default().into()
}

#[cfg(test)]
mod tests;
