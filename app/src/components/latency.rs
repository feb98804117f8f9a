//! How long calls took, on the lane's axis.

use leptos::prelude::*;

use super::{
    axis::{axis, percent},
    chart::Chart,
};
use crate::{
    format,
    live::Live,
    range::Window,
    timeline::latency::{Spread, spreads},
    wire::timeline::Lane,
};

/// Height the ranges are computed for.
const HEIGHT: f64 = 56.0;

/// A range a step: from the median to the 95th percentile, on a scale of powers of ten.
#[component]
pub fn Latency(
    /// The lane as it was loaded.
    #[prop(into)]
    lane: Signal<Option<Lane>>,
    /// What is shown.
    #[prop(into)]
    window: Signal<Window>,
    /// Where it ends.
    #[prop(into)]
    end: Signal<i64>,
) -> impl IntoView {
    let live = Live::here();
    let drawn = Memo::new(move |_| {
        lane.with(|lane| {
            let lane = lane.as_ref()?;
            spreads(lane.calls.as_ref()?, lane.from.millis(), axis(window.get(), end.get()), HEIGHT)
        })
    });
    let marks = move || {
        drawn.with(|drawn| {
            let Some((spreads, scale)) = drawn else { return String::new() };
            let mut out = String::new();
            let lines = scale.lines(HEIGHT);
            for (y, _) in &lines {
                out.push_str(&format!("<line class=\"rule\" x2=\"100%\" y1=\"{y:.1}\" y2=\"{y:.1}\"></line>"));
            }
            spreads.iter().for_each(|spread| range(spread, &mut out));
            for (y, label) in lines {
                // The lowest one stands on its line, the others hang from theirs.
                let y = if y > HEIGHT - 10.0 { y - 2.0 } else { y + 9.0 };
                out.push_str(&format!("<text class=\"at-rule\" x=\"2\" y=\"{y:.1}\">{label}</text>"));
            }
            out
        })
    };
    let label = move || {
        let said = window.get().spoken(live.zone.get());
        let slowest = lane.with(|lane| {
            let calls = lane.as_ref().and_then(|lane| lane.calls.as_ref());
            calls.and_then(|calls| calls.p95_ms.iter().flatten().copied().reduce(f64::max))
        });
        match (slowest, drawn.with(Option::is_some)) {
            (Some(slowest), true) => format!("Latency, {said}: p95 at most {}", format::latency(slowest)),
            _ => format!("Latency, {said}: no call reached the host"),
        }
    };
    let none = move || drawn.with(Option::is_none).then(|| "no call reached the host".to_owned());
    view! {
        <Chart
            name="Latency"
            keys=&[("is-median", "median"), ("is-spread", "to p95")]
            scale=Signal::derive(none)
            height=HEIGHT
            label=Signal::derive(label)
            marks=Signal::derive(marks)
        />
    }
}

fn range(spread: &Spread, out: &mut String) {
    let (x, width) = (percent(spread.x), percent(spread.width));
    let Spread { median_y, p95_y, .. } = *spread;
    let high = (median_y - p95_y).max(0.0);
    out.push_str(&format!(
        "<rect class=\"spread\" x=\"{x}\" width=\"{width}\" y=\"{p95_y:.1}\" height=\"{high:.1}\"></rect>\
         <rect class=\"median\" x=\"{x}\" width=\"{width}\" y=\"{:.1}\" height=\"2\"></rect>",
        (median_y - 1.0).clamp(0.0, HEIGHT - 2.0)
    ));
}
