//! The connection itself, in the browser. `EventSource` reconnects by itself with its last id; where it gave up, or has
//! been silent for long, it is opened anew from the last id that was heard.

use std::{cell::RefCell, collections::VecDeque, rc::Rc, time::Duration};

use leptos::prelude::*;
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{EventSource, MessageEvent};

use super::{Live, STALE_AFTER_MS};
use crate::{format::Zone, panel::Mark, wire::event::FeedEvent};

const NAMES: [&str; 6] = ["hello", "transition", "probe", "audit", "stats", "resync"];
/// Between two attempts of our own.
const REOPEN_MS: f64 = 5_000.0;
/// Facts kept for a page that is being loaded.
const KEPT: usize = 256;

type Hear = Rc<dyn Fn(&FeedEvent)>;

#[derive(Default)]
struct Feed {
    live: Option<Live>,
    source: Option<EventSource>,
    on_event: Option<Closure<dyn Fn(MessageEvent)>>,
    listeners: Vec<(u64, Hear)>,
    next_listener: u64,
    recent: VecDeque<FeedEvent>,
    cursor: String,
    /// The server's clock less the browser's.
    ahead_ms: f64,
    heard_at: f64,
    opened_at: f64,
}

thread_local! {
    static FEED: RefCell<Feed> = RefCell::default();
}

fn clock() -> f64 {
    js_sys::Date::now()
}

pub(super) fn listen(hear: impl Fn(&FeedEvent) + 'static) -> u64 {
    FEED.with_borrow_mut(|feed| {
        feed.next_listener += 1;
        feed.listeners.push((feed.next_listener, Rc::new(hear)));
        feed.next_listener
    })
}

pub(super) fn forget(listener: u64) {
    FEED.with_borrow_mut(|feed| feed.listeners.retain(|one| one.0 != listener));
}

pub(super) fn again(mut hear: impl FnMut(&FeedEvent)) {
    let recent = FEED.with_borrow(|feed| feed.recent.clone());
    recent.iter().for_each(&mut hear);
}

/// The first page opens the connection; later ones find it open.
pub(super) fn follow(live: Live, now_ms: i64, cursor: &str) {
    live.running.set(true);
    live.zone.set(Zone::Viewer);
    let first = FEED.with_borrow_mut(|feed| {
        let first = feed.live.is_none();
        if first {
            feed.live = Some(live);
            feed.cursor = cursor.to_owned();
            feed.ahead_ms = now_ms as f64 - clock();
            feed.heard_at = clock();
        }
        first
    });
    if first {
        open();
        set_interval(tick, Duration::from_secs(1));
    }
}

fn open() {
    FEED.with_borrow_mut(|feed| {
        if let Some(old) = feed.source.take() {
            old.close();
        }
        feed.opened_at = clock();
        let Ok(source) = EventSource::new(&format!("/api/v1/events?after={}", feed.cursor)) else { return };
        let on_event = feed.on_event.get_or_insert_with(|| Closure::new(|message: MessageEvent| hear(&message)));
        for name in NAMES {
            // The browser refuses no listener of ours; a lost one would show as silence.
            let _ = source.add_event_listener_with_callback(name, on_event.as_ref().unchecked_ref());
        }
        feed.source = Some(source);
    });
}

fn hear(message: &MessageEvent) {
    let Some(data) = message.data().as_string() else { return };
    let event = match FeedEvent::parse(&message.type_(), &data) {
        Ok(Some(event)) => event,
        Ok(None) => return,
        Err(error) => return leptos::logging::error!("the feed sent what this board cannot read: {error}"),
    };
    let listeners = FEED.with_borrow_mut(|feed| {
        feed.heard_at = clock();
        let id = message.last_event_id();
        if !id.is_empty() {
            feed.cursor = id;
        }
        match &event {
            FeedEvent::Hello(hello) | FeedEvent::Resync(hello) => {
                feed.ahead_ms = hello.now.millis() as f64 - clock();
                if !Mark::new(&feed.cursor).same_run(&hello.cursor) || matches!(event, FeedEvent::Resync(_)) {
                    feed.recent.clear();
                    feed.cursor.clone_from(&hello.cursor);
                }
            }
            FeedEvent::Stats(stats) => feed.ahead_ms = stats.now.millis() as f64 - clock(),
            fact => {
                feed.recent.push_back(fact.clone());
                if feed.recent.len() > KEPT {
                    feed.recent.pop_front();
                }
            }
        }
        feed.listeners.iter().map(|one| one.1.clone()).collect::<Vec<_>>()
    });
    fresh();
    for hear in listeners {
        hear(&event);
    }
}

fn tick() {
    let reopen = FEED.with_borrow(|feed| {
        let silent = clock() - feed.heard_at;
        let gave_up = feed.source.as_ref().is_none_or(|source| source.ready_state() == EventSource::CLOSED);
        (gave_up || silent > STALE_AFTER_MS as f64) && clock() - feed.opened_at > REOPEN_MS
    });
    if reopen {
        open();
    }
    fresh();
}

/// Tells the pages how long nothing was heard, and what time it is at the server.
fn fresh() {
    let heard = FEED.with_borrow(|feed| feed.live.map(|live| (live, clock() - feed.heard_at, clock() + feed.ahead_ms)));
    if let Some((live, silent, now)) = heard {
        live.pass(silent as i64, now as i64);
    }
}
