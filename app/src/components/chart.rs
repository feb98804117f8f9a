//! The frame of what is drawn under a lane, on its axis: what it shows, in which signs, and the drawing.

use leptos::prelude::*;

/// One chart.
#[component]
pub fn Chart(
    /// What it shows; its class in small letters.
    name: &'static str,
    /// Its signs: their class, and what each stands for.
    keys: &'static [(&'static str, &'static str)],
    /// What its height stands for, or that there is nothing to draw.
    scale: Signal<Option<String>>,
    /// Height it is drawn in, in pixels.
    height: f64,
    /// What it shows, for whoever does not see it.
    label: Signal<String>,
    /// The drawing.
    marks: Signal<String>,
) -> impl IntoView {
    let keys = keys.iter().map(|(class, word)| view! { <span class=format!("key {class}")>{*word}</span> });
    view! {
        <p class="legend">
            <b>{name}</b>
            {keys.collect_view()}
            <span class="scale">{scale}</span>
        </p>
        <div class="c-lane">
            <svg
                class=name.to_lowercase()
                role="img"
                aria-label=label
                width="100%"
                height=height.to_string()
                inner_html=marks
            ></svg>
        </div>
    }
}
