//! A JSON body, read strictly. What is wrong with it is said in our words, by the field's name and what that takes.

use axum::{
    extract::{FromRequest, Request},
    http::{StatusCode, header},
};
use fuseboard_app::wire::{
    action::BulkAction,
    command::{Release, Reset, Said, SetOverride, Undo},
};
use http_body::Body as _;
use http_body_util::BodyExt;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::error::Category;

use super::super::problem::{Answer, Problem};

/// What can be asked for by a body: each field's name, and what it takes.
pub trait Command: DeserializeOwned {
    /// Name and "must be …".
    const TAKES: &'static [(&'static str, &'static str)];
}

const REASON: (&str, &str) = ("reason", "must be a text");
const BY: (&str, &str) = ("by", "must be a text");
const FOR_MS: (&str, &str) = ("for_ms", "must be a whole number of milliseconds");
const UNTIL: (&str, &str) = ("until", "must be a time like 2026-01-31T12:00:00Z, or null for no end");

impl Command for Reset {
    const TAKES: &'static [(&'static str, &'static str)] = &[REASON, ("end_override", "must be true or false"), BY];
}

impl Command for SetOverride {
    const TAKES: &'static [(&'static str, &'static str)] =
        &[("mode", "must be \"forced_open\" or \"forced_closed\""), REASON, FOR_MS, UNTIL, BY];
}

impl Command for Release {
    const TAKES: &'static [(&'static str, &'static str)] = &[REASON, BY];
}

impl Command for Said {
    const TAKES: &'static [(&'static str, &'static str)] = &[REASON, BY];
}

impl Command for Undo {
    const TAKES: &'static [(&'static str, &'static str)] =
        &[("seq", "must be the number of a row, a whole number"), REASON, BY];
}

impl Command for BulkAction {
    const TAKES: &'static [(&'static str, &'static str)] = &[
        ("action", "must be one of reset, force_open, force_closed, release, probe"),
        ("ids", "must be a list of breakers' ids"),
        ("filter", "must be an object with state, q and upstream, each a text"),
        REASON,
        FOR_MS,
        UNTIL,
        ("end_override", "must be true or false"),
        ("dry_run", "must be true or false"),
        BY,
    ];
}

/// A JSON body.
pub struct Json<T>(pub T);

/// A JSON body that may be left out.
pub struct MaybeJson<T>(pub T);

impl<T: Command + Default, S: Send + Sync> FromRequest<S> for MaybeJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Answer<Self> {
        let typed = request.headers().contains_key(header::CONTENT_TYPE);
        if !typed && request.body().size_hint().exact() == Some(0) {
            return Ok(Self(T::default()));
        }
        Json::from_request(request, state).await.map(|Json(body)| Self(body))
    }
}

impl<T: Command, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _state: &S) -> Answer<Self> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let essence = kind.split(';').next().unwrap_or_default().trim();
        if !essence.eq_ignore_ascii_case("application/json") {
            // Also what keeps a form of a foreign page out: it cannot send this type unasked.
            return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Send the body as application/json."));
        }
        // It was read whole where the request came in.
        let body = request.into_body().collect().await;
        let body = body.map_err(|_| Problem::new(StatusCode::BAD_REQUEST, "The body ended early."))?;
        read(&body.to_bytes()).map(Self)
    }
}

fn read<T: Command>(body: &[u8]) -> Answer<T> {
    // Whether it is JSON at all is asked first: what serde says of a value of the wrong kind may read like bad JSON.
    serde_json::from_slice::<IgnoredAny>(body).map_err(|error| {
        let why = match error.classify() {
            _ if body.trim_ascii().is_empty() => "The body is empty. Send a JSON object.".to_owned(),
            Category::Eof => "The body is not JSON: it ends too early.".to_owned(),
            _ => format!("The body is not JSON: line {} cannot be read at column {}.", error.line(), error.column()),
        };
        Problem::new(StatusCode::BAD_REQUEST, why)
    })?;
    // Fields in a list, by position, would read as well; nobody means that.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(Problem::field("body", "must be a JSON object"));
    }
    let mut from = serde_json::Deserializer::from_slice(body);
    serde_path_to_error::deserialize(&mut from)
        .map_err(|error| at_fault::<T>(&error.path().to_string(), &error.inner().to_string()))
}

/// JSON, but not what is asked for.
fn at_fault<T: Command>(path: &str, error: &str) -> Problem {
    // Which field it is about serde tells by the path, or by its words alone where it is about the object.
    let named = |what: &str| error.strip_prefix(what).and_then(|rest| rest.split('`').next());
    let takes = |field: &str| T::TAKES.iter().find(|(name, _)| *name == field).map(|(_, takes)| *takes);
    // What is wrong inside a field's own object is that field's fault.
    if let Some((field, _)) = path.split_once('.')
        && let Some(takes) = takes(field)
    {
        return Problem::field(field, takes);
    }
    if let Some(field) = named("unknown field `") {
        let known: Vec<_> = T::TAKES.iter().map(|(name, _)| *name).collect();
        return Problem::field(field, format_args!("is not known here; known: {}", known.join(", ")));
    }
    if let Some(field) = named("duplicate field `") {
        return Problem::field(field, "is given twice");
    }
    if let Some(field) = named("missing field `") {
        return Problem::field(field, format_args!("is missing; it {}", takes(field).unwrap_or("must be given")));
    }
    let field = path.split(['.', '[']).next().unwrap_or_default();
    takes(field).map_or_else(|| Problem::field("body", "must be a JSON object"), |takes| Problem::field(field, takes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault<T: Command>(body: &str) -> Option<(u16, Option<String>)> {
        let problem = read::<T>(body.as_bytes()).err()?;
        let detail = problem.wire().detail.clone().unwrap_or_default();
        for theirs in ["expected", "invalid", "u64", "bool", "string", "variant", "EOF", "trailing", "premature"] {
            assert!(!detail.contains(theirs), "{body}: {detail}");
        }
        Some((problem.wire().status, problem.wire().field.clone()))
    }

    fn at(field: &str) -> Option<(u16, Option<String>)> {
        Some((422, Some(field.into())))
    }

    #[test]
    fn a_bad_body_is_refused_by_its_field() {
        let body = fault::<SetOverride>;
        assert_eq!(body(r#"{"mode":"forced_open","until":null}"#), None);
        assert_eq!(body(r#"{"until":null}"#), at("mode"));
        assert_eq!(body(r#"{"mode":"ajar"}"#), at("mode"));
        assert_eq!(body(r#"{"mode":"forced_open","for_ms":-5}"#), at("for_ms"));
        assert_eq!(body(r#"{"mode":"forced_open","until":"soon"}"#), at("until"));
        assert_eq!(body(r#"{"mode":"forced_open","why":"x"}"#), at("why"));
        assert_eq!(body(r#"{"mode":"forced_open","mode":"forced_open"}"#), at("mode"));
        assert_eq!(body("[]"), at("body"));
        assert_eq!(body(r#"["forced_open"]"#), at("body"));
        for text in ["", " \n", "{", r#"{"mode":"forced_open"} x"#, "{mode}", r#"{"mode":"forced_open","for_ms":01}"#] {
            assert_eq!(body(text), Some((400, None)), "{text}");
        }
    }

    /// Every field, with every kind of value it does not take.
    #[test]
    fn what_a_field_takes_is_said_in_our_words() {
        fn all<T: Command>(base: &str) {
            let values = ["true", "5", "-5", "1.5", "1e30", "\"x\"", "\"\"", "[]", "[1]", "{}", r#"{"a":1}"#, "null"];
            for (field, takes) in T::TAKES {
                let mut refused = 0;
                for value in values {
                    let rest = if base.contains(&format!("\"{field}\"")) { "" } else { base };
                    let body = format!("{{{rest}\"{field}\":{value}}}");
                    let Some(problem) = read::<T>(body.as_bytes()).err() else { continue };
                    refused += 1;
                    assert_eq!(fault::<T>(&body), at(field), "{body}");
                    assert_eq!(problem.wire().detail, Some(format!("{field}: {takes}.")), "{body}");
                }
                assert!(refused >= 6, "{field} takes nearly anything");
            }
        }
        all::<Reset>("");
        all::<Release>("");
        all::<Said>("");
        all::<Undo>(r#""seq":1,"#);
        all::<BulkAction>(r#""action":"reset","#);
        all::<SetOverride>(r#""mode":"forced_open","#);
    }
}
