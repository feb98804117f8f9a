//! What watchers of the process ask: is it alive, does it take traffic, is something wrong, and the numbers. None of it
//! touches a breaker, and an upstream that is down is no fault of this process.

use axum::{
    Json,
    extract::State,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use fuseboard_app::{
    order,
    wire::{
        breaker::{Breaker, State as Shown},
        event::{Finding, StoreHealth},
        problem::Problem as Wire,
        time::Time,
    },
};
use serde::Serialize;

use super::{
    problem::{Answer, PROBLEM, Problem},
    state::Admin,
};
use crate::{
    fault::Fault,
    metrics::Process,
    present::{self, Ask},
    stamp,
};

/// `/livez`: the process answers.
#[utoipa::path(get, path = "/livez", operation_id = "livez", tag = "operations",
    responses((status = 200, description = "The process answers", body = String, content_type = "text/plain")))]
pub async fn livez() -> &'static str {
    "ok\n"
}

/// `/readyz`: it takes traffic, until it begins to stop.
#[utoipa::path(get, path = "/readyz", operation_id = "readyz", tag = "operations",
    responses(
        (status = 200, description = "It takes traffic; an upstream that is down is no reason not to",
            body = String, content_type = "text/plain"),
        (status = 503, description = "It is stopping", body = Wire, content_type = PROBLEM),
    ))]
pub async fn readyz(State(admin): State<Admin>) -> Answer<&'static str> {
    if admin.lifecycle.is_stopping() {
        return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "The process is stopping."));
    }
    Ok("ok\n")
}

/// What `/health` says.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Health {
    /// `ok` or `degraded`.
    status: &'static str,
    /// Something needs somebody's eyes; the reasons say what.
    degraded: bool,
    reasons: Vec<String>,
    node: String,
    version: &'static str,
    since: Time,
    now: Time,
    breakers: Tally,
    store: StoreHealth,
    /// What the watchdog sees broken.
    findings: Vec<Finding>,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize, utoipa::ToSchema)]
struct Tally {
    closed: usize,
    open: usize,
    half_open: usize,
    overridden: usize,
    down: usize,
    latched: usize,
}

/// `/health`: 200 whatever it says, since the process is well enough to say it.
#[utoipa::path(get, path = "/health", operation_id = "health", tag = "operations",
    responses((status = 200, description = "How it is, and what needs somebody's eyes", body = Health)))]
pub async fn health(State(admin): State<Admin>) -> Answer<Json<Health>> {
    let list = present::list(&admin, &Ask::default())?;
    let (store, breakers) = (admin.journal.health(), tally(&list.breakers, list.as_of));
    let findings = admin.findings.standing();
    let reasons = reasons(&store, &breakers, &findings);
    Ok(Json(Health {
        status: if reasons.is_empty() { "ok" } else { "degraded" },
        degraded: !reasons.is_empty(),
        reasons,
        node: admin.config.node.clone(),
        version: env!("CARGO_PKG_VERSION"),
        since: stamp::time(admin.started),
        now: list.as_of,
        breakers,
        store,
        findings,
    }))
}

fn tally(breakers: &[Breaker], now: Time) -> Tally {
    let count = |is: &dyn Fn(&Breaker) -> bool| breakers.iter().filter(|one| is(one)).count();
    Tally {
        closed: count(&|one| one.state == Shown::Closed),
        open: count(&|one| one.state == Shown::Open),
        half_open: count(&|one| one.state == Shown::HalfOpen),
        overridden: count(&|one| one.held.is_some()),
        down: count(&order::down),
        latched: count(&|one| order::latched(one, now)),
    }
}

fn reasons(store: &StoreHealth, breakers: &Tally, findings: &[Finding]) -> Vec<String> {
    let mut reasons = Vec::new();
    if let Some(since) = store.failing_since {
        let why = store.error.as_deref().unwrap_or("no reason given");
        reasons.push(format!("history not written since {since} ({why}); {} facts wait", store.waiting));
    }
    if store.dropped > 0 {
        reasons.push(format!("{} facts were given up because the journal was full", store.dropped));
    }
    reasons.extend(findings.iter().map(|found| found.detail.clone()));
    if breakers.down > 0 {
        reasons.push(format!("{} of the breakers refuse or probe", breakers.down));
    }
    reasons
}

/// `/metrics`.
#[utoipa::path(get, path = "/metrics", operation_id = "metrics", tag = "operations",
    responses((status = 200, description = "The Prometheus text", body = String, content_type = "text/plain")))]
pub async fn metrics(State(admin): State<Admin>) -> Answer<Response> {
    let store = admin.journal.health();
    let process = Process {
        node: admin.config.node.clone(),
        version: env!("CARGO_PKG_VERSION").into(),
        journal_depth: store.waiting,
        journal_dropped: store.dropped,
        store_bytes: admin.db.bytes(),
        findings: admin.findings.counts().to_vec(),
    };
    let text = admin.metrics.render(&admin.panel, process).map_err(Fault::unexpected)?;
    let mut response = text.into_response();
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_says_what_is_wrong() {
        assert_eq!(reasons(&StoreHealth::default(), &Tally::default(), &[]), Vec::<String>::new());
        let failing = StoreHealth {
            waiting: 7,
            dropped: 2,
            failing_since: Some(Time::from_micros(0)),
            error: Some("disk full".into()),
        };
        let found = Finding {
            kind: "lease".into(),
            breaker: "a".into(),
            since: Time::from_micros(0),
            detail: "a probe of a holds its permit".into(),
        };
        let said = reasons(&failing, &Tally { down: 1, ..Tally::default() }, &[found]);
        assert_eq!(said.len(), 4);
        assert!(said[2].contains("holds its permit"), "{said:?}");
        assert!(said[0].contains("disk full") && said[0].contains("7 facts"), "{said:?}");
    }
}
