//! Until the board is here.
use leptos::prelude::*;

#[component]
pub(super) fn App() -> impl IntoView {}

pub(super) fn shell(_options: LeptosOptions) -> impl IntoView {}
