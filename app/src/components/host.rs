//! A breaker's name: the middle gives way, domain and port stay, and the whole is there for who asks.

use leptos::prelude::*;

use crate::rows::host_name;

/// An id in one line.
#[component]
pub fn HostName(
    /// The breaker's id.
    id: String,
) -> impl IntoView {
    view! { <span class="host" inner_html=host_name(&id)></span> }
}
