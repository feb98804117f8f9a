//! The connection itself, in the browser. One tab of a browser holds it and hands what it hears to the others; see
//! [`share`]. `EventSource` reconnects by itself with its last id; where it gave up, or has been silent for long, it is
//! opened anew from the last id that was heard.

use std::{cell::RefCell, collections::VecDeque, rc::Rc, time::Duration};

use leptos::prelude::*;
use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{Event, EventSource, MessageEvent};

use super::{Live, STALE_AFTER_MS};
use crate::{dom, panel::Mark, wire::event::FeedEvent};

mod share;

const NAMES: [&str; 6] = ["hello", "transition", "probe", "audit", "stats", "resync"];
/// Between two attempts of our own.
const REOPEN_MS: f64 = 5_000.0;
/// Facts kept for a page that is being loaded, and for a tab that joins.
const KEPT: usize = 256;

type Hear = Rc<dyn Fn(&FeedEvent)>;

/// One event as it came, for the other tabs.
#[derive(Clone)]
struct Raw {
    name: String,
    data: String,
    /// Empty where it has none.
    id: String,
}

#[derive(Default)]
struct Feed {
    live: Option<Live>,
    source: Option<EventSource>,
    on_event: Option<Closure<dyn Fn(MessageEvent)>>,
    on_error: Option<Closure<dyn Fn(Event)>>,
    listeners: Vec<(u64, Hear)>,
    next_listener: u64,
    recent: VecDeque<(Raw, FeedEvent)>,
    cursor: String,
    /// The last hello, for a tab that joins too late to be told all it missed.
    hello: Option<String>,
    /// This tab holds the connection; the others listen to it.
    holds: bool,
    lost: bool,
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
    let recent: Vec<FeedEvent> = FEED.with_borrow(|feed| feed.recent.iter().map(|kept| kept.1.clone()).collect());
    recent.iter().for_each(&mut hear);
}

/// Goes on from a page's place in the record, with this tab's own connection or another's.
pub(super) fn follow(live: Live, now_ms: i64, cursor: &str) {
    live.take_over();
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
        share::join(cursor);
        // A page that goes away loses its connection, and that is no news for the other tabs.
        if let Some(window) = web_sys::window() {
            dom::listen(&window, "pagehide", |_: Event| leave());
        }
        set_interval(tick, Duration::from_secs(1));
    }
}

fn leave() {
    FEED.with_borrow_mut(|feed| {
        feed.holds = false;
        if let Some(source) = feed.source.take() {
            source.close();
        }
    });
}

/// Becomes the tab that holds the connection.
fn hold() {
    FEED.with_borrow_mut(|feed| feed.holds = true);
    open();
}

fn open() {
    FEED.with_borrow_mut(|feed| {
        if let Some(old) = feed.source.take() {
            old.close();
        }
        feed.opened_at = clock();
        let Ok(source) = EventSource::new(&format!("/api/v1/events?after={}", feed.cursor)) else { return };
        let on_event = feed.on_event.get_or_insert_with(|| Closure::new(|message: MessageEvent| came(&message)));
        for name in NAMES {
            // The browser refuses no listener of ours; a lost one would show as silence.
            let _ = source.add_event_listener_with_callback(name, on_event.as_ref().unchecked_ref());
        }
        let on_error = feed.on_error.get_or_insert_with(|| Closure::new(|_| lose()));
        source.set_onerror(Some(on_error.as_ref().unchecked_ref()));
        feed.source = Some(source);
    });
}

/// The browser says that the connection is gone: nobody has to wait for the silence to know.
fn lose() {
    if FEED.with_borrow(|feed| feed.holds) {
        share::tell_lost();
    }
    lost();
}

fn lost() {
    FEED.with_borrow_mut(|feed| feed.lost = true);
    fresh();
}

/// An event of this tab's own connection.
fn came(message: &MessageEvent) {
    let Some(data) = message.data().as_string() else { return };
    let raw = Raw { name: message.type_(), data, id: message.last_event_id() };
    if FEED.with_borrow(|feed| feed.holds) {
        share::tell(&raw);
    }
    hear(raw);
}

fn hear(raw: Raw) {
    let event = match FeedEvent::parse(&raw.name, &raw.data) {
        Ok(Some(event)) => event,
        Ok(None) => return,
        Err(error) => return leptos::logging::error!("the feed sent what this board cannot read: {error}"),
    };
    let listeners = FEED.with_borrow_mut(|feed| {
        feed.heard_at = clock();
        feed.lost = false;
        if !raw.id.is_empty() {
            feed.cursor.clone_from(&raw.id);
        }
        match &event {
            FeedEvent::Hello(hello) | FeedEvent::Resync(hello) => {
                feed.ahead_ms = hello.now.millis() as f64 - clock();
                feed.hello = Some(raw.data.clone());
                if !Mark::new(&feed.cursor).same_run(&hello.cursor) || matches!(event, FeedEvent::Resync(_)) {
                    feed.recent.clear();
                    feed.cursor.clone_from(&hello.cursor);
                }
            }
            FeedEvent::Stats(stats) => feed.ahead_ms = stats.now.millis() as f64 - clock(),
            fact => {
                feed.recent.push_back((raw, fact.clone()));
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
        // A tab that listens to another's connection opens its own where that one has fallen asleep.
        let forsaken = silent > STALE_AFTER_MS as f64;
        ((gave_up && feed.holds) || forsaken) && clock() - feed.opened_at > REOPEN_MS
    });
    if reopen {
        open();
    }
    fresh();
}

/// Tells the pages how long nothing was heard, and what time it is at the server.
fn fresh() {
    let heard = FEED.with_borrow(|feed| {
        feed.live.map(|live| {
            if live.heard.with_untracked(|heard| *heard != feed.cursor) {
                live.heard.set(feed.cursor.clone());
            }
            (live, clock() - feed.heard_at, feed.lost, clock() + feed.ahead_ms)
        })
    });
    if let Some((live, silent, lost, now)) = heard {
        live.pass(silent as i64, lost, now as i64);
    }
}
