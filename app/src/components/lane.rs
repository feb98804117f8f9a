//! One breaker's strip on the time axis, with its probes as marks.

use leptos::prelude::*;

use super::axis::{axis, percent};
use crate::{
    live::Live,
    range::Window,
    rows::lane,
    timeline::{Axis, Strip},
    wire::timeline::ProbeMarks,
};

/// The bands.
#[component]
pub fn Lane(
    /// What is drawn.
    #[prop(into)]
    strip: Signal<Strip>,
    /// What is shown.
    #[prop(into)]
    window: Signal<Window>,
    /// Where it ends.
    #[prop(into)]
    end: Signal<i64>,
    /// Probe marks, with the time they count from.
    #[prop(optional, into)]
    probes: Signal<Option<(i64, ProbeMarks)>>,
) -> impl IntoView {
    let live = Live::here();
    let drawn = move || {
        let window = window.get();
        strip.with(|strip| lane::html(strip, axis(window, end.get()), &window.spoken(live.zone.get())))
    };
    let marks = move || {
        probes.with(|probes| {
            probes.as_ref().map_or(String::new(), |(from, marks)| marked(*from, marks, axis(window.get(), end.get())))
        })
    };
    view! {
        <div class="strip" inner_html=drawn></div>
        <svg class="probes" aria-hidden="true" width="100%" height="12" inner_html=marks></svg>
    }
}

fn marked(from_ms: i64, marks: &ProbeMarks, axis: Axis) -> String {
    let mut out = String::new();
    for (at, (good, bad)) in marks.at.iter().zip(marks.good.iter().zip(&marks.bad)) {
        let at = from_ms + *at as i64;
        if at < axis.from_ms || at > axis.to_ms {
            continue;
        }
        let title = match (good, bad) {
            (1, 0) => "a good probe".to_owned(),
            (0, 1) => "a failed probe".to_owned(),
            (good, bad) => format!("{good} good and {bad} failed probes"),
        };
        let (class, shape) = if *bad > 0 {
            ("is-bad", "<path d=\"M-3.5 2.5l7 7m0-7l-7 7\"></path>")
        } else {
            ("is-good", "<circle cx=\"0\" cy=\"6\" r=\"3.5\"></circle>")
        };
        out.push_str(&format!(
            "<svg class=\"probe {class}\" x=\"{}\" width=\"12\" height=\"12\" overflow=\"visible\">\
             <title>{title}</title>{shape}</svg>",
            percent(axis.x(at))
        ));
    }
    out
}
