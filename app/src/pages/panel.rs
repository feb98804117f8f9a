//! `/`: one sentence, trouble in full, the rest folded.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;

use crate::{
    api,
    backend::{About, BreakerFilter},
    board::Board,
    components::{
        banner::{Failed, FaultBanner, FindingsBanner, StoreBanner},
        frame::{DemoMark, Footer},
        lane::{AxisLabels, axis_end},
        row::PanelRow,
        toolbar::{Shown, Toolbar, filter_name},
    },
    format,
    live::Live,
    panel::{Arranged, PanelView},
    prose,
    range::Range,
};

/// The panel.
#[component]
pub fn PanelPage() -> impl IntoView {
    let query = use_query_map();
    let shown = Memo::new(move |_| {
        query.with(|query| {
            let text = |name: &str| query.get(name).unwrap_or_default();
            Shown { q: text("q"), state: text("state"), range: Range::parse(&text("range")) }
        })
    });
    let view =
        Resource::new(|| (), move |()| api::load_panel(shown.get_untracked().range.map_or("", Range::word).into()));
    view! {
        <Suspense fallback=|| view! { <p class="loading">"Reading the panel"</p> }>
            {move || Suspend::new(async move {
                match view.await {
                    Ok(view) => view! { <Loaded view=view shown=shown /> }.into_any(),
                    Err(refusal) => view! { <Failed refusal=refusal again=shown.get_untracked().href() /> }.into_any(),
                }
            })}
        </Suspense>
    }
}

#[component]
fn Loaded(view: PanelView, shown: Memo<Shown>) -> impl IntoView {
    let live = Live::here();
    let about = view.about.clone();
    live.now.set(about.now.millis());
    let usual = Range::usual(about.watched_ms());
    let board = Board::new(&view, shown.get_untracked().range.unwrap_or(usual));
    live.follow(about.now.millis(), about.cursor.clone(), move |event| board.hear(event));
    Effect::new(move |_| board.tick(live.now.get()));
    Effect::new(move |before: Option<Range>| {
        let range = shown.get().range.unwrap_or(usual);
        board.range.set(range);
        if before.is_some_and(|before| before != range) {
            board.reload();
        }
        range
    });
    let sentence = Memo::new(move |_| {
        board.all(|panel| prose::panel(&panel.summary(live.now.get()), live.now.get(), live.zone.get()))
    });
    let title = Memo::new(move |_| {
        board.all(|panel| match panel.summary(live.now.get()).refused {
            0 => "Fuseboard".to_owned(),
            refused => format!("{refused} refused · Fuseboard"),
        })
    });
    let empty = Memo::new(move |_| board.all(|panel| panel.is_empty()));
    let demo = about.demo;
    let first_run = about.clone();
    view! {
        <Title text=move || title.get() />
        {demo.then(|| view! { <DemoMark /> })}
        <StoreBanner store=Signal::derive(move || board.store()) />
        <FindingsBanner findings=Signal::derive(move || board.findings()) />
        <FaultBanner
            fault=board.fault
            as_of_ms=Signal::derive(move || board.loaded_ms())
            retry=move |()| board.reload()
        />
        <h1 class="sentence">
            {move || if empty.get() { "No upstream yet.".to_owned() } else { sentence.get() }}
        </h1>
        {move || {
            if empty.get() {
                view! { <FirstRun about=first_run.clone() /> }.into_any()
            } else {
                view! {
                    <Toolbar board=board shown=shown />
                    <Rows board=board shown=shown />
                }
                    .into_any()
            }
        }}
        <Footer about=about />
    }
}

#[component]
fn Rows(board: Board, shown: Memo<Shown>) -> impl IntoView {
    let live = Live::here();
    let filter = Memo::new(move |_| {
        let Shown { q, state, .. } = shown.get();
        BreakerFilter { state: (!state.is_empty()).then_some(state), q: (!q.is_empty()).then_some(q) }
    });
    let wanted = Memo::new(move |_| board.all(|panel| panel.arrange(&filter.get(), live.now.get())));
    // What is on the screen: it moves only while nobody is about to click on it.
    let arranged = RwSignal::new(wanted.get_untracked());
    let (pointer, focus) = (RwSignal::new(false), RwSignal::new(false));
    Effect::new(move |before: Option<BreakerFilter>| {
        let (filter, wanted) = (filter.get(), wanted.get());
        let asked = before.is_some_and(|before| before != filter);
        if (asked || !(pointer.get() || focus.get())) && arranged.get_untracked() != wanted {
            arranged.set(wanted);
        }
        filter
    });
    let changed = Memo::new(move |_| arranged.get().moved(&wanted.get()));
    let end = axis_end(live, board.range.into());
    // What is looked for is in sight, and so is what is left when nothing is in trouble.
    let open_rest = Memo::new(move |_| {
        let asked = filter.with(|filter| filter.q.is_some() || filter.state.is_some());
        asked || arranged.with(|arranged| arranged.trouble.is_empty())
    });
    let rest = move || arranged.with(|arranged| board.all(|panel| folded(panel, arranged)));
    view! {
        <section
            class="panel"
            class:is-dimmed=move || board.loading.get() || board.fault.get().is_some()
            aria-label="Breakers"
            on:pointerenter=move |_| pointer.set(true)
            on:pointerleave=move |_| pointer.set(false)
            on:focusin=move |_| focus.set(true)
            on:focusout=move |_| focus.set(false)
        >
            {move || {
                (changed.get() > 0)
                    .then(|| {
                        view! {
                            <p class="resort" role="status">
                                <button type="button" class="button" on:click=move |_| arranged.set(wanted.get_untracked())>
                                    {format!("{} changed, re-sort", changed.get())}
                                </button>
                            </p>
                        }
                    })
            }}
            <div class="heads" aria-hidden="true">
                <span class="c-lane">
                    <AxisLabels range=board.range end=end />
                </span>
            </div>
            <ul class="rows">
                <For each=move || arranged.get().trouble key=String::clone let:id>
                    <PanelRow board=board id=id end=end />
                </For>
            </ul>
            {move || arranged.with(Arranged::is_empty).then(|| view! { <NoMatch board=board shown=shown /> })}
            <details class="rest" open=move || open_rest.get() hidden=move || arranged.with(|arranged| arranged.quiet.is_empty())>
                <summary>{rest}</summary>
                <ul class="rows is-quiet">
                    <For each=move || arranged.get().quiet key=String::clone let:id>
                        <PanelRow board=board id=id end=end />
                    </For>
                </ul>
            </details>
        </section>
    }
}

/// "942 closed, 3 waiting for the first call".
fn folded(panel: &crate::panel::Panel, arranged: &Arranged) -> String {
    let waiting =
        arranged.quiet.iter().filter(|id| panel.row(id).is_some_and(|row| !row.breaker.called)).count() as u64;
    let closed = arranged.quiet.len() as u64 - waiting;
    match (closed, waiting) {
        (closed, 0) => format!("{} closed", format::count(closed)),
        (0, waiting) => format!("{} waiting for the first call", format::count(waiting)),
        (closed, waiting) => {
            format!("{} closed, {} waiting for the first call", format::count(closed), format::count(waiting))
        }
    }
}

#[component]
fn NoMatch(board: Board, shown: Memo<Shown>) -> impl IntoView {
    let said = move || {
        let Shown { q, state, .. } = shown.get();
        let all = board.all(|panel| panel.len());
        let exist = if all == 1 { "1 exists".to_owned() } else { format!("{all} exist") };
        let matching = if q.is_empty() { String::new() } else { format!(" matches '{q}'") };
        let within = match (q.is_empty(), state.is_empty()) {
            (_, true) => String::new(),
            (true, false) => format!(" is {}", filter_name(&state)),
            (false, false) => format!(" in {}", filter_name(&state)),
        };
        format!("No breaker{matching}{within}. {exist}. ")
    };
    let clear = move || Shown { range: shown.get().range, ..Shown::default() }.href();
    view! {
        <p class="nothing">
            {said} <a href=clear>{move || if shown.get().q.is_empty() { "Clear filter" } else { "Clear search and filter" }}</a>
        </p>
    }
}

#[component]
fn FirstRun(about: About) -> impl IntoView {
    let gateway = about.gateway_url.trim_end_matches('/').to_owned();
    let npm = format!("npm config set registry {gateway}/npm/");
    view! {
        <ol class="first-run">
            <li>
                <p>"Name an upstream in fuseboard.toml:"</p>
                <pre>"[[upstream]]\nname = \"npm\"\nurl  = \"https://registry.example\""</pre>
            </li>
            <li>
                <p>"Restart Fuseboard, or start it with"</p>
                <pre>"fuseboard serve --upstream npm=https://registry.example"</pre>
            </li>
            <li>
                <p>"Point a client at this gateway:"</p>
                <pre>{npm}</pre>
            </li>
        </ol>
        <p class="nothing">"This page changes by itself at the first call."</p>
    }
}
