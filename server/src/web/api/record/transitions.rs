//! `GET /transitions?breaker=&from=&to=&before=&after=&limit=`: changes of state, override and cool-down.

use axum::{Json, extract::State};
use fuseboard_app::wire::event::{Page, Transition};

use super::super::{input::Query, problem::Answer, state::Admin};
use crate::{fault::Fault, history::transitions};

/// Handles it.
pub async fn handle(State(admin): State<Admin>, query: Query) -> Answer<Json<Page<Transition>>> {
    let page = transitions::page(admin.db.read(), &super::rows(&query)?).await;
    Ok(Json(page.map_err(Fault::unexpected)?))
}
