//! What every test stands on: a scripted host, and a bench with a fetcher whose breakers run on a manual clock.

pub(crate) mod bench;
pub(crate) mod host;
pub(crate) mod rpc;
pub(crate) mod secure;

use std::{future::Future, time::Duration};

use bytes::Bytes;
use fuseboard_fetch::{Body, BodyError};
use http::Response;
use http_body_util::{BodyExt, Collected};

pub(crate) use bench::Bench;
pub(crate) use host::{Host, Step};

/// Nothing a test waits for takes this long unless it will never come.
const DEADLINE: Duration = Duration::from_secs(60);

/// Waits for something that must come.
pub(crate) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(value) => value,
        Err(_) => panic!("{what} did not happen within {DEADLINE:?}"),
    }
}

/// The whole body of a response.
pub(crate) async fn whole(response: Response<Body>) -> Result<Collected<Bytes>, BodyError> {
    soon("the body's end", response.into_body().collect()).await
}
