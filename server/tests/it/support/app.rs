//! The server as the gateway's stories see it.

use std::{net::SocketAddr, sync::Arc};

use fuseboard::{app::App, startup::Running};
use fuseboard_breaker::{Breaker, By, Clock, ManualClock, SystemClock};

use super::server::{Place, stop};

pub(crate) struct TestApp {
    running: Running,
    place: Place,
}

impl TestApp {
    /// With the machine's clocks.
    pub(crate) async fn start(text: &str) -> Self {
        Self::with_clock(text, Arc::new(SystemClock)).await
    }

    /// With a clock of the test's own.
    pub(crate) async fn with_clock(text: &str, clock: Arc<dyn Clock>) -> Self {
        let place = Place::new(text.to_owned(), clock);
        Self { running: place.start().await, place }
    }

    /// With a clock that stands still until it is moved.
    pub(crate) async fn manual(text: &str) -> (Self, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::default());
        (Self::with_clock(text, clock.clone()).await, clock)
    }

    /// With the gateway where the text says, for a test that must know its port first.
    pub(crate) async fn where_it_says(text: &str) -> Self {
        let place = Place::new(text.to_owned(), Arc::new(SystemClock));
        Self { running: place.start_where_it_says().await, place }
    }

    pub(crate) fn app(&self) -> &Arc<App> {
        &self.running.app
    }

    pub(crate) fn gateway(&self) -> SocketAddr {
        self.running.gateway_addr
    }

    pub(crate) fn admin(&self) -> SocketAddr {
        self.running.admin_addr
    }

    /// A breaker that must be there.
    pub(crate) fn breaker(&self, id: &str) -> Breaker {
        self.app().panel.get(id).unwrap_or_else(|| panic!("no breaker {id}"))
    }

    /// Ends in order and starts again on the same store.
    pub(crate) async fn restart(self) -> Self {
        let Self { running, place } = self;
        stop(running).await;
        Self { running: place.start().await, place }
    }

    /// Ends in order.
    pub(crate) async fn stop(self) {
        stop(self.running).await;
    }
}

/// Somebody who does things to breakers without asking anybody.
pub(crate) fn somebody() -> By {
    By { name: "ana".into(), verified: false, via: "api".into() }
}
