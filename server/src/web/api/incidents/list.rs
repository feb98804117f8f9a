//! `GET /incidents?breaker=&q=&upstream=&from=&to=&open=&before=&after=&limit=`: newest first, or ascending behind
//! `after`.

use axum::{Json, extract::State};
use fuseboard_app::{
    backend::IncidentFilter,
    wire::{event::Page, incident::Incident},
};

use super::super::{input::Query, problem::Answer, state::Admin};
use crate::{history::PAGE_MAX, present::incidents};

/// Handles it.
pub async fn handle(State(admin): State<Admin>, query: Query) -> Answer<Json<Page<Incident>>> {
    query.only(&["breaker", "q", "upstream", "from", "to", "open", "before", "after", "limit"])?;
    let text = |name: &str| query.text(name).map(str::to_owned);
    let (from, to) = query.ends()?;
    let limit = query.number("limit", 1..=u64::from(PAGE_MAX))?;
    let filter = IncidentFilter {
        breaker: text("breaker"),
        q: text("q"),
        upstream: text("upstream"),
        from,
        to,
        open: query.word("open", &["true", "false"])?.map(|word| word == "true"),
        before: query.number("before", 0..=u64::MAX)?,
        after: query.number("after", 0..=u64::MAX)?,
        limit: limit.and_then(|limit| u32::try_from(limit).ok()),
    };
    Ok(Json(incidents::list(&admin, &filter).await?))
}
