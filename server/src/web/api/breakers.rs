//! `/api/v1/breakers`.

pub mod list;
pub mod probe;
pub mod reset;
pub mod show;
