//! The board: wire types, one [`backend::Backend`] trait, Leptos pages. It knows no breaker and no SQL.

// The views nest as deep as the pages do.
#![recursion_limit = "256"]

pub mod address;
#[cfg(feature = "ssr")]
pub mod api;
#[cfg(feature = "ssr")]
pub mod app;
pub mod backend;
pub mod board;
pub mod components;
pub mod data;
#[cfg(feature = "browser")]
pub mod dom;
pub mod evidence;
pub mod fetch;
pub mod format;
pub mod live;
pub mod markup;
pub mod order;
#[cfg(feature = "ssr")]
pub mod pages;
pub mod panel;
pub mod prose;
pub mod range;
pub mod remember;
pub mod rows;
pub mod shown;
pub mod standing;
pub mod story;
pub mod timeline;
pub mod wire;

#[cfg(test)]
mod sample;

#[cfg(feature = "ssr")]
pub use app::{App, bundle, shell};

/// Makes the page's islands go on by themselves.
#[cfg(all(feature = "browser", target_arch = "wasm32"))]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_islands();
    leptos::prelude::provide_context(live::Live::new());
    leptos::prelude::provide_context(address::Address::of_page());
}

/// Which sources this was compiled from; the site's file of the same name must say the same.
pub const FINGERPRINT: &str = env!("FUSEBOARD_FINGERPRINT");
