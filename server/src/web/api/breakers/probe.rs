//! `POST /breakers/{id}/probe` `{"reason","by"}`, both and the body optional: one probe now, and what it found.

use axum::{Json as Out, extract::State};
use fuseboard_app::wire::{action::ProbeResult, command::Said, problem::Problem};

use super::super::{
    input::{Id, MaybeJson},
    problem::{Answer, PROBLEM},
    state::Admin,
};
use crate::{control, web::caller::Door};

/// Sends one probe now and tells what it found.
#[utoipa::path(
    post,
    path = "/api/v1/breakers/{id}/probe",
    operation_id = "probe_breaker",
    tag = "actions",
    params(("id" = String, Path, description = "The breaker's id, as one path segment")),
    request_body = Option<Said>,
    responses(
        (status = 200, description = "What the probe found", body = ProbeResult),
        (status = 404, description = "No such breaker", body = Problem, content_type = PROBLEM),
        (status = 409, description = "Nothing may be sent as things stand", body = Problem, content_type = PROBLEM),
        (status = 503, description = "It took effect but could not be stored", body = Problem, content_type = PROBLEM),
    ),
)]
pub async fn handle(
    State(admin): State<Admin>,
    door: Door,
    Id(id): Id,
    MaybeJson(command): MaybeJson<Said>,
) -> Answer<Out<ProbeResult>> {
    let actor = door.actor(command.by.as_deref())?;
    Ok(Out(control::probe(admin.app(), &actor, &id, &command).await?))
}
