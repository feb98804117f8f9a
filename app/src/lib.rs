//! The board: wire types, one [`backend::Backend`] trait, Leptos pages. It knows no breaker and no SQL.

pub mod backend;
pub mod order;
pub mod wire;
