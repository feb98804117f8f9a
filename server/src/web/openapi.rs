//! `/openapi.json`: the API described by its own handlers. What every route may answer because of what stands before it or
//! because of how it reads its request is added here, so that no handler has to say it.

mod words;

use std::sync::LazyLock;

use axum::{
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use fuseboard_app::wire::{
    event::{Audit, Hello, Probe, Stats, TransitionEvent},
    problem::Problem,
};
use utoipa::{
    Modify, OpenApi,
    openapi::{
        self, Content, HttpMethod, RefOr, Response as Declared,
        path::{Operation, ParameterIn, PathItem},
        schema::Ref,
    },
};

use super::{
    api::{actions, breakers, config, export, incidents, overrides, record, timeline, upstreams},
    events, ops,
    problem::PROBLEM,
};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Fuseboard",
        description = "Circuit breakers: how they stand, what they did and why, and an operator's hand on them. Times are \
                       RFC 3339 in UTC; durations are integer milliseconds, `*_ms`. Errors are application/problem+json.",
        license(name = "MIT", identifier = "MIT"),
    ),
    paths(
        breakers::list::handle,
        breakers::show::handle,
        breakers::reset::handle,
        breakers::probe::handle,
        overrides::set::handle,
        overrides::release::handle,
        actions::act::handle,
        actions::undo::handle,
        timeline::one::handle,
        timeline::many::handle,
        record::transitions::handle,
        record::probes::handle,
        record::audit::handle,
        incidents::list::handle,
        incidents::show::handle,
        export::handle,
        events::open,
        upstreams::list::handle,
        config::show::handle,
        config::reload::handle,
        ops::livez,
        ops::readyz,
        ops::health,
        ops::metrics,
        show,
    ),
    // What the feed's events hold, which no answer's schema names.
    components(schemas(Problem, Hello, TransitionEvent, Probe, Audit, Stats)),
    modifiers(&Everywhere),
)]
struct Description;

/// The description, made once.
static TEXT: LazyLock<String> = LazyLock::new(|| {
    let mut api = serde_json::to_value(Description::openapi()).unwrap_or_default();
    words::name(&mut api);
    api.to_string()
});

/// This description.
#[utoipa::path(get, path = "/openapi.json", operation_id = "openapi", tag = "operations",
    responses((status = 200, description = "This description", body = Object)))]
pub async fn show() -> Response {
    let mut response = TEXT.as_str().into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// What stands before every route, and how requests are read.
struct Everywhere;

impl Modify for Everywhere {
    fn modify(&self, api: &mut openapi::OpenApi) {
        api.servers = None;
        for (path, item) in &mut api.paths.paths {
            for (method, operation) in operations(item) {
                declare(path, &method, operation);
            }
        }
    }
}

fn operations(item: &mut PathItem) -> Vec<(HttpMethod, &mut Operation)> {
    let each = [
        (HttpMethod::Get, &mut item.get),
        (HttpMethod::Put, &mut item.put),
        (HttpMethod::Post, &mut item.post),
        (HttpMethod::Delete, &mut item.delete),
        (HttpMethod::Patch, &mut item.patch),
    ];
    each.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?))).collect()
}

fn declare(path: &str, method: &HttpMethod, operation: &mut Operation) {
    let mut add = |status: &str, why: &str| {
        let mut response = Declared::new(why);
        response.content.insert(PROBLEM.to_owned(), Content::new(Some(Ref::from_schema_name("Problem"))));
        operation.responses.responses.entry(status.to_owned()).or_insert(RefOr::T(response));
    };
    // Without a list it would be written as null, which OpenAPI does not allow.
    let parameters = operation.parameters.get_or_insert_default();
    add("421", "The Host is none of this server's names");
    add("500", "Something went wrong inside; the log has the detail under the answer's id");
    if !path.starts_with("/api/") {
        return;
    }
    add("503", "The store cannot be read, or the process is stopping; `detail` says which");
    add("422", "A field or parameter cannot be; `field` names it");
    if *method != HttpMethod::Get {
        add("400", "The body cannot be read, or the id in the path is no text");
        add("403", "A page of another origin asks");
        add("408", "The body did not arrive");
        add("413", "The body is too large");
        add("415", "The body is not JSON");
    }
    let in_path = parameters.iter().any(|one| matches!(one.parameter_in, ParameterIn::Path));
    if in_path && *method == HttpMethod::Get {
        let mut response = Declared::new("The id in the path is no text");
        response.content.insert(PROBLEM.to_owned(), Content::new(Some(Ref::from_schema_name("Problem"))));
        operation.responses.responses.entry("400".to_owned()).or_insert(RefOr::T(response));
    }
}
