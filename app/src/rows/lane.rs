//! A breaker's strip on the shared axis, as HTML. Kinds differ by shape and pattern, not by colour alone; widths are shares
//! of the axis, so that the strip is as wide as its place.

use std::fmt::Write;

use super::Look;
use crate::{
    markup::{escaped, percent},
    timeline::{Axis, Band, Drawn, Strip},
};

/// Pixels an axis is computed for.
pub const WIDTH: f64 = 720.0;

/// Narrower than this there is no room for a hairline between neighbours.
const THIN: f64 = 4.0;

impl Look {
    /// What the lanes are drawn on.
    pub fn axis(&self) -> Axis {
        Axis { from_ms: self.end_ms - self.window.ms(), to_ms: self.end_ms, width: WIDTH }
    }
}

/// The drawing; `window` says what it shows the history of.
pub fn html(strip: &Strip, axis: Axis, window: &str) -> String {
    let bands = strip.bands(axis);
    let mut out = String::with_capacity(160 + bands.len() * 90);
    let said = format!("{}: {}", window, strip.spoken(axis));
    let _ = write!(out, "<svg class=\"lane\" role=\"img\" aria-label=\"{}\">", escaped(&said));
    for band in &bands {
        rect(&mut out, band);
    }
    out.push_str("</svg>");
    out
}

fn rect(out: &mut String, band: &Band) {
    let Drawn { class, fill, y, height } = band.drawn();
    let thin = if band.width < THIN { " is-thin" } else { "" };
    let _ = write!(out, "<rect class=\"{class}{thin}\"");
    if let Some(fill) = fill {
        let _ = write!(out, " fill=\"{fill}\"");
    }
    for (name, share) in
        [("x", band.x / WIDTH), ("width", band.width / WIDTH), ("y", y / 100.0), ("height", height / 100.0)]
    {
        let _ = write!(out, " {name}=\"");
        percent(out, share);
        out.push('"');
    }
    out.push_str("></rect>");
}
