//! One incident drawn: the lane with its probes, the axis, and under it calls and latency.

use leptos::prelude::*;

use super::{
    axis::{AxisLabels, axis_end},
    bars::CallBars,
    lane::Lane,
    latency::Latency,
};
use crate::{
    live::Live,
    range::{Window, Zoom},
    timeline::Strip,
    wire::timeline::Lane as Recorded,
};

/// What happened in this stretch of time; its labels are on the viewer's clock.
#[island]
pub fn IncidentTimeline(
    /// As it was read.
    lane: Recorded,
) -> impl IntoView {
    let from_ms = lane.from.millis();
    let window = Signal::stored(Window::Fixed(Zoom { from_ms, to_ms: lane.to.millis() }));
    let end = axis_end(Live::here(), window);
    let strip = Signal::stored(Strip::from_lane(&lane));
    let probes = Signal::stored(lane.probes.clone().map(|marks| (from_ms, marks)));
    let called = lane.calls.as_ref().is_some_and(|calls| !calls.at.is_empty());
    let lane = Signal::stored(Some(lane));
    view! {
        <div class="plot">
            <div class="c-lane">
                <AxisLabels window=window end=end />
            </div>
            <div class="c-lane tall">
                <Lane strip=strip window=window end=end probes=probes />
            </div>
            {called
                .then(|| {
                    view! {
                        <CallBars lane=lane window=window end=end />
                        <Latency lane=lane window=window end=end />
                    }
                })}
        </div>
    }
}
