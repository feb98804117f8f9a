//! `/breakers/{id}`: what it does and why, in prose; what can be done; how it came to this.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_location, use_params_map};

use crate::{
    api,
    components::{
        actions::Place,
        banner::Failed,
        breaker::BreakerBoard,
        done::Done,
        frame::{DemoMark, Footer},
        legend::Legend,
    },
    data,
    format::breaker_path,
    prose,
    standing::Standing,
    story::StoryView,
};

/// One breaker.
#[component]
pub fn BreakerPage() -> impl IntoView {
    let id = use_params_map().with_untracked(|params| params.get("id").unwrap_or_default());
    let search = use_location().search.get_untracked();
    let window = Place::parse(&search).window();
    let again = breaker_path(&id);
    let view = Resource::new(|| (), move |()| api::story(id.clone(), window));
    view! {
        <p class="back">
            <a href="/">"All breakers"</a>
        </p>
        <Suspense fallback=|| ()>
            {move || {
                let (again, search) = (again.clone(), search.clone());
                Suspend::new(async move {
                    match view.await {
                        Ok(view) => {
                            let view = StoryView { refused: api::refused(&search), ..view };
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
fn Loaded(view: StoryView, search: String) -> impl IntoView {
    data::give(&view);
    let standing = Standing::of(&view.breaker, view.about.now.millis());
    let about = view.about.clone();
    // Of unknown type, or the compiler gives up on the depth of the page's.
    let done =
        view! { <Done search=search id=Some(view.breaker.id.clone()) refused=view.refused.clone() /> }.into_any();
    let board = view! { <BreakerBoard /> }.into_any();
    view! {
        <Title text=prose::breaker_title(&view.breaker.id, standing) />
        {about.demo.then(|| view! { <DemoMark /> })}
        {done}
        {board}
        <Legend />
        <Footer about=about />
        {data::block(&view)}
    }
}
