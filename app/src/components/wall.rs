//! For a screen on a wall: tiles for what is not closed, one for all that is, readable from across the room.

use leptos::prelude::*;

use crate::{
    backend::{About, BreakerFilter},
    board::Board,
    format,
    live::{Link, Live},
    panel::Panel,
    rows::tile,
};

/// The tiles, the clock and how old they are.
#[component]
pub fn Wall(
    /// All breakers.
    board: Board,
    /// Which server this is.
    about: About,
) -> impl IntoView {
    let live = Live::here();
    let tiles = Memo::new(move |_| {
        let now = live.now.get();
        board.all(|panel: &Panel| tile::all(panel, &panel.arrange(&BreakerFilter::default(), now), now))
    });
    let clock = move || {
        let zone = live.zone.get();
        format!("{}{}", format::clock(live.now.get(), zone), zone.suffix())
    };
    let age = move || match live.link.get() {
        Link::Live => "live".to_owned(),
        Link::Served => "not live: reload for news".to_owned(),
        Link::Reconnecting | Link::Stale => format!("no word for {}", format::duration(live.silent_ms.get())),
    };
    view! {
        <section class="wall" aria-label="What is not closed">
            <h1 class="unseen">"What is not closed"</h1>
            <ul class="tiles" inner_html=move || tiles.get()></ul>
            <p class="wall-foot">
                <time class="wall-clock">{clock}</time>
                <span>{age}</span>
                <span>"node " {about.node}</span>
                <a href="/">"panel"</a>
            </p>
        </section>
    }
}
