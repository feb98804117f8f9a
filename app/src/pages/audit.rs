//! `/audit`: what operators did, newest first.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use super::{OfOne, Paged, Sheet, about, asked::Asked};
use crate::{
    api,
    backend::Refusal,
    components::{exports::Exports, record::AuditEntry},
    wire::event::{Audit, Page},
};

/// Actions a page shows.
const ROWS: u32 = 100;

/// All of it, or one breaker's.
#[component]
pub fn AuditPage() -> impl IntoView {
    let asked = Asked::parse("/audit", &use_location().search.get_untracked());
    let again = asked.href();
    view! {
        <Title text="Audit · Fuseboard" />
        <Sheet
            again=again
            read=move || async move {
                let backend = api::backend()?;
                let about = about(&*backend).await;
                let breaker = Some(asked.breaker.clone()).filter(|breaker| !breaker.is_empty());
                let page = backend.audit(breaker, asked.before, ROWS).await?;
                Ok::<_, Refusal>((about, view! { <List asked=asked page=page /> }.into_any()))
            }
        />
    }
}

#[component]
fn List(asked: Asked, page: Page<Audit>) -> impl IntoView {
    let empty = page.rows.is_empty().then(|| {
        let said = match (asked.breaker.is_empty(), asked.before) {
            (_, Some(_)) => "Nothing older is on record.",
            (false, None) => "Nobody has acted on it.",
            (true, None) => "Nobody has acted yet. Resets, overrides, probes and reloads will stand here.",
        };
        view! { <p class="nothing">{said}</p> }
    });
    view! {
        <div class="reading-head">
            <h1>"Audit"</h1>
            <p>"What operators did, who they said they were, and why."</p>
            <OfOne breaker=asked.breaker.clone() all="/audit".into() />
        </div>
        {empty}
        <ol class="record is-page">
            {page
                .rows
                .iter()
                .map(|row| {
                    let host = row.breaker.clone().filter(|_| asked.breaker.is_empty());
                    view! { <AuditEntry row=row.clone() host=host /> }
                })
                .collect_view()}
        </ol>
        <Paged
            older=page.next.map(|before| asked.behind(before).href())
            newest=asked.before.map(|_| asked.first().href())
        />
        <Exports what="audit" breaker=asked.breaker />
    }
}
