//! `/incidents`: every time a breaker left closed, newest first. Made on the server; filters and pages are links.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use super::{OfOne, Paged, Sheet, about, asked::Asked, other_names, ranges, search_box};
use crate::{
    api,
    backend::Refusal,
    components::{exports::Exports, host::HostName, when::Stamp},
    format::{Zone, breaker_path, count, lasted},
    prose,
    range::Window,
    wire::{event::Page, incident::Incident},
};

/// Incidents a page shows.
const ROWS: u32 = 50;

/// All of them.
#[component]
pub fn IncidentsPage() -> impl IntoView {
    let asked = Asked::parse("/incidents", &use_location().search.get_untracked());
    let again = asked.href();
    view! {
        <Title text="Incidents · Fuseboard" />
        <Sheet
            again=again
            read=move || async move {
                let backend = api::backend()?;
                let about = about(&*backend).await;
                let now_ms = about.now.millis();
                let page = backend.incidents(asked.incidents(now_ms, ROWS)).await?;
                let upstreams = backend.settings().await?.upstreams.into_iter().map(|one| one.name).collect();
                let list = view! { <List asked=asked page=page upstreams=upstreams now_ms=now_ms /> };
                Ok::<_, Refusal>((about, list.into_any()))
            }
        />
    }
}

#[component]
fn List(asked: Asked, page: Page<Incident>, upstreams: Vec<String>, now_ms: i64) -> impl IntoView {
    let first = asked.first();
    let (from, to) = asked.ends(now_ms);
    let empty = page
        .rows
        .is_empty()
        .then(|| view! { <p class="nothing">{nothing(&asked)} " " <Clear asked=asked.clone() /></p> });
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
    view! {
        <div class="reading-head">
            <h1>"Incidents"</h1>
            <p>"One breaker, from leaving closed to closed again."</p>
            <OfOne breaker=asked.breaker.clone() all=Asked { breaker: String::new(), ..first.clone() }.href() />
        </div>
        <div class="toolbar is-reading">
            {search_box("/incidents", "Host or upstream", &asked.q, &asked.kept(&["q"]))}
            <nav class="filters" aria-label="Filter">
                <ul>{open_filter}</ul>
            </nav>
            <Upstreams asked=asked.clone() upstreams=upstreams />
            {ranges(&asked)}
        </div>
        {empty}
        <ol class="incidents">
            {page.rows.iter().map(|one| view! { <Row one=one.clone() now_ms=now_ms /> }).collect_view()}
        </ol>
        <Paged older=page.next.map(|before| asked.behind(before).href()) newest=asked.before.map(|_| first.href()) />
        <Exports
            what="incidents"
            from=from
            to=to
            breaker=asked.breaker.clone()
            upstream=asked.upstream.clone()
            q=asked.q.clone()
            open=asked.open
        />
    }
}

/// Why there is none.
fn nothing(asked: &Asked) -> String {
    let mut among = Vec::new();
    if !asked.q.is_empty() {
        among.push(format!("of a host that matches \u{201c}{}\u{201d}", asked.q));
    }
    if !asked.upstream.is_empty() {
        among.push(format!("of {}", asked.upstream));
    }
    if !asked.breaker.is_empty() {
        among.push(format!("of {}", asked.breaker));
    }
    let time = match (asked.between, asked.range) {
        (Some(between), _) => Some(format!("from {}", Window::Fixed(between).spoken(Zone::Utc))),
        (None, range) => range.map(|range| format!("in the {}", range.spoken())),
    };
    match (asked.open, among.is_empty(), time) {
        (true, true, None) => "Nothing is down now.".into(),
        (false, true, None) => "No incident on record: no breaker has left closed.".into(),
        (open, _, time) => {
            among.extend(time);
            format!("No incident {}{}.", among.join(" "), if open { " that lasts" } else { "" })
        }
    }
}

#[component]
fn Clear(asked: Asked) -> impl IntoView {
    asked.some().then(|| view! { <a href="/incidents">"Show all"</a> })
}

/// Whose incidents: a plain form, of which the browser without script needs the button.
#[component]
fn Upstreams(asked: Asked, upstreams: Vec<String>) -> impl IntoView {
    let chosen = asked.upstream.clone();
    // One that is configured no more has its past.
    let gone = (!chosen.is_empty() && !upstreams.contains(&chosen)).then(|| chosen.clone());
    let options = upstreams.into_iter().chain(gone).map(|name| {
        let (value, selected) = (name.clone(), name == chosen);
        view! {
            <option value=value selected=selected>
                {name}
            </option>
        }
    });
    let options = options.collect_view();
    let kept = asked.kept(&["upstream"]).into_iter();
    let kept = kept.map(|(name, value)| view! { <input type="hidden" name=name value=value /> }).collect_view();
    view! {
        <form class="choice" method="get" action="/incidents">
            <label class="unseen" for="upstream">
                "Upstream"
            </label>
            <select id="upstream" name="upstream">
                <option value="">"every upstream"</option>
                {options}
            </select>
            {kept}
            <button class="button">"Show"</button>
        </form>
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
    let names = other_names(&one.upstreams, &one.breaker).map(|names| view! { <span class="names">{names}</span> });
    let now = open.then(|| view! { <a href=breaker_path(&one.breaker)>"The breaker now"</a> });
    view! {
        <li class=class>
            <p class="incident-when">
                <Stamp at=one.start seconds=true />
                <span class="incident-length">{lasted(prose::incident::length_ms(&one, now_ms))}</span>
                {open.then(|| view! { <strong class="incident-now">"not over"</strong> })}
            </p>
            <div class="incident-what">
                <p class="incident-host">
                    <a href=format!("/incidents/{}", one.id)>
                        <HostName id=one.breaker.clone() />
                    </a>
                    {names}
                </p>
                <p>{prose::sentence(prose::incident::why(&one))} " " {prose::incident::ended(&one)} " " {now}</p>
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
    fn no_incident_is_said_with_what_was_asked_for() {
        for (search, said) in [
            ("", "No incident on record: no breaker has left closed."),
            ("open=true", "Nothing is down now."),
            ("q=npm", "No incident of a host that matches \u{201c}npm\u{201d}."),
            ("upstream=npm&open=true&range=24h", "No incident of npm in the last 24 hours that lasts."),
            ("from=2026-11-30T01:00:00Z&to=2026-11-30T02:00:00Z", "No incident from 30 Nov, 01:00 to 02:00 UTC."),
        ] {
            assert_eq!(nothing(&Asked::parse("/incidents", search)), said);
        }
    }
}
