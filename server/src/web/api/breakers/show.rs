//! `GET /breakers/{id}`: one breaker with everything known of its last change.

use axum::{Json, extract::State};
use fuseboard_app::wire::breaker::Breaker;

use super::super::{
    input::{Id, Query},
    problem::{Answer, Problem},
    state::Admin,
};
use crate::present::{self, Detail};

/// Handles it.
pub async fn handle(State(admin): State<Admin>, Id(id): Id, query: Query) -> Answer<Json<Breaker>> {
    query.only(&[])?;
    let breaker = admin.panel.get(&id).ok_or_else(|| Problem::unknown_breaker(&id))?;
    Ok(Json(present::breaker(&admin, &breaker, Detail::Full)))
}
