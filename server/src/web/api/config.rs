//! `/api/v1/config` and `/api/v1/reload`.

pub mod reload;
pub mod show;
