//! `PUT /breakers/{id}/override` `{"mode","reason","for_ms" or "until","by"}`: holds open or closed.

use axum::{Json as Out, extract::State};
use fuseboard_app::wire::{breaker::Breaker, command::SetOverride};

use super::super::{
    input::{Id, Json},
    problem::Answer,
    state::Admin,
};
use crate::{control, web::caller};

/// Handles it.
pub async fn handle(State(admin): State<Admin>, Id(id): Id, Json(command): Json<SetOverride>) -> Answer<Out<Breaker>> {
    let actor = caller::at_api(command.by.as_deref())?;
    Ok(Out(control::set_override(&admin, &actor, &id, &command).await?))
}
