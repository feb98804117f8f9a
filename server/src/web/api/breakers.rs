//! `/api/v1/breakers`.

pub mod list;
pub mod reset;
pub mod show;
