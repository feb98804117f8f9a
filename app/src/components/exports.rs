//! Links that carry rows away as files. Plain links: they work without script.

use leptos::prelude::*;

use crate::{format::query_value, wire::time::Time};

/// The formats, the ones people read first; the report's three are of incidents alone.
const FORMATS: [(&str, &str, bool); 6] = [
    ("html", "HTML page", true),
    ("md", "Markdown", true),
    ("csv", "CSV", false),
    ("json", "JSON", false),
    ("ndjson", "NDJSON", false),
    ("ics", "calendar", true),
];

/// `Export: HTML page · Markdown · CSV …`.
#[component]
pub fn Exports(
    /// `incidents`, `transitions`, `probes` or `audit`.
    what: &'static str,
    /// Not older than this.
    #[prop(optional_no_strip)]
    from: Option<Time>,
    /// Older than this.
    #[prop(optional_no_strip)]
    to: Option<Time>,
    /// Of this breaker alone.
    #[prop(optional)]
    breaker: String,
) -> impl IntoView {
    let mut asked = String::new();
    let ends = [("from", from.map(|at| at.to_string())), ("to", to.map(|at| at.to_string()))];
    let breaker = (!breaker.is_empty()).then_some(breaker);
    for (name, value) in ends.into_iter().chain([("breaker", breaker)]) {
        if let Some(value) = value {
            asked.push_str(&format!("&{name}={}", query_value(&value)));
        }
    }
    let links = FORMATS.iter().filter(|(.., report)| what == "incidents" || !report).map(|(format, name, _)| {
        let href = format!("/api/v1/export?what={what}&format={format}{asked}");
        view! {
            <li>
                <a class="button" rel="external" download href=href>
                    {*name}
                </a>
            </li>
        }
    });
    view! {
        <nav class="exports" aria-label="Export">
            <h2>"Export"</h2>
            <ul>{links.collect_view()}</ul>
        </nav>
    }
}
