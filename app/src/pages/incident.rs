//! `/incidents/{id}`: one incident as its post-mortem needs it.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_params_map;

use super::Sheet;
use crate::{
    api,
    backend::{Refusal, Stretch},
    components::{
        exports::Exports,
        host::HostName,
        record::{Changes, Deciding},
        when::When,
    },
    format::{Zone, breaker_path, count, duration, lasted},
    prose,
    range::{Window, Zoom},
    rows::lane,
    timeline::{Axis, Strip},
    wire::{
        incident::{Incident, IncidentDetail, Refusals, Wait},
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
            read=move || async move {
                let backend = api::backend()?;
                let unknown = || Refusal {
                    status: 404,
                    detail: format!("There is no incident {id:?}. Its number is in its link in the list of incidents."),
                    field: None,
                    applied: false,
                };
                let number = id.parse().map_err(|_| unknown())?;
                let about = backend.about().await;
                let detail = backend.incident(number).await?;
                let now_ms = about.now.millis();
                let stretch = around(&detail.incident, now_ms);
                let lane = backend.lane(detail.incident.breaker.clone(), stretch).await.ok();
                Ok::<_, Refusal>((about, view! { <Told detail=detail lane=lane stretch=stretch now_ms=now_ms /> }.into_any()))
            }
        />
    }
}

/// The incident with a little of what was before and after.
fn around(one: &Incident, now_ms: i64) -> Stretch {
    let margin = (prose::incident::length_ms(one, now_ms) / 12).clamp(10_000, 3_600_000);
    let end = one.end.map_or(now_ms, |end| (end.millis() + margin).min(now_ms));
    let from_ms = one.start.millis() - margin;
    Stretch { from_ms, to_ms: end.max(from_ms + 1), width: lane::WIDTH as u32 }
}

#[component]
fn Told(detail: IncidentDetail, lane: Option<Lane>, stretch: Stretch, now_ms: i64) -> impl IntoView {
    let IncidentDetail { incident: one, transitions, more_transitions, waits, refused_paths, refused_agents } = detail;
    let lead = prose::incident::lead(&one, &waits, now_ms, Zone::Utc).join(" ");
    let title = format!("{} {} · Fuseboard", one.breaker, prose::incident::headline(&one, now_ms));
    let more = (more_transitions > 0).then(|| {
        view! { <p class="nothing">{format!("And {} more changes, which the export has.", count(more_transitions))}</p> }
    });
    // What ended it belongs to it.
    let to = one.end.map(|end| Time::from_micros(end.micros() + 1));
    view! {
        <Title text=title />
        <p class="back">
            <a href="/incidents">"All incidents"</a>
        </p>
        <article class="breaker">
            <header class="who">
                <h1>
                    <HostName id=one.breaker.clone() />
                </h1>
                <span class="incident-length">{prose::incident::headline(&one, now_ms)}</span>
                <a href=breaker_path(&one.breaker)>"the breaker now"</a>
            </header>
            <p class="lead">{lead}</p>
            {lane.map(|lane| view! { <Drawn lane=lane stretch=stretch /> })}
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
        </article>
    }
}

#[component]
fn Drawn(lane: Lane, stretch: Stretch) -> impl IntoView {
    let axis = Axis { from_ms: stretch.from_ms, to_ms: stretch.to_ms, width: lane::WIDTH };
    let window = Window::Fixed(Zoom { from_ms: stretch.from_ms, to_ms: stretch.to_ms });
    let drawing = lane::html(&Strip::from_lane(&lane), axis, &window.spoken(Zone::Utc));
    let time = |ms: i64| Time::from_micros(ms * 1_000);
    view! {
        <section class="timeline tall" aria-label="Timeline">
            <div class="strip" inner_html=drawing></div>
            <p class="ends">
                <When at=time(stretch.from_ms) seconds=true />
                <When at=time(stretch.to_ms) seconds=true />
            </p>
        </section>
    }
}

#[component]
fn Figures(one: Incident, now_ms: i64) -> impl IntoView {
    let mut figures = vec![
        ("Down", lasted(one.down_ms as i64)),
        ("Lasted", lasted(prose::incident::length_ms(&one, now_ms))),
        ("Calls refused", count(one.calls_refused)),
        ("Calls failed", count(one.calls_failed)),
        ("Opened", format!("{}×", count(one.opens))),
        ("Probes", prose::incident::probes(&one.probes)),
        ("Overrides", count(one.overrides)),
    ];
    if one.unknown_ms > 0 {
        figures.push(("Not watched", lasted(one.unknown_ms as i64)));
    }
    figures.push(("Upstreams", if one.upstreams.is_empty() { "none today".into() } else { one.upstreams.join(", ") }));
    figures.push(("Node", one.node.clone()));
    figures.push(("Record", one.id.to_string()));
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
                                <When at=wait.at seconds=true />
                                " "
                                <b>{duration(wait.wait_ms as i64)}</b>
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
                                        <td>{one.value}</td>
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
