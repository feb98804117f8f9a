//! What the admin routes work with.

use std::{ops::Deref, sync::Arc};

use axum::extract::FromRef;
use leptos::config::{Env, LeptosOptions};

use super::events::Beat;
use crate::app::App;

/// The running server as a route sees it.
#[derive(Clone)]
pub struct Admin {
    app: Arc<App>,
    beat: Arc<Beat>,
    leptos: LeptosOptions,
}

impl Admin {
    /// Begins the feed's heartbeat.
    pub(super) fn new(app: Arc<App>) -> Self {
        let beat = Beat::start(&app);
        let leptos = LeptosOptions::builder().output_name("fuseboard").site_pkg_dir("pkg").env(Env::PROD).build();
        Self { app, beat, leptos }
    }

    /// To hand on.
    pub(super) fn app(&self) -> &Arc<App> {
        &self.app
    }

    pub(super) fn beat(&self) -> &Arc<Beat> {
        &self.beat
    }
}

impl Deref for Admin {
    type Target = App;

    fn deref(&self) -> &App {
        &self.app
    }
}

impl FromRef<Admin> for LeptosOptions {
    fn from_ref(admin: &Admin) -> Self {
        admin.leptos.clone()
    }
}
