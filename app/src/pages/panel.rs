//! `/`: all breakers. What moves is [`PanelBoard`]; the page around it is the server's.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use crate::{
    api,
    components::{
        banner::Failed,
        done::Done,
        frame::{DemoMark, Footer},
        panel::PanelBoard,
    },
    data,
    panel::{Panel, PanelView},
    prose,
    shown::Shown,
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
    let (done, board) = (
        view! { <Done search=search id=None refused=view.refused.clone() /> }.into_any(),
        view! { <PanelBoard /> }.into_any(),
    );
    view! {
        <Title text=prose::title(refused) />
        {about.demo.then(|| view! { <DemoMark /> })}
        {done}
        {board}
        <Footer about=about />
        {data::block(&view)}
    }
}
