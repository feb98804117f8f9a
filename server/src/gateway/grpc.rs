//! The gRPC story. What says `application/grpc` is routed by the service in its path, streams both ways, and is answered
//! in gRPC's own terms whatever becomes of it: a refusal is a response that is nothing but trailers.
//!
//! Health and reflection are asked of a server, not of a service behind it, so the path alone does not say of which:
//! an upstream that names them in its `services` has them; else the metadata `fuseboard-upstream` or the `:authority` may
//! name an upstream; else they go to the only one there is.

mod say;

use std::sync::Arc;

use bytes::Bytes;
use fuseboard_breaker::grpc::Code;
use fuseboard_fetch::{
    Body,
    grpc::{self, Status},
};
use http::{HeaderMap, Method, Request, Response, StatusCode, Version, header};

use super::{Gateway, reject};
use crate::config::upstreams::{Entry, Upstreams};

/// The metadata that names an upstream; it ends here.
const UPSTREAM: &str = "fuseboard-upstream";

/// Whether it is a gRPC call; what browsers send under a like name is not.
pub(super) fn is_asked(headers: &HeaderMap) -> bool {
    behind_grpc(headers).is_some_and(|rest| rest.is_empty() || rest.starts_with(['+', ';', ' ']))
}

/// Whether it is what browsers send in place of gRPC.
pub(super) fn is_web(headers: &HeaderMap) -> bool {
    behind_grpc(headers).is_some_and(|rest| rest.starts_with("-web"))
}

/// What follows `application/grpc` in the content type.
fn behind_grpc(headers: &HeaderMap) -> Option<&str> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    kind.get(..16).filter(|kind| kind.eq_ignore_ascii_case("application/grpc")).map(|_| &kind[16..])
}

/// One call.
pub(super) async fn call<B>(gateway: &Gateway, mut request: Request<B>) -> Result<Response<Body>, reject::Own>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    if request.version() != Version::HTTP_2 {
        let why = "gRPC needs HTTP/2 all the way. Have whatever stands in front of this gateway speak h2c to it.";
        return Err(reject::malformed(&gateway.board, StatusCode::HTTP_VERSION_NOT_SUPPORTED, why));
    }
    if gateway.lifecycle.is_stopping() {
        return Err(say::respond(&say::shutting_down()));
    }
    let upstreams = gateway.upstreams.load();
    let entry = route(&upstreams, &request).map_err(|status| say::respond(&status))?;
    // A call outlives a reload; its upstream stays as it was.
    let entry = Arc::clone(entry);
    drop(upstreams);
    request.headers_mut().remove(UPSTREAM);
    let answer = gateway.fetcher.forward(&entry.upstream, request).await;
    answer.map_err(|error| say::respond(&say::failed(&entry, &error)))
}

/// There will be no answer.
pub(super) fn cut_off() -> reject::Own {
    say::respond(&say::shutting_down())
}

/// The upstream a call goes to.
fn route<'a, B>(upstreams: &'a Upstreams, request: &Request<B>) -> Result<&'a Arc<Entry>, Status> {
    let path = request.uri().path();
    let service = grpc::service(path).filter(|_| request.method() == Method::POST);
    let Some(service) = service else {
        let message = format!("{} {path:?} is no gRPC call; one is POST /package.Service/Method.", request.method());
        return Err(Status::new(Code::Unimplemented, message));
    };
    if is_about_a_server(service) && !upstreams.names_service(service) {
        return about(upstreams, service, request);
    }
    upstreams.serving(service).ok_or_else(|| {
        let known = upstreams.grpc().flat_map(|entry| &entry.services).map(|service| service.as_str());
        let known = listed(known.collect(), "No upstream here speaks gRPC yet.");
        let message =
            format!("No upstream of this gateway serves {service:?}. {known} Name it in an upstream's services.");
        Status::new(Code::Unimplemented, message)
    })
}

/// Health, reflection of either version, and whatever else belongs to gRPC itself.
fn is_about_a_server(service: &str) -> bool {
    service.starts_with("grpc.health.") || service.starts_with("grpc.reflection.")
}

fn about<'a, B>(upstreams: &'a Upstreams, service: &str, request: &Request<B>) -> Result<&'a Arc<Entry>, Status> {
    let named = |name: &str| upstreams.grpc().find(|entry| &*entry.upstream.name == name);
    if let Some(name) = request.headers().get(UPSTREAM) {
        let name = name.to_str().unwrap_or_default();
        return named(name).ok_or_else(|| {
            let known = listed(upstreams.grpc().map(|entry| &*entry.upstream.name).collect(), "There is none.");
            Status::new(Code::NotFound, format!("{UPSTREAM} names {name:?}, which is no gRPC upstream here. {known}"))
        });
    }
    if let Some(entry) = request.uri().authority().and_then(|authority| named(authority.host())) {
        return Ok(entry);
    }
    let mut all = upstreams.grpc();
    match (all.next(), all.next()) {
        (Some(only), None) => Ok(only),
        (None, _) => Err(Status::new(Code::Unimplemented, "No upstream of this gateway speaks gRPC yet.")),
        (Some(_), Some(_)) => {
            let known = listed(upstreams.grpc().map(|entry| &*entry.upstream.name).collect(), "");
            let how = format!("Say whose you mean in the metadata {UPSTREAM} or as :authority.");
            Err(Status::new(Code::InvalidArgument, format!("{service} is answered by each upstream. {how} {known}")))
        }
    }
}

fn listed(names: Vec<&str>, none: &str) -> String {
    if names.is_empty() { none.to_owned() } else { format!("Configured: {}.", names.join(", ")) }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_call_is_told_by_its_content_type() {
        let asked = |kind: &'static str| {
            is_asked(&HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(kind))]))
        };
        for kind in ["application/grpc", "application/grpc+proto", "Application/gRPC; charset=x"] {
            assert!(asked(kind), "{kind}");
        }
        for kind in ["application/grpc-web", "application/grpc-web+proto", "application/json", "", "application/grpcx"]
        {
            assert!(!asked(kind), "{kind}");
        }
        let web = |kind| is_web(&HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(kind))]));
        assert!(web("application/grpc-web+proto") && web("application/grpc-web-text") && !web("application/grpc"));
        assert!(!is_asked(&HeaderMap::new()));
    }
}
