//! A form on its way: sent by the browser itself where there is no script, and without leaving the page where there is.

use leptos::{ev::SubmitEvent, prelude::*, task::spawn_local};
use serde::de::DeserializeOwned;

use crate::backend::Refusal;

/// What became of a form.
pub struct Sending<T: Send + Sync + 'static> {
    /// Where it is sent.
    pub path: &'static str,
    /// It is on its way.
    pub pending: RwSignal<bool>,
    /// The last answer.
    pub answer: RwSignal<Option<Result<T, Refusal>>>,
}

impl<T: Send + Sync + 'static> Clone for Sending<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Send + Sync + 'static> Copy for Sending<T> {}

impl<T: Clone + DeserializeOwned + Send + Sync + 'static> Sending<T> {
    /// Not sent yet, or sent without script and refused.
    pub fn new(path: &'static str, refused: Option<Refusal>) -> Self {
        Self { path, pending: RwSignal::new(false), answer: RwSignal::new(refused.map(Err)) }
    }

    /// Why it was refused.
    pub fn refusal(self) -> Option<Refusal> {
        self.answer.get().and_then(Result::err)
    }

    /// Sends the form that is submitted.
    pub fn submit(self, event: &SubmitEvent) {
        event.prevent_default();
        #[cfg(feature = "browser")]
        if let Some(fields) = crate::dom::fields(event) {
            self.send(fields);
        }
    }

    /// Sends fields as a form would; what is on its way is not sent twice.
    pub fn send(self, fields: String) {
        if self.pending.get_untracked() {
            return;
        }
        self.pending.set(true);
        spawn_local(async move {
            let answer = crate::fetch::post::<T>(self.path, &fields).await;
            // The page may be gone by now.
            if self.pending.try_set(false).is_none() {
                self.answer.set(Some(answer));
            }
        });
    }
}
