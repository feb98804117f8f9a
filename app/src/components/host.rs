//! A breaker's name: the middle gives way, domain and port stay, and the whole is there for who asks.

use leptos::prelude::*;

use crate::format::id_parts;

/// An id in one line.
#[component]
pub fn HostName(
    /// The breaker's id.
    id: String,
) -> impl IntoView {
    let (scheme, middle, tail) = id_parts(&id);
    let (scheme, middle, tail) = (scheme.to_owned(), middle.to_owned(), tail.to_owned());
    view! {
        <bdi class="host-name" title=id>
            <span class="scheme">{scheme}</span>
            <span class="middle">{middle}</span>
            <span class="tail">{tail}</span>
        </bdi>
    }
}
