//! `/api/v1/actions` and `/api/v1/undo`.

pub mod act;
pub mod undo;
