//! `/`: all breakers. What moves is [`PanelBoard`]; the page around it is the server's.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use crate::{
    api,
    components::{
        actions::Action,
        banner::Failed,
        frame::{DemoMark, Footer},
        legend::Legend,
        panel::PanelBoard,
    },
    data, format,
    panel::{Panel, PanelView},
    prose,
    shown::{Shown, value},
};

/// The panel.
#[component]
pub fn PanelPage() -> impl IntoView {
    let search = use_location().search.get_untracked();
    let shown = Shown::parse(&search);
    let again = shown.href();
    let view = Resource::new(|| (), move |()| api::panel(shown.clone()));
    view! {
        <Suspense fallback=|| ()>
            {move || {
                let (again, search) = (again.clone(), search.clone());
                Suspend::new(async move {
                    match view.await {
                        Ok(view) => {
                            let view = PanelView { refused: api::refused(&search), ..view };
                            view! { <Loaded view=view search=search /> }.into_any()
                        }
                        Err(refusal) => view! { <Failed refusal=refusal again=again /> }.into_any(),
                    }
                })
            }}
        </Suspense>
    }
}

#[component]
fn Loaded(view: PanelView, search: String) -> impl IntoView {
    data::give(&view);
    let about = view.about.clone();
    let refused = Panel::load(&view).summary(about.now.millis()).refused;
    // Of unknown type, or the compiler gives up on the depth of the page's.
    let (done, board) = (view! { <Done search=search /> }.into_any(), view! { <PanelBoard /> }.into_any());
    view! {
        <Title text=prose::title(refused) />
        {about.demo.then(|| view! { <DemoMark /> })}
        {done}
        {board}
        <Legend />
        <Footer about=about />
        {data::block(&view)}
    }
}

/// What a form that was sent without script did, and the way back.
#[component]
fn Done(search: String) -> impl IntoView {
    let said = |name: &str| value(&search, name);
    let what = said("done");
    let past = match what.as_deref() {
        Some("undo") => Some("Undone"),
        Some(word) => Action::parse(word).map(Action::past),
        None => None,
    };
    let number = |name: &str| said(name).and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
    let (well, refused, undo) = (number("well"), number("refused"), number("undo"));
    past.map(|past| {
        let refused = if refused > 0 { format!(" {} refused.", format::count(refused)) } else { String::new() };
        view! {
            <div class="banner is-done" role="status">
                <span>{format!("{past}: {}.{refused}", format::some(well, "breaker", "breakers"))}</span>
                {(undo > 0)
                    .then(|| {
                        view! {
                            <form method="post" action="/ui/undo">
                                <input type="hidden" name="seq" value=undo />
                                <button class="button" type="submit">
                                    "Undo, within 10 s"
                                </button>
                            </form>
                        }
                    })}
            </div>
        }
    })
}
