//! What the stories are told with.

pub(crate) mod app;
pub(crate) mod desk;
pub(crate) mod host;
pub(crate) mod http;
pub(crate) mod process;
pub(crate) mod sse;
pub(crate) mod store;
pub(crate) mod switch;
