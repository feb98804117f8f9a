//! What the stories are told with.

pub(crate) mod process;
pub(crate) mod store;
