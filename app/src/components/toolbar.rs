//! The panel's search, filters and time axis. They are links and forms like any other; the panel follows its own links
//! without loading a page.

use leptos::{ev::SubmitEvent, html::Input, prelude::*};

use super::times::{Times, To};
use crate::{
    address::Address,
    board::Board,
    format::iso_utc,
    live::Live,
    range::{Range, Zoom},
    shown::Shown,
};

/// The filters in the order they are offered.
const FILTERS: [&str; 10] =
    ["", "down", "open", "latched", "half_open", "cooling_down", "forced_open", "forced_closed", "closed", "waiting"];

/// A filter's word as it is read.
pub fn filter_name(word: &str) -> &str {
    match word {
        "" => "all",
        "half_open" => "half-open",
        "forced_open" => "forced open",
        "forced_closed" => "forced closed",
        "cooling_down" => "cooling down",
        other => other,
    }
}

/// The bar above the rows.
#[component]
pub fn Toolbar(
    /// For the counts.
    board: Board,
    /// What the address says.
    shown: Memo<Shown>,
) -> impl IntoView {
    let live = Live::here();
    let address = Address::here();
    let typed = move |q: String| address.go_along(Shown { q, ..shown.get_untracked() }.href());
    // While the page runs the address already says what is typed.
    let submit = |event: SubmitEvent| event.prevent_default();
    let counts = Memo::new(move |_| {
        let now = live.now.get();
        board.all(|panel| FILTERS.map(|word| if word.is_empty() { panel.len() } else { panel.count(word, now) }))
    });
    let filters = move || {
        let shown = shown.get();
        let filters = FILTERS.iter().zip(counts.get()).filter_map(|(word, many)| {
            let current = shown.state == *word;
            (many > 0 || current || word.is_empty()).then(|| {
                let href = Shown { state: (*word).into(), ..shown.clone() }.href();
                view! {
                    <li>
                        <a href=href class="chip" aria-current=current.then_some("true")>
                            {filter_name(word)}
                            <span class="many">{many}</span>
                        </a>
                    </li>
                }
            })
        });
        filters.collect_view()
    };
    // Only where there are both.
    let protocols = Memo::new(move |_| board.all(|panel| ["http", "grpc"].map(|word| panel.speaks(word))));
    let kinds = move || {
        let shown = shown.get();
        let kinds = [("http", "HTTP"), ("grpc", "gRPC")].into_iter().map(|(word, name)| {
            let current = shown.protocol == word;
            let protocol = if current { String::new() } else { word.into() };
            let href = Shown { protocol, ..shown.clone() }.href();
            view! {
                <li>
                    <a href=href class="chip" aria-current=current.then_some("true")>
                        {name}
                    </a>
                </li>
            }
        });
        protocols.get().iter().all(|there| *there).then(|| kinds.collect_view())
    };
    let input = NodeRef::<Input>::new();
    Effect::new(move |before: Option<()>| {
        let q = shown.get().q;
        let Some(input) = input.get() else { return };
        match before {
            _ if input.value() == q => {}
            // Whoever typed before the page was taken over finds it looked for.
            None => typed(input.value()),
            Some(()) => input.set_value(&q),
        }
    });
    let href = Callback::new(move |to: To| {
        let shown = shown.get();
        let shown = match to {
            To::Range(range) => Shown { range: Some(range), zoom: None, ..shown },
            To::Zoom(zoom) => Shown { zoom: Some(zoom), ..shown },
            To::Back => Shown { zoom: None, ..shown },
        };
        shown.href()
    });
    let kept = Signal::derive(move || {
        let Shown { q, state, protocol, .. } = shown.get();
        vec![("q", q), ("state", state), ("protocol", protocol)]
    });
    // Where there is little room, what is not in use waits behind a switch.
    let chosen = Memo::new(move |_| {
        shown.with(|shown| !shown.state.is_empty() || !shown.protocol.is_empty() || shown.zoom.is_some())
    });
    let end = move |end: fn(&Zoom) -> i64| move || shown.with(|shown| shown.zoom.as_ref().map(end).map(iso_utc));
    view! {
        <div class="toolbar" class:is-chosen=chosen>
            <form class="search" role="search" method="get" action="/" on:submit=submit>
                <label class="unseen" for="q">
                    "Search host, upstream or service"
                </label>
                <input
                    id="q"
                    name="q"
                    node_ref=input
                    type="search"
                    placeholder="Search host, upstream or service"
                    autocomplete="off"
                    spellcheck="false"
                    value=shown.get_untracked().q
                    on:input=move |event| typed(event_target_value(&event))
                />
                <input type="hidden" name="state" value=move || shown.get().state />
                <input type="hidden" name="protocol" value=move || shown.get().protocol />
                <input type="hidden" name="range" value=move || shown.get().range.map(Range::word) />
                <input type="hidden" name="from" value=end(|zoom| zoom.from_ms) />
                <input type="hidden" name="to" value=end(|zoom| zoom.to_ms) />
                <button class="button" type="submit" hidden=move || live.running.get()>
                    "Search"
                </button>
            </form>
            <input type="checkbox" class="tools unseen" id="tools" />
            <label class="button tools-switch" for="tools">
                "Filters"
            </label>
            <nav class="filters" aria-label="Filter by state">
                <ul>{filters} {kinds}</ul>
            </nav>
            <Times window=board.window href=href page="/".into() kept=kept />
        </div>
    }
}
