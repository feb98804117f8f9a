//! The API's handlers, one file per verb. The routes are in [`super`].

pub mod actions;
pub mod breakers;
pub mod config;
pub mod export;
pub mod incidents;
pub mod overrides;
pub mod record;
pub mod timeline;
pub mod upstreams;

use super::{input, problem, state};
