use http::HeaderValue;

use super::*;

#[test]
fn default_classification_of_all_codes() {
    let (success, failure, alive) = (Outcome::Success, Outcome::Failure, Outcome::Alive);
    let table = [
        (0, "OK", success),
        (1, "CANCELLED", alive),
        (2, "UNKNOWN", failure),
        (3, "INVALID_ARGUMENT", alive),
        (4, "DEADLINE_EXCEEDED", failure),
        (5, "NOT_FOUND", alive),
        (6, "ALREADY_EXISTS", alive),
        (7, "PERMISSION_DENIED", alive),
        (8, "RESOURCE_EXHAUSTED", failure),
        (9, "FAILED_PRECONDITION", alive),
        (10, "ABORTED", failure),
        (11, "OUT_OF_RANGE", alive),
        (12, "UNIMPLEMENTED", alive),
        (13, "INTERNAL", failure),
        (14, "UNAVAILABLE", failure),
        (15, "DATA_LOSS", failure),
        (16, "UNAUTHENTICATED", alive),
    ];
    let codes = Codes::default();
    let found = Code::ALL.map(|code| (code.number(), code.as_str(), codes.outcome(code)));
    assert_eq!(found, table);
    for (number, name, _) in table {
        let code = Code::from_number(number.into());
        assert_eq!((code.number(), code.to_string().as_str(), Code::from_name(name)), (number, name, Some(code)));
    }
}

#[test]
fn r29_numbers_above_sixteen_are_unknown() {
    for number in [17, 99, 255, 65_536, u32::MAX] {
        assert_eq!(Code::from_number(number), Code::Unknown, "{number}");
    }
    let read = |status: &'static [u8]| {
        let status = HeaderValue::from_bytes(status).expect("a header's value");
        Code::from_headers(&HeaderMap::from_iter([(http::HeaderName::from_static("grpc-status"), status)]))
    };
    assert_eq!(read(b"14"), Some(Code::Unavailable));
    for odd in [&b"17"[..], b"-1", b"+0", b"", b"fourteen", b"14.0", b"99999999999", b"\xff"] {
        assert_eq!(read(odd), Some(Code::Unknown), "{odd:?}");
    }
    let mut twice = HeaderMap::new();
    for (status, code) in [("0", Code::Ok), ("0", Code::Ok), ("14", Code::Unknown)] {
        twice.append("grpc-status", HeaderValue::from_static(status));
        assert_eq!(Code::from_headers(&twice), Some(code), "{twice:?}");
    }
    assert_eq!(Code::from_headers(&HeaderMap::new()), None);
}

#[test]
fn r29_each_client_says_what_codes_prove() {
    let codes = Codes::default()
        .with([Code::NotFound, Code::Unauthenticated], Outcome::Failure)
        .with([Code::Aborted], Outcome::Ignored);
    assert_eq!(codes.outcome(Code::NotFound), Outcome::Failure);
    assert_eq!(codes.outcome(Code::Unauthenticated), Outcome::Failure);
    assert_eq!(codes.outcome(Code::Aborted), Outcome::Ignored);
    let others =
        Code::ALL.into_iter().filter(|code| !matches!(code, Code::NotFound | Code::Unauthenticated | Code::Aborted));
    for code in others {
        assert_eq!(codes.outcome(code), Codes::default().outcome(code), "{code}");
    }
}

#[test]
fn r29_an_http_error_maps_by_its_status() {
    let table = [
        (400, Code::Internal),
        (401, Code::Unauthenticated),
        (403, Code::PermissionDenied),
        (404, Code::Unimplemented),
        (418, Code::Unknown),
        (429, Code::Unavailable),
        (500, Code::Unknown),
        (501, Code::Unknown),
        (502, Code::Unavailable),
        (503, Code::Unavailable),
        (504, Code::Unavailable),
        (505, Code::Unknown),
        (302, Code::Unknown),
    ];
    for (status, code) in table {
        assert_eq!(Code::from_http(StatusCode::from_u16(status).expect("a status")), code, "{status}");
    }
}
