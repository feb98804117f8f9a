//! Search, filter and range. All three are in the address: links and a plain form, quicker where the page runs.

use leptos::{ev::SubmitEvent, html::Input, prelude::*};
use leptos_router::{NavigateOptions, hooks::use_navigate};

use crate::{board::Board, format::query_value, live::Live, range::Range};

/// What the address says is shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    /// Text looked for.
    pub q: String,
    /// A filter's word, empty for all.
    pub state: String,
    /// How far back lanes reach, where that was chosen.
    pub range: Option<Range>,
}

impl Shown {
    /// Its address.
    pub fn href(&self) -> String {
        let mut parts = Vec::new();
        if !self.q.is_empty() {
            parts.push(format!("q={}", query_value(&self.q)));
        }
        if !self.state.is_empty() {
            parts.push(format!("state={}", query_value(&self.state)));
        }
        if let Some(range) = self.range {
            parts.push(format!("range={}", range.word()));
        }
        if parts.is_empty() { "/".into() } else { format!("/?{}", parts.join("&")) }
    }
}

/// The filters in the order they are offered.
const FILTERS: [&str; 9] =
    ["", "down", "open", "latched", "half_open", "cooling_down", "forced_open", "forced_closed", "closed"];

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
    let navigate = use_navigate();
    let typed = move |q: String| {
        let to = Shown { q, ..shown.get_untracked() };
        navigate(&to.href(), NavigateOptions { replace: true, scroll: false, ..NavigateOptions::default() });
    };
    // While the page runs the address already says what is typed.
    let submit = |event: SubmitEvent| event.prevent_default();
    let counts = Memo::new(move |_| {
        let now = live.now.get();
        board.all(|panel| FILTERS.map(|word| if word.is_empty() { panel.len() } else { panel.count(word, now) }))
    });
    let filters = move || {
        let filters = FILTERS.iter().zip(counts.get()).filter_map(|(word, many)| {
            let shown = shown.get();
            let current = shown.state == *word;
            (many > 0 || current || word.is_empty()).then(|| {
                let href = Shown { state: (*word).into(), ..shown }.href();
                view! {
                    <li>
                        <a href=href class="chip" aria-current=current.then_some("true")>
                            {filter_name(word).to_owned()}
                            <span class="many">{many}</span>
                        </a>
                    </li>
                }
            })
        });
        filters.collect_view()
    };
    let ranges = move || {
        let ranges = Range::ALL.into_iter().map(|range| {
            let current = (board.range.get() == range).then_some("true");
            let href = Shown { range: Some(range), ..shown.get() }.href();
            view! {
                <a href=href class="chip" aria-current=current aria-label=range.spoken()>
                    {range.word()}
                </a>
            }
        });
        ranges.collect_view()
    };
    let input = NodeRef::<Input>::new();
    Effect::new({
        let typed = typed.clone();
        move |before: Option<()>| {
            let q = shown.get().q;
            let Some(input) = input.get() else { return };
            match before {
                _ if input.value() == q => {}
                // Whoever typed before the page was taken over finds it looked for.
                None => typed(input.value()),
                Some(()) => input.set_value(&q),
            }
        }
    });
    view! {
        <div class="toolbar">
            <form class="search" role="search" method="get" action="/" on:submit=submit>
                <label class="unseen" for="q">
                    "Search host or upstream"
                </label>
                <input
                    id="q"
                    name="q"
                    node_ref=input
                    type="search"
                    placeholder="Search host or upstream"
                    autocomplete="off"
                    spellcheck="false"
                    value=shown.get_untracked().q
                    on:input=move |event| typed(event_target_value(&event))
                />
                <input type="hidden" name="state" value=move || shown.get().state />
                <input type="hidden" name="range" value=move || shown.get().range.map(Range::word) />
                <button class="button" type="submit" hidden=move || live.running.get()>
                    "Search"
                </button>
            </form>
            <nav class="filters" aria-label="Filter by state">
                <ul>{filters}</ul>
            </nav>
            <nav class="ranges" aria-label="How far back">
                {ranges}
            </nav>
        </div>
    }
}
