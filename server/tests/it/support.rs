//! What the stories are told with.

pub(crate) mod store;
