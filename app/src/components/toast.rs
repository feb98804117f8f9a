//! What was just done, for ten seconds, with the way back. The undo is a second action with its own audit row.

use leptos::prelude::*;

use super::sending::Sending;
use crate::{live::Live, prose, remember, wire::action::ActionAnswer};

/// How long an action can be undone.
const UNDO_MS: i64 = 10_000;

/// What is said.
#[derive(Debug, Clone, PartialEq)]
struct Said {
    text: String,
    undo: Option<u64>,
    until_ms: i64,
}

/// Where anybody may say something.
#[derive(Clone, Copy)]
pub struct Toast(RwSignal<Option<Said>>);

impl Toast {
    /// For the islands below.
    pub fn provide() -> Self {
        let toast = Self(RwSignal::new(None));
        provide_context(toast);
        toast
    }

    /// The page's own.
    pub fn here() -> Self {
        use_context().unwrap_or_else(Self::provide)
    }

    /// Says what was done; with `undo` it offers the way back.
    pub fn say(self, text: String, undo: Option<u64>) {
        let until_ms = Live::here().now.get_untracked() + UNDO_MS;
        self.0.set(Some(Said { text, undo, until_ms }));
    }
}

/// What is said, and the way back.
#[component]
pub fn ToastView(
    /// What is said.
    toast: Toast,
) -> impl IntoView {
    let live = Live::here();
    let undoing = Sending::<ActionAnswer>::new("/ui/undo", None);
    Effect::new(move |_| {
        let over = toast.0.with(|said| said.as_ref().is_some_and(|said| live.now.get() >= said.until_ms));
        if over {
            toast.0.set(None);
        }
    });
    Effect::new(move |_| {
        let said = match undoing.answer.get() {
            Some(Ok(answer)) => prose::undone(&answer),
            Some(Err(refusal)) => refusal.detail,
            None => return,
        };
        toast.say(said, None);
    });
    let text = move || toast.0.get().map_or(String::new(), |said| said.text);
    let undo = move || toast.0.get().and_then(|said| said.undo);
    let left = move || {
        let until = toast.0.get().map_or(0, |said| said.until_ms);
        format!("Undo ({} s)", ((until - live.now.get()).max(0) + 999) / 1_000)
    };
    let press = move |_| {
        if let Some(seq) = undo() {
            let by = remember::name().unwrap_or_default();
            undoing.send(format!("seq={seq}&by={}&reason=undo", crate::format::query_value(&by)));
        }
    };
    view! {
        <div class="toast" role="status" hidden=move || text().is_empty()>
            <span>{text}</span>
            <button
                type="button"
                class="button"
                hidden=move || undo().is_none()
                disabled=move || undoing.pending.get()
                on:click=press
            >
                {left}
            </button>
        </div>
    }
}
