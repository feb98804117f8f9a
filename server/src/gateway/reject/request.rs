//! What is wrong with a request that is not sent on at all.

use http::{HeaderValue, StatusCode, header};
use url::Url;

use super::{Answer, Own};
use crate::config::upstreams::Entry;

/// A path that names no upstream.
pub(in crate::gateway) fn unknown_upstream(board: &Url, name: &str, known: &[&str]) -> Own {
    let known = match known {
        [] => "None is configured yet.".to_owned(),
        known => format!("Configured: {}.", known.join(", ")),
    };
    let name: String = name.chars().take(64).collect();
    Answer::new(
        StatusCode::NOT_FOUND,
        "about:blank",
        "No such upstream",
        format!("The path's first part names the upstream, and there is none named {name:?}. {known}"),
    )
    .into_response(board)
}

/// A path that names a host of files that is not the upstream's.
pub(in crate::gateway) fn unknown_files(board: &Url, entry: &Entry, segment: &str) -> Own {
    let segment: String = segment.chars().take(64).collect();
    let name = &entry.upstream.name;
    Answer::new(
        StatusCode::NOT_FOUND,
        "about:blank",
        "No such host of files",
        format!("{name} has no host of files {segment:?}. What its rewrite lists can be reached, and nothing else."),
    )
    .into_response(board)
}

/// A request that is no gRPC call to an upstream that takes nothing else.
pub(in crate::gateway) fn speaks_grpc(board: &Url, upstream: &str) -> Own {
    Answer::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "about:blank",
        "This upstream speaks gRPC",
        format!("{upstream} is called by service name: POST /package.Service/Method over HTTP/2, as application/grpc."),
    )
    .into_response(board)
}

/// gRPC as browsers speak it.
pub(in crate::gateway) fn grpc_web(board: &Url) -> Own {
    Answer::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "about:blank",
        "gRPC-Web is not spoken here",
        "This gateway takes gRPC itself: application/grpc over HTTP/2. Put what turns gRPC-Web into that between it and \
         the browser.",
    )
    .into_response(board)
}

/// `.` and `..` would leave the upstream's prefix.
pub(in crate::gateway) fn dot_segment(board: &Url) -> Own {
    Answer::new(
        StatusCode::BAD_REQUEST,
        "about:blank",
        "The path has a dot segment",
        "\".\" and \"..\", encoded ones too, are not sent on. Ask for the path they lead to.",
    )
    .into_response(board)
}

/// A request that the next server might read as another.
pub(in crate::gateway) fn malformed(board: &Url, status: StatusCode, why: &str) -> Own {
    Answer::new(status, "about:blank", "The request cannot be sent on", why).into_response(board)
}

/// CONNECT and `*` have no path.
pub(in crate::gateway) fn no_path(board: &Url) -> Own {
    let answer = Answer::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "about:blank",
        "Not a request for a path",
        "This gateway answers /{upstream}/{path}; it opens no tunnels.",
    );
    // What has no path takes no method at all.
    allowing(answer.into_response(board), "")
}

/// TRACE asks the host to show the request as it came.
pub(in crate::gateway) fn echo(board: &Url) -> Own {
    let answer = Answer::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "about:blank",
        "The method is not sent on",
        "The host's answer would show the headers this gateway adds, so TRACE is not sent on. Ask the host itself.",
    );
    allowing(answer.into_response(board), "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
}

/// A 405 has to say which methods are taken (RFC 9110, 15.5.6).
fn allowing(mut response: Own, methods: &'static str) -> Own {
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
    response
}

/// Another site's page must not spend the secrets of `headers`.
pub(in crate::gateway) fn cross_site(board: &Url, upstream: &str) -> Own {
    Answer::new(
        StatusCode::FORBIDDEN,
        "about:blank",
        "A page of another site asked",
        format!("{upstream} is called with configured headers, so pages of other sites may not use it."),
    )
    .into_response(board)
}

/// A name that an attacker's DNS may have pointed here.
pub(in crate::gateway) fn misdirected(board: &Url, upstream: &str) -> Own {
    Answer::new(
        StatusCode::MISDIRECTED_REQUEST,
        "about:blank",
        "Not this gateway's name",
        format!(
            "{upstream} is called with configured headers, so its gateway answers only to addresses, names without a \
             dot and gateway.public_url. Set that to the name you use."
        ),
    )
    .into_response(board)
}
