//! A point in time: as the server writes it first, on the viewer's clock once the page runs, UTC on hover.

use leptos::prelude::*;

use crate::{
    format::{self, Zone},
    live::Live,
    wire::time::Time,
};

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
    view! {
        <time datetime=at.to_string() title=format::full_utc(ms)>
            {move || said(ms, now, seconds, live.zone.get())}
        </time>
    }
}

/// The same on a page that stays as it was read: [`super::read::AsRead`] puts it on the viewer's clock.
#[cfg(feature = "ssr")]
#[component]
pub fn Stamp(
    /// The time.
    at: Time,
    /// Say the seconds too.
    #[prop(optional)]
    seconds: bool,
) -> impl IntoView {
    let ms = at.millis();
    let now = Live::here().now.get_untracked();
    view! {
        <time class="stamp" datetime=at.to_string() title=format::full_utc(ms) data-ms=ms.to_string() data-seconds=seconds>
            {said(ms, now, seconds, Zone::Utc)}
        </time>
    }
}

/// A time in words.
pub(super) fn said(ms: i64, now_ms: i64, seconds: bool, zone: Zone) -> String {
    let moment = format::moment(ms, now_ms, zone);
    let seconds = if seconds { format::clock_seconds(ms, zone)[5..].to_owned() } else { String::new() };
    format!("{moment}{seconds}{}", zone.suffix())
}
