//! The journal: takes every fact, numbers it, hands it to the live feed and to the writer.
//!
//! - One sequence for transitions, probes, audit rows and gaps; it is the order, the times are not.
//! - Taking a fact is one short mutex and never waits: not for the store, not for a reader. What waits for the store is
//!   bounded by `journal_max`; beyond it probes go before transitions, and what went is counted and becomes a gap row.
//! - An operator's transition brings its audit row along, numbered right after it, in the same commit.
//! - [`Journal::durable`] answers when a number is in the store, or says that it is not.

mod clocks;
mod commit;
pub mod convert;
mod draft;
mod durable;
mod queue;
mod unwritten;
mod writer;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, atomic::AtomicUsize},
};

use arc_swap::ArcSwap;
use fuseboard_app::wire::{
    event::{Cause, FeedEvent, StoreHealth, Transition, TransitionEvent},
    time::Time,
};
use fuseboard_breaker::{
    clock::Clock,
    event::{self, Event, EventSink},
};
use parking_lot::Mutex;
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
};

use self::{
    clocks::Clocks,
    queue::{Item, Queue, SavedWith, Seen},
};
pub use self::{draft::AuditDraft, durable::NotStored};
use crate::{
    calls::Calls,
    config::upstreams::Upstreams,
    db::Db,
    history::{
        incidents::{
            Stored,
            course::{Course, lasts},
        },
        retention::Keep,
        runs::Run,
    },
    live::{Cursor, Live, Published},
    stamp,
    tally::{Tallies, Tally},
};

/// What the journal starts from.
pub struct Start<'a> {
    /// The opened store.
    pub db: &'a Db,
    /// This run.
    pub run: Run,
    /// The newest transition of each breaker, from the store.
    pub known: Vec<Transition>,
    /// The feed, if there is one.
    pub live: Option<Arc<Live>>,
    /// The incidents an earlier run left open, with what they counted.
    pub incidents: Vec<(Stored, Tally)>,
    /// Call totals, written with the facts.
    pub calls: Arc<Calls>,
    /// What incidents count, written with the facts.
    pub tallies: Arc<Tallies>,
    /// What is configured: an incident keeps the names its breaker had when it began.
    pub upstreams: Arc<ArcSwap<Upstreams>>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Bytes that may wait for the store.
    pub journal_max: u64,
    /// How long what is kept.
    pub keep: Keep,
}

impl fmt::Debug for Start<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Start").field("run", &self.run).finish_non_exhaustive()
    }
}

/// The newest of each breaker.
struct Newest {
    row: Arc<Transition>,
    /// The audit row of its newest operator's action.
    action: Option<u64>,
    /// Its incident, while one lasts.
    incident: Option<Course>,
}

struct Inner {
    next: u64,
    queue: Queue,
    clocks: Clocks,
    newest: HashMap<String, Newest>,
    /// The policy last told, so that telling it again costs nothing.
    policies: HashMap<Arc<str>, Arc<str>>,
}

#[derive(Debug, Clone, Default)]
struct Trouble {
    since: Option<Time>,
    error: Option<String>,
}

struct Shared {
    run: Run,
    node: Arc<str>,
    live: Option<Arc<Live>>,
    calls: Arc<Calls>,
    tallies: Arc<Tallies>,
    upstreams: Arc<ArcSwap<Upstreams>>,
    clock: Arc<dyn Clock>,
    inner: Mutex<Inner>,
    trouble: Mutex<Trouble>,
    /// Everything up to here is in the store or in a gap.
    written: watch::Sender<u64>,
    /// There is work.
    wake: Notify,
    /// How long what is kept.
    keep: Mutex<Keep>,
    /// Somebody waits, or it is time to end.
    hurry: Notify,
    waiting_acks: AtomicUsize,
    ending: watch::Sender<Ending>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ending {
    Running,
    Asked,
    Done,
}

/// See the module. Clones share it.
#[derive(Clone)]
pub struct Journal {
    shared: Arc<Shared>,
    task: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl fmt::Debug for Journal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Journal").field("cursor", &self.cursor()).finish_non_exhaustive()
    }
}

impl Journal {
    /// Starts the writer on the current runtime. End it with [`Journal::close`].
    pub fn start(start: Start<'_>) -> Self {
        let mut newest: HashMap<String, Newest> = start
            .known
            .into_iter()
            .map(|row| (row.breaker.clone(), Newest { row: row.into(), action: None, incident: None }))
            .collect();
        for (stored, tally) in start.incidents {
            if let Some(newest) = newest.get_mut(&stored.breaker) {
                start.tallies.resume(&stored.breaker.into(), stored.course.opening.seq, tally);
                newest.incident = Some(stored.course);
            }
        }
        let inner = Inner {
            next: start.run.next_seq,
            queue: Queue::new(usize::try_from(start.journal_max).unwrap_or(usize::MAX)),
            clocks: Clocks::new(&*start.clock),
            newest,
            policies: HashMap::new(),
        };
        let shared = Arc::new(Shared {
            run: start.run,
            node: start.db.node().clone(),
            live: start.live,
            calls: start.calls,
            tallies: start.tallies,
            upstreams: start.upstreams,
            clock: start.clock,
            inner: Mutex::new(inner),
            trouble: Mutex::default(),
            written: watch::Sender::new(start.run.next_seq - 1),
            wake: Notify::new(),
            keep: Mutex::new(start.keep),
            hurry: Notify::new(),
            waiting_acks: AtomicUsize::new(0),
            ending: watch::Sender::new(Ending::Running),
        });
        let task = tokio::spawn(writer::run(shared.clone(), start.db.clone()));
        Self { shared, task: Arc::new(Mutex::new(Some(task))) }
    }

    /// Takes a breaker's fact and answers its number.
    pub fn push(&self, event: Event) -> u64 {
        match event {
            Event::Transition(transition) => self.push_transition(&transition),
            Event::Probe(probe) => {
                let mut row = convert::probe(0, &self.shared.node, &probe);
                let mut inner = self.shared.inner.lock();
                row.seq = inner.number();
                let seq = row.seq;
                let incident = inner.newest.get_mut(&row.breaker).and_then(|newest| newest.incident.as_mut());
                let incident = incident.map(|incident| {
                    incident.probe(&row.outcome);
                    incident.clone()
                });
                let fact = self.shared.publish(seq, FeedEvent::Probe(Box::new(row)));
                self.shared.enqueue(inner, Item::new(fact, None, None).within(incident));
                seq
            }
        }
    }

    /// Takes an action that is no transition; its time is now.
    pub fn push_audit(&self, draft: AuditDraft) -> u64 {
        let at = stamp::time(self.shared.clock.wall());
        let mut inner = self.shared.inner.lock();
        let seq = inner.number();
        let fact = self.shared.publish(seq, FeedEvent::Audit(Box::new(draft.row(seq, &self.shared.node, at))));
        self.shared.enqueue(inner, Item::new(fact, None, None));
        seq
    }

    fn push_transition(&self, from: &event::Transition) -> u64 {
        let shared = &*self.shared;
        let mut row = convert::transition(0, &shared.node, from);
        let after = convert::after(&from.after);
        let evicted = matches!(from.cause, event::Cause::Evicted);
        let mut newest = row.clone();

        let mut inner = shared.inner.lock();
        inner.look(&*shared.clock);
        let seq = inner.number();
        (row.seq, newest.seq) = (seq, seq);
        let newest = Arc::new(newest);
        let known = inner.newest.get_mut(&row.breaker);
        let before = known.as_ref().and_then(|newest| newest.row.held);
        let draft = row.actor.clone().map(|actor| AuditDraft::of(actor, &row, before));
        let incident = shared.incident(known.and_then(|newest| newest.incident.take()), &row, from);
        let fact = shared.publish(seq, FeedEvent::Transition(Box::new(TransitionEvent { row, after })));
        let audit = draft.map(|draft| {
            let seq = inner.number();
            shared.publish(seq, FeedEvent::Audit(Box::new(draft.row(seq, &shared.node, newest.at))))
        });
        let action = audit.as_ref().map(|audit| audit.seq);
        if evicted {
            inner.newest.remove(&newest.breaker);
            inner.policies.remove(newest.breaker.as_str());
        } else {
            let earlier = inner.newest.get(&newest.breaker).and_then(|newest| newest.action);
            let lasting = incident.clone().filter(|incident| incident.ending.is_none());
            let entry = Newest { row: newest, action: action.or(earlier), incident: lasting };
            inner.newest.insert(entry.row.breaker.clone(), entry);
        }
        let saved = SavedWith { after: from.after.clone(), before, evicted };
        shared.enqueue(inner, Item::new(fact, Some(saved), audit).within(incident));
        action.unwrap_or(seq)
    }

    /// Notes that a breaker exists and which policy it has; cheap when nothing is new.
    pub fn seen(&self, breaker: &Arc<str>, policy: &str) {
        let mut inner = self.shared.inner.lock();
        if inner.policies.get(breaker).is_some_and(|known| **known == *policy) {
            return;
        }
        let policy: Arc<str> = policy.into();
        inner.policies.insert(breaker.clone(), policy.clone());
        inner.queue.push_seen(Seen { breaker: breaker.clone(), policy, at: stamp::micros(self.shared.clock.wall()) });
        drop(inner);
        self.shared.wake.notify_one();
    }

    /// The newest number given out.
    pub fn last_seq(&self) -> u64 {
        self.shared.inner.lock().next - 1
    }

    /// Where the record and the feed stand: `<boot>-<seq>`.
    pub fn cursor(&self) -> String {
        Cursor { boot: self.shared.run.boot, seq: self.last_seq() }.to_string()
    }

    /// A breaker's newest transition.
    pub fn last_transition(&self, breaker: &str) -> Option<Arc<Transition>> {
        self.shared.inner.lock().newest.get(breaker).map(|newest| newest.row.clone())
    }

    /// What the outage of a breaker began with, while it lasts; nothing where an operator began it.
    pub fn opened(&self, breaker: &str) -> Option<Cause> {
        let inner = self.shared.inner.lock();
        let opening = &inner.newest.get(breaker)?.incident.as_ref()?.opening;
        (opening.cause.kind == "tripped").then(|| opening.cause.clone())
    }

    /// The audit number of the newest operator's action that changed this breaker in this run: what to wait for with
    /// [`Journal::durable`] after a command.
    pub fn last_action(&self, breaker: &str) -> Option<u64> {
        self.shared.inner.lock().newest.get(breaker).and_then(|newest| newest.action)
    }

    /// Keeps this long from here on: a reload changed it.
    pub fn keep(&self, keep: Keep) {
        *self.shared.keep.lock() = keep;
    }

    /// How writing goes.
    pub fn health(&self) -> StoreHealth {
        let trouble = self.shared.trouble.lock().clone();
        let inner = self.shared.inner.lock();
        StoreHealth {
            waiting: inner.queue.waiting(),
            dropped: inner.queue.dropped(),
            failing_since: trouble.since,
            error: trouble.error,
        }
    }
}

impl EventSink for Journal {
    fn record(&self, event: Event) {
        self.push(event);
    }
}

impl Inner {
    /// Notes whether the wall clock jumped since it was last looked at.
    fn look(&mut self, clock: &dyn Clock) {
        let Some(jump) = self.clocks.look(clock) else { return };
        tracing::warn!(
            seconds = (jump.to - jump.from) / 1_000_000,
            "the wall clock jumped; the record goes on by the time that passed"
        );
        for lasting in self.newest.values_mut().filter_map(|newest| newest.incident.as_mut()) {
            lasting.jump(jump.from, jump.to);
        }
        self.queue.push_jump(jump);
    }

    fn number(&mut self) -> u64 {
        let seq = self.next;
        self.next += 1;
        seq
    }
}

impl Shared {
    /// Under the journal's mutex, so that the feed has the record's order.
    fn publish(&self, seq: u64, event: FeedEvent) -> Arc<Published> {
        let fact = Published::new(seq, event);
        if let Some(live) = &self.live {
            live.publish(fact.clone());
        }
        fact
    }

    /// What a transition makes of its breaker's incident: it opens one, goes on with it, or ends it.
    fn incident(&self, before: Option<Course>, row: &Transition, from: &event::Transition) -> Option<Course> {
        let after = match before {
            Some(mut course) => {
                course.follow(row);
                self.tallies.failures(&from.breaker, from.failures);
                course
            }
            None if lasts(row.to, row.held) => {
                self.tallies.begin(&from.breaker, row.seq, Course::tripped_by(row), from.failures);
                Course::open(self.run.boot, row, self.upstreams.load().names_of(&from.breaker))
            }
            None => return None,
        };
        if after.ending.is_some() {
            self.tallies.end(&from.breaker);
        }
        Some(after)
    }

    fn enqueue(&self, mut inner: parking_lot::MutexGuard<'_, Inner>, item: Item) {
        inner.queue.push(item);
        drop(inner);
        self.wake.notify_one();
    }
}
