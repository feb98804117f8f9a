//! `GET /upstreams`: what is configured, in short. Header values are secrets and stay inside; only their names are told.

use axum::{Json, extract::State};
use fuseboard_app::wire::settings;
use serde::Serialize;

use super::super::{input::Query, problem::Answer, state::Admin};
use crate::present;

/// All of them, by name.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Upstreams {
    upstreams: Vec<Shown>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = upstreams::Upstream)]
struct Shown {
    name: String,
    url: String,
    protocol: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    services: Vec<String>,
    policy: String,
    key: String,
    breaker: String,
    active_probe: Option<Probe>,
    headers: Vec<String>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[serde(untagged)]
#[schema(as = upstreams::Probe)]
enum Probe {
    Http { method: String, path: String },
    Health { service: String },
}

/// What is configured of each upstream, in short.
#[utoipa::path(
    get,
    path = "/api/v1/upstreams",
    operation_id = "list_upstreams",
    tag = "configuration",
    responses((status = 200, description = "What is configured, by name", body = Upstreams)),
)]
pub async fn handle(State(admin): State<Admin>, query: Query) -> Answer<Json<Upstreams>> {
    query.only(&[])?;
    let mut upstreams: Vec<_> = present::settings::settings(&admin).upstreams.into_iter().map(show).collect();
    upstreams.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Json(Upstreams { upstreams }))
}

fn show(one: settings::Upstream) -> Shown {
    let settings::Upstream { name, url, protocol, services, policy, key, breaker, active_probe, headers, .. } = one;
    let active_probe = active_probe.as_deref().and_then(|probe| probe.split_once(' '));
    let active_probe = active_probe.map(|(method, asked)| match protocol.as_str() {
        "grpc" => Probe::Health { service: asked.to_owned() },
        _ => Probe::Http { method: method.to_owned(), path: asked.to_owned() },
    });
    let headers = headers.into_iter().map(|header| header.name).collect();
    Shown { name, url, protocol, services, policy, key, breaker, active_probe, headers }
}
