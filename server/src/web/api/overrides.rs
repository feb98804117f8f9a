//! `/api/v1/breakers/{id}/override` and `/release`.

pub mod release;
pub mod set;
