//! One breaker over time: its lane with the probes, and under it calls and latency, on one axis with one crosshair.

use leptos::{html::Section, prelude::*};

use super::{
    evidence::{Evidence, EvidenceCard},
    page::Page,
};
use crate::{
    address::Address,
    components::{
        actions::Place,
        axis::{AxisLabels, Brush, Crosshair, Pointed, axis, axis_end},
        bars::CallBars,
        lane::Lane,
        latency::Latency,
        times::{Times, To},
    },
    live::Live,
    prose,
    range::Zoom,
};

/// The charts, and what is known of the point that is looked at.
#[component]
pub fn Timeline(
    /// What it shows.
    page: Page,
    /// What the address says.
    place: Memo<Place>,
    /// The page's address without that.
    path: String,
) -> impl IntoView {
    let (live, address) = (Live::here(), Address::here());
    let window = Signal::derive(move || page.window.get());
    let end: Signal<i64> = axis_end(live, window).into();
    let on_axis = Signal::derive(move || axis(window.get(), end.get()));
    let strip = Memo::new(move |_| page.read(|story| story.row().map(|row| row.strip.clone()).unwrap_or_default()));
    let lane = Memo::new(move |_| page.read(|story| story.lane.clone()));
    let probes = Memo::new(move |_| {
        lane.with(|lane| lane.as_ref().and_then(|lane| Some((lane.from.millis(), lane.probes.clone()?))))
    });
    let share =
        move || lane.with(|lane| lane.as_ref().and_then(|lane| lane.availability.as_ref().map(prose::availability)));
    let href = Callback::new({
        let path = path.clone();
        move |to: To| {
            let place = place.get();
            let place = match to {
                To::Range(range) => Place { range: Some(range), zoom: None, ..place },
                To::Zoom(zoom) => Place { zoom: Some(zoom), ..place },
                To::Back => Place { zoom: None, ..place },
            };
            place.href(&path)
        }
    });
    let go = move |zoom: Option<Zoom>| {
        if place.get_untracked().zoom != zoom {
            address.go(&untrack(|| href.run(zoom.map_or(To::Back, To::Zoom))), true);
        }
    };
    let evidence = Evidence::of(page);
    let brush = Brush {
        pointed: RwSignal::new(Pointed::default()),
        window,
        end,
        zoom: Callback::new(move |zoom| {
            evidence.card.update(|card| *card = card.within(zoom));
            go(Some(zoom));
        }),
        reset: Callback::new(move |()| {
            evidence.shut();
            go(None);
        }),
        pick: Some(evidence.pick(on_axis)),
    };
    let root = NodeRef::<Section>::new();
    #[cfg(feature = "browser")]
    Effect::new(move |before: Option<()>| {
        if let (Some(root), None) = (root.get(), before) {
            crate::components::axis::attend(&root, brush);
        }
    });
    let kept = Signal::derive(move || {
        let place = place.get();
        let act = place.act.map(|act| act.word().to_owned()).unwrap_or_default();
        vec![("act", act), ("range", place.range.map(|range| range.word().to_owned()).unwrap_or_default())]
    });
    view! {
        <section
            class="timeline"
            aria-labelledby="timeline"
            node_ref=root
            on:click=move |event| address.intercept(&event)
        >
            <div class="heading">
                <h2 id="timeline">"Timeline"</h2>
                <Times window=window href=href page=path kept=kept />
            </div>
            <p class="share">{share}</p>
            <div class="plot">
                <div class="c-lane">
                    <Crosshair brush=brush />
                    <AxisLabels window=window end=end />
                </div>
                <div class="c-lane tall">
                    <Lane strip=strip window=window end=end probes=probes />
                </div>
                <CallBars lane=lane window=window end=end />
                <Latency lane=lane window=window end=end />
                <EvidenceCard evidence=evidence axis=on_axis brush=brush />
            </div>
            <p class="hint plot-hint">
                "Drag to zoom, with Shift to move, double-click to go back. Point at something for the evidence, click to keep it."
            </p>
        </section>
    }
}
