//! The panel in the browser: one sentence, trouble in full, the rest folded, on one time axis. The server renders the same
//! island; here it goes on by itself.

use std::collections::HashSet;

use leptos::{
    either::EitherOf3,
    ev::MouseEvent,
    html::{Dialog, Section, Ul},
    prelude::*,
};

use super::{
    axis::{AxisLabels, Brush, Crosshair, Pointed, axis_end},
    banner::{FaultBanner, FindingsBanner, StoreBanner},
    first::FirstRun,
    keys::Keys,
    sheet::{Selection, Sheet},
    toast::{Toast, ToastView},
    toolbar::{Toolbar, filter_name},
    wall::Wall,
};
use crate::{
    address::Address,
    backend::{BreakerFilter, Refusal},
    board::Board,
    data,
    format::Zone,
    live::{Link, Live},
    panel::{Panel, PanelView, arrange::Arranged},
    prose,
    range::{Range, Zoom},
    rows::{self, Item, Look},
    shown::Shown,
    wire::action::ActionAnswer,
};

/// The panel.
#[island]
pub fn PanelBoard() -> impl IntoView {
    data::take::<PanelView>().map(|view| view! { <Loaded view=view /> })
}

#[component]
fn Loaded(view: PanelView) -> impl IntoView {
    let (live, address) = (Live::here(), Address::here());
    let about = view.about.clone();
    let usual = Range::usual(about.watched_ms());
    let shown = Memo::new(move |_| Shown::parse(&address.query()));
    let board = Board::new(&view, shown.get_untracked().window(usual));
    live.now.set(about.now.millis());
    live.follow(about.now.millis(), about.cursor.clone(), move |event| board.hear(event));
    Effect::new(move |_| board.tick(live.now.get()));
    Effect::new(move |before: Option<crate::range::Window>| {
        let window = shown.get().window(usual);
        if before.is_some_and(|before| before != window) {
            board.window.set(window);
            board.reload();
        }
        window
    });
    let refused = Memo::new(move |_| board.all(|panel| panel.summary(live.now.get()).refused));
    Effect::new(move |_| say_title(refused.get()));
    let empty = Memo::new(move |_| board.all(Panel::is_empty));
    let wall = Memo::new(move |_| shown.get().wall);
    let first = StoredValue::new((view.plan, view.refused));
    let called = Memo::new(move |_| board.all(Panel::is_called));
    // Who opens the panel after the first call has no first steps to take.
    let steps = (!called.get_untracked()).then(|| {
        let names = view.list.breakers.iter().flat_map(|breaker| breaker.upstreams.clone()).collect();
        view! {
            <div hidden=move || called.get() || wall.get()>
                <FirstRun about=about.clone() names=names empty=empty />
            </div>
        }
    });
    let shown = move || {
        let about = about.clone();
        match (empty.get(), wall.get()) {
            (true, _) => EitherOf3::A(()),
            (false, true) => EitherOf3::B(view! { <Wall board=board about=about /> }),
            (false, false) => EitherOf3::C(view! { <Whole board=board shown=shown first=first /> }),
        }
    };
    view! {
        {shown}
        {steps}
    }
}

/// The tab says it too.
fn say_title(refused: u64) {
    #[cfg(feature = "browser")]
    if let Some(document) = crate::dom::document() {
        document.set_title(&prose::title(refused));
    }
    #[cfg(not(feature = "browser"))]
    let _ = refused;
}

#[component]
fn Whole(
    board: Board,
    shown: Memo<Shown>,
    first: StoredValue<(Option<ActionAnswer>, Option<Refusal>)>,
) -> impl IntoView {
    let live = Live::here();
    let toast = Toast::provide();
    let picked = RwSignal::new(shown.get_untracked().ids.into_iter().collect());
    let (plan, refused) = first.get_value();
    let say = move |zone: Zone| board.all(|panel| prose::panel(&panel.summary(live.now.get()), live.now.get(), zone));
    let sentence = Memo::new(move |_| say(live.zone.get()));
    let in_utc = Memo::new(move |_| (live.zone.get() != Zone::Utc).then(|| say(Zone::Utc)));
    // In a silence what is shown is history, and says of when.
    let as_of = move || {
        (!matches!(live.link.get(), Link::Live | Link::Served)).then(|| {
            let zone = live.zone.get();
            format!("As of {}{}: ", crate::format::clock_seconds(live.now.get(), zone), zone.suffix())
        })
    };
    let address = Address::here();
    view! {
        <div class="whole" on:click=move |event: MouseEvent| address.intercept(&event)>
            <StoreBanner store=Signal::derive(move || board.store()) />
            <FindingsBanner findings=Signal::derive(move || board.findings()) />
            <FaultBanner
                fault=board.fault
                as_of_ms=Signal::derive(move || board.loaded_ms())
                retry=move |()| board.reload()
            />
            <h1 class="sentence" title=in_utc>
                <span class="as-of">{as_of}</span>
                {sentence}
            </h1>
            <Sheet board=board shown=shown plan=plan refused=refused done=Callback::new(move |()| picked.set(HashSet::new())) />
            <ToastView toast=toast />
            <Toolbar board=board shown=shown />
            <Rows board=board shown=shown picked=picked />
        </div>
    }
}

/// What the lists are drawn from; see [`lists`].
#[derive(Clone, Copy)]
struct Lists {
    board: Board,
    shown: Memo<Shown>,
    end: Memo<i64>,
    arranged: RwSignal<Arranged>,
    expanded: RwSignal<HashSet<String>>,
    picked: RwSignal<HashSet<String>>,
}

impl Lists {
    fn look(self) -> Look {
        let live = Live::here();
        Look {
            now_ms: live.now.get(),
            zone: live.zone.get(),
            window: self.board.window.get(),
            end_ms: self.end.get(),
            shown: self.shown.get(),
            expanded: self.expanded.get(),
            picked: self.picked.get(),
        }
    }

    /// The rows as the server writes them; the browser finds them there.
    fn written(self, items: &[Item]) -> String {
        if cfg!(feature = "browser") {
            return String::new();
        }
        let (look, mut out) = (self.look(), String::new());
        self.board.all(|panel| items.iter().for_each(|item| item.write(&item.draw(panel, &look), &mut out)));
        out
    }
}

#[component]
fn Rows(board: Board, shown: Memo<Shown>, picked: RwSignal<HashSet<String>>) -> impl IntoView {
    let (live, address) = (Live::here(), Address::here());
    let filter = Memo::new(move |_| {
        let Shown { q, state, protocol, .. } = shown.get();
        let given = |text: String| (!text.is_empty()).then_some(text);
        BreakerFilter { state: given(state), q: given(q), protocol: given(protocol), ..BreakerFilter::default() }
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
    let changed = Memo::new(move |_| arranged.with(|arranged| wanted.with(|wanted| arranged.moved(wanted))));
    let window = Signal::from(board.window);
    let end = axis_end(live, window);
    let lists = Lists { board, shown, end, arranged, expanded: RwSignal::default(), picked };
    let brush = Brush {
        pointed: RwSignal::new(Pointed::default()),
        window,
        end: end.into(),
        zoom: Callback::new(move |zoom: Zoom| {
            address.go(&Shown { zoom: Some(zoom), ..shown.get_untracked() }.href(), true);
        }),
        reset: Callback::new(move |()| {
            if shown.get_untracked().zoom.is_some() {
                address.go(&Shown { zoom: None, ..shown.get_untracked() }.href(), true);
            }
        }),
        pick: None,
    };
    // What is looked for is in sight, and so is what is left when nothing is in trouble.
    let open_rest = Memo::new(move |_| shown.get().asked() || arranged.with(|arranged| arranged.groups.is_empty()));
    let rest = move || arranged.with(|arranged| board.all(|panel| rows::folded(panel, &arranged.quiet)));
    let no_rest = move || arranged.with(|arranged| arranged.quiet.is_empty());
    let (root, trouble, quiet, keys) =
        (NodeRef::<Section>::new(), NodeRef::<Ul>::new(), NodeRef::<Ul>::new(), NodeRef::<Dialog>::new());
    let first = arranged.with_untracked(|arranged| {
        let whole = if shown.get_untracked().all { usize::MAX } else { rows::FIRST };
        let troubled = lists.written(&rows::troubled(&arranged.groups, &HashSet::new()));
        let rest: Vec<Item> = arranged.quiet.iter().take(whole).cloned().map(Item::Row).collect();
        (troubled, lists.written(&rest), arranged.quiet.len().saturating_sub(whole))
    });
    let (troubled, rest_rows, beyond) = first;
    #[cfg(feature = "browser")]
    browser::attend(lists, root, trouble, quiet, keys, brush);
    let clear = Callback::new(move |()| lists.picked.set(HashSet::new()));
    let pick_all =
        Callback::new(move |()| lists.picked.set(arranged.with_untracked(|shown| shown.ids().cloned().collect())));
    let form = Callback::new(move |act: &'static str| {
        let mut ids: Vec<String> = lists.picked.get_untracked().into_iter().collect();
        ids.sort();
        address.go(&Shown { act: act.into(), ids, ..shown.get_untracked() }.href(), true);
    });
    let many = Signal::derive(move || lists.picked.with(HashSet::len));
    let all_href = move || Shown { all: true, ..shown.get() }.href();
    view! {
        <section
            class="panel"
            class:is-live=move || live.running.get()
            class:is-dimmed=move || board.loading.get() || board.fault.get().is_some()
            aria-label="Breakers"
            node_ref=root
            on:pointerenter=move |_| pointer.set(true)
            on:pointerleave=move |_| pointer.set(false)
            on:focusin=move |_| focus.set(true)
            on:focusout=move |_| focus.set(false)
        >
            <p class="resort" role="status" hidden=move || changed.get() == 0>
                <button type="button" class="button" on:click=move |_| arranged.set(wanted.get_untracked())>
                    {move || format!("{} changed, re-sort", changed.get())}
                </button>
            </p>
            <div class="heads">
                <span class="c-lane">
                    <Crosshair brush=brush />
                    <AxisLabels window=window end=end />
                </span>
            </div>
            <ul class="rows" node_ref=trouble inner_html=troubled></ul>
            <NoMatch board=board shown=shown arranged=lists.arranged />
            <details class="rest" open=move || open_rest.get() hidden=no_rest>
                <summary>{rest}</summary>
                <ul class="rows is-quiet" node_ref=quiet inner_html=rest_rows></ul>
                {(beyond > 0)
                    .then(|| {
                        view! {
                            <p class="beyond" hidden=move || live.running.get()>
                                <a href=all_href>{format!("{beyond} more")}</a>
                            </p>
                        }
                    })}
            </details>
            <Selection many=many shown=shown clear=clear all=pick_all open=form />
            <Legend />
            <Keys dialog=keys />
        </section>
    }
}

/// What is drawn in the lanes, in words.
#[component]
fn Legend() -> impl IntoView {
    const KINDS: [(&str, &str); 6] = [
        ("is-closed", "closed"),
        ("is-open", "open"),
        ("is-half", "half-open"),
        ("is-held", "held by an operator"),
        ("is-cooling", "cooling down"),
        ("is-unknown", "not watched"),
    ];
    let mut out = String::new();
    for (class, word) in KINDS {
        out.push_str(&format!(
            "<li><svg class=\"swatch {class}\" aria-hidden=\"true\"><rect width=\"100%\" height=\"100%\"></rect></svg>{word}</li>"
        ));
    }
    out.push_str("<li class=\"hint\">Drag on a lane to zoom, double-click to go back. Press ? for keys.</li>");
    view! { <ul class="legend lanes-legend" aria-label="What the lanes show" inner_html=out></ul> }
}

#[component]
fn NoMatch(board: Board, shown: Memo<Shown>, arranged: RwSignal<Arranged>) -> impl IntoView {
    let said = move || {
        let Shown { q, state, .. } = shown.get();
        let all = board.all(Panel::len);
        let exist = if all == 1 { "1 exists".to_owned() } else { format!("{all} exist") };
        let matching = if q.is_empty() { String::new() } else { format!(" matches '{q}'") };
        let within = match (q.is_empty(), state.is_empty()) {
            (_, true) => String::new(),
            (true, false) => format!(" is {}", filter_name(&state)),
            (false, false) => format!(" in {}", filter_name(&state)),
        };
        format!("No breaker{matching}{within}. {exist}. ")
    };
    let clear = move || Shown { q: String::new(), state: String::new(), protocol: String::new(), ..shown.get() }.href();
    let unknown = move || {
        let word = shown.get().unknown;
        format!("There is no state '{word}', so all are shown.")
    };
    view! {
        <p class="nothing" hidden=move || shown.get().unknown.is_empty()>{unknown}</p>
        <p class="nothing" hidden=move || !arranged.with(Arranged::is_empty)>
            {said}
            <a href=clear>{move || if shown.get().q.is_empty() { "Clear filter" } else { "Clear search and filter" }}</a>
        </p>
    }
}

#[cfg(feature = "browser")]
pub(super) mod browser;
