//! The pages, one module each, and what the plain ones share. A page is made on the server; what moves in it afterwards is
//! an island from [`crate::components`].

pub mod asked;
pub mod audit;
pub mod breaker;
pub mod incident;
pub mod incidents;
pub mod panel;
pub mod settings;

use std::sync::Arc;

use leptos::prelude::*;

use self::asked::Asked;
use crate::{
    backend::{About, Answer, Backend, Refusal},
    components::{
        banner::Failed,
        frame::{DemoMark, Footer},
        host::HostName,
        read::AsRead,
        when::Stamp,
    },
    format::{self, breaker_path},
    live::Live,
    range::{Range, Window},
};

/// What the server says of itself; from then on the page's time is the server's.
async fn about(backend: &dyn Backend) -> About {
    let about = backend.about().await;
    Live::here().now.set(about.now.millis());
    about
}

/// Whose rows these are, where they are of one breaker alone.
#[component]
fn OfOne(
    /// The breaker; empty where they are everybody's.
    breaker: String,
    /// The page of all.
    all: String,
) -> impl IntoView {
    (!breaker.is_empty()).then(|| {
        view! {
            <p class="of-one">
                "Of " <a href=breaker_path(&breaker)>
                    <HostName id=breaker.clone() />
                </a> " alone. " <a href=all>"Of all hosts"</a>
            </p>
        }
    })
}

/// A page that is read once and stays as it was read: banner, content, footer; or why it could not be made.
#[component]
fn Sheet<Read, Reading>(
    /// Where to try again.
    again: String,
    /// It is an incident's.
    #[prop(optional)]
    incident: bool,
    /// Reads it.
    read: Read,
) -> impl IntoView
where
    Read: FnOnce() -> Reading + Send + 'static,
    Reading: Future<Output = Result<(About, AnyView), Refusal>> + Send + 'static,
{
    let answer = use_context::<Arc<dyn Answer>>();
    let reading = read();
    let (again, reloaded) = (again.clone(), again);
    view! {
        <Suspense fallback=|| ()>
            {Suspend::new(async move {
                match reading.await {
                    Ok((about, content)) => {
                        view! {
                            {about.demo.then(|| view! { <DemoMark /> })}
                            <AsRead about=about.clone() />
                            <div class="reading">
                                <p class="read-at">
                                    "As of " <Stamp at=about.now seconds=true /> ". " <a href=reloaded>"Reload the page"</a>
                                </p>
                                {content}
                            </div>
                            <Footer about=about />
                        }
                            .into_any()
                    }
                    Err(refusal) => {
                        if let Some(answer) = answer {
                            answer.status(refusal.status);
                        }
                        view! { <Failed refusal=refusal again=again incident=incident /> }.into_any()
                    }
                }
            })}
        </Suspense>
    }
}

/// The ways to the other parts of a long list.
#[component]
fn Paged(
    /// To what is older.
    older: Option<String>,
    /// Back to the newest.
    newest: Option<String>,
) -> impl IntoView {
    (older.is_some() || newest.is_some()).then(|| {
        let link = |href: String, name: &'static str| view! { <a class="button" href=href>{name}</a> };
        view! {
            <nav class="paged" aria-label="Newer and older">
                {newest.map(|href| link(href, "Newest"))}
                {older.map(|href| link(href, "Older"))}
            </nav>
        }
    })
}

/// A plain form that looks for a text and keeps what else is asked for.
fn search_box(
    action: &'static str,
    label: &'static str,
    value: &str,
    kept: &[(&'static str, String)],
) -> impl IntoView + use<> {
    let kept = kept.iter();
    let kept =
        kept.map(|(name, value)| view! { <input type="hidden" name=*name value=value.clone() /> }).collect_view();
    view! {
        <form class="search" role="search" method="get" action=action>
            <label class="unseen" for="q">
                {label}
            </label>
            <input type="search" id="q" name="q" placeholder=label value=value.to_owned() maxlength="200" />
            {kept}
            <button class="button">"Search"</button>
        </form>
    }
}

/// Links to each range, and a form for any other; all of it where none is chosen.
fn ranges(asked: &Asked) -> impl IntoView + use<> {
    let offered = [Range::Day, Range::Week, Range::Month, Range::Year].map(Some);
    let chips = offered.into_iter().chain([None]).map(|range| {
        let (word, spoken) = range.map_or(("all", "everything on record"), |range| (range.word(), range.spoken()));
        let href = Asked { range, between: None, ..asked.first() }.href();
        let current = (asked.range == range && asked.between.is_none()).then_some("true");
        view! {
            <a class="chip" href=href title=spoken aria-current=current>
                {word}
            </a>
        }
    });
    let between = asked.between.map(|between| {
        let spoken = Window::Fixed(between).spoken(format::Zone::Utc);
        view! { <span class="chip" aria-current="true">{spoken}</span> }
    });
    let [from, to] = asked
        .between
        .map(|between| [between.from_ms, between.to_ms].map(|ms| format::iso_utc(ms).trim_end_matches('Z').to_owned()))
        .unwrap_or_default();
    let kept = asked.kept(&["from", "to", "range"]).into_iter();
    let kept = kept.map(|(name, value)| view! { <input type="hidden" name=name value=value /> }).collect_view();
    view! {
        <div class="times">
            <nav class="ranges" aria-label="Range">
                {chips.collect_view()} {between}
            </nav>
            <details class="custom">
                <summary class="chip">"Custom"</summary>
                <form method="get" action="/incidents">
                    <label>
                        "From, UTC" <input type="datetime-local" name="from" step="1" required value=from />
                    </label>
                    <label>
                        "To, UTC" <input type="datetime-local" name="to" step="1" required value=to />
                    </label>
                    {kept}
                    <button class="button">"Show"</button>
                </form>
            </details>
        </div>
    }
}

/// The upstreams' names, where they say more than the host's.
fn other_names(upstreams: &[String], breaker: &str) -> Option<String> {
    (!upstreams.is_empty() && *upstreams != [breaker]).then(|| upstreams.join(", "))
}
