//! Lanes, probes and calls as inline SVG, with the board's own arithmetic and signs: kinds differ by shape and pattern, so
//! that they stay apart in grey and on paper. Widths are shares of the axis; a drawing is as wide as its place.

use fuseboard_app::{
    format::{self, Zone},
    timeline::{self, Axis, Strip, Tick},
    wire::{time::Time, timeline::Lane},
};

use super::{super::incidents::WIDTH, escape};

/// What bands are filled with.
pub(super) const PATTERNS: &str = r##"<svg class="unseen" width="0" height="0" aria-hidden="true"><defs>
<pattern id="stripes" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="stripe-ground" width="6" height="6"/><rect class="stripe" width="3" height="6"/></pattern>
<pattern id="ticks" width="4" height="4" patternUnits="userSpaceOnUse"><rect class="tick-ground" width="4" height="4"/><rect class="tick" width="1.5" height="4"/></pattern>
<pattern id="specks" width="6" height="6" patternUnits="userSpaceOnUse"><circle class="speck" cx="1.5" cy="1.5" r="0.75"/><circle class="speck" cx="4.5" cy="4.5" r="0.75"/></pattern>
<pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><rect class="hatch-ground" width="5" height="5"/><rect class="hatch" width="1.25" height="5"/></pattern>
</defs></svg>
"##;

/// What the drawings mean.
pub(super) const LEGEND: &str = r##"<ul class="legend">
<li><svg width="22" height="12"><rect class="k-closed" y="5" width="22" height="2"/></svg>closed</li>
<li><svg width="22" height="12"><rect class="k-open" width="22" height="12"/></svg>open, refusing</li>
<li><svg width="22" height="12"><rect class="k-half" y="6" width="22" height="6"/></svg>half-open, probing</li>
<li><svg width="22" height="12"><rect fill="url(#stripes)" width="22" height="12"/></svg>forced open</li>
<li><svg width="22" height="12"><rect fill="url(#stripes)" y="4" width="22" height="5"/></svg>forced closed</li>
<li><svg width="22" height="12"><rect fill="url(#specks)" y="3" width="22" height="6"/></svg>not watched</li>
<li><svg width="22" height="12"><rect fill="url(#ticks)" y="3" width="22" height="6"/></svg>cooling down</li>
</ul>
"##;

/// The height calls are drawn in, in pixels.
const CALLS: f64 = 36.0;

/// The axis between two times.
pub(super) fn axis(from: Time, to: Time) -> Axis {
    Axis { from_ms: from.millis(), to_ms: to.millis().max(from.millis() + 1), width: f64::from(WIDTH) }
}

fn percent(x: f64) -> String {
    format!("{:.3}%", x / f64::from(WIDTH) * 100.0)
}

/// A strip; what it shows is said for those who do not see it.
pub(super) fn lane(strip: &Strip, axis: Axis, breaker: &str) -> String {
    let mut svg = format!(
        "<svg class=\"lane\" role=\"img\" aria-label=\"{}: {}\">",
        escape(breaker),
        escape(&strip.spoken(axis))
    );
    for band in strip.bands(axis) {
        let drawn = band.drawn();
        let fill = drawn.fill.map_or(String::new(), |fill| format!(" fill=\"{fill}\""));
        svg.push_str(&format!(
            "<rect class=\"{}\"{fill} x=\"{}\" width=\"{}\" y=\"{}%\" height=\"{}%\"/>",
            drawn.class,
            percent(band.x),
            percent(band.width),
            drawn.y,
            drawn.height
        ));
    }
    svg.push_str("</svg>\n");
    svg
}

/// A mark where probes ended: a ring for good ones, a cross for bad ones.
pub(super) fn probes(lane: &Lane, axis: Axis) -> String {
    let Some(marks) = lane.probes.as_ref().filter(|marks| !marks.at.is_empty()) else { return String::new() };
    let mut svg = String::from("<svg class=\"probes\" aria-hidden=\"true\">");
    for (at, bad) in marks.at.iter().zip(&marks.bad) {
        let x = percent(axis.x(lane.from.millis() + *at as i64));
        let (class, shape) = match bad {
            0 => ("is-good", "<circle cx=\"0\" cy=\"6\" r=\"3.5\"/>"),
            _ => ("is-bad", "<path d=\"M-3.5 2.5l7 7m0-7l-7 7\"/>"),
        };
        svg.push_str(&format!("<svg class=\"probe {class}\" x=\"{x}\" overflow=\"visible\">{shape}</svg>"));
    }
    svg.push_str("</svg>\n");
    svg
}

/// Calls a step: good, failed, refused, one on the other.
pub(super) fn calls(lane: &Lane, axis: Axis) -> String {
    let Some(calls) = &lane.calls else { return String::new() };
    let (bars, top) = timeline::bars(calls, lane.from.millis(), axis, CALLS);
    if bars.is_empty() {
        return String::new();
    }
    let mut svg = format!("<svg class=\"calls\" role=\"img\" aria-label=\"Calls, at most {top} a step\">");
    for bar in bars {
        let parts = [
            (bar.ok, "bar is-ok", ""),
            (bar.failed, "bar is-failed", ""),
            (bar.refused, "bar is-refused", " fill=\"url(#hatch)\""),
        ];
        let (x, width) = (percent(bar.x), percent(bar.width));
        let mut y = CALLS;
        for (height, class, fill) in parts.into_iter().filter(|(height, ..)| *height > 0.0) {
            y -= height;
            svg.push_str(&format!(
                "<rect class=\"{class}\"{fill} x=\"{x}\" width=\"{width}\" y=\"{y:.1}\" height=\"{height:.1}\"/>"
            ));
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// What the bars mean, and how many calls the full height is.
pub(super) fn calls_legend(lane: &Lane) -> String {
    let Some(calls) = &lane.calls else { return String::new() };
    let sums =
        calls.ok.iter().zip(&calls.failed).zip(&calls.refused).map(|((ok, failed), refused)| ok + failed + refused);
    let top = sums.max().unwrap_or(0);
    if top == 0 {
        return String::new();
    }
    format!(
        "<ul class=\"legend is-calls\"><li><i class=\"is-ok\"></i>calls answered</li>\
         <li><i class=\"is-failed\"></i>failed</li><li><i class=\"is-refused\"></i>refused</li>\
         <li class=\"scale\">full height: {top} in {}</li></ul>\n",
        format::duration(calls.step_ms as i64)
    )
}

/// Round times under it.
pub(super) fn labels(axis: Axis) -> String {
    let mut svg = String::from("<svg class=\"axis\" aria-hidden=\"true\">");
    for Tick { x, label, .. } in axis.ticks(Zone::Utc) {
        // A label at the very edge would be cut off.
        if (axis.width * 0.04..axis.width * 0.96).contains(&x) {
            svg.push_str(&format!("<text x=\"{}\" y=\"11\">{}</text>", percent(x), escape(&label)));
        }
    }
    svg.push_str("</svg>\n");
    svg
}
