//! `GET /transitions?breaker=&from=&to=&before=&after=&limit=`: changes of state, override and cool-down.

use axum::{Json, extract::State};
use fuseboard_app::wire::event::Transition;

use super::{
    super::{input::Query, problem::Answer, state::Admin},
    Rows, Told,
};
use crate::{fault::Fault, history::transitions};

/// Changes of state, override and cool-down.
#[utoipa::path(
    get,
    path = "/api/v1/transitions",
    operation_id = "list_transitions",
    tag = "record",
    params(Rows),
    responses((status = 200, description = "Changes of state, override and cool-down, newest first, or ascending behind `after`", body = Told<Transition>)),
)]
pub async fn handle(State(admin): State<Admin>, query: Query) -> Answer<Json<Told<Transition>>> {
    let query = super::rows(&query)?;
    let page = transitions::page(admin.db.read(), &query).await.map_err(Fault::from)?;
    Told::new(&admin, &query, page, |row| row.seq).await
}
