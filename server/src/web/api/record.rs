//! `/api/v1/transitions`, `/probes` and `/audit`: rows of the record, newest first, or ascending behind `after`.

pub mod audit;
pub mod probes;
pub mod transitions;

use fuseboard_app::wire::time::Time;

use super::{input::Query, problem::Answer};
use crate::history::{PAGE_MAX, PageQuery};

/// For the description alone: the query is read name by name.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described, never made")]
struct Rows {
    /// Of this breaker alone.
    #[param(min_length = 1)]
    breaker: Option<String>,
    /// Not older than this.
    from: Option<Time>,
    /// Older than this.
    to: Option<Time>,
    /// Numbers below this, newest first: `next` of the page before.
    #[param(minimum = 0)]
    before: Option<u64>,
    /// Numbers above this, oldest first; wins over `before`.
    #[param(minimum = 0)]
    after: Option<u64>,
    /// At most this many; 100 when absent.
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<u64>,
}

fn rows(query: &Query) -> Answer<PageQuery> {
    query.only(&["breaker", "from", "to", "before", "after", "limit"])?;
    let (from, to) = query.ends()?;
    let limit = query.number("limit", 1..=u64::from(PAGE_MAX))?;
    Ok(PageQuery {
        breaker: query.text("breaker").map(str::to_owned),
        from,
        to,
        before: query.number("before", 0..=u64::MAX)?,
        after: query.number("after", 0..=u64::MAX)?,
        until: None,
        limit: limit.and_then(|limit| u32::try_from(limit).ok()),
    })
}
