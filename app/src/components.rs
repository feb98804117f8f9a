//! What is seen, one file each.

pub mod actions;
pub mod banner;
pub mod bars;
pub mod frame;
pub mod host;
pub mod lane;
pub mod marks;
pub mod record;
pub mod row;
pub mod sign;
pub mod toolbar;
pub mod when;
