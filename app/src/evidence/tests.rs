use serde_json::json;

use super::*;
use crate::{
    sample::{self, at},
    wire::breaker::State,
};

const HOUR: i64 = 3_600_000;
const AXIS: Axis = Axis { from_ms: 0, to_ms: HOUR, width: 720.0 };

fn strip(spans: &[(u64, char)]) -> Strip {
    Strip::from_lane(&sample::lane("a", 0, HOUR, spans))
}

fn known<'a>(at_ms: i64, strip: &'a Strip, moment: Option<&'a Moment>) -> Known<'a> {
    Known { spot: Spot::on(AXIS, at_ms), strip, axis: AXIS, calls: None, moment, zone: Zone::Utc }
}

fn trip(evidence: serde_json::Value) -> Transition {
    let cause = json!({"kind": "tripped", "rule": "failures", "counts": {"have": 2, "calls": 2},
        "threshold": {"within_ms": 10_000}, "wait_ms": 30_000, "evidence": evidence});
    sample::transition(7, "a", 720_000, State::Closed, State::Open, cause)
}

#[test]
fn a_pinned_card_stays_until_it_is_closed() {
    let (here, there) = (Spot::on(AXIS, 1), Spot::on(AXIS, 2));
    let passing = Card::default().rested(Some(here));
    assert_eq!(passing, Card::Passing(here));
    assert_eq!(passing.rested(Some(there)), Card::Passing(there));
    assert_eq!(passing.rested(None), Card::Shut);
    let pinned = Card::Pinned(here);
    assert_eq!((pinned.rested(Some(there)), pinned.rested(None)), (pinned, pinned), "the pointer goes, the card stays");
    assert_eq!((Card::Shut.spot(), pinned.spot()), (None, Some(here)));
    let shown = |from_ms, to_ms| pinned.within(Zoom { from_ms, to_ms });
    assert_eq!(
        (shown(1, 2), shown(2, 9), shown(0, 1)),
        (pinned, Card::Shut, Card::Shut),
        "what is out of sight is let go"
    );
}

#[test]
fn a_spot_is_as_wide_as_a_pointer() {
    // 720 px for an hour are 5 s a pixel.
    assert_eq!(Spot::on(AXIS, 60_000).around_ms, 25_000);
    assert_eq!(Spot::on(Axis::last(10_000, 10_000, 720.0), 5_000).around_ms, 500, "a second is the least");
}

#[test]
fn stops_are_the_changes_and_the_probes_in_order() {
    let strip = strip(&[(0, 'c'), (720_000, 'o'), (2_520_000, 'c')]);
    let probes = [1_000_000, 720_000, -5, HOUR + 5];
    assert_eq!(stops(&strip, probes.into_iter(), AXIS), [720_000, 1_000_000, 2_520_000]);
}

#[test]
fn it_says_what_it_was_and_how_long() {
    let strip = strip(&[(0, 'c'), (720_000, 'o'), (2_520_000, 'h'), (2_521_000, 'o'), (2_700_000, 'c')]);
    let was = |at_ms| known(at_ms, &strip, None).was().expect("a band");
    assert_eq!(was(1_000_000), "Open; down from 00:12:00 to 00:45:00, 33 min.", "with its probe it is one outage");
    assert_eq!(was(2_520_500), "Half-open; down from 00:12:00 to 00:45:00, 33 min.");
    assert_eq!(was(3_000_000), "Closed since 00:45:00, 15 min.");
    assert_eq!(was(300_000), "Closed until 00:12:00.");
    assert_eq!(was(715_000), "Closed until 00:12:00.", "what is wide is meant where the pointer is");
    let blip = self::strip(&[(0, 'c'), (720_000, 'o'), (721_000, 'c')]);
    let near = known(730_000, &blip, None).was();
    assert_eq!(near.as_deref(), Some("Open from 00:12:00 to 00:12:01, 1 s."), "what is narrow where it is touched");
    let calm = self::strip(&[(0, 'c')]);
    assert_eq!(known(5, &calm, None).was().as_deref(), Some("Closed all of this time."));
    let mut merged = sample::lane("a", 0, HOUR, &[(0, 'c'), (720_000, 'o'), (2_520_000, 'c')]);
    merged.down[1] = 0.02;
    let merged = Strip::from_lane(&merged);
    assert_eq!(
        known(1_000_000, &merged, None).was().as_deref(),
        Some("Open from 00:12:00 to 00:42:00, 30 min, for 2 % of it.")
    );
}

#[test]
fn it_says_what_flowed_in_that_minute_and_nothing_of_one_without_calls() {
    let strip = strip(&[(0, 'c')]);
    let calls = Calls {
        step_ms: 60_000,
        at: vec![-30_000, 90_000],
        ok: vec![3, 1_204],
        failed: vec![0, 5],
        refused: vec![0, 41],
        p50_ms: vec![None, Some(12.0)],
        p95_ms: vec![None, Some(80.0)],
    };
    let said = |at_ms| Known { calls: Some((0, &calls)), ..known(at_ms, &strip, None) }.flowed();
    let want = "1,204 good, 5 failed, 41 refused in the minute from 00:01; median 12 ms, p95 80 ms.";
    assert_eq!(said(149_999).as_deref(), Some(want));
    assert_eq!(said(-1).as_deref(), Some("3 good, 0 failed, 0 refused in the minute from 23:59."));
    assert_eq!((said(30_000), said(150_000)), (None, None));
}

#[test]
fn r12_the_deciding_calls_stand_with_time_outcome_phase_status_latency_and_path() {
    let call = |more: serde_json::Value| {
        let mut call = json!({"at": at(719_000), "outcome": "failure", "latency_ms": 12.0, "method": "GET"});
        call.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        call
    };
    let row = trip(json!([
        call(json!({"status": 503, "phase": "head", "path": "/lodash?token=…"})),
        call(json!({"phase": "connect", "error": "refused <b>", "path": "/x"})),
        call(
            json!({"code": "UNAVAILABLE", "phase": "trailers", "path": "/accounts.v1.Accounts/Get", "sent": 1, "received": 2})
        ),
    ]));
    let strip = strip(&[(0, 'c'), (720_000, 'o')]);
    let moment = Moment { transitions: vec![row], ..Moment::default() };
    let html = known(720_000, &strip, Some(&moment)).html();
    for words in [
        "3 deciding calls:",
        "00:11:59</time> failed · GET /lodash?token=… · answered 503 · after 12 ms",
        "failed · GET /x · could not connect, refused &lt;b&gt; · after 12 ms",
        "GET /accounts.v1.Accounts/Get · answered UNAVAILABLE, 1 message sent, 2 back · after 12 ms",
    ] {
        assert!(html.contains(words), "{words}: {html}");
    }
    assert!(!html.contains("<b>"), "text from outside is text: {html}");
}

#[test]
fn of_many_the_nearest_are_shown_and_what_a_probe_tells_is_told_once() {
    let strip = strip(&[(0, 'c'), (720_000, 'o')]);
    let row = |seq: u64, kind: &str| {
        let at_ms = 720_000 + seq as i64 * 1_000;
        sample::transition(seq, "a", at_ms, State::Open, State::HalfOpen, json!({"kind": kind}))
    };
    let trip = trip(json!([]));
    let noise: Vec<_> = (8..20).map(|seq| row(seq, "wait_elapsed")).collect();
    let moment = Moment { transitions: [vec![trip], noise].concat(), ..Moment::default() };
    let html = known(722_000, &strip, Some(&moment)).html();
    assert!(html.contains("Opened: 2 calls failed") && !html.contains("The wait was over"), "{html}");
    let resets: Vec<_> = (8..13).map(|seq| row(seq, "reset")).collect();
    let many = Moment { transitions: resets, ..Moment::default() };
    let html = known(728_000, &strip, Some(&many)).html();
    assert_eq!(html.matches("reset it").count(), 3, "{html}");
    assert!(
        html.contains("00:12:08</time>") && !html.contains("00:12:12</time>") && html.contains("zoom in"),
        "{html}"
    );
    let only = Moment { transitions: vec![row(9, "wait_elapsed")], ..Moment::default() };
    assert!(known(728_000, &strip, Some(&only)).html().contains("The wait was over"), "better than nothing");
}

#[test]
fn what_was_heard_and_is_not_written_yet_is_on_the_card_once() {
    let spot = Spot::on(AXIS, 720_000);
    let heard =
        [trip(json!([])), sample::transition(3, "a", 5_000, State::Open, State::Closed, json!({"kind": "reset"}))];
    let all = with_heard(&Moment::default(), spot, &heard, &[]);
    assert_eq!(all.transitions.iter().map(|row| row.seq).collect::<Vec<_>>(), [7], "what is elsewhere is not of it");
    assert_eq!(with_heard(&all, spot, &heard, &[]), all, "once");
}

#[test]
fn the_change_before_says_how_long_before_and_rows_stand_in_their_order() {
    let strip = strip(&[(0, 'c'), (720_000, 'o')]);
    let probe = json!({"seq": 9, "node": "n", "breaker": "a", "at": at(1_800_000), "duration_ms": 90.0, "generation": 1,
        "outcome": "failure", "phase": "connect", "status": null, "error": "refused", "method": "HEAD", "path": "/",
        "synthetic": true});
    let moment = Moment {
        transitions: vec![trip(json!([]))],
        probes: vec![serde_json::from_value(probe).expect("a probe")],
        more: true,
    };
    let html = known(1_800_000, &strip, Some(&moment)).html();
    let (change, probe) =
        (html.find("The last change before, 18 min earlier:"), html.find("Failed, could not connect"));
    assert!(change.is_some() && change < probe, "{html}");
    assert!(html.contains("HEAD /") && html.contains("zoom in"), "{html}");
    assert!(known(1, &strip, None).html().contains("Asking the record."));
    assert!(known(1, &strip, Some(&Moment::default())).html().contains("Nothing on record"));
}
