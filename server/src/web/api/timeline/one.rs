//! `GET /breakers/{id}/timeline?from=&to=&width=`: one lane with its calls and probes.

use axum::{Json, extract::State};
use fuseboard_app::wire::{problem::Problem, timeline::Lane};

use super::super::{
    input::{Id, Query},
    problem::{Answer, PROBLEM},
    state::Admin,
};
use super::Axis;
use crate::present;

/// One lane with its calls and probes.
#[utoipa::path(
    get,
    path = "/api/v1/breakers/{id}/timeline",
    operation_id = "show_lane",
    tag = "timeline",
    params(("id" = String, Path, description = "The breaker's id, as one path segment"), Axis),
    responses(
        (status = 200, description = "One lane with its calls and probes", body = Lane),
        (status = 404, description = "No such breaker", body = Problem, content_type = PROBLEM),
    ),
)]
pub async fn handle(State(admin): State<Admin>, Id(id): Id, query: Query) -> Answer<Json<Lane>> {
    query.only(&["from", "to", "width"])?;
    let stretch = super::stretch(&admin, &query)?;
    Ok(Json(present::lane(&admin, &id, stretch).await?))
}
