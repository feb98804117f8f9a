use http::{HeaderValue, header::HeaderName};

use super::*;

fn read(text: &str) -> Option<Duration> {
    let value = HeaderValue::from_str(text).expect("a header's value");
    timeout(&HeaderMap::from_iter([(HeaderName::from_static("grpc-timeout"), value)]))
}

#[test]
fn r27_a_timeout_is_read_as_it_is_sent() {
    let table = [
        ("1H", Duration::from_secs(3600)),
        ("2M", Duration::from_secs(120)),
        ("3S", Duration::from_secs(3)),
        ("250m", Duration::from_millis(250)),
        ("82u", Duration::from_micros(82)),
        ("99999999n", Duration::from_nanos(99_999_999)),
        ("0n", Duration::ZERO),
        ("99999999H", Duration::from_secs(99_999_999 * 3600)),
    ];
    for (text, wanted) in table {
        assert_eq!(read(text), Some(wanted), "{text}");
    }
    for nonsense in ["", "S", "10", "123456789S", "-1S", "+1S", "1 S", "1s", "1.5S", "1SS", "1é"] {
        assert_eq!(read(nonsense), None, "{nonsense:?}");
    }
    assert_eq!(timeout(&HeaderMap::new()), None);
}

fn judged(end: End, given: Option<u64>, elapsed: u64) -> (Outcome, Code, Option<Phase>, Option<Why>) {
    let budget = Budget { given: given.map(Duration::from_millis), elapsed: Duration::from_millis(elapsed) };
    let Judged { outcome, code, phase, why } = Codes::default().judge(end, budget);
    (outcome, code, phase, why)
}

#[test]
fn r27_an_end_in_the_last_tenth_of_the_budget_is_the_callers_deadline() {
    let deadline = (Outcome::Failure, Code::DeadlineExceeded, Some(Phase::Deadline), None);
    let short = (Outcome::Ignored, Code::DeadlineExceeded, Some(Phase::Deadline), Some(Why::ShortDeadline));
    let ends = [End::TimedOut, End::Cancelled, End::Status(Code::Cancelled), End::Status(Code::DeadlineExceeded)];
    for end in ends {
        assert_eq!(judged(end, Some(1000), 1000), deadline, "{end:?}");
        assert_eq!(judged(end, Some(1000), 900), deadline, "{end:?}");
        assert_eq!(judged(end, Some(100), 90), deadline, "{end:?}");
        assert_eq!(judged(end, Some(99), 90), short, "{end:?}");
    }
    // A status of another kind is the server's own, however late.
    assert_eq!(judged(End::Status(Code::Ok), Some(1000), 999).0, Outcome::Success);
    assert_eq!(judged(End::Status(Code::NotFound), Some(99), 99).0, Outcome::Alive);
    assert_eq!(judged(End::Status(Code::Unavailable), Some(99), 99).0, Outcome::Failure);
}

#[test]
fn r27_an_end_before_it_or_without_a_budget_is_not() {
    for given in [Some(1000), None] {
        let elapsed = 899;
        let gone = (Outcome::Ignored, Code::Cancelled, None, Some(Why::ClientGone));
        assert_eq!(judged(End::Cancelled, given, elapsed), gone);
        let own_limit = (Outcome::Failure, Code::DeadlineExceeded, Some(Phase::Deadline), None);
        assert_eq!(judged(End::TimedOut, given, elapsed), own_limit);
        let servers = (Outcome::Alive, Code::Cancelled, Some(Phase::Trailers), None);
        assert_eq!(judged(End::Status(Code::Cancelled), given, elapsed), servers);
        let late = (Outcome::Failure, Code::DeadlineExceeded, Some(Phase::Trailers), None);
        assert_eq!(judged(End::Status(Code::DeadlineExceeded), given, elapsed), late);
    }
}

#[test]
fn r29_no_status_and_a_broken_connection_are_failures() {
    let failed = |code, phase| (Outcome::Failure, code, Some(phase), None);
    assert_eq!(judged(End::NoStatus, None, 1), failed(Code::Unknown, Phase::Trailers));
    assert_eq!(judged(End::Broken(Phase::Connect), None, 1), failed(Code::Unavailable, Phase::Connect));
    let unseen = (Outcome::Ignored, Code::Unavailable, None, Some(Why::StaleConnection));
    assert_eq!(judged(End::NotProcessed, Some(100), 100), unseen);
    let http = |status| judged(End::Http(StatusCode::from_u16(status).expect("a status")), None, 1);
    assert_eq!(http(503), failed(Code::Unavailable, Phase::Head));
    assert_eq!(http(404), (Outcome::Alive, Code::Unimplemented, Some(Phase::Head), None));
}

#[test]
fn r27_the_least_budget_is_each_clients_own() {
    let codes = Codes::default().min_budget(Duration::from_secs(2));
    let budget = |given| Budget { given: Some(Duration::from_secs(given)), elapsed: Duration::from_secs(given) };
    assert_eq!(codes.judge(End::TimedOut, budget(1)).why, Some(Why::ShortDeadline));
    assert_eq!(codes.judge(End::TimedOut, budget(2)).outcome, Outcome::Failure);
}
