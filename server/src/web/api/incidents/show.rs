//! `GET /incidents/{id}`: one incident with its rows, waits and what was refused most.

use axum::{Json, extract::State};
use fuseboard_app::wire::incident::IncidentDetail;

use super::super::{
    input::{Id, Query},
    problem::Answer,
    state::Admin,
};
use crate::{fault::Fault, present::incidents};

/// Handles it.
pub async fn handle(State(admin): State<Admin>, Id(id): Id, query: Query) -> Answer<Json<IncidentDetail>> {
    query.only(&[])?;
    // What is no number is no incident.
    let number = id.parse().map_err(|_| Fault::UnknownIncident { id: id.clone() })?;
    Ok(Json(incidents::one(&admin, number).await?))
}
