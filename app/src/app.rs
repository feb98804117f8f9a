//! The document and its routes.

use leptos::prelude::*;
use leptos_meta::{MetaTags, Title, provide_meta_context};
use leptos_router::{
    ParamSegment, SsrMode, StaticSegment,
    components::{FlatRoutes, Route, Router},
    hooks::use_location,
};

use crate::{
    address::Address,
    components::{frame::Header, marks::Marks},
    live::Live,
    pages::{
        audit::AuditPage, breaker::BreakerPage, incident::IncidentPage, incidents::IncidentsPage, panel::PanelPage,
        settings::SettingsPage,
    },
};

/// The bundle of what goes on by itself on the page at this path.
pub fn bundle(path: &str) -> &'static str {
    if path == "/" { "panel" } else { "pages" }
}

/// The whole document around [`App`], taken over by the bundle that `options` name. Without `script` nothing takes it
/// over: pages and plain forms are enough to act.
pub fn shell(options: LeptosOptions, script: bool) -> impl IntoView {
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1" />
                <meta name="color-scheme" content="light dark" />
                <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
                <link rel="stylesheet" href="/pkg/fuseboard.css" />
                {script.then(|| view! { <HydrationScripts options=options islands=true /> })}
                <MetaTags />
            </head>
            <body>
                <App />
            </body>
        </html>
    }
}

/// The board.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    provide_context(Live::new());
    view! {
        <Title text="Fuseboard" />
        <Marks />
        <Router>
            <Board />
        </Router>
    }
}

#[component]
fn Board() -> impl IntoView {
    provide_context(Address::of(&use_location().search.get_untracked()));
    view! {
        <div class="board">
            <a class="skip" href="#main">
                "Skip to the content"
            </a>
            <Header />
            <main id="main">
                <FlatRoutes fallback=NotFound>
                    <Route path=StaticSegment("") view=PanelPage ssr=SsrMode::Async />
                    <Route path=(StaticSegment("breakers"), ParamSegment("id")) view=BreakerPage ssr=SsrMode::Async />
                    <Route path=StaticSegment("incidents") view=IncidentsPage ssr=SsrMode::Async />
                    <Route path=(StaticSegment("incidents"), ParamSegment("id")) view=IncidentPage ssr=SsrMode::Async />
                    <Route path=StaticSegment("audit") view=AuditPage ssr=SsrMode::Async />
                    <Route path=StaticSegment("settings") view=SettingsPage ssr=SsrMode::Async />
                </FlatRoutes>
            </main>
        </div>
    }
}

#[component]
fn NotFound() -> impl IntoView {
    if let Some(answer) = use_context::<std::sync::Arc<dyn crate::backend::Answer>>() {
        answer.status(404);
    }
    view! {
        <section class="failed">
            <h1>"No such page"</h1>
            <p>"The board has a panel with all breakers and a page for each, the incidents, the audit and the settings."</p>
            <p class="buttons">
                <a class="button" href="/">
                    "All breakers"
                </a>
            </p>
        </section>
    }
}
