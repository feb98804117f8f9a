use http::HeaderValue;

use super::*;
use crate::upstream::Statuses;

fn judge(rules: &Classify, code: u16) -> Outcome {
    status(rules, StatusCode::from_u16(code).unwrap())
}

#[test]
fn r23_statuses_prove_what_the_rule_says() {
    let rules = Classify::default();
    for (codes, outcome) in [
        (&[200, 201, 204, 206, 301, 302, 304, 307][..], Outcome::Success),
        (&[400, 401, 403, 404, 407, 409, 410, 418, 422, 451, 501, 505], Outcome::Alive),
        (&[408, 500, 502, 503, 504, 507, 599], Outcome::Failure),
    ] {
        for &code in codes {
            assert_eq!(judge(&rules, code), outcome, "{code}");
        }
    }
}

#[test]
fn r23_lists_may_be_configured() {
    let rules = Classify {
        failures: Statuses::parse(["404", "50x", "500-504"].into_iter().filter(|entry| *entry != "50x")).unwrap(),
        alive: Statuses::parse(["503"]).unwrap(),
        ..Classify::default()
    };
    assert_eq!(judge(&rules, 404), Outcome::Failure);
    assert_eq!(judge(&rules, 503), Outcome::Alive);
    assert_eq!(judge(&rules, 504), Outcome::Failure);
    assert_eq!(judge(&rules, 505), Outcome::Alive);
    assert_eq!(judge(&rules, 408), Outcome::Alive);
}

#[test]
fn r24_a_429_is_alive_unless_it_is_to_count() {
    assert_eq!(judge(&Classify::default(), 429), Outcome::Alive);
    assert_eq!(judge(&Classify { count_429: true, ..Classify::default() }, 429), Outcome::Failure);
}

#[test]
fn r19_retry_after_is_read_as_seconds_or_a_date_and_nonsense_is_ignored() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    let read = |raw: &str| {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_str(raw).unwrap());
        retry_after(&headers, now).map(|found| (found.raw.into_string(), found.wait))
    };
    assert_eq!(read("120"), Some(("120".to_owned(), Duration::from_secs(120))));
    let date = "Sun, 06 Nov 1994 08:51:07 GMT";
    assert_eq!(read(date), Some((date.to_owned(), Duration::from_secs(90))));
    assert_eq!(read("Sun, 06 Nov 1994 08:00:00 GMT").unwrap().1, Duration::ZERO);
    for long in ["18446744073709551615", "18446744073709551616", "99999999999999999999999"] {
        assert_eq!(read(long).unwrap().1, LONGEST_WISH, "{long}");
    }
    let zeros = "0".repeat(LONGEST_RAW);
    assert_eq!(read(&zeros), Some((zeros.clone(), Duration::ZERO)));
    for nonsense in [&*format!("{zeros}1"), "", "soon", "-1", "1.5", "Someday, 06 Nov 1994"] {
        assert_eq!(read(nonsense), None, "{nonsense:?}");
    }
    assert_eq!(retry_after(&HeaderMap::new(), now), None);
}
