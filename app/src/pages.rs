//! The pages, one module each, and what the plain ones share. A page is made on the server; what moves in it afterwards is
//! an island from [`crate::components`].

pub mod audit;
pub mod breaker;
pub mod incident;
pub mod incidents;
pub mod panel;
pub mod settings;

use std::sync::Arc;

use leptos::prelude::*;

use crate::{
    backend::{About, Answer, Refusal},
    components::{
        banner::{Failed, StoreNote},
        frame::{DemoMark, Footer},
    },
    range::Range,
    wire::time::Time,
};

/// A page that is read once and stays as it was read: banner, content, footer; or why it could not be made.
#[component]
fn Sheet<Read, Reading>(
    /// Where to try again.
    again: String,
    /// Reads it.
    read: Read,
) -> impl IntoView
where
    Read: FnOnce() -> Reading + Send + 'static,
    Reading: Future<Output = Result<(About, AnyView), Refusal>> + Send + 'static,
{
    let answer = use_context::<Arc<dyn Answer>>();
    let reading = read();
    view! {
        <Suspense fallback=|| ()>
            {Suspend::new(async move {
                match reading.await {
                    Ok((about, content)) => {
                        view! {
                            {about.demo.then(|| view! { <DemoMark /> })}
                            <StoreNote about=about.clone() />
                            <div class="reading">{content}</div>
                            <Footer about=about />
                        }
                            .into_any()
                    }
                    Err(refusal) => {
                        if let Some(answer) = answer {
                            answer.status(refusal.status);
                        }
                        view! { <Failed refusal=refusal again=again /> }.into_any()
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
            <nav class="paged" aria-label="Pages">
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
    let kept = kept.iter().filter(|(_, value)| !value.is_empty());
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

/// Links to each range; all of it where none is chosen.
fn ranges(chosen: Option<Range>, href: impl Fn(Option<Range>) -> String) -> impl IntoView {
    let offered = [Range::Day, Range::Week, Range::Month, Range::Year].map(Some);
    let chips = offered.into_iter().chain([None]).map(|range| {
        let (word, spoken) = range.map_or(("all", "everything on record"), |range| (range.word(), range.spoken()));
        view! {
            <a class="chip" href=href(range) title=spoken aria-current=(chosen == range).then_some("true")>
                {word}
            </a>
        }
    });
    view! {
        <nav class="ranges" aria-label="Range">
            {chips.collect_view()}
        </nav>
    }
}

/// Both ends of the last so long; no ends where all of it is asked for.
fn range_ends(range: Option<Range>, now_ms: i64) -> (Option<Time>, Option<Time>) {
    let time = |ms: i64| Time::from_micros(ms * 1_000);
    range.map_or((None, None), |range| (Some(time(now_ms - range.ms())), Some(time(now_ms + 1))))
}
