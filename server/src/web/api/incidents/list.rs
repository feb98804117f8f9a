//! `GET /incidents?breaker=&q=&upstream=&from=&to=&open=&before=&after=&limit=`: newest first, or ascending behind
//! `after`.

use axum::{Json, extract::State};
use fuseboard_app::{
    backend::IncidentFilter,
    wire::{event::Page, incident::Incident, time::Time},
};

use super::super::{input::Query, problem::Answer, state::Admin};
use crate::{history::PAGE_MAX, present::incidents};

/// For the description alone: the query is read name by name.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described, never made")]
struct Incidents {
    /// Of this breaker alone.
    #[param(min_length = 1)]
    breaker: Option<String>,
    /// Text that the breaker's id or the name of one of its upstreams contains.
    #[param(min_length = 1)]
    q: Option<String>,
    /// Of this upstream, which may be one that is configured no more.
    #[param(min_length = 1)]
    upstream: Option<String>,
    /// Those that had not ended by then.
    from: Option<Time>,
    /// Those that had begun before.
    to: Option<Time>,
    /// `true` for those that last, `false` for those that ended.
    open: Option<bool>,
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

/// Incidents, newest first.
#[utoipa::path(
    get,
    path = "/api/v1/incidents",
    operation_id = "list_incidents",
    tag = "record",
    params(Incidents),
    responses((status = 200, description = "Incidents, newest first, or ascending behind `after`", body = Page<Incident>)),
)]
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
