//! `GET /breakers/{id}`: one breaker with everything known of its last change.

use axum::{Json, extract::State};
use fuseboard_app::wire::{breaker::Breaker, problem::Problem as Wire};

use super::super::{
    input::{Id, Query},
    problem::{Answer, PROBLEM, Problem},
    state::Admin,
};
use crate::present::{self, Detail};

/// One breaker with everything known of its last change.
#[utoipa::path(
    get,
    path = "/api/v1/breakers/{id}",
    operation_id = "show_breaker",
    tag = "breakers",
    params(("id" = String, Path, description = "The breaker's id, as one path segment")),
    responses(
        (status = 200, description = "The breaker with everything known of its last change", body = Breaker),
        (status = 404, description = "No such breaker; asking makes none", body = Wire, content_type = PROBLEM),
    ),
)]
pub async fn handle(State(admin): State<Admin>, Id(id): Id, query: Query) -> Answer<Json<Breaker>> {
    query.only(&[])?;
    let breaker = admin.panel.get(&id).ok_or_else(|| Problem::unknown_breaker(&id))?;
    Ok(Json(present::breaker(&admin, &breaker, Detail::Full)))
}
