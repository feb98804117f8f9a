//! `/audit`: what operators did, newest first.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use super::{Paged, Sheet};
use crate::{
    api,
    backend::Refusal,
    components::{exports::Exports, host::HostName, record::AuditEntry},
    format::breaker_path,
    shown::{Query, pairs},
    wire::event::{Audit, Page},
};

/// Actions a page shows.
const ROWS: u32 = 100;

#[derive(Debug, Clone, Default)]
struct Asked {
    breaker: String,
    before: Option<u64>,
}

impl Asked {
    fn parse(search: &str) -> Self {
        let mut asked = Self::default();
        for (name, value) in pairs(search) {
            match name.as_str() {
                "breaker" => asked.breaker = value,
                "before" => asked.before = value.parse().ok(),
                _ => {}
            }
        }
        asked
    }

    fn href(&self) -> String {
        let before = self.before.map_or(String::new(), |before| before.to_string());
        Query::new("/audit").say("breaker", &self.breaker).say("before", &before).href()
    }
}

/// All of it, or one breaker's.
#[component]
pub fn AuditPage() -> impl IntoView {
    let asked = Asked::parse(&use_location().search.get_untracked());
    let again = asked.href();
    view! {
        <Title text="Audit · Fuseboard" />
        <Sheet
            again=again
            read=move || async move {
                let backend = api::backend()?;
                let about = backend.about().await;
                let breaker = Some(asked.breaker.clone()).filter(|breaker| !breaker.is_empty());
                let page = backend.audit(breaker, asked.before, ROWS).await?;
                Ok::<_, Refusal>((about, view! { <List asked=asked page=page /> }.into_any()))
            }
        />
    }
}

#[component]
fn List(asked: Asked, page: Page<Audit>) -> impl IntoView {
    let one = (!asked.breaker.is_empty()).then(|| {
        view! {
            <p>
                "Of " <a href=breaker_path(&asked.breaker)>
                    <HostName id=asked.breaker.clone() />
                </a> ". " <a href="/audit">"Show all"</a>
            </p>
        }
    });
    let empty = page
        .rows
        .is_empty()
        .then(|| view! { <p class="nothing">"Nobody has acted yet. Resets, overrides, probes and reloads will stand here."</p> });
    view! {
        <div class="reading-head">
            <h1>"Audit"</h1>
            <p>"What operators did, who they said they were, and why."</p>
            {one}
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
            older=page.next.map(|before| Asked { before: Some(before), ..asked.clone() }.href())
            newest=asked.before.map(|_| Asked { before: None, ..asked.clone() }.href())
        />
        <Exports what="audit" breaker=asked.breaker />
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_says_what_is_asked_for() {
        let asked = Asked::parse("?breaker=https%3Aregistry.example&before=12");
        assert_eq!(asked.href(), "/audit?breaker=https:registry.example&before=12");
        assert_eq!(Asked::parse("?before=soon").href(), "/audit");
    }
}
