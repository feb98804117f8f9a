//! `GET /export?what=&format=&from=&to=&breaker=&upstream=&q=&open=`: a file, streamed; the last three for incidents.

use axum::{
    body::Body,
    extract::State,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use fuseboard_app::wire::time::Time;
use futures_util::{StreamExt, stream};

use super::{
    input::Query,
    problem::{Answer, Problem},
    state::Admin,
};
use crate::export::{Ask, Export, Format, Only, What};

/// For the description alone: the query is read name by name.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described, never made")]
struct Exported {
    /// Which part of the record.
    #[param(min_length = 1)]
    what: String,
    /// How it is written down; `md`, `ics` and `html` for incidents alone.
    #[param(min_length = 1)]
    format: String,
    /// Not older than this; incidents that overlap it.
    from: Option<Time>,
    /// Older than this.
    to: Option<Time>,
    /// Of this breaker alone.
    #[param(min_length = 1)]
    breaker: Option<String>,
    /// Incidents of this upstream, which may be one that is configured no more.
    #[param(min_length = 1)]
    upstream: Option<String>,
    /// Incidents whose breaker's id or upstream's name contains this.
    #[param(min_length = 1)]
    q: Option<String>,
    /// `true` for incidents that last, `false` for those that are over.
    open: Option<bool>,
}

/// A part of the record as a file.
#[utoipa::path(
    get,
    path = "/api/v1/export",
    operation_id = "export",
    tag = "record",
    params(Exported),
    responses((
        status = 200,
        description = "The file, streamed",
        content(
            (Object = "application/json"),
            (String = "application/x-ndjson"),
            (String = "text/csv"),
            (String = "text/markdown"),
            (String = "text/calendar"),
            (String = "text/html"),
        ),
    )),
)]
pub async fn handle(State(admin): State<Admin>, query: Query) -> Answer<Response> {
    let export = Export::begin(admin.app().clone(), ask(&query)?).await?;
    // The name holds letters, digits, dots, dashes and underscores alone.
    let disposition = HeaderValue::try_from(format!("attachment; filename=\"{}\"", export.file_name()))
        .unwrap_or(HeaderValue::from_static("attachment"));
    let kind = HeaderValue::from_static(export.content_type());

    let mut bytes = Box::pin(export.bytes());
    // What goes wrong before the first byte is answered like anything else; after it, the transfer is aborted.
    let first = bytes.next().await.transpose()?;
    let body = Body::from_stream(stream::iter(first.map(Ok)).chain(bytes));
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_DISPOSITION, disposition),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, body).into_response())
}

fn ask(query: &Query) -> Answer<Ask> {
    query.only(&["what", "format", "from", "to", "breaker", "upstream", "q", "open"])?;
    let text = |name: &str| query.text(name).map(str::to_owned);
    let (from, to) = query.ends()?;
    Ok(Ask {
        what: word(query, "what", &What::WORDS, What::of)?,
        format: word(query, "format", &Format::WORDS, Format::of)?,
        from,
        to,
        breaker: text("breaker"),
        only: Only {
            upstream: text("upstream"),
            q: text("q"),
            open: query.word("open", &["true", "false"])?.map(|word| word == "true"),
        },
    })
}

fn word<T>(query: &Query, name: &str, words: &[&str], of: fn(&str) -> Option<T>) -> Answer<T> {
    let word = query.text(name).and_then(of);
    word.ok_or_else(|| Problem::field(name, format_args!("must be one of {}", words.join(", "))))
}
