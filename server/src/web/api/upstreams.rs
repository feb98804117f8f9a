//! `/api/v1/upstreams`.

pub mod list;
