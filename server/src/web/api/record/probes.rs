//! `GET /probes?breaker=&from=&to=&before=&after=&limit=`: what became of each probe.

use axum::{Json, extract::State};
use fuseboard_app::wire::event::{Page, Probe};

use super::{
    super::{input::Query, problem::Answer, state::Admin},
    Rows,
};
use crate::{fault::Fault, history::probes};

/// Handles it.
#[utoipa::path(
    get,
    path = "/api/v1/probes",
    operation_id = "list_probes",
    tag = "record",
    params(Rows),
    responses((status = 200, description = "What became of each probe, newest first, or ascending behind `after`", body = Page<Probe>)),
)]
pub async fn handle(State(admin): State<Admin>, query: Query) -> Answer<Json<Page<Probe>>> {
    let page = probes::page(admin.db.read(), &super::rows(&query)?).await;
    Ok(Json(page.map_err(Fault::unexpected)?))
}
