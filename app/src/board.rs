//! The reactive face of [`Panel`]: what the feed brings is applied at once and shown with the next frame, ten times a second
//! at most, so that an outage of a thousand hosts is one drawing and not a thousand. A tab that nobody sees has no frames;
//! it is drawn when its time goes on.

use std::time::Duration;

use leptos::{prelude::*, task::spawn_local};

use crate::{
    backend::Refusal,
    fetch,
    live::Live,
    panel::{Panel, PanelView, Touched},
    range::Window,
    wire::event::{FeedEvent, Finding, StoreHealth},
};

/// A board reads everything again at most this often.
const RELOAD_EVERY_MS: i64 = 2_000;

/// After a reading that failed, the next one is this long after it: nobody stands at a wall to ask again.
const RETRY_EVERY_MS: i64 = 15_000;

/// How long no change is shown after one was: nobody reads faster, and what comes meanwhile is shown together.
const REST: Duration = Duration::from_millis(100);

/// Where the showing of changes stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Showing {
    /// A change is shown with the next frame.
    Idle,
    /// The next frame is asked for.
    Due,
    /// Something was just shown.
    Resting,
    /// And there is more.
    Again,
}

/// All breakers, to be read from views.
#[derive(Clone, Copy)]
pub struct Board {
    panel: StoredValue<Panel>,
    any: RwSignal<()>,
    showing: StoredValue<Showing>,
    loaded_ms: StoredValue<i64>,
    again_ms: StoredValue<i64>,
    /// What the lanes show.
    pub window: RwSignal<Window>,
    /// Why the last reading failed; what is shown is older.
    pub fault: RwSignal<Option<Refusal>>,
    /// A reading is under way.
    pub loading: RwSignal<bool>,
}

impl Board {
    /// From what the page was loaded with.
    pub fn new(view: &PanelView, window: Window) -> Self {
        Self {
            panel: StoredValue::new(Panel::load(view)),
            any: RwSignal::new(()),
            showing: StoredValue::new(Showing::Idle),
            loaded_ms: StoredValue::new(view.about.now.millis()),
            again_ms: StoredValue::new(0),
            window: RwSignal::new(window),
            fault: RwSignal::new(view.unread.clone()),
            loading: RwSignal::new(false),
        }
    }

    /// Takes in what the feed brings.
    pub fn hear(self, event: &FeedEvent) {
        match self.panel.try_update_value(|panel| panel.apply(event)).unwrap_or(Touched::Nothing) {
            Touched::Nothing => {}
            Touched::Rows(_) => self.show_soon(),
            Touched::Reload => {
                let now = Live::here().now.get_untracked();
                if now - self.again_ms.get_value() >= RELOAD_EVERY_MS || matches!(event, FeedEvent::Resync(_)) {
                    self.again_ms.set_value(now);
                    self.reload();
                }
            }
        }
    }

    /// Shows what changed with the next frame, or when what was shown before has been seen.
    pub fn show_soon(self) {
        match self.showing.get_value() {
            Showing::Idle => self.show_next(),
            Showing::Resting => self.showing.set_value(Showing::Again),
            Showing::Due | Showing::Again => {}
        }
    }

    fn show_next(self) {
        self.showing.set_value(Showing::Due);
        request_animation_frame(move || {
            // The page may be gone by now.
            if self.showing.try_set_value(Showing::Resting).is_some() {
                return;
            }
            self.any.notify();
            set_timeout(
                move || match self.showing.try_get_value() {
                    Some(Showing::Again) => self.show_next(),
                    Some(_) => self.showing.set_value(Showing::Idle),
                    None => {}
                },
                REST,
            );
        });
    }

    /// Lets time pass.
    pub fn tick(self, now_ms: i64) {
        let window = self.window.get_untracked();
        let changed = self.panel.try_update_value(|panel| {
            panel.trim(window.ends(now_ms).from_ms, window.ms());
            panel.tick(now_ms)
        });
        if changed == Some(true) {
            self.any.notify();
        }
        if self.fault.with_untracked(Option::is_some) && now_ms - self.again_ms.get_value() >= RETRY_EVERY_MS {
            self.again_ms.set_value(now_ms);
            self.reload();
        }
    }

    /// Reads everything again; what is shown stays until the answer is here.
    pub fn reload(self) {
        if self.loading.get_untracked() {
            return;
        }
        self.loading.set(true);
        let live = Live::here();
        spawn_local(async move {
            let window = self.window.get_untracked();
            let answer = fetch::panel(window).await;
            // The page may be gone by now.
            if self.loading.try_set(false).is_some() {
                return;
            }
            match answer {
                Ok(view) => {
                    let mut panel = Panel::load(&view);
                    if view.unread.is_none() {
                        self.loaded_ms.set_value(view.about.now.millis());
                    } else {
                        self.panel.with_value(|before| panel.keep_strips(before));
                    }
                    live.again(|event| {
                        panel.apply(event);
                    });
                    self.panel.set_value(panel);
                    self.fault.set(view.unread);
                }
                Err(refusal) => self.fault.set(Some(refusal)),
            }
            self.any.notify();
            if self.window.get_untracked() != window {
                self.reload();
            }
        });
    }

    /// Reads from all, again when any changes.
    pub fn all<T>(self, read: impl FnOnce(&Panel) -> T) -> T {
        self.any.track();
        self.panel.with_value(read)
    }

    /// Changes what is known of all, and shows it.
    pub fn change(self, change: impl FnOnce(&mut Panel)) {
        self.panel.update_value(change);
        self.any.notify();
    }

    /// How the store is doing.
    pub fn store(self) -> StoreHealth {
        self.all(|panel| panel.store.clone())
    }

    /// What the server's watchdog sees broken.
    pub fn findings(self) -> Vec<Finding> {
        self.all(|panel| panel.findings.clone())
    }

    /// When everything was last read.
    pub fn loaded_ms(self) -> i64 {
        self.loaded_ms.get_value()
    }
}
