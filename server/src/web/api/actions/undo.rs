//! `POST /undo` `{"seq","reason","by"}`: puts back the override an action of the last 10 s replaced or ended.

use axum::{Json as Out, extract::State};
use fuseboard_app::wire::{action::ActionAnswer, command::Undo, problem::Problem};

use super::super::{
    input::Json,
    problem::{Answer, PROBLEM},
    state::Admin,
};
use crate::{control, web::caller::Door};

/// Puts back the override an action of the last 10 s replaced or ended.
#[utoipa::path(
    post,
    path = "/api/v1/undo",
    operation_id = "undo",
    tag = "actions",
    request_body = Undo,
    responses(
        (status = 200, description = "What became of each breaker of the action", body = ActionAnswer),
        (status = 409, description = "Nothing of that number can be undone", body = Problem, content_type = PROBLEM),
    ),
)]
pub async fn handle(State(admin): State<Admin>, door: Door, Json(command): Json<Undo>) -> Answer<Out<ActionAnswer>> {
    let actor = door.actor(command.by.as_deref())?;
    Ok(Out(control::undo(&admin, &actor, &command).await?))
}
