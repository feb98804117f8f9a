//! `GET /probes?breaker=&from=&to=&before=&after=&limit=`: what became of each probe.

use axum::{Json, extract::State};
use fuseboard_app::wire::event::Probe;

use super::{
    super::{input::Query, problem::Answer, state::Admin},
    Rows, Told,
};
use crate::{fault::Fault, history::probes};

/// What became of each probe.
#[utoipa::path(
    get,
    path = "/api/v1/probes",
    operation_id = "list_probes",
    tag = "record",
    params(Rows),
    responses((status = 200, description = "What became of each probe, newest first, or ascending behind `after`", body = Told<Probe>)),
)]
pub async fn handle(State(admin): State<Admin>, query: Query) -> Answer<Json<Told<Probe>>> {
    let query = super::rows(&query)?;
    let page = probes::page(admin.db.read(), &query).await.map_err(Fault::from)?;
    Told::new(&admin, &query, page, |row| row.seq).await
}
