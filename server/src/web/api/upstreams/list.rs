//! `GET /upstreams`: what is configured. Header values are secrets and stay inside; only their names are told.

use axum::{Json, extract::State};
use fuseboard_fetch::{Key, Protocol, Upstream, redact, redact_path};
use serde::Serialize;

use super::super::{input::Query, problem::Answer, state::Admin};

/// All of them, by name.
#[derive(Debug, Serialize)]
pub struct Upstreams {
    upstreams: Vec<Shown>,
}

#[derive(Debug, Serialize)]
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

#[derive(Debug, Serialize)]
struct Probe {
    method: String,
    path: String,
}

/// Handles it.
pub async fn handle(State(admin): State<Admin>, query: Query) -> Answer<Json<Upstreams>> {
    query.only(&[])?;
    let upstreams = admin.upstreams.load();
    let mut shown: Vec<_> = upstreams.iter().map(|one| show(&one.upstream)).collect();
    shown.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Json(Upstreams { upstreams: shown }))
}

fn show(upstream: &Upstream) -> Shown {
    Shown {
        name: upstream.name.to_string(),
        url: upstream.url.as_str().parse().map_or_else(|_| String::new(), |uri| redact(&uri)),
        protocol: match upstream.protocol {
            Protocol::Http => "http",
            Protocol::Grpc => "grpc",
        },
        policy: upstream.policy.settings().name.clone(),
        key: match upstream.key {
            Key::Origin => "origin",
            Key::Upstream => "upstream",
        },
        breaker: upstream.breaker_id(),
        active_probe: upstream
            .active_probe
            .as_ref()
            .map(|probe| Probe { method: probe.method.to_string(), path: probe_path(&probe.path) }),
        headers: upstream.headers.keys().map(|name| name.to_string()).collect(),
    }
}

fn probe_path(path: &str) -> String {
    path.parse().map_or_else(|_| String::new(), |path| redact_path(&path).into_owned())
}

#[cfg(test)]
mod tests {
    use fuseboard_fetch::ActiveProbe;

    use super::*;

    #[test]
    fn a_secret_stays_inside() {
        let mut upstream = Upstream::plain("npm", "https://registry.example/base?key=hunter2").expect("an upstream");
        let path = "/health?key=hunter4".to_owned();
        upstream.active_probe = Some(ActiveProbe { method: http::Method::HEAD, path });
        upstream.headers.insert("authorization", "Bearer hunter3".parse().expect("a header"));
        let shown = serde_json::to_string(&show(&upstream)).expect("json");
        assert!(!shown.contains("hunter"), "{shown}");
        assert!(shown.contains("https:registry.example") && shown.contains("authorization"), "{shown}");
    }
}
