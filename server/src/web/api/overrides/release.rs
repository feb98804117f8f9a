//! `POST /breakers/{id}/release` `{"reason","by"}`: ends the override.

use axum::{Json as Out, extract::State};
use fuseboard_app::wire::{breaker::Breaker, command::Release};

use super::super::{
    input::{Id, Json},
    problem::Answer,
    state::Admin,
};
use crate::{control, web::caller};

/// Handles it.
pub async fn handle(State(admin): State<Admin>, Id(id): Id, Json(command): Json<Release>) -> Answer<Out<Breaker>> {
    let actor = caller::at_api(command.by.as_deref())?;
    Ok(Out(control::release(&admin, &actor, &id, &command).await?))
}
