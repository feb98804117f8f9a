//! `GET /breakers/{id}/timeline?from=&to=&width=`: one lane with its calls and probes.

use axum::{Json, extract::State};
use fuseboard_app::wire::timeline::Lane;

use super::super::{
    input::{Id, Query},
    problem::Answer,
    state::Admin,
};
use crate::present;

/// Handles it.
pub async fn handle(State(admin): State<Admin>, Id(id): Id, query: Query) -> Answer<Json<Lane>> {
    query.only(&["from", "to", "width"])?;
    let stretch = super::stretch(&admin, &query)?;
    Ok(Json(present::lane(&admin, &id, stretch).await?))
}
