//! The feed as the pages see it: one connection a browser, the server's clock, and how fresh what is shown is. On the
//! server nothing runs; a page says its time and the browser goes on from there.

use leptos::prelude::*;

use crate::{format::Zone, wire::event::FeedEvent};

#[cfg(feature = "browser")]
mod feed;

/// How fresh the board is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Link {
    /// A page as it was served.
    #[default]
    Served,
    /// The feed is heard.
    Live,
    /// The connection is known to be lost, or nothing was heard for 5 s.
    Reconnecting,
    /// Nothing heard for 15 s: what is shown is history.
    Stale,
}

const RECONNECTING_AFTER_MS: i64 = 5_000;
const STALE_AFTER_MS: i64 = 15_000;

impl Link {
    /// By how long nothing was heard, and whether the connection is known to be lost.
    pub fn after(silent_ms: i64, lost: bool) -> Self {
        match silent_ms {
            silent if silent > STALE_AFTER_MS => Self::Stale,
            silent if lost || silent > RECONNECTING_AFTER_MS => Self::Reconnecting,
            _ => Self::Live,
        }
    }
}

/// The feed's face.
#[derive(Clone, Copy)]
pub struct Live {
    /// How fresh it is.
    pub link: RwSignal<Link>,
    /// The server's time, to the second; stands still while nothing is heard, for what it would lead to is a guess.
    pub now: RwSignal<i64>,
    /// How long nothing was heard.
    pub silent_ms: RwSignal<i64>,
    /// Up to where the record was heard, `<boot>-<seq>`; empty before anything was.
    pub heard: RwSignal<String>,
    /// The clock times are read on.
    pub zone: RwSignal<Zone>,
    /// The page was taken over by the browser.
    pub running: RwSignal<bool>,
}

impl Live {
    /// Nothing heard yet.
    pub fn new() -> Self {
        Self {
            link: RwSignal::default(),
            now: RwSignal::new(0),
            silent_ms: RwSignal::new(0),
            heard: RwSignal::default(),
            zone: RwSignal::default(),
            running: RwSignal::new(false),
        }
    }

    /// The page's own, from the app's context.
    pub fn here() -> Self {
        use_context().unwrap_or_else(Self::new)
    }

    /// Goes on from a page: its time, and its place in the record. `hear` gets every event from there on until the page
    /// goes away.
    pub fn follow(self, now_ms: i64, cursor: String, hear: impl Fn(&FeedEvent) + 'static) {
        #[cfg(feature = "browser")]
        {
            let listener = feed::listen(hear);
            on_cleanup(move || feed::forget(listener));
            Effect::new(move |_| feed::follow(self, now_ms, &cursor));
        }
        #[cfg(not(feature = "browser"))]
        let _ = (now_ms, cursor, hear);
    }

    /// The browser has taken the page over: times are read on its clock, or on the one chosen before.
    #[cfg(feature = "browser")]
    pub fn take_over(self) {
        self.running.set(true);
        self.zone.set(if crate::remember::utc() { Zone::Utc } else { Zone::Viewer });
    }

    /// Says how fresh the board is, and lets its time go on to `now_ms` while the server is heard. In a silence no wait
    /// ends on the screen: the server may have seen its probe.
    #[cfg(any(feature = "browser", test))]
    fn pass(self, silent_ms: i64, lost: bool, now_ms: i64) {
        let link = Link::after(silent_ms, lost);
        if self.link.get_untracked() != link {
            self.link.set(link);
        }
        if link != Link::Live {
            self.silent_ms.set(silent_ms);
        } else if self.now.get_untracked() / 1_000 != now_ms / 1_000 {
            self.now.set(now_ms);
        }
    }

    /// Gives the facts heard lately once more, for what was loaded while they came.
    pub fn again(self, hear: impl FnMut(&FeedEvent)) {
        #[cfg(feature = "browser")]
        feed::again(hear);
        #[cfg(not(feature = "browser"))]
        let _ = hear;
    }
}

impl Default for Live {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_stands_still_in_a_silence_and_goes_on_after_it() {
        let owner = Owner::new();
        owner.set();
        let live = Live::new();
        let stood = |silent_ms, now_ms| {
            live.pass(silent_ms, false, now_ms);
            (live.link.get_untracked(), live.now.get_untracked(), live.silent_ms.get_untracked())
        };
        assert_eq!(stood(5_000, 60_000), (Link::Live, 60_000, 0));
        assert_eq!(stood(5_001, 60_001), (Link::Reconnecting, 60_000, 5_001));
        assert_eq!(stood(15_000, 70_000), (Link::Reconnecting, 60_000, 15_000));
        assert_eq!(stood(15_001, 71_000), (Link::Stale, 60_000, 15_001));
        assert_eq!(stood(10, 90_000), (Link::Live, 90_000, 15_001));
    }

    #[test]
    fn a_lost_connection_is_not_called_live_for_another_five_seconds() {
        assert_eq!(Link::after(100, true), Link::Reconnecting);
        assert_eq!(Link::after(15_001, true), Link::Stale);
        assert_eq!(Link::after(100, false), Link::Live);
    }
}
