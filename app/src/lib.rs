//! The board: wire types, one [`backend::Backend`] trait, Leptos pages. It knows no breaker and no SQL.

// The views nest as deep as the pages do.
#![recursion_limit = "256"]

pub mod api;
pub mod app;
pub mod backend;
pub mod board;
pub mod components;
pub mod format;
pub mod live;
pub mod order;
pub mod pages;
pub mod panel;
pub mod prose;
pub mod range;
pub mod remember;
pub mod standing;
pub mod story;
pub mod timeline;
pub mod wire;

#[cfg(test)]
mod sample;

pub use app::App;
#[cfg(feature = "ssr")]
pub use app::shell;

/// Which sources this was compiled from; the site's file of the same name must say the same.
pub const FINGERPRINT: &str = env!("FUSEBOARD_FINGERPRINT");
