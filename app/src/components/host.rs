//! A breaker's name: the middle gives way, domain and port stay, and the whole is there for who asks.

use leptos::prelude::*;

use crate::{format::id_parts, wire::breaker::Breaker};

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
            {(!scheme.is_empty()).then(|| view! { <span class="scheme">{scheme}</span> })}
            {(!middle.is_empty()).then(|| view! { <span class="middle">{middle}</span> })}
            <span class="tail">{tail}</span>
        </bdi>
    }
}

/// The upstreams a breaker guards, unless that only says its id again.
pub fn names(breaker: &Breaker) -> String {
    match breaker.upstreams.as_slice() {
        [one] if *one == breaker.id => String::new(),
        names => names.join(", "),
    }
}
