//! `POST /actions` `{"action","ids" or "filter","reason","for_ms" or "until","end_override","dry_run","by"}`: one action
//! on many breakers, or what it would do.

use axum::{Json as Out, extract::State};
use fuseboard_app::wire::action::{ActionAnswer, BulkAction};

use super::super::{input::Json, problem::Answer, state::Admin};
use crate::{control, web::caller::Door};

/// One action on many breakers, or what it would do.
#[utoipa::path(
    post,
    path = "/api/v1/actions",
    operation_id = "act_on_many",
    tag = "actions",
    request_body = BulkAction,
    responses((status = 200, description = "What became of each breaker, or would", body = ActionAnswer)),
)]
pub async fn handle(
    State(admin): State<Admin>,
    door: Door,
    Json(action): Json<BulkAction>,
) -> Answer<Out<ActionAnswer>> {
    let actor = door.actor(action.by.as_deref())?;
    Ok(Out(control::act(admin.app(), &actor, &action).await?))
}
