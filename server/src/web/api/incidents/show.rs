//! `GET /incidents/{id}`: one incident with its rows, waits and what was refused most.

use axum::{Json, extract::State};
use fuseboard_app::wire::{incident::IncidentDetail, problem::Problem};

use super::super::{
    input::{Id, Query},
    problem::{Answer, PROBLEM},
    state::Admin,
};
use crate::{fault::Fault, present::incidents};

/// One incident with its rows, its waits and what was refused most.
#[utoipa::path(
    get,
    path = "/api/v1/incidents/{id}",
    operation_id = "show_incident",
    tag = "record",
    params(("id" = u64, Path, description = "The number of the row that opened it")),
    responses(
        (status = 200, description = "The incident with its rows, waits and what was refused most", body = IncidentDetail),
        (status = 404, description = "No incident was opened by that row", body = Problem, content_type = PROBLEM),
    ),
)]
pub async fn handle(State(admin): State<Admin>, Id(id): Id, query: Query) -> Answer<Json<IncidentDetail>> {
    query.only(&[])?;
    // What is no number is no incident.
    let number = id.parse().map_err(|_| Fault::UnknownIncident { id: id.clone() })?;
    Ok(Json(incidents::one(&admin, number).await?))
}
