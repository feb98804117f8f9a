//! A breaker's strip on the shared axis, as HTML. Kinds differ by shape and pattern, not by colour alone; widths are shares
//! of the axis, so that the strip is as wide as its place.

use std::fmt::Write;

use super::Look;
use crate::{
    markup::{escaped, percent},
    timeline::{Axis, Band, Kind, Strip},
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
    let (class, fill, y, height) = shape(band);
    let thin = if band.width < THIN { " is-thin" } else { "" };
    let _ = write!(out, "<rect class=\"band {class}{thin}\"");
    if let Some(fill) = fill {
        let _ = write!(out, " fill=\"{fill}\"");
    }
    for (name, share) in [("x", band.x / WIDTH), ("width", band.width / WIDTH), ("y", y), ("height", height)] {
        let _ = write!(out, " {name}=\"");
        percent(out, share);
        out.push('"');
    }
    out.push_str("></rect>");
}

fn shape(band: &Band) -> (&'static str, Option<&'static str>, f64, f64) {
    match band.kind {
        Kind::Closed => ("k-closed", None, 0.45, 0.10),
        Kind::Unknown => ("k-unknown", Some("url(#specks)"), 0.30, 0.40),
        Kind::ForcedClosed => ("k-held", Some("url(#stripes)"), 0.30, 0.40),
        Kind::HalfOpen => ("k-half", None, 0.50, 0.50),
        Kind::ForcedOpen => ("k-held", Some("url(#stripes)"), 0.0, 1.0),
        Kind::Open => {
            let high = band.share.max(0.15);
            ("k-open", None, 1.0 - high, high)
        }
    }
}
