//! What goes on by itself on a page that stays as it was read: its times move to the viewer's clock, and what the store's
//! trouble is said with.

use leptos::prelude::*;

use super::banner::{FindingsBanner, StoreBanner};
use crate::{backend::About, live::Live};

/// The store in trouble and the server's own faults as they were when the page was read.
#[island]
pub fn AsRead(
    /// What the server said of itself.
    about: About,
) -> impl IntoView {
    let live = Live::here();
    live.now.set(about.now.millis());
    #[cfg(feature = "browser")]
    {
        Effect::new(move |_| live.take_over());
        Effect::new(move |_| restamp(live));
    }
    let About { store, findings, .. } = about;
    view! {
        <StoreBanner store=Signal::stored(store) />
        <FindingsBanner findings=Signal::stored(findings) />
    }
}

/// Writes every time of the page as the chosen clock shows it.
#[cfg(feature = "browser")]
fn restamp(live: Live) {
    let (zone, now) = (live.zone.get(), live.now.get());
    let Some(stamps) = crate::dom::document().and_then(|page| page.query_selector_all("time.stamp").ok()) else {
        return;
    };
    for stamp in (0..stamps.length()).filter_map(|nth| stamps.item(nth)) {
        let Some(element) = wasm_bindgen::JsCast::dyn_ref::<web_sys::Element>(&stamp) else { continue };
        if let Some(ms) = element.get_attribute("data-ms").and_then(|ms| ms.parse().ok()) {
            let seconds = element.has_attribute("data-seconds");
            stamp.set_text_content(Some(&super::when::said(ms, now, seconds, zone)));
        }
    }
}
