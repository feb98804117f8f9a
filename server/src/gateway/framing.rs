//! What two servers in a row could read differently is not passed on: a host named twice or not at all (RFC 9112, 3.2) and
//! codings we would drop without undoing them (RFC 9112, 6.1).

use fuseboard_fetch::is_coded;
use http::{HeaderMap, StatusCode, Version, header};

/// Why a request is not passed on, if it is not.
pub(super) fn fault(version: Version, headers: &HeaderMap) -> Option<(StatusCode, &'static str)> {
    let hosts = headers.get_all(header::HOST).iter().count();
    if hosts > 1 {
        return Some((StatusCode::BAD_REQUEST, "The request names more than one Host. Send one."));
    }
    if hosts == 0 && version == Version::HTTP_11 {
        return Some((StatusCode::BAD_REQUEST, "HTTP/1.1 requires a Host header. Send one."));
    }
    if is_coded(headers) {
        let why =
            "Of transfer codings only chunked is understood here. Send the body as it is, or with Content-Encoding.";
        return Some((StatusCode::NOT_IMPLEMENTED, why));
    }
    None
}
