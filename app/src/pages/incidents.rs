//! `/incidents`: every time a breaker left closed, newest first. Made on the server; filters and pages are links.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use super::{Paged, Sheet, range_ends, ranges, search_box};
use crate::{
    api,
    backend::{IncidentFilter, Refusal},
    components::{exports::Exports, host::HostName, when::When},
    format::{breaker_path, count, lasted},
    prose,
    range::Range,
    shown::{Query, pairs},
    wire::{event::Page, incident::Incident},
};

/// Incidents a page shows.
const ROWS: u32 = 50;

/// What the address asks for.
#[derive(Debug, Clone, Default)]
struct Asked {
    q: String,
    range: Option<Range>,
    open: bool,
    before: Option<u64>,
}

impl Asked {
    fn parse(search: &str) -> Self {
        let mut asked = Self::default();
        for (name, value) in pairs(search) {
            match name.as_str() {
                "q" => asked.q = value,
                "range" => asked.range = Range::parse(&value),
                "open" => asked.open = value == "true",
                "before" => asked.before = value.parse().ok(),
                _ => {}
            }
        }
        asked
    }

    fn href(&self) -> String {
        Query::new("/incidents")
            .say("q", &self.q)
            .say("range", self.range.map_or("", Range::word))
            .say("open", if self.open { "true" } else { "" })
            .say("before", &self.before.map_or(String::new(), |before| before.to_string()))
            .href()
    }

    fn filter(&self, now_ms: i64) -> IncidentFilter {
        let (from, to) = range_ends(self.range, now_ms);
        IncidentFilter {
            q: Some(self.q.clone()).filter(|q| !q.is_empty()),
            from,
            to,
            open: self.open.then_some(true),
            before: self.before,
            limit: Some(ROWS),
            ..IncidentFilter::default()
        }
    }
}

/// All of them.
#[component]
pub fn IncidentsPage() -> impl IntoView {
    let asked = Asked::parse(&use_location().search.get_untracked());
    let again = asked.href();
    view! {
        <Title text="Incidents · Fuseboard" />
        <Sheet
            again=again
            read=move || async move {
                let backend = api::backend()?;
                let about = backend.about().await;
                let now_ms = about.now.millis();
                let page = backend.incidents(asked.filter(now_ms)).await?;
                Ok::<_, Refusal>((about, view! { <List asked=asked page=page now_ms=now_ms /> }.into_any()))
            }
        />
    }
}

#[component]
fn List(asked: Asked, page: Page<Incident>, now_ms: i64) -> impl IntoView {
    let first = Asked { before: None, ..asked.clone() };
    let (from, to) = range_ends(asked.range, now_ms);
    let empty = page.rows.is_empty().then(|| {
        let said = match (asked.open, asked.q.is_empty(), asked.range) {
            (true, true, _) => "Nothing is down now.".to_owned(),
            (_, false, _) => format!("No incident of a host that matches \u{201c}{}\u{201d} here.", asked.q),
            (_, _, Some(range)) => format!("No incident in the {}.", range.spoken()),
            _ => "No incident on record: no breaker has left closed.".to_owned(),
        };
        let clear = (asked.open || !asked.q.is_empty() || asked.range.is_some())
            .then(|| view! { <a href="/incidents">"Show all"</a> });
        view! { <p class="nothing">{said} " " {clear}</p> }
    });
    let open_filter = [("all", false), ("open now", true)].map(|(name, open)| {
        let href = Asked { open, ..first.clone() }.href();
        view! {
            <li>
                <a class="chip" href=href aria-current=(asked.open == open).then_some("true")>
                    {name}
                </a>
            </li>
        }
    });
    let ranges = {
        let first = first.clone();
        ranges(asked.range, move |range| Asked { range, ..first.clone() }.href())
    };
    let hidden = [
        ("range", asked.range.map_or(String::new(), |range| range.word().to_owned())),
        ("open", if asked.open { "true".to_owned() } else { String::new() }),
    ];
    view! {
        <div class="reading-head">
            <h1>"Incidents"</h1>
            <p>"One breaker, from leaving closed to closed again."</p>
        </div>
        <div class="toolbar">
            {search_box("/incidents", "Host or upstream", &asked.q, &hidden)}
            <nav class="filters" aria-label="Filter">
                <ul>{open_filter}</ul>
            </nav>
            {ranges}
        </div>
        {empty}
        <ol class="incidents">
            {page.rows.iter().map(|one| view! { <Row one=one.clone() now_ms=now_ms /> }).collect_view()}
        </ol>
        <Paged older=page.next.map(|before| Asked { before: Some(before), ..asked.clone() }.href()) newest=asked
            .before
            .map(|_| first.href()) />
        <Exports what="incidents" from=from to=to />
    }
}

#[component]
fn Row(one: Incident, now_ms: i64) -> impl IntoView {
    let open = one.end.is_none();
    let class = if open { "incident is-open" } else { "incident" };
    let figures = [
        (count(one.calls_refused), "refused"),
        (count(one.calls_failed), "failed"),
        (prose::incident::probes(&one.probes), "probes"),
    ];
    view! {
        <li class=class>
            <p class="incident-when">
                <When at=one.start />
                <span class="incident-length">{lasted(prose::incident::length_ms(&one, now_ms))}</span>
                {open.then(|| view! { <strong class="incident-now">"not over"</strong> })}
            </p>
            <div class="incident-what">
                <p class="incident-host">
                    <a href=format!("/incidents/{}", one.id)>
                        <HostName id=one.breaker.clone() />
                    </a>
                    {(!one.upstreams.is_empty()).then(|| view! { <span class="names">{one.upstreams.join(", ")}</span> })}
                </p>
                <p>{prose::incident::why(&one)} ". " {prose::incident::ended(&one)}</p>
                <p class="detail">
                    <a href=breaker_path(&one.breaker)>"the breaker"</a>
                </p>
            </div>
            <dl class="incident-figures">
                {figures
                    .map(|(figure, name)| {
                        view! {
                            <div>
                                <dt>{name}</dt>
                                <dd>{figure}</dd>
                            </div>
                        }
                    })}
            </dl>
        </li>
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_says_what_is_asked_for() {
        let asked = Asked::parse("?q=a+b&range=24h&open=true&before=90");
        assert_eq!(asked.href(), "/incidents?q=a+b&range=24h&open=true&before=90");
        let filter = asked.filter(1_796_007_600_000);
        assert_eq!((filter.q.as_deref(), filter.open, filter.before), (Some("a b"), Some(true), Some(90)));
        assert_eq!(filter.from.map(|from| from.millis()), Some(1_796_007_600_000 - Range::Day.ms()));
        assert_eq!(Asked::parse("?open=false&range=fortnight&before=x").href(), "/incidents");
    }
}
