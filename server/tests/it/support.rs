//! What the stories are told with.

pub(crate) mod app;
pub(crate) mod desk;
pub(crate) mod host;
pub(crate) mod http;
pub(crate) mod process;
pub(crate) mod registry;
pub(crate) mod rpc;
pub(crate) mod schema;
pub(crate) mod seed;
pub(crate) mod server;
pub(crate) mod sse;
pub(crate) mod store;
pub(crate) mod switch;

use std::{future::Future, time::Duration};

/// Nothing a test waits for takes this long unless it will never come.
const DEADLINE: Duration = Duration::from_secs(60);

/// Waits for something that must come; a test that would hang fails instead, and says what for.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    within(DEADLINE, what, future).await
}

/// The same for what takes its time.
pub(crate) async fn within<T>(deadline: Duration, what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(deadline, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not come within {deadline:?}"),
    }
}
