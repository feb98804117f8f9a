//! `GET /config`: what is configured, defaults filled in, secrets masked.

use axum::{Json, extract::State};
use fuseboard_app::wire::settings::Settings;

use super::super::{input::Query, problem::Answer, state::Admin};
use crate::present;

/// The configuration with its defaults filled in and its secrets masked.
#[utoipa::path(
    get,
    path = "/api/v1/config",
    operation_id = "show_config",
    tag = "configuration",
    responses((status = 200, description = "What is in force, secrets masked", body = Settings)),
)]
pub async fn handle(State(admin): State<Admin>, query: Query) -> Answer<Json<Settings>> {
    query.only(&[])?;
    Ok(Json(present::settings::settings(&admin)))
}
