//! What is seen, one file each. What moves in the browser is in an island, of which a page has one; everything else the
//! server writes once. Islands hold no routes, no resources and no views of unknown type: each costs more to send than
//! all that it shows. The panel's island and the other pages' are compiled apart: whoever opens the panel, most of all on a
//! phone at night, waits for nothing else.

pub mod actions;
pub mod axis;
pub mod banner;
#[cfg(any(feature = "ssr", feature = "pages"))]
pub mod bars;
#[cfg(any(feature = "ssr", feature = "pages"))]
pub mod breaker;
#[cfg(any(feature = "ssr", feature = "pages"))]
pub mod chart;
#[cfg(feature = "ssr")]
pub mod done;
#[cfg(feature = "ssr")]
pub mod exports;
pub mod first;
pub mod frame;
pub mod host;
#[cfg(any(feature = "ssr", feature = "pages"))]
pub mod incident;
pub mod keys;
pub mod lane;
#[cfg(any(feature = "ssr", feature = "pages"))]
pub mod latency;
#[cfg(feature = "ssr")]
pub mod legend;
#[cfg(feature = "browser")]
pub mod list;
#[cfg(feature = "ssr")]
pub mod marks;
#[cfg(any(feature = "ssr", feature = "panel"))]
pub mod panel;
#[cfg(any(feature = "ssr", feature = "pages"))]
pub mod read;
pub mod record;
pub mod sending;
pub mod sheet;
pub mod sign;
pub mod times;
pub mod toast;
pub mod toolbar;
pub mod wall;
pub mod when;
