//! A point in time: as the server writes it first, on the viewer's clock once the page runs, UTC on hover.

use leptos::prelude::*;

use crate::{format, live::Live, wire::time::Time};

/// The time of day, with its day where that is not today.
#[component]
pub fn When(
    /// The time.
    at: Time,
    /// Say the seconds too.
    #[prop(optional)]
    seconds: bool,
) -> impl IntoView {
    let live = Live::here();
    let ms = at.millis();
    // Of the clock only the day matters here, and a page does not live through many.
    let now = live.now.get_untracked();
    let said = move || {
        let zone = live.zone.get();
        let moment = format::moment(ms, now, zone);
        let seconds = if seconds { format::clock_seconds(ms, zone)[5..].to_owned() } else { String::new() };
        format!("{moment}{seconds}{}", zone.suffix())
    };
    view! {
        <time datetime=at.to_string() title=format::full_utc(ms)>
            {said}
        </time>
    }
}
