//! The JSON of API, feed and pages: one set of types, used by the server to write and by the board to read.
//! Times are RFC 3339 UTC with microseconds and `Z`; durations are integer milliseconds with the suffix `_ms`.

pub mod action;
pub mod breaker;
pub mod command;
pub mod event;
pub mod incident;
pub mod problem;
pub mod settings;
pub mod time;
pub mod timeline;
