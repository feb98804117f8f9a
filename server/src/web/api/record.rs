//! `/api/v1/transitions`, `/probes` and `/audit`: rows of the record, newest first, or ascending behind `after`.

pub mod audit;
pub mod probes;
pub mod transitions;

use super::{input::Query, problem::Answer};
use crate::history::{PAGE_MAX, PageQuery};

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
