//! The reactive face of [`Panel`]: each row has its own trigger, so that one breaker's change redraws one row.

use std::collections::HashMap;

use leptos::{prelude::*, task::spawn_local};

use crate::{
    api,
    backend::Refusal,
    live::Live,
    panel::{Panel, PanelView, Row, Touched},
    range::Range,
    wire::event::{FeedEvent, Finding, StoreHealth},
};

/// A board reads everything again at most this often.
const RELOAD_EVERY_MS: i64 = 2_000;

/// All breakers, to be read from views.
#[derive(Clone, Copy)]
pub struct Board {
    panel: StoredValue<Panel>,
    rows: StoredValue<HashMap<String, ArcTrigger>>,
    any: RwSignal<()>,
    loaded_ms: StoredValue<i64>,
    /// How far back the lanes reach.
    pub range: RwSignal<Range>,
    /// Why the last reading failed; what is shown is older.
    pub fault: RwSignal<Option<Refusal>>,
    /// A reading is under way.
    pub loading: RwSignal<bool>,
}

impl Board {
    /// From what the page was loaded with.
    pub fn new(view: &PanelView, range: Range) -> Self {
        let board = Self {
            panel: StoredValue::new(Panel::default()),
            rows: StoredValue::default(),
            any: RwSignal::new(()),
            loaded_ms: StoredValue::new(0),
            range: RwSignal::new(range),
            fault: RwSignal::new(None),
            loading: RwSignal::new(false),
        };
        board.load(view);
        board
    }

    fn load(self, view: &PanelView) {
        let panel = Panel::load(view);
        self.rows.update_value(|rows| {
            for id in panel.ids() {
                rows.entry(id.clone()).or_default();
            }
        });
        self.panel.set_value(panel);
        self.loaded_ms.set_value(view.about.now.millis());
        self.rows.with_value(|rows| rows.values().for_each(ArcTrigger::notify));
        self.any.notify();
    }

    /// Takes in what the feed brings.
    pub fn hear(self, event: &FeedEvent) {
        let touched = self.panel.try_update_value(|panel| panel.apply(event)).unwrap_or(Touched::Nothing);
        match touched {
            Touched::Nothing => {}
            Touched::Rows(ids) => {
                self.rows.with_value(|rows| ids.iter().filter_map(|id| rows.get(id)).for_each(ArcTrigger::notify));
                self.any.notify();
            }
            Touched::Reload => {
                let now = Live::here().now.get_untracked();
                if now - self.loaded_ms.get_value() >= RELOAD_EVERY_MS || matches!(event, FeedEvent::Resync(_)) {
                    self.reload();
                }
            }
        }
    }

    /// Lets time pass.
    pub fn tick(self, now_ms: i64) {
        let reach = self.range.get_untracked().ms();
        let changed = self.panel.try_update_value(|panel| {
            panel.trim(now_ms - reach);
            panel.tick(now_ms)
        });
        if changed == Some(true) {
            self.any.notify();
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
            let range = self.range.get_untracked();
            let answer = api::load_panel(range.word().into()).await;
            // The page may be gone by now.
            if self.loading.try_set(false).is_some() {
                return;
            }
            match answer {
                Ok(view) => {
                    self.load(&view);
                    live.again(|event| {
                        self.panel.update_value(|panel| {
                            panel.apply(event);
                        });
                    });
                    self.fault.set(None);
                    self.any.notify();
                }
                Err(refusal) => self.fault.set(Some(refusal)),
            }
            if self.range.get_untracked() != range {
                self.reload();
            }
        });
    }

    /// Reads from one row, again when it changes.
    pub fn row<T>(self, id: &str, read: impl FnOnce(&Row) -> T) -> Option<T> {
        if let Some(trigger) = self.rows.with_value(|rows| rows.get(id).cloned()) {
            trigger.track();
        }
        self.panel.with_value(|panel| panel.row(id).map(read))
    }

    /// Reads from all, again when any changes.
    pub fn all<T>(self, read: impl FnOnce(&Panel) -> T) -> T {
        self.any.track();
        self.panel.with_value(read)
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
