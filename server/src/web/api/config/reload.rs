//! `POST /reload` `{"reason","by"}`, both and the body optional: reads the configuration again. One that cannot be used
//! changes nothing.

use axum::{Json as Out, extract::State};
use fuseboard_app::wire::{command::Said, problem::Problem, settings::Reloaded};

use super::super::{
    input::MaybeJson,
    problem::{Answer, PROBLEM},
    state::Admin,
};
use crate::{control, web::caller::Door};

/// Reads the configuration again.
#[utoipa::path(
    post,
    path = "/api/v1/reload",
    operation_id = "reload_config",
    tag = "configuration",
    request_body = Option<Said>,
    responses(
        (status = 200, description = "What changed, and what needs a restart", body = Reloaded),
        (status = 409, description = "There is no file to read again", body = Problem, content_type = PROBLEM),
        (status = 503, description = "It took effect but could not be stored", body = Problem, content_type = PROBLEM),
    ),
)]
pub async fn handle(
    State(admin): State<Admin>,
    door: Door,
    MaybeJson(command): MaybeJson<Said>,
) -> Answer<Out<Reloaded>> {
    let actor = door.actor(command.by.as_deref())?;
    Ok(Out(control::reload(&admin, &actor, &command).await?))
}
