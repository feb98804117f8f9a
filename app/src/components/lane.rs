//! One breaker's strip on the time axis. Kinds differ by shape and pattern, not by colour alone; widths are shares of
//! the axis, so that the strip is as wide as its place.

use leptos::prelude::*;

use crate::{
    live::Live,
    range::Range,
    timeline::{Axis, Drawn, Strip},
    wire::timeline::ProbeMarks,
};

/// Pixels an axis is computed for.
pub const WIDTH: f64 = 720.0;

/// Narrower than this there is no room for a hairline between neighbours.
const THIN: f64 = 4.0;

/// Where the axis ends: the server's time, in steps of a pixel.
pub fn axis_end(live: Live, range: Signal<Range>) -> Memo<i64> {
    Memo::new(move |_| {
        let step = (range.get().ms() / WIDTH as i64).max(1_000);
        (live.now.get() + step - 1).div_euclid(step) * step
    })
}

/// The axis over a range.
pub fn axis(range: Range, end_ms: i64) -> Axis {
    Axis::last(range.ms(), end_ms, WIDTH)
}

/// A length on the axis as a share of it.
pub fn percent(x: f64) -> String {
    let text = format!("{:.3}", x / WIDTH * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The bands.
#[component]
pub fn Lane(
    /// What is drawn.
    #[prop(into)]
    strip: Signal<Strip>,
    /// How far back.
    #[prop(into)]
    range: Signal<Range>,
    /// Where it ends.
    end: Memo<i64>,
    /// Probe marks, with the time they count from.
    #[prop(optional, into)]
    probes: Signal<Option<(i64, ProbeMarks)>>,
) -> impl IntoView {
    let bands = Memo::new(move |_| strip.with(|strip| strip.bands(axis(range.get(), end.get()))));
    let label = move || {
        let said = strip.with(|strip| strip.spoken(axis(range.get(), end.get())));
        format!("{}: {said}", range.get().spoken())
    };
    let drawn = move || {
        let drawn = bands.get();
        let drawn = drawn.iter().map(|band| {
            let Drawn { class, fill, y, height } = band.drawn();
            let thin = band.width < THIN;
            view! {
                <rect
                    class=class
                    class:is-thin=thin
                    fill=fill
                    x=percent(band.x)
                    width=percent(band.width)
                    y=format!("{y}%")
                    height=format!("{height}%")
                />
            }
        });
        drawn.collect_view()
    };
    let marks = move || {
        let (from, marks) = probes.get()?;
        let axis = axis(range.get(), end.get());
        let lines = marks.at.iter().zip(marks.good.iter().zip(&marks.bad)).filter_map(|(at, (good, bad))| {
            let at = from + *at as i64;
            (at >= axis.from_ms && at <= axis.to_ms).then(|| {
                let x = percent(axis.x(at));
                let class = if *bad > 0 { "probe is-bad" } else { "probe is-good" };
                let title = match (good, bad) {
                    (1, 0) => "a good probe".to_owned(),
                    (0, 1) => "a failed probe".to_owned(),
                    (good, bad) => format!("{good} good and {bad} failed probes"),
                };
                view! {
                    <svg class=class x=x width="12" height="12" overflow="visible">
                        <title>{title}</title>
                        {(*bad == 0).then(|| view! { <circle cx="0" cy="6" r="3.5" /> })}
                        {(*bad > 0).then(|| view! { <path d="M-3.5 2.5l7 7m0-7l-7 7" /> })}
                    </svg>
                }
            })
        });
        Some(lines.collect_view())
    };
    view! {
        <svg class="lane" role="img" aria-label=label width="100%" height="100%">
            {drawn}
        </svg>
        {move || probes.with(Option::is_some).then(|| view! {
            <svg class="probes" aria-hidden="true" width="100%" height="12">
                {marks}
            </svg>
        })}
    }
}

/// Round times over or under lanes.
#[component]
pub fn AxisLabels(
    /// How far back.
    #[prop(into)]
    range: Signal<Range>,
    /// Where it ends.
    end: Memo<i64>,
) -> impl IntoView {
    let live = Live::here();
    let labels = move || {
        let zone = live.zone.get();
        let labels = axis(range.get(), end.get()).ticks(zone).into_iter();
        // A label at the very edge would be cut off.
        let labels = labels.filter(|(x, _)| *x > WIDTH * 0.08 && *x < WIDTH * 0.92);
        labels.map(|(x, label)| view! { <text x=percent(x) y="11">{label}</text> }).collect_view()
    };
    view! {
        <svg class="axis" aria-hidden="true" width="100%" height="14">
            {labels}
        </svg>
    }
}
