//! A breaker's record in sentences: changes, probes, what operators did.

use leptos::prelude::*;
use serde_json::Value;

use super::when::When;
use crate::{
    format, prose,
    wire::event::{Audit, Probe, Transition},
};

/// What the deciding calls of a trip were, folded.
fn evidence(row: &Transition) -> Option<impl IntoView + use<>> {
    // A probe's own evidence stands among the probes.
    (row.cause.kind == "tripped").then_some(())?;
    let calls = row.cause.detail.get("evidence")?.as_array().filter(|calls| !calls.is_empty())?.clone();
    let said: Vec<String> = calls.iter().map(prose::deciding).collect();
    let many = format::some(said.len() as u64, "deciding call", "deciding calls");
    Some(view! {
        <details class="evidence">
            <summary>{many}</summary>
            <ul>{said.into_iter().map(|said| view! { <li>{said}</li> }).collect_view()}</ul>
        </details>
    })
}

/// The calls that decided it, open to read.
#[cfg(feature = "ssr")]
#[component]
pub fn Deciding(
    /// With its evidence.
    cause: crate::wire::event::Cause,
) -> impl IntoView {
    let calls = cause.detail.get("evidence").and_then(Value::as_array).cloned().unwrap_or_default();
    let said = calls.iter().map(|call| {
        let at = call.get("at").and_then(|at| serde_json::from_value::<crate::wire::time::Time>(at.clone()).ok());
        view! {
            <li>
                {at.map(|at| view! { <When at=at seconds=true /> })} " "
                {prose::deciding(call)}
            </li>
        }
    });
    let said = said.collect_view();
    if calls.is_empty() {
        return view! { <p class="nothing">"An operator did; no call decided it."</p> }.into_any();
    }
    view! { <ul class="evidence">{said}</ul> }.into_any()
}

/// Changes as they came, on a page that stays as it was read.
#[cfg(feature = "ssr")]
#[component]
pub fn Changes(
    /// Oldest first.
    rows: Vec<Transition>,
) -> impl IntoView {
    let rows = rows.iter().map(|row| {
        view! {
            <li class=format!("entry to-{}", kind(row))>
                <When at=row.at seconds=true />
                <div>
                    <p>{prose::transition(row)}</p>
                    {evidence(row)}
                </div>
            </li>
        }
    });
    view! { <ol class="record is-page">{rows.collect_view()}</ol> }
}

/// One operator's action, on a page that stays as it was read.
#[cfg(feature = "ssr")]
#[component]
pub fn AuditEntry(
    /// The row.
    row: Audit,
    /// The breaker, where rows of several stand together.
    host: Option<String>,
) -> impl IntoView {
    let host = host.map(|id| {
        let href = format::breaker_path(&id);
        view! {
            <p>
                <a href=href>
                    <super::host::HostName id=id />
                </a>
            </p>
        }
    });
    view! {
        <li class="entry to-held">
            <When at=row.at seconds=true />
            <div>
                {host}
                <p>{prose::audit(&row)}</p>
                <p class="detail">"record " {row.seq} ", over the " {row.actor.via.clone()}</p>
            </div>
        </li>
    }
}

/// Changes, newest first.
#[component]
pub fn Transitions(
    /// Newest first.
    #[prop(into)]
    rows: Signal<Vec<Transition>>,
) -> impl IntoView {
    let empty = move || {
        rows.with(Vec::is_empty)
            .then(|| view! { <p class="nothing">"Nothing has changed since it was first seen."</p> })
    };
    view! {
        {empty}
        <ol class="record" tabindex="0" aria-labelledby="changes">
            <For each=move || rows.get() key=|row| row.seq let:row>
                <li class=format!("entry to-{}", kind(&row))>
                    <When at=row.at seconds=true />
                    <div>
                        <p>{prose::transition(&row)}</p>
                        {evidence(&row)}
                    </div>
                </li>
            </For>
        </ol>
    }
}

fn kind(row: &Transition) -> &'static str {
    use crate::wire::breaker::State;
    match (row.held, row.to) {
        (Some(_), _) => "held",
        (None, State::Closed) => "closed",
        (None, State::Open) => "open",
        (None, State::HalfOpen) => "half",
    }
}

/// Probes, newest first.
#[component]
pub fn Probes(
    /// Newest first.
    #[prop(into)]
    rows: Signal<Vec<Probe>>,
) -> impl IntoView {
    let empty = move || rows.with(Vec::is_empty).then(|| view! { <p class="nothing">"No probe yet."</p> });
    view! {
        {empty}
        <ol class="record" tabindex="0" aria-labelledby="probes">
            <For each=move || rows.get() key=|row| row.seq let:row>
                <li class=if matches!(row.outcome.as_str(), "success" | "alive") { "entry to-closed" } else { "entry to-open" }>
                    <When at=row.at seconds=true />
                    <div>
                        <p>{prose::probe(&row)}</p>
                        {row.error.clone().map(|error| view! { <p class="detail">{error}</p> })}
                        {row
                            .path
                            .clone()
                            .map(|path| {
                                let method = row.method.clone().unwrap_or_default();
                                view! { <p class="detail">{method} " " {path}</p> }
                            })}
                    </div>
                </li>
            </For>
        </ol>
    }
}

/// What operators did, newest first.
#[component]
pub fn AuditRows(
    /// Newest first.
    #[prop(into)]
    rows: Signal<Vec<Audit>>,
) -> impl IntoView {
    let empty = move || rows.with(Vec::is_empty).then(|| view! { <p class="nothing">"Nobody has acted on it."</p> });
    view! {
        {empty}
        <ol class="record" tabindex="0" aria-labelledby="audit">
            <For each=move || rows.get() key=|row| row.seq let:row>
                <li class="entry to-held">
                    <When at=row.at seconds=true />
                    <div>
                        <p>{prose::audit(&row)}</p>
                        <p class="detail">"record " {row.seq} ", over the " {row.actor.via.clone()}</p>
                    </div>
                </li>
            </For>
        </ol>
    }
}
