//! `/api/v1/timeline` and `/api/v1/breakers/{id}/timeline`.

pub mod many;
pub mod one;

use fuseboard_app::{backend::Stretch, wire::time::Time};

use super::{input::Query, problem::Answer, state::Admin};
use crate::{present, stamp};

/// The last hour, unless the ends are given.
const RANGE_MS: i64 = 3_600_000;
/// Pixels, unless they are given.
const WIDTH: u64 = 1_000;

/// For the description alone: the query is read name by name.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described, never made")]
struct Axis {
    /// Start of the axis; an hour before its end when absent.
    from: Option<Time>,
    /// End of the axis; now when absent.
    to: Option<Time>,
    /// Pixels it is drawn on; 1,000 when absent.
    #[param(minimum = 1, maximum = 4_000)]
    width: Option<u64>,
}

fn stretch(admin: &Admin, query: &Query) -> Answer<Stretch> {
    let (from, to) = query.ends()?;
    let to_ms = to.unwrap_or_else(|| stamp::time(admin.clock.wall())).millis();
    let from_ms = from.map_or(to_ms.saturating_sub(RANGE_MS), |from| from.millis());
    let width = query.number("width", 1..=u64::from(present::WIDTH_MAX))?.unwrap_or(WIDTH);
    Ok(Stretch { from_ms, to_ms, width: u32::try_from(width).unwrap_or(present::WIDTH_MAX) })
}
