//! Calls, failures and refusals on the lane's axis.

use leptos::prelude::*;

use super::lane::{axis, percent};
use crate::{
    format::{self, count},
    live::Live,
    range::Range,
    timeline::bars,
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
    /// How far back.
    #[prop(into)]
    range: Signal<Range>,
    /// Where it ends.
    end: Memo<i64>,
) -> impl IntoView {
    let live = Live::here();
    let drawn = Memo::new(move |_| {
        lane.with(|lane| {
            let lane = lane.as_ref()?;
            let calls = lane.calls.as_ref()?;
            let (bars, top) = bars(calls, lane.from.millis(), axis(range.get(), end.get()), HEIGHT);
            Some((bars, top, calls.step_ms))
        })
    });
    let rects = move || {
        let (bars, ..) = drawn.get()?;
        let zone = live.zone.get();
        let rects = bars.into_iter().map(|bar| {
            let (x, width) = (percent(bar.x), percent(bar.width));
            let [ok, failed, refused] = bar.counts;
            let title = format!(
                "{}: {} good, {} failed, {} refused",
                format::clock(bar.at_ms, zone),
                count(ok),
                count(failed),
                count(refused)
            );
            let part = |class: &'static str, fill: Option<&'static str>, below: f64, height: f64| {
                (height > 0.0).then(|| {
                    let y = (HEIGHT - below - height).max(0.0);
                    view! {
                        <rect class=class fill=fill x=x.clone() width=width.clone() y=format!("{y:.2}") height=format!("{height:.2}") />
                    }
                })
            };
            view! {
                <g>
                    <title>{title}</title>
                    {part("bar is-ok", None, 0.0, bar.ok)}
                    {part("bar is-failed", None, bar.ok, bar.failed)}
                    {part("bar is-refused", Some("url(#hatch)"), bar.ok + bar.failed, bar.refused)}
                </g>
            }
        });
        Some(rects.collect_view())
    };
    let label = move || match drawn.get() {
        Some((bars, ..)) => {
            let sum = |nth: usize| bars.iter().map(|bar| bar.counts[nth]).sum::<u64>();
            format!(
                "Calls, {}: {} good, {} failed, {} refused",
                range.get().spoken(),
                count(sum(0)),
                count(sum(1)),
                count(sum(2))
            )
        }
        None => "Calls: nothing recorded".into(),
    };
    let scale = move || {
        drawn.get().map(|(_, top, step_ms)| {
            let step = if step_ms == 60_000 { "minute".into() } else { format::duration(step_ms as i64) };
            format!("full height: {} in a {step}", format::some(top, "call", "calls"))
        })
    };
    view! {
        <svg class="bars" role="img" aria-label=label width="100%" height=HEIGHT.to_string()>
            {rects}
        </svg>
        <p class="legend">
            <span class="key is-ok">"good"</span>
            <span class="key is-failed">"failed"</span>
            <span class="key is-refused">"refused"</span>
            <span class="scale">{scale}</span>
        </p>
    }
}
