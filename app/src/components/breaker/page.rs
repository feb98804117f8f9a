//! A breaker's page as the browser holds it: what was read, kept current by the feed.

use leptos::{prelude::*, task::spawn_local};

use crate::{
    backend::Refusal,
    fetch,
    live::Live,
    panel::Touched,
    range::Window,
    story::{Story, StoryView},
    wire::event::FeedEvent,
};

/// Calls are counted a minute at a time; how often the page asks for new ones.
const CALLS_EVERY_MS: i64 = 15_000;

/// The page's state: a [`Story`] with one signal that says it changed.
#[derive(Clone, Copy)]
pub struct Page {
    story: StoredValue<Story>,
    changed: RwSignal<()>,
    /// What the timeline shows.
    pub window: Memo<Window>,
    /// When what is shown was read.
    pub loaded_ms: RwSignal<i64>,
    asked_ms: StoredValue<i64>,
    loading: RwSignal<bool>,
    /// Why the last reading failed.
    pub fault: RwSignal<Option<Refusal>>,
}

impl Page {
    /// From what the page was loaded with.
    pub fn new(view: &StoryView, window: Memo<Window>) -> Self {
        Self {
            story: StoredValue::new(Story::load(view)),
            changed: RwSignal::new(()),
            window,
            loaded_ms: RwSignal::new(view.about.now.millis()),
            asked_ms: StoredValue::new(view.about.now.millis()),
            loading: RwSignal::new(false),
            fault: RwSignal::new(view.unread.clone()),
        }
    }

    /// Reads from the story, again when it changes.
    pub fn read<T>(self, read: impl FnOnce(&Story) -> T) -> T {
        self.changed.track();
        self.story.with_value(read)
    }

    /// Takes in what the feed brings.
    pub fn hear(self, event: &FeedEvent) {
        match self.story.try_update_value(|story| story.apply(event)) {
            Some(Touched::Rows(_)) => self.changed.notify(),
            Some(Touched::Reload) => self.reload(),
            Some(Touched::Nothing) | None => {}
        }
    }

    /// Lets time pass.
    pub fn tick(self, now_ms: i64) {
        if self.story.try_update_value(|story| story.tick(now_ms)) == Some(true) {
            self.changed.notify();
        }
        if now_ms - self.asked_ms.get_value() >= CALLS_EVERY_MS {
            self.reload();
        }
    }

    /// Reads everything again; what is shown stays until the answer is here.
    pub fn reload(self) {
        if self.loading.get_untracked() {
            return;
        }
        self.loading.set(true);
        let (live, id) = (Live::here(), self.id());
        spawn_local(async move {
            let window = self.window.get_untracked();
            let answer = fetch::story(&id, window).await;
            // The page may be gone by now.
            if self.loading.try_set(false).is_some() {
                return;
            }
            self.asked_ms.set_value(live.now.get_untracked());
            match answer {
                Ok(view) => {
                    let mut story = Story::load(&view);
                    if view.unread.is_some() {
                        story = self.story.with_value(|before| story.or(before));
                    }
                    live.again(|event| {
                        story.apply(event);
                    });
                    self.story.set_value(story);
                    if view.unread.is_none() {
                        self.loaded_ms.set(view.about.now.millis());
                    }
                    self.fault.set(view.unread);
                }
                Err(refusal) => self.fault.set(Some(refusal)),
            }
            self.changed.notify();
            if self.window.get_untracked() != window {
                self.reload();
            }
        });
    }

    /// The breaker's id.
    pub fn id(self) -> String {
        self.story.with_value(|story| story.id.clone())
    }
}
