//! `GET /audit?breaker=&from=&to=&before=&after=&limit=`: what operators did.

use axum::{Json, extract::State};
use fuseboard_app::wire::event::Audit;

use super::{
    super::{input::Query, problem::Answer, state::Admin},
    Rows, Told,
};
use crate::{fault::Fault, history::audit};

/// What operators did.
#[utoipa::path(
    get,
    path = "/api/v1/audit",
    operation_id = "list_audit",
    tag = "record",
    params(Rows),
    responses((status = 200, description = "What operators did, newest first, or ascending behind `after`", body = Told<Audit>)),
)]
pub async fn handle(State(admin): State<Admin>, query: Query) -> Answer<Json<Told<Audit>>> {
    let query = super::rows(&query)?;
    let page = audit::page(admin.db.read(), &query).await.map_err(Fault::from)?;
    Told::new(&admin, &query, page, |row| row.seq).await
}
