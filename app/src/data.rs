//! What a page was made from, for the browser to go on with: the server renders the island from it and writes it into the
//! page as a block of JSON; the browser reads the block. A block is data, not script: the page's policy needs no
//! exception, and it is smaller than an attribute's value.

#[cfg(feature = "ssr")]
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The block's id; a page has one.
#[cfg(any(feature = "ssr", feature = "browser"))]
const BLOCK: &str = "data";

/// Gives the page's data to the island that is rendered next.
#[cfg(feature = "ssr")]
pub fn give<T: Clone + Send + Sync + 'static>(data: &T) {
    leptos::prelude::provide_context(data.clone());
}

/// The block for the browser.
#[cfg(feature = "ssr")]
pub fn block<T: Serialize>(data: &T) -> impl leptos::IntoView + use<T> {
    use leptos::prelude::*;
    let json = serde_json::to_string(data).unwrap_or_default();
    let json = crate::markup::json_block(&json);
    view! { <script type="application/json" id=BLOCK inner_html=json></script> }
}

/// The data, where there is any.
#[cfg(feature = "ssr")]
pub fn take<T: Clone + Send + Sync + DeserializeOwned + 'static>() -> Option<T> {
    leptos::prelude::use_context()
}

/// There is no page.
#[cfg(not(any(feature = "ssr", feature = "browser")))]
pub fn take<T: Clone + Send + Sync + DeserializeOwned + 'static>() -> Option<T> {
    None
}

/// The data, where there is any.
#[cfg(all(feature = "browser", not(feature = "ssr")))]
pub fn take<T: Clone + Send + Sync + DeserializeOwned + 'static>() -> Option<T> {
    let block = web_sys::window()?.document()?.get_element_by_id(BLOCK)?;
    match serde_json::from_str(&block.text_content()?) {
        Ok(data) => Some(data),
        Err(error) => {
            leptos::logging::error!("the page's data is not what this board reads: {error}. Reload the page.");
            None
        }
    }
}
