//! What a row says when it is expanded: the numbers, the rules, who holds it, and everything that can be done.

use std::fmt::Write;

use super::{Look, can_probe};
use crate::{
    format::{self, breaker_path},
    markup::escaped,
    prose,
    shown::Shown,
    standing::Standing,
    wire::breaker::Breaker,
};

/// No data; of a host that nothing reaches there is no rate and no latency.
const NONE: &str = "—";

pub(super) fn html(breaker: &Breaker, standing: Standing, look: &Look) -> String {
    let mut out = String::with_capacity(1_200);
    let id = escaped(&breaker.id);
    let _ = write!(
        out,
        "<p class=\"full\"><code>{id}</code> <button type=\"button\" class=\"link\" data-copy=\"{id}\">copy</button></p>"
    );
    let reached = |value: Option<String>| value.filter(|_| !standing.refuses()).unwrap_or_else(|| NONE.into());
    out.push_str("<dl class=\"figures\">");
    for (name, value) in [
        ("calls a minute", format::count(breaker.calls_per_min)),
        ("refused a minute", format::count(breaker.refused_per_min)),
        ("failed", reached(breaker.failure_rate.map(format::share))),
        ("p95", reached(breaker.p95_ms.map(format::latency))),
        ("in flight", format::count(breaker.in_flight)),
        ("times opened", format::count(breaker.opens)),
        ("failed rounds", format::count(breaker.attempt.into())),
    ] {
        let _ = write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escaped(&value));
    }
    out.push_str("</dl>");
    if !breaker.services.is_empty() {
        let _ = write!(out, "<p class=\"rule\">gRPC · {}</p>", escaped(&breaker.services.join(", ")));
    }
    for rule in &breaker.rules {
        let _ = write!(
            out,
            "<p class=\"rule\">{}: {}</p>",
            escaped(&prose::rule(rule)),
            escaped(&prose::rule_stands(rule))
        );
    }
    if let Some(held) = &breaker.held {
        let _ = write!(out, "<p>Held by {}: {}</p>", escaped(&prose::by(&held.by)), escaped(&held.reason));
    }
    out.push_str("<p class=\"buttons\">");
    let mut link = |act: &str, label: &str| {
        let href = Shown { act: act.into(), ids: vec![breaker.id.clone()], ..look.shown.clone() }.href();
        let _ = write!(out, "<a class=\"button\" href=\"{}\">{label}</a>", escaped(&href));
    };
    if can_probe(breaker, standing) {
        link("probe", "Probe now");
    }
    link("force-open", "Force open");
    link("force-closed", "Force closed");
    link("reset", "Reset");
    if standing.held() {
        link("release", "Release");
    }
    let _ = write!(
        out,
        "<a class=\"button is-quiet\" href=\"{}\">All about it</a></p>",
        escaped(&breaker_path(&breaker.id))
    );
    out
}
