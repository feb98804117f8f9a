//! One connection a browser: whichever tab gets the lock holds it, the others hear what it says over a broadcast channel.
//! A tab that closes gives the lock to the next one by itself. A tab that joins says how far it has read and is told
//! what it missed; the reducer takes nothing twice. A browser without locks or channels (a page that is not served from
//! this machine or over TLS has none) opens a connection for each tab.

use js_sys::{Array, Function, Promise, Reflect};
use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use web_sys::{BroadcastChannel, MessageEvent};

use super::{FEED, KEPT, Raw};
use crate::panel::Mark;

const NAME: &str = "fuseboard-feed";
/// What tabs say to each other besides events.
const JOIN: &str = "join";
const LOST: &str = "lost";

thread_local! {
    static CHANNEL: Option<BroadcastChannel> = BroadcastChannel::new(NAME).ok();
}

fn post(name: &str, data: &str, id: &str) {
    let parts = Array::of3(&name.into(), &data.into(), &id.into());
    // A channel that takes nothing shows as silence in the other tabs, and they know what to do about that.
    CHANNEL.with(|channel| channel.as_ref().map(|channel| channel.post_message(&parts)));
}

pub(super) fn tell(raw: &Raw) {
    post(&raw.name, &raw.data, &raw.id);
}

pub(super) fn tell_lost() {
    post(LOST, "", "");
}

/// Listens to the tab that holds the connection, and waits to become it.
pub(super) fn join(cursor: &str) {
    let listens = CHANNEL.with(|channel| {
        let channel = channel.as_ref()?;
        let hear = Closure::<dyn Fn(MessageEvent)>::new(|message: MessageEvent| heard(&message));
        channel.set_onmessage(Some(hear.as_ref().unchecked_ref()));
        hear.forget();
        Some(())
    });
    if listens.is_none() || wait_for_lock().is_none() {
        super::hold();
        return;
    }
    post(JOIN, cursor, "");
}

/// Holds the lock for as long as the tab lives once it is granted.
fn wait_for_lock() -> Option<()> {
    let navigator = web_sys::window()?.navigator();
    let locks = Reflect::get(&navigator, &"locks".into()).ok().filter(JsValue::is_object)?;
    let request: Function = Reflect::get(&locks, &"request".into()).ok()?.dyn_into().ok()?;
    let granted = Closure::once_into_js(|| {
        super::hold();
        Promise::new(&mut |_, _| {})
    });
    request.call2(&locks, &NAME.into(), &granted).ok().map(|_| ())
}

fn heard(message: &MessageEvent) {
    let parts = Array::from(&message.data());
    let text = |nth| parts.get(nth).as_string().unwrap_or_default();
    let (name, data, id) = (text(0), text(1), text(2));
    let holds = FEED.with_borrow(|feed| feed.holds);
    match name.as_str() {
        JOIN if holds => missed(&data),
        JOIN => {}
        LOST if !holds => super::lost(),
        LOST => {}
        _ if !holds => super::hear(Raw { name, data, id }),
        _ => {}
    }
}

/// Says again what a tab that read up to `cursor` has not heard.
fn missed(cursor: &str) {
    let mut mark = Mark::new(cursor);
    let (recent, hello) = FEED
        .with_borrow(|feed| (feed.recent.iter().map(|kept| kept.0.clone()).collect::<Vec<_>>(), feed.hello.clone()));
    let seq = |raw: &Raw| raw.id.rsplit_once('-').and_then(|id| id.1.parse::<u64>().ok()).unwrap_or(0);
    // What fell out of the list cannot be told; the tab reads everything again.
    if recent.len() == KEPT
        && recent.first().is_some_and(|first| Mark::new(cursor).pass(seq(first).saturating_sub(1)))
        && let Some(data) = hello
    {
        tell(&Raw { name: "resync".into(), data, id: String::new() });
    }
    for raw in recent {
        if mark.same_run(&raw.id) && mark.pass(seq(&raw)) {
            tell(&raw);
        }
    }
}
