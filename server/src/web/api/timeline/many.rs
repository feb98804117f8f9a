//! `GET /timeline?from=&to=&width=` and what filters, sorts and pages the list of breakers: many lanes on one axis, in the
//! list's order.

use axum::{Json, extract::State};
use fuseboard_app::wire::timeline::Timeline;

use super::super::{breakers::list, input::Query, problem::Answer, state::Admin};
use super::Axis;
use crate::present::{self, Ask};

/// Lanes in one answer, unless a limit is given.
const LIMIT: usize = 100;

/// Many lanes on one axis.
#[utoipa::path(
    get,
    path = "/api/v1/timeline",
    operation_id = "list_lanes",
    tag = "timeline",
    params(Axis, list::List),
    responses((status = 200, description = "Many lanes on one axis, in the list's order", body = Timeline)),
)]
pub async fn handle(State(admin): State<Admin>, query: Query) -> Answer<Json<Timeline>> {
    query.only(&["from", "to", "width", "q", "state", "protocol", "upstream", "service", "sort", "limit", "after"])?;
    let stretch = super::stretch(&admin, &query)?;
    let ask = list::ask(&query)?;
    let ask = Ask { limit: ask.limit.or(Some(LIMIT)), ..ask };
    Ok(Json(present::timeline(&admin, &ask, stretch).await?))
}
