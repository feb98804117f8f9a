//! Which stretch of time is shown: the ranges on offer, earlier and later, nearer and wider, and both ends by hand. Links and
//! a form like any other; the page follows its own links without being loaded again.

use leptos::prelude::*;

use crate::{
    live::Live,
    range::{Range, Window, Zoom},
};

/// What a link leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum To {
    /// The last so long.
    Range(Range),
    /// Two fixed ends.
    Zoom(Zoom),
    /// What was shown before any zoom.
    Back,
}

/// The chips, and the form for both ends.
#[component]
pub fn Times(
    /// What is shown.
    #[prop(into)]
    window: Signal<Window>,
    /// The address that shows something else.
    href: Callback<To, String>,
    /// Where the form for both ends is sent.
    page: String,
    /// What the form keeps of the address, as names and values.
    #[prop(into)]
    kept: Signal<Vec<(&'static str, String)>>,
) -> impl IntoView {
    let live = Live::here();
    let ranges = move || {
        let window = window.get();
        let ranges = Range::ALL.into_iter().map(|range| {
            let current = (window == Window::Last(range)).then_some("true");
            view! {
                <a href=href.run(To::Range(range)) class="chip" aria-current=current aria-label=range.spoken()>
                    {range.word()}
                </a>
            }
        });
        ranges.collect_view()
    };
    // What a link leads to depends on the time it is clicked at; to the second is near enough.
    let to = move |zoom: fn(Window, i64) -> Zoom| move || href.run(To::Zoom(zoom(window.get(), live.now.get())));
    let zoomed = move || matches!(window.get(), Window::Fixed(_));
    let kept = move || {
        let kept = kept.get().into_iter().filter(|(_, value)| !value.is_empty());
        kept.map(|(name, value)| view! { <input type="hidden" name=name value=value /> }).collect_view()
    };
    view! {
        <div class="times">
            <nav class="ranges" aria-label="How far back">
                {ranges}
            </nav>
            <nav class="zooms" aria-label="Zoom">
                <a class="chip" href=to(|window, now| window.moved(-0.5, now)) aria-label="earlier">
                    "‹"
                </a>
                <a class="chip" href=to(|window, now| window.moved(0.5, now)) aria-label="later">
                    "›"
                </a>
                <a class="chip" href=to(|window, now| window.scaled(0.5, now)) aria-label="zoom in">
                    "+"
                </a>
                <a class="chip" href=to(|window, now| window.scaled(2.0, now)) aria-label="zoom out">
                    "−"
                </a>
                <span class="zoomed" hidden=move || !zoomed()>
                    <span>{move || window.get().spoken(live.zone.get())}</span>
                    <a class="chip" href=move || href.run(To::Back)>
                        "Back to now"
                    </a>
                </span>
                <details class="custom">
                    <summary class="chip">"Custom"</summary>
                    <form method="get" action=page>
                        <label>
                            "From, UTC"
                            <input type="datetime-local" name="from" required />
                        </label>
                        <label>
                            "To, UTC"
                            <input type="datetime-local" name="to" required />
                        </label>
                        {kept}
                        <button class="button" type="submit">
                            "Show"
                        </button>
                    </form>
                </details>
            </nav>
        </div>
    }
}
