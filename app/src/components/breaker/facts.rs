//! A breaker's numbers, and its rules in words.

use leptos::prelude::*;

use crate::{format, prose, standing::Standing, wire::breaker::Breaker};

/// What it does now.
#[component]
pub fn Facts(
    /// As it stands.
    breaker: Memo<Option<Breaker>>,
    /// In a word.
    standing: Memo<Standing>,
) -> impl IntoView {
    const NONE: &str = "—";
    let number = move |read: fn(&Breaker) -> String| {
        move || breaker.with(|one| one.as_ref().map_or_else(|| NONE.to_owned(), read))
    };
    // Of a host that nothing reaches there is no rate and no latency.
    let reached = move |read: fn(&Breaker) -> Option<String>| {
        move || {
            let refuses = standing.get().refuses();
            breaker.with(|one| one.as_ref().filter(|_| !refuses).and_then(read).unwrap_or_else(|| NONE.to_owned()))
        }
    };
    view! {
        <dl class="facts">
            <div>
                <dt>"calls a minute"</dt>
                <dd>{number(|one| format::count(one.calls_per_min))}</dd>
            </div>
            <div>
                <dt>"refused a minute"</dt>
                <dd>{number(|one| format::count(one.refused_per_min))}</dd>
            </div>
            <div>
                <dt>"failed"</dt>
                <dd>{reached(|one| one.failure_rate.map(format::share))}</dd>
            </div>
            <div>
                <dt>"median"</dt>
                <dd>{reached(|one| one.p50_ms.map(format::latency))}</dd>
            </div>
            <div>
                <dt>"p95"</dt>
                <dd>{reached(|one| one.p95_ms.map(format::latency))}</dd>
            </div>
            <div>
                <dt>"in flight"</dt>
                <dd>{number(|one| format::count(one.in_flight))}</dd>
            </div>
            <div>
                <dt>"times opened"</dt>
                <dd>{number(|one| format::count(one.opens))}</dd>
            </div>
            <div>
                <dt>"failed rounds"</dt>
                <dd>{number(|one| format::count(one.attempt.into()))}</dd>
            </div>
        </dl>
    }
}

/// What trips it, how it comes back, and where it stands.
#[component]
pub fn Policy(
    /// As it stands.
    breaker: Memo<Option<Breaker>>,
) -> impl IntoView {
    let sentences = Memo::new(move |_| breaker.with(|one| one.as_ref().map(prose::policy).unwrap_or_default()));
    let rules = Memo::new(move |_| {
        breaker.with(|one| {
            let rules = one.as_ref().map(|one| one.rules.as_slice()).unwrap_or_default();
            rules.iter().map(|rule| (prose::rule(rule), prose::rule_stands(rule))).collect::<Vec<_>>()
        })
    });
    let stands = move || {
        let rules = rules.get().into_iter();
        let rules = rules.map(|(rule, stands)| view! { <li><span>{rule}</span> <b>{stands}</b></li> });
        rules.collect_view()
    };
    view! {
        {move || sentences.get().into_iter().map(|said| view! { <p>{said}</p> }).collect_view()}
        <h3>"Where it stands"</h3>
        <ul class="rules">{stands}</ul>
    }
}
