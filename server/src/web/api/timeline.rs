//! `/api/v1/timeline` and `/api/v1/breakers/{id}/timeline`.

pub mod many;
pub mod one;

use fuseboard_app::backend::Stretch;

use super::{input::Query, problem::Answer, state::Admin};
use crate::{present, stamp};

/// The last hour, unless the ends are given.
const RANGE_MS: i64 = 3_600_000;
/// Pixels, unless they are given.
const WIDTH: u64 = 1_000;

fn stretch(admin: &Admin, query: &Query) -> Answer<Stretch> {
    let (from, to) = query.ends()?;
    let to_ms = to.unwrap_or_else(|| stamp::time(admin.clock.wall())).millis();
    let from_ms = from.map_or(to_ms.saturating_sub(RANGE_MS), |from| from.millis());
    let width = query.number("width", 1..=u64::from(present::WIDTH_MAX))?.unwrap_or(WIDTH);
    Ok(Stretch { from_ms, to_ms, width: u32::try_from(width).unwrap_or(present::WIDTH_MAX) })
}
