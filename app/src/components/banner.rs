//! What the whole page must say: the store in trouble, a reading that failed, a page that could not be made.

use leptos::prelude::*;

use crate::{
    backend::Refusal,
    format,
    live::Live,
    prose,
    wire::event::{Finding, StoreHealth},
};

/// "History not written since 03:10 (disk full). Breakers still work."
#[component]
pub fn StoreBanner(
    /// How the store is doing.
    #[prop(into)]
    store: Signal<StoreHealth>,
) -> impl IntoView {
    let live = Live::here();
    let said = Memo::new(move |_| prose::store(&store.get(), live.now.get(), live.zone.get()));
    move || said.get().map(|said| view! { <p class="banner is-warning" role="status">{said}</p> })
}

/// "The server found a fault in itself: ...".
#[component]
pub fn FindingsBanner(
    /// What the server's watchdog sees broken.
    #[prop(into)]
    findings: Signal<Vec<Finding>>,
) -> impl IntoView {
    move || prose::findings(&findings.get()).map(|said| view! { <p class="banner is-warning" role="alert">{said}</p> })
}

/// A reading that failed while the last good data is still shown.
#[component]
pub fn FaultBanner(
    /// What failed.
    #[prop(into)]
    fault: Signal<Option<Refusal>>,
    /// When the data shown was read.
    #[prop(into)]
    as_of_ms: Signal<i64>,
    /// Try again.
    #[prop(into)]
    retry: Callback<()>,
) -> impl IntoView {
    let live = Live::here();
    move || {
        fault.get().map(|fault| {
            let zone = live.zone.get();
            let as_of = format!("{}{}", format::clock_seconds(as_of_ms.get(), zone), zone.suffix());
            view! {
                <p class="banner is-warning" role="alert">
                    <span>{fault.detail} " What you see is from " {as_of} "."</span>
                    <button type="button" class="button" on:click=move |_| retry.run(())>
                        "Try again"
                    </button>
                </p>
            }
        })
    }
}

/// A page that could not be made at all.
#[component]
pub fn Failed(
    /// Why.
    refusal: Refusal,
    /// Where to try again.
    again: String,
    /// It was an incident's page.
    #[prop(optional)]
    incident: bool,
) -> impl IntoView {
    let (unknown, gone) = (refusal.status == 404, refusal.status == 410);
    let (missing, all, whole) = match incident {
        true => ("No such incident", "/incidents", "All incidents"),
        false => ("No such breaker", "/", "All breakers"),
    };
    let title = match refusal.status {
        404 => missing,
        410 => "Not on the panel any more",
        _ => "This page could not be read",
    };
    view! {
        <section class="failed">
            <h1>{title}</h1>
            <p role="alert">{refusal.detail}</p>
            <p class="buttons">
                {(!unknown && !gone)
                    .then(|| {
                        view! {
                            <a class="button" rel="external" href=again>
                                "Try again"
                            </a>
                        }
                    })}
                <a class="button" href=all>
                    {whole}
                </a>
            </p>
        </section>
    }
}
