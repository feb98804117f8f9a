//! A breaker's sign and its words.

use leptos::prelude::*;

use crate::{rows::sign_and_words, standing::Standing};

/// The shape, then `open · refusing`.
#[component]
pub fn SignAndWords(
    /// How it stands.
    standing: Memo<Standing>,
) -> impl IntoView {
    view! { <span inner_html=move || sign_and_words(standing.get())></span> }
}
