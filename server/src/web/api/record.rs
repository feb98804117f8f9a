//! `/api/v1/transitions`, `/probes` and `/audit`: rows of the record, newest first, or ascending behind `after`.

pub mod audit;
pub mod probes;
pub mod transitions;

use axum::Json;
use fuseboard_app::wire::{event::Page, time::Time};
use serde::Serialize;

use super::{input::Query, problem::Answer, state::Admin};
use crate::{
    fault::Fault,
    history::{
        PAGE_MAX, PageQuery,
        gaps::{self, Missing},
    },
};

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

/// A page of rows, and what of its numbers could not be kept.
#[derive(Serialize, utoipa::ToSchema)]
pub struct Told<Row> {
    #[serde(flatten)]
    page: Page<Row>,
    /// Numbers among which some were given up while the store refused writes: there the rows have a break.
    gaps: Vec<Missing>,
}

impl<Row> Told<Row> {
    /// `seq` says a row's number.
    async fn new(admin: &Admin, query: &PageQuery, page: Page<Row>, seq: fn(&Row) -> u64) -> Answer<Json<Self>> {
        // Up to the last row, or to the end of the record.
        let last = page.rows.last().filter(|_| page.next.is_some()).map(seq);
        let among = match query.after {
            Some(after) => (after.saturating_add(1), last.unwrap_or(u64::MAX)),
            None => (last.unwrap_or(0), query.before.map_or(u64::MAX, |before| before.saturating_sub(1))),
        };
        let gaps = gaps::among(admin.db.read(), among).await.map_err(Fault::from)?;
        Ok(Json(Self { page, gaps }))
    }
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
