//! From a host's name to its addresses.

use std::{future::Future, io, net::SocketAddr, pin::Pin, sync::Arc};

use tokio::net::lookup_host;

/// A look-up under way.
pub type Resolving = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Turns names into addresses. Whatever it says is judged before anybody connects to it.
pub trait Resolve: Send + Sync {
    /// Every address of a host, with this port. Dropped when it takes too long.
    fn resolve(&self, host: Arc<str>, port: u16) -> Resolving;
}

/// The operating system's way.
pub(crate) struct System;

impl Resolve for System {
    fn resolve(&self, host: Arc<str>, port: u16) -> Resolving {
        Box::pin(async move { Ok(lookup_host((&*host, port)).await?.collect()) })
    }
}
