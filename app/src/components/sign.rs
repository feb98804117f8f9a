//! A breaker's sign and its words.

use leptos::prelude::*;

use crate::standing::{Sign, Standing};

fn symbol(sign: Sign) -> &'static str {
    match sign {
        Sign::Outline => "#sign-outline",
        Sign::Cross => "#sign-cross",
        Sign::Latch => "#sign-latch",
        Sign::Half => "#sign-half",
        Sign::Pinned => "#sign-pinned",
        Sign::Clock => "#sign-clock",
        Sign::Dots => "#sign-dots",
    }
}

/// The shape, then `open · refusing`.
#[component]
pub fn SignAndWords(standing: Memo<Standing>) -> impl IntoView {
    let meaning = move || format!("{}{}", standing.get().between(), standing.get().words().1);
    view! {
        <span class=move || format!("standing {}", standing.get().class())>
            <svg class="sign" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
                <use href=move || symbol(standing.get().sign()) />
            </svg>
            <span class="words">
                <strong>{move || standing.get().words().0}</strong>
                <span class="meaning">{meaning}</span>
            </span>
        </span>
    }
}
