//! `/api/v1/incidents`.

pub mod list;
pub mod show;
