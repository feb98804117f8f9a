//! What surrounds every page: the name, how fresh it is, which server this is.

use leptos::prelude::*;

use crate::{
    backend::About,
    format::{self, Zone},
    live::{Link, Live},
    remember,
};

/// The header's word on freshness; a page that is history loses its colour.
#[island]
pub fn Freshness() -> impl IntoView {
    let live = Live::here();
    #[cfg(feature = "browser")]
    Effect::new(move |_| {
        if let Some(body) = crate::dom::document().and_then(|document| document.body()) {
            let class = body.class_list();
            // Both words are classes as a browser takes them.
            let _ = class.toggle_with_force("is-stale", live.link.get() == Link::Stale);
            let _ = class.toggle_with_force("is-running", live.running.get());
        }
    });
    let said = move || match live.link.get() {
        Link::Served => "not live: reload for news".to_owned(),
        Link::Live => "live".to_owned(),
        Link::Reconnecting | Link::Stale => {
            format!("reconnecting, no word for {}", format::duration(live.silent_ms.get()))
        }
    };
    let class = move || match live.link.get() {
        Link::Served => "fresh",
        Link::Live => "fresh is-live",
        Link::Reconnecting | Link::Stale => "fresh is-late",
    };
    let heard =
        move || Some(live.heard.get()).filter(|heard| !heard.is_empty()).map(|heard| format!("Last fact {heard}"));
    let utc = move || live.zone.get() == Zone::Utc;
    let switch = move |_| {
        let zone = if live.zone.get_untracked() == Zone::Utc { Zone::Viewer } else { Zone::Utc };
        remember::keep_utc(zone == Zone::Utc);
        live.zone.set(zone);
    };
    view! {
        <span class="state">
            <span class=class title=heard>
                {said}
            </span>
            <button
                type="button"
                class="chip zone"
                title="Times in UTC, or on this browser's clock"
                aria-pressed=move || utc().to_string()
                hidden=move || !live.running.get()
                on:click=switch
            >
                "UTC"
            </button>
        </span>
    }
}

/// Top of the page.
#[cfg(feature = "ssr")]
#[component]
pub fn Header() -> impl IntoView {
    view! {
        <header class="top">
            <a class="brand" href="/" aria-label="Fuseboard, all breakers">
                <svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">
                    <rect x="3" y="2" width="18" height="20" rx="4" fill="none" stroke="currentColor" stroke-width="2" />
                    <path d="M12 2v5m0 10v5" stroke="currentColor" stroke-width="2" />
                    <path d="M9 16l6-8" stroke="currentColor" stroke-width="2.4" stroke-linecap="round" />
                </svg>
                <span>"Fuseboard"</span>
            </a>
            <Ways />
            <Freshness />
        </header>
    }
}

/// The ways to the other pages.
#[cfg(feature = "ssr")]
#[component]
fn Ways() -> impl IntoView {
    let here = leptos_router::hooks::use_location().pathname.get_untracked();
    let ways = [("/", "Panel"), ("/incidents", "Incidents"), ("/audit", "Audit"), ("/settings", "Settings")];
    let link = |(href, name): (&'static str, &'static str)| {
        let within =
            href != "/" && here.strip_prefix(href).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        view! {
            <a href=href aria-current=(here == href || within).then_some("page")>
                {name}
            </a>
        }
    };
    view! {
        <nav class="ways" aria-label="Pages">
            {ways.map(link)}
        </nav>
    }
}

/// Which server this is, under the page's content.
#[component]
pub fn Footer(
    /// What the server says of itself.
    about: About,
) -> impl IntoView {
    view! {
        <footer class="bottom">
            <span>"node " <b>{about.node}</b></span>
            <span>"gateway " <b>{about.gateway_url}</b></span>
            <span>"version " <b>{about.version}</b></span>
        </footer>
    }
}

/// The demo says so.
#[component]
pub fn DemoMark() -> impl IntoView {
    view! {
        <p class="demo">
            <b>"Demo"</b>
            " Fuseboard itself plays these hosts. They fail on a schedule, with shortened waits."
        </p>
    }
}
