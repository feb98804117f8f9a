//! Links that carry rows away as files. Plain links: they work without script.

use leptos::prelude::*;

use crate::{shown::Query, wire::time::Time};

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
    /// Incidents of this upstream alone.
    #[prop(optional)]
    upstream: String,
    /// Incidents of hosts and upstreams with this text.
    #[prop(optional)]
    q: String,
    /// Incidents that last.
    #[prop(optional)]
    open: bool,
) -> impl IntoView {
    let end = |at: Option<Time>| at.map_or(String::new(), |at| at.to_string());
    let open = if open { "true".to_owned() } else { String::new() };
    let asked =
        [("from", end(from)), ("to", end(to)), ("breaker", breaker), ("upstream", upstream), ("q", q), ("open", open)];
    let asked = move |format: &str| {
        let query = Query::new("/api/v1/export").say("what", what).say("format", format);
        asked.iter().fold(query, |query, (name, value)| query.say(name, value)).href()
    };
    let links = FORMATS.iter().filter(|(.., report)| what == "incidents" || !report).map(|(format, name, _)| {
        let href = asked(format);
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
