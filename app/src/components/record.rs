//! A breaker's record in sentences: changes, probes, what operators did.

use leptos::prelude::*;

#[cfg(feature = "ssr")]
use super::when::Stamp;
use super::when::When;
#[cfg(feature = "ssr")]
use crate::wire::time::Time;
use crate::{
    format, prose,
    wire::event::{Audit, Probe, Transition},
};

/// What the deciding calls of a trip were, folded.
fn evidence(row: &Transition) -> Option<impl IntoView + use<>> {
    // A probe's own evidence stands among the probes.
    (row.cause.kind == "tripped").then_some(())?;
    let said: Vec<String> = prose::evidence(&row.cause).iter().map(prose::Deciding::said).collect();
    (!said.is_empty()).then_some(())?;
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
    let calls = prose::evidence(&cause);
    if calls.is_empty() {
        return view! { <p class="nothing">"An operator did; no call decided it."</p> }.into_any();
    }
    let common = prose::incident::in_common(&calls);
    let rows = calls.into_iter().map(|call| {
        view! {
            <tr>
                <td>{call.at.map(|at| view! { <Stamp at=at seconds=true /> })}</td>
                <td>{if call.request.is_empty() { "not known".to_owned() } else { call.request }}</td>
                <td>{call.met}</td>
                <td>{call.after}</td>
            </tr>
        }
    });
    view! {
        <table class="deciding">
            <thead>
                <tr>
                    <th scope="col">"at"</th>
                    <th scope="col">"request"</th>
                    <th scope="col">"what came of it"</th>
                    <th scope="col">"after"</th>
                </tr>
            </thead>
            <tbody>{rows.collect_view()}</tbody>
        </table>
        {common.map(|common| view! { <p class="detail">{common}</p> })}
    }
    .into_any()
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
                <Stamp at=row.at seconds=true />
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
            <p class="entry-host">
                <a href=href>
                    <super::host::HostName id=id />
                </a>
            </p>
        }
    });
    let until = row.detail.get("until").and_then(|at| serde_json::from_value::<Time>(at.clone()).ok());
    let did = prose::action::before_and_after(&row).map(|(before, after)| {
        view! {
            <p class="detail">
                {before} " → " {after}
                {until.map(|until| view! { ", until " <Stamp at=until /> })}
            </p>
        }
    });
    view! {
        <li class="entry to-held">
            <Stamp at=row.at seconds=true />
            <div>
                {host}
                <p>{prose::audit(&row)}</p>
                {did}
                {prose::action::came_of(&row).map(|came| view! { <p class="detail">{came}</p> })}
                <p class="detail">"record " {row.seq} ", over the " {row.actor.via.clone()}</p>
            </div>
        </li>
    }
}

/// On a phone a list shows its newest few until all of it is asked for; elsewhere it scrolls in its place. The style does
/// it, with or without script.
#[component]
fn All(
    /// What it lists.
    of: &'static str,
) -> impl IntoView {
    let words = match of {
        "audit" => "Show all actions",
        "probes" => "Show all probes",
        _ => "Show all changes",
    };
    view! {
        <label class="all-of-it button">
            <input type="checkbox" />
            {words}
        </label>
    }
}

/// What an empty list means: that nothing happened is said only of a record that was read.
#[component]
fn Nothing(empty: Signal<bool>, unread: Signal<bool>, said: &'static str) -> impl IntoView {
    let said = move || if unread.get() { "The record could not be read." } else { said };
    move || empty.get().then(|| view! { <p class="nothing">{said}</p> })
}

/// Changes, newest first.
#[component]
pub fn Transitions(
    /// Newest first.
    #[prop(into)]
    rows: Signal<Vec<Transition>>,
    /// The record could not be read.
    unread: Signal<bool>,
) -> impl IntoView {
    let empty = Signal::derive(move || rows.with(Vec::is_empty));
    view! {
        <Nothing empty=empty unread=unread said="Nothing has changed since it was first seen." />
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
        <All of="changes" />
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
    /// The record could not be read.
    unread: Signal<bool>,
) -> impl IntoView {
    let empty = Signal::derive(move || rows.with(Vec::is_empty));
    view! {
        <Nothing empty=empty unread=unread said="No probe yet." />
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
        <All of="probes" />
    }
}

/// What operators did, newest first.
#[component]
pub fn AuditRows(
    /// Newest first.
    #[prop(into)]
    rows: Signal<Vec<Audit>>,
    /// The record could not be read.
    unread: Signal<bool>,
) -> impl IntoView {
    let empty = Signal::derive(move || rows.with(Vec::is_empty));
    view! {
        <Nothing empty=empty unread=unread said="Nobody has acted on it." />
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
        <All of="audit" />
    }
}
