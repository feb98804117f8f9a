//! What two servers in a row could read differently is not passed on: a host named twice or not at all (RFC 9112, 3.2) and
//! codings we would drop without undoing them (RFC 9112, 6.1).

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
    let codings = headers.get_all(header::TRANSFER_ENCODING);
    let mut codings = codings.iter().flat_map(|value| value.as_bytes().split(|byte| *byte == b','));
    if codings.any(|coding| !coding.trim_ascii().eq_ignore_ascii_case(b"chunked")) {
        let why =
            "Of transfer codings only chunked is understood here. Send the body as it is, or with Content-Encoding.";
        return Some((StatusCode::NOT_IMPLEMENTED, why));
    }
    None
}
