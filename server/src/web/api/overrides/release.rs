//! `POST /breakers/{id}/release` `{"reason","by"}`: ends the override.

use axum::{Json as Out, extract::State};
use fuseboard_app::wire::{breaker::Breaker, command::Release, problem::Problem};

use super::super::{
    input::{Id, Json},
    problem::{Answer, PROBLEM},
    state::Admin,
};
use crate::{control, web::caller::Door};

/// Ends a breaker's override.
#[utoipa::path(
    post,
    path = "/api/v1/breakers/{id}/release",
    operation_id = "release_breaker",
    tag = "actions",
    params(("id" = String, Path, description = "The breaker's id, as one path segment")),
    request_body = Release,
    responses(
        (status = 200, description = "Released and stored", body = Breaker),
        (status = 404, description = "No such breaker", body = Problem, content_type = PROBLEM),
        (status = 409, description = "No override stands", body = Problem, content_type = PROBLEM),
        (status = 503, description = "It took effect but could not be stored", body = Problem, content_type = PROBLEM),
    ),
)]
pub async fn handle(
    State(admin): State<Admin>,
    door: Door,
    Id(id): Id,
    Json(command): Json<Release>,
) -> Answer<Out<Breaker>> {
    let actor = door.actor(command.by.as_deref())?;
    Ok(Out(control::release(&admin, &actor, &id, &command).await?))
}
