//! From lanes to pixels. A [`Strip`] holds one breaker's spans and grows at its right end from the feed; [`Strip::bands`]
//! cuts it to an [`Axis`]. Pure: what is drawn can be computed by hand.

mod axis;
mod bars;
pub mod latency;
mod strip;

pub use self::{
    axis::{Axis, Tick},
    bars::{Bar, bars},
    strip::Strip,
};

/// What a band shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Traffic flowed.
    Closed,
    /// Closed, but calls were answered 429 as the host had asked.
    CoolingDown,
    /// Nobody watched.
    Unknown,
    /// An operator let everything through.
    ForcedClosed,
    /// The host was probed.
    HalfOpen,
    /// An operator held it open.
    ForcedOpen,
    /// Calls were refused.
    Open,
}

impl Kind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::CoolingDown => "cooling down",
            Self::Unknown => "not watched",
            Self::ForcedClosed => "forced closed",
            Self::HalfOpen => "half-open",
            Self::ForcedOpen => "forced open",
            Self::Open => "open",
        }
    }

    fn of(state: char, held: char) -> Self {
        match (state, held) {
            ('u', _) => Self::Unknown,
            (_, 'o') => Self::ForcedOpen,
            (_, 'c') => Self::ForcedClosed,
            ('o', _) => Self::Open,
            ('h', _) => Self::HalfOpen,
            _ => Self::Closed,
        }
    }
}

/// What is drawn: `x` and `width` in pixels of the axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// Left edge.
    pub x: f64,
    /// Width.
    pub width: f64,
    /// What it shows.
    pub kind: Kind,
    /// The share of its height that is filled.
    pub share: f64,
    /// Start and end, for whoever asks.
    pub from_ms: i64,
    /// See `from_ms`.
    pub to_ms: i64,
}

/// How a band looks: kinds differ by shape and pattern, not by colour alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drawn {
    /// Its classes.
    pub class: &'static str,
    /// What it is filled with, where that is a pattern.
    pub fill: Option<&'static str>,
    /// Upper edge, in percent of the strip's height.
    pub y: f64,
    /// Height, in percent of the strip's height.
    pub height: f64,
}

impl Band {
    /// How it is drawn.
    pub fn drawn(&self) -> Drawn {
        // Of a merged stretch as high as its share, yet high enough to be seen.
        let high = |whole: f64| (self.share * whole).max(15.0);
        let (class, fill, y, height) = match self.kind {
            Kind::Closed => ("band k-closed", None, 45.0, 10.0),
            Kind::CoolingDown => ("band k-cooling", Some("url(#ticks)"), 25.0, 50.0),
            Kind::Unknown => ("band k-unknown", Some("url(#specks)"), 30.0, 40.0),
            Kind::ForcedClosed => ("band k-held", Some("url(#stripes)"), 30.0, 40.0),
            Kind::HalfOpen => ("band k-half", None, 100.0 - high(50.0), high(50.0)),
            Kind::ForcedOpen => ("band k-held", Some("url(#stripes)"), 100.0 - high(100.0), high(100.0)),
            Kind::Open => ("band k-open", None, 100.0 - high(100.0), high(100.0)),
        };
        Drawn { class, fill, y, height }
    }
}

#[cfg(test)]
mod tests;
