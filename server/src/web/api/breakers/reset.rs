//! `POST /breakers/{id}/reset` `{"reason","end_override","by"}`: closes and forgets; answered once it is durable.

use axum::{Json as Out, extract::State};
use fuseboard_app::wire::{breaker::Breaker, command::Reset, problem::Problem};

use super::super::{
    input::{Id, Json},
    problem::{Answer, PROBLEM},
    state::Admin,
};
use crate::{control, web::caller::Door};

/// Closes a breaker and forgets what it counted.
#[utoipa::path(
    post,
    path = "/api/v1/breakers/{id}/reset",
    operation_id = "reset_breaker",
    tag = "actions",
    params(("id" = String, Path, description = "The breaker's id, as one path segment")),
    request_body = Reset,
    responses(
        (status = 200, description = "Closed and stored", body = Breaker),
        (status = 404, description = "No such breaker", body = Problem, content_type = PROBLEM),
        (status = 409, description = "It would end an override and does not say so", body = Problem, content_type = PROBLEM),
        (status = 503, description = "It took effect but could not be stored", body = Problem, content_type = PROBLEM),
    ),
)]
pub async fn handle(
    State(admin): State<Admin>,
    door: Door,
    Id(id): Id,
    Json(command): Json<Reset>,
) -> Answer<Out<Breaker>> {
    let actor = door.actor(command.by.as_deref())?;
    Ok(Out(control::reset(&admin, &actor, &id, &command).await?))
}
