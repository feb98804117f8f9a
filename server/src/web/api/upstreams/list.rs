//! `GET /upstreams`: what is configured. Header values are secrets and stay inside; only their names are told.

use axum::{Json, extract::State};
use fuseboard_fetch::Upstream;
use serde::Serialize;

use super::super::{input::Query, problem::Answer, state::Admin};
use crate::present::settings;

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
    protocol: &'static str,
    policy: String,
    key: &'static str,
    breaker: String,
    active_probe: Option<Probe>,
    headers: Vec<String>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = upstreams::Probe)]
struct Probe {
    method: String,
    path: String,
}

/// Handles it.
#[utoipa::path(
    get,
    path = "/api/v1/upstreams",
    operation_id = "list_upstreams",
    tag = "configuration",
    responses((status = 200, description = "What is configured, by name", body = Upstreams)),
)]
pub async fn handle(State(admin): State<Admin>, query: Query) -> Answer<Json<Upstreams>> {
    query.only(&[])?;
    let config = admin.settings.load();
    let each = config.upstreams.iter().enumerate();
    let mut shown: Vec<_> =
        each.map(|(at, one)| show(&one.upstream, settings::address(&config, at, &one.upstream))).collect();
    shown.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Json(Upstreams { upstreams: shown }))
}

fn show(upstream: &Upstream, url: String) -> Shown {
    Shown {
        name: upstream.name.to_string(),
        url,
        protocol: settings::protocol(upstream.protocol),
        policy: upstream.policy.settings().name.clone(),
        key: settings::key(upstream.key),
        breaker: upstream.breaker_id(),
        active_probe: upstream
            .active_probe
            .as_ref()
            .map(|probe| Probe { method: probe.method.to_string(), path: probe.path.clone() }),
        headers: upstream.headers.keys().map(|name| name.to_string()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_stays_inside() {
        let mut upstream = Upstream::plain("npm", "https://registry.example/base?key=hunter2").expect("an upstream");
        upstream.headers.insert("authorization", "Bearer hunter3".parse().expect("a header"));
        let shown = serde_json::to_string(&show(&upstream, settings::shown(&upstream.url))).expect("json");
        assert!(!shown.contains("hunter"), "{shown}");
        assert!(shown.contains("https:registry.example") && shown.contains("authorization"), "{shown}");
    }
}
