//! `/incidents/{id}`: one incident as its post-mortem needs it.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_params_map;

use super::{Sheet, about, other_names};
use crate::{
    api,
    backend::{Refusal, Stretch},
    components::{
        exports::Exports,
        host::HostName,
        incident::IncidentTimeline,
        legend::Legend,
        record::{Changes, Deciding},
        when::Stamp,
    },
    format::{self, breaker_path, count, duration, lasted, some},
    prose,
    rows::lane::WIDTH,
    shown::Query,
    wire::{
        incident::{Incident, IncidentDetail, IncidentKind, Refusals, Wait},
        time::Time,
        timeline::Lane,
    },
};

/// Waits told one by one.
const WAITS: usize = 50;

/// One incident.
#[component]
pub fn IncidentPage() -> impl IntoView {
    let id = use_params_map().with_untracked(|params| params.get("id").unwrap_or_default());
    let again = format!("/incidents/{id}");
    view! {
        <Sheet
            again=again
            incident=true
            read=move || async move {
                let backend = api::backend()?;
                let unknown = || Refusal {
                    status: 404,
                    detail: format!("There is no incident {id:?}. Its number is in its link in the list of incidents."),
                    field: None,
                    applied: false,
                };
                let number = id.parse().map_err(|_| unknown())?;
                let about = about(&*backend).await;
                let detail = backend.incident(number).await?;
                let now_ms = about.now.millis();
                let stretch = around(&detail.incident, now_ms);
                let lane = backend.lane(detail.incident.breaker.clone(), stretch).await.ok();
                Ok::<_, Refusal>((about, view! { <Told detail=detail lane=lane now_ms=now_ms /> }.into_any()))
            }
        />
    }
}

/// The incident with a little of what was before and after.
fn around(one: &Incident, now_ms: i64) -> Stretch {
    let margin = (prose::incident::length_ms(one, now_ms) / 12).clamp(10_000, 3_600_000);
    let end = one.end.map_or(now_ms, |end| (end.millis() + margin).min(now_ms));
    let from_ms = one.start.millis() - margin;
    Stretch { from_ms, to_ms: end.max(from_ms + 1), width: WIDTH as u32 }
}

#[component]
fn Told(detail: IncidentDetail, lane: Option<Lane>, now_ms: i64) -> impl IntoView {
    let IncidentDetail { incident: one, transitions, more_transitions, waits, refused_paths, refused_agents } = detail;
    let rest = prose::incident::lead(&one, &waits, now_ms).join(" ");
    let title = format!("{} {} · Fuseboard", one.breaker, prose::incident::headline(&one, now_ms));
    let more = (more_transitions > 0).then(|| {
        view! { <p class="nothing">{format!("And {} more changes, which the export has.", count(more_transitions))}</p> }
    });
    // What ended it belongs to it.
    let to = one.end.map(|end| Time::from_micros(end.micros() + 1));
    let standing = match (one.kind, one.end.is_some()) {
        (_, true) => "over",
        (IncidentKind::Tripped, false) => "not over: down now",
        (IncidentKind::Held, false) => "not over: held open now",
    };
    let class = if one.end.is_none() { "incident-now" } else { "incident-over" };
    let names = other_names(&one.upstreams, &one.breaker).map(|names| view! { <span class="names">{names}</span> });
    let others = Query::new("/incidents").say("breaker", &one.breaker).href();
    view! {
        <Title text=title />
        <p class="back">
            <a href="/incidents">"All incidents"</a>
            <a href=others>"Of this host"</a>
            <a href=breaker_path(&one.breaker)>"The breaker now"</a>
        </p>
        <article class="breaker one-incident">
            <header class="who">
                <h1>
                    <HostName id=one.breaker.clone() />
                </h1>
                <strong class=class>{standing}</strong>
                {names}
            </header>
            <p class="lead">
                <When one=one.clone() now_ms=now_ms /> " " {rest}
            </p>
            {lane.map(|lane| view! { <Drawn lane=lane /> })}
            <Figures one=one.clone() now_ms=now_ms />
            <div class="columns">
                <section>
                    <h2 id="evidence">"What decided it"</h2>
                    <Deciding cause=one.cause.clone() />
                    <Waits waits=waits />
                </section>
                <section>
                    <h2 id="changes">"What happened"</h2>
                    <Changes rows=transitions />
                    {more}
                </section>
                <Most title="Paths refused most" of="path" most=refused_paths />
                <Most title="Clients refused most" of="user agent" most=refused_agents />
            </div>
            <Exports what="incidents" from=Some(one.start) to=to breaker=one.breaker />
            <p class="detail">{format!("Recorded by node {} as number {}.", one.node, one.id)}</p>
        </article>
    }
}

/// `Down for 12 min, from 01:12 to 01:24.`
#[component]
fn When(one: Incident, now_ms: i64) -> impl IntoView {
    let headline = prose::upper(&prose::incident::headline(&one, now_ms));
    match one.end {
        Some(end) => {
            view! { {headline} ", from " <Stamp at=one.start seconds=true /> " to " <Stamp at=end seconds=true /> "." }
                .into_any()
        }
        None => view! { {headline} ", since " <Stamp at=one.start seconds=true /> "." }.into_any(),
    }
}

#[component]
fn Drawn(lane: Lane) -> impl IntoView {
    let (from, to) = (lane.from, lane.to);
    view! {
        <section class="timeline" aria-label="Timeline">
            <IncidentTimeline lane=lane />
            <p class="ends">
                <Stamp at=from seconds=true />
                <Stamp at=to seconds=true />
            </p>
            <Legend />
        </section>
    }
}

#[component]
fn Figures(one: Incident, now_ms: i64) -> impl IntoView {
    let length = lasted(prose::incident::length_ms(&one, now_ms));
    let down = lasted(one.down_ms as i64);
    let mut figures = vec![("Lasted", length.clone())];
    if down != length {
        figures.push(("Of that down", down));
    }
    if one.unknown_ms > 0 {
        figures.push(("Not watched", lasted(one.unknown_ms as i64)));
    }
    figures.push(("Calls refused", count(one.calls_refused)));
    figures.push(("Calls failed", count(one.calls_failed)));
    figures.push(("Opened", some(one.opens, "time", "times")));
    figures.push(("Probes", prose::incident::probes(&one.probes)));
    if one.overrides > 0 {
        figures.push(("Overrides", count(one.overrides)));
    }
    view! {
        <dl class="facts">
            {figures
                .into_iter()
                .map(|(name, figure)| {
                    view! {
                        <div>
                            <dt>{name}</dt>
                            <dd>{figure}</dd>
                        </div>
                    }
                })
                .collect_view()}
        </dl>
    }
}

#[component]
fn Waits(waits: Vec<Wait>) -> impl IntoView {
    let left = waits.len().saturating_sub(WAITS);
    (!waits.is_empty()).then(|| {
        view! {
            <h3>"Waits"</h3>
            <ol class="waits">
                {waits
                    .iter()
                    .take(WAITS)
                    .map(|wait| {
                        let jitter = (wait.jitter_ms > 0)
                            .then(|| format!(", {} less at random", duration(wait.jitter_ms as i64)));
                        view! {
                            <li>
                                <Stamp at=wait.at seconds=true />
                                " "
                                <b>{format::wait(wait.wait_ms as i64)}</b>
                                {jitter}
                            </li>
                        }
                    })
                    .collect_view()}
            </ol>
            {(left > 0).then(|| view! { <p class="nothing">{format!("And {} more.", count(left as u64))}</p> })}
        }
    })
}

#[component]
fn Most(title: &'static str, of: &'static str, most: Vec<Refusals>) -> impl IntoView {
    (!most.is_empty()).then(|| {
        view! {
            <section>
                <h2>{title}</h2>
                <table class="most">
                    <thead>
                        <tr>
                            <th scope="col">{of}</th>
                            <th scope="col">"refused"</th>
                        </tr>
                    </thead>
                    <tbody>
                        {most
                            .into_iter()
                            .map(|one| {
                                view! {
                                    <tr>
                                        <td title=one.value.clone()>
                                            <span>{one.value.clone()}</span>
                                        </td>
                                        <td>{count(one.count)}</td>
                                    </tr>
                                }
                            })
                            .collect_view()}
                    </tbody>
                </table>
            </section>
        }
    })
}
