//! `POST /breakers/{id}/reset` `{"reason","end_override","by"}`: closes and forgets; answered once it is durable.

use axum::{Json as Out, extract::State};
use fuseboard_app::wire::{breaker::Breaker, command::Reset};

use super::super::{
    input::{Id, Json},
    problem::Answer,
    state::Admin,
};
use crate::{control, web::caller};

/// Handles it.
pub async fn handle(State(admin): State<Admin>, Id(id): Id, Json(command): Json<Reset>) -> Answer<Out<Breaker>> {
    let actor = caller::at_api(command.by.as_deref())?;
    Ok(Out(control::reset(&admin, &actor, &id, &command).await?))
}
