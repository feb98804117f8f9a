//! The feed as the pages see it: one connection a tab, the server's clock, and how fresh what is shown is. On the server
//! nothing runs; a page says its time and the browser goes on from there.

use leptos::prelude::*;

use crate::{format::Zone, wire::event::FeedEvent};

#[cfg(feature = "hydrate")]
mod feed;

/// How fresh the board is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Link {
    /// A page as it was served.
    #[default]
    Served,
    /// The feed is heard.
    Live,
    /// Nothing heard for 5 s.
    Reconnecting,
    /// Nothing heard for 15 s: what is shown is history.
    Stale,
}

/// The feed's face.
#[derive(Clone, Copy)]
pub struct Live {
    /// How fresh it is.
    pub link: RwSignal<Link>,
    /// The server's time, to the second; stands still while stale.
    pub now: RwSignal<i64>,
    /// How long nothing was heard.
    pub silent_ms: RwSignal<i64>,
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
        #[cfg(feature = "hydrate")]
        {
            let listener = feed::listen(hear);
            on_cleanup(move || feed::forget(listener));
            Effect::new(move |_| feed::follow(self, now_ms, &cursor));
        }
        #[cfg(not(feature = "hydrate"))]
        let _ = (now_ms, cursor, hear);
    }

    /// Gives the facts heard lately once more, for what was loaded while they came.
    pub fn again(self, hear: impl FnMut(&FeedEvent)) {
        #[cfg(feature = "hydrate")]
        feed::again(hear);
        #[cfg(not(feature = "hydrate"))]
        let _ = hear;
    }
}

impl Default for Live {
    fn default() -> Self {
        Self::new()
    }
}
