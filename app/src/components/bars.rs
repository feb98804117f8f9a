//! Calls, failures and refusals on the lane's axis.

use leptos::prelude::*;

use super::{
    axis::{axis, percent},
    chart::Chart,
};
use crate::{
    format::{self, count},
    live::Live,
    range::Window,
    timeline::{Bar, bars},
    wire::timeline::Lane,
};

/// Height the bars are computed for.
const HEIGHT: f64 = 64.0;

/// Stacked: good at the bottom, failed and refused on top.
#[component]
pub fn CallBars(
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
            let calls = lane.calls.as_ref()?;
            let (bars, top) = bars(calls, lane.from.millis(), axis(window.get(), end.get()), HEIGHT);
            Some((bars, top, calls.step_ms))
        })
    });
    let rects = move || {
        let zone = live.zone.get();
        drawn.with(|drawn| {
            drawn.as_ref().map_or(String::new(), |(bars, ..)| bars.iter().map(|bar| rect(bar, zone)).collect())
        })
    };
    let label = move || match drawn.get() {
        Some((bars, ..)) => {
            let sum = |nth: usize| bars.iter().map(|bar| bar.counts[nth]).sum::<u64>();
            format!(
                "Calls, {}: {} good, {} failed, {} refused",
                window.get().spoken(live.zone.get()),
                count(sum(0)),
                count(sum(1)),
                count(sum(2))
            )
        }
        None => "Calls: nothing recorded".into(),
    };
    let scale = move || {
        drawn.get().map(|(_, top, step_ms)| {
            let step = if step_ms == 60_000 { "a minute".into() } else { format::duration(step_ms as i64) };
            format!("full height: {} in {step}", format::some(top, "call", "calls"))
        })
    };
    view! {
        <Chart
            name="Calls"
            keys=&[("is-ok", "good"), ("is-failed", "failed"), ("is-refused", "refused")]
            scale=Signal::derive(scale)
            height=HEIGHT
            label=Signal::derive(label)
            marks=Signal::derive(rects)
        />
    }
}

fn rect(bar: &Bar, zone: format::Zone) -> String {
    let (x, width) = (percent(bar.x), percent(bar.width));
    let [ok, failed, refused] = bar.counts;
    let mut out = format!(
        "<g><title>{}: {} good, {} failed, {} refused</title>",
        format::clock(bar.at_ms, zone),
        count(ok),
        count(failed),
        count(refused)
    );
    let mut below = 0.0;
    for (class, height) in
        [("bar is-ok", bar.ok), ("bar is-failed", bar.failed), ("bar is-refused\" fill=\"url(#hatch)", bar.refused)]
    {
        if height > 0.0 {
            let y = (HEIGHT - below - height).max(0.0);
            out.push_str(&format!(
                "<rect class=\"{class}\" x=\"{x}\" width=\"{width}\" y=\"{y:.2}\" height=\"{height:.2}\"></rect>"
            ));
        }
        below += height;
    }
    out + "</g>"
}
