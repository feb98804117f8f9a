//! `PUT /breakers/{id}/override` `{"mode","reason","for_ms" or "until","by"}`: holds open or closed.

use axum::{Json as Out, extract::State};
use fuseboard_app::wire::{breaker::Breaker, command::SetOverride, problem::Problem};

use super::super::{
    input::{Id, Json},
    problem::{Answer, PROBLEM},
    state::Admin,
};
use crate::{control, web::caller::Door};

/// Holds a breaker open or closed.
#[utoipa::path(
    put,
    path = "/api/v1/breakers/{id}/override",
    operation_id = "set_override",
    tag = "actions",
    params(("id" = String, Path, description = "The breaker's id, as one path segment")),
    request_body = SetOverride,
    responses(
        (status = 200, description = "Held and stored", body = Breaker),
        (status = 404, description = "No such breaker", body = Problem, content_type = PROBLEM),
        (status = 503, description = "It took effect but could not be stored", body = Problem, content_type = PROBLEM),
    ),
)]
pub async fn handle(
    State(admin): State<Admin>,
    door: Door,
    Id(id): Id,
    Json(command): Json<SetOverride>,
) -> Answer<Out<Breaker>> {
    let actor = door.actor(command.by.as_deref())?;
    Ok(Out(control::set_override(&admin, &actor, &id, &command).await?))
}
