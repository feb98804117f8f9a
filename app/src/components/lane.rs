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

/// Marks closer than this, in pixels of the axis, are one.
const APART: f64 = 10.0;

/// Marks far enough apart to be told from each other: where, how many good, how many bad. Good and bad ones stay apart, so
/// that the probe that ended an outage is seen.
fn spread_out(from_ms: i64, marks: &ProbeMarks, axis: Axis) -> Vec<(f64, u32, u32)> {
    let mut out: Vec<(f64, u32, u32)> = Vec::new();
    for (at, (good, bad)) in marks.at.iter().zip(marks.good.iter().zip(&marks.bad)) {
        let at = from_ms + *at as i64;
        if at < axis.from_ms || at > axis.to_ms {
            continue;
        }
        let x = axis.x(at);
        match out.last_mut() {
            Some(last) if x - last.0 < APART && (last.2 > 0) == (*bad > 0) => {
                (last.1, last.2) = (last.1 + good, last.2 + bad);
            }
            _ => out.push((x, *good, *bad)),
        }
    }
    out
}

fn marked(from_ms: i64, marks: &ProbeMarks, axis: Axis) -> String {
    let mut out = String::new();
    for (x, good, bad) in spread_out(from_ms, marks, axis) {
        let title = match (good, bad) {
            (1, 0) => "a good probe".to_owned(),
            (0, 1) => "a failed probe".to_owned(),
            (good, 0) => format!("{good} good probes"),
            (0, bad) => format!("{bad} failed probes"),
            (good, bad) => format!("{good} good and {bad} failed probes"),
        };
        let (class, shape) = if bad > 0 {
            ("is-bad", "<path d=\"M-3.5 2.5l7 7m0-7l-7 7\"></path>")
        } else {
            ("is-good", "<circle cx=\"0\" cy=\"6\" r=\"3.5\"></circle>")
        };
        out.push_str(&format!(
            "<svg class=\"probe {class}\" x=\"{}\" width=\"12\" height=\"12\" overflow=\"visible\">\
             <title>{title}</title>{shape}</svg>",
            percent(x)
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_that_would_cover_each_other_are_one_and_a_good_probe_stays_apart() {
        // 720 px for 720 s are a second a pixel.
        let axis = Axis { from_ms: 0, to_ms: 720_000, width: 720.0 };
        let marks = ProbeMarks {
            at: vec![10_000, 14_000, 20_000, 21_000, 900_000],
            good: vec![0, 0, 0, 1, 1],
            bad: vec![1, 2, 1, 0, 0],
        };
        assert_eq!(spread_out(0, &marks, axis), [(10.0, 0, 3), (20.0, 0, 1), (21.0, 1, 0)]);
        let html = marked(0, &marks, axis);
        assert!(
            html.contains("<title>3 failed probes</title>") && html.contains("<title>a good probe</title>"),
            "{html}"
        );
    }
}
