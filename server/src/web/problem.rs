//! The one place that turns errors into responses: `application/problem+json` (RFC 9457) in words that say what happened
//! and what to do. What nobody expected answers a fixed text and an id; the detail goes to the log once, under that id.

use std::any::Any;

use axum::{
    body::Body,
    extract::OriginalUri,
    http::{HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use fuseboard_app::wire::problem::Problem as Wire;

use crate::fault::Fault;

/// An answer that is not what was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem(Box<Wire>);

/// The type of every such answer.
pub const PROBLEM: &str = "application/problem+json";

/// What a handler of the API answers.
pub type Answer<T> = Result<T, Problem>;

impl Problem {
    /// A status and a sentence.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self(Box::new(Wire {
            kind: "about:blank".into(),
            title: status.canonical_reason().unwrap_or("Error").into(),
            status: status.as_u16(),
            detail: Some(detail.into()),
            ..Wire::default()
        }))
    }

    /// Input that cannot be, by field.
    pub fn field(field: &str, message: impl std::fmt::Display) -> Self {
        Fault::field(field, message.to_string()).into()
    }

    /// No such breaker.
    pub fn unknown_breaker(id: &str) -> Self {
        Fault::Unknown { id: id.to_owned() }.into()
    }

    /// The wire form.
    pub fn wire(&self) -> &Wire {
        &self.0
    }
}

impl From<Fault> for Problem {
    fn from(error: Fault) -> Self {
        let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut problem = Self::new(status, error.sentence());
        problem.0.field = error.field_name().map(str::to_owned);
        problem.0.applied = error.applied().then_some(true);
        if let Fault::Unexpected { id } = &error {
            problem.0.instance = Some(format!("urn:fuseboard:error:{id}"));
        }
        problem
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // Plain strings and numbers: this cannot fail, and an empty body would still carry the status.
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let mut response = (status, Body::from(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        response
    }
}

/// Nothing lives at this address. A nested router's own view of it lacks what stands before.
pub async fn not_found(OriginalUri(uri): OriginalUri) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, format!("Nothing lives at {}.", uri.path()))
}

/// Something does, but it does not take this method; the router adds `Allow`.
pub async fn wrong_method(method: Method, OriginalUri(uri): OriginalUri) -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        format!("{} does not take {method}; the header Allow says what it takes.", uri.path()),
    )
}

/// A handler panicked: answered like any other unexpected error.
pub fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&'static str>().copied())
        .unwrap_or("no message");
    Problem::from(Fault::unexpected(format_args!("a handler panicked: {text}"))).into_response()
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    #[tokio::test]
    async fn an_unexpected_error_answers_a_fixed_text_and_an_id() {
        let response = panicked(Box::new("secret path"));
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
        let body = to_bytes(response.into_body(), 4096).await.expect("a body");
        let wire: Wire = serde_json::from_slice(&body).expect("problem+json");
        let detail = wire.detail.expect("a detail");
        assert!(!detail.contains("secret"), "{detail}");
        let id = wire.instance.and_then(|urn| urn.strip_prefix("urn:fuseboard:error:").map(str::to_owned));
        assert!(id.is_some_and(|id| detail.contains(&id)));
    }

    #[test]
    fn a_field_is_named_in_the_member_and_in_words() {
        let problem = Problem::field("reason", "must be said");
        assert_eq!(problem.wire().status, 422);
        assert_eq!(problem.wire().title, "Unprocessable Entity");
        assert_eq!(problem.wire().field.as_deref(), Some("reason"));
        assert_eq!(problem.wire().detail.as_deref(), Some("reason: must be said."));
        assert_eq!(problem.wire().applied, None);
    }
}
