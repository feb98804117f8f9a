//! Incidents in words.

use super::{Deciding, actor, cause::tripped, met_where, reason_of, sentence, upper};
use crate::{
    format::{self, count, lasted, some},
    wire::incident::{Incident, IncidentKind, ProbeTally, Wait},
};

/// How long it lasted, or lasts so far.
pub fn length_ms(one: &Incident, now_ms: i64) -> i64 {
    (one.end.map_or(now_ms, |end| end.millis()) - one.start.millis()).max(0)
}

/// What it was, in a line without the host: `down for 12 min`, `held open for 2 h so far`.
pub fn headline(one: &Incident, now_ms: i64) -> String {
    let (what, ms) = match one.kind {
        // Less than it lasted where an override let calls through, or nobody watched.
        IncidentKind::Tripped => ("down for", one.down_ms as i64),
        IncidentKind::Held => ("held open for", length_ms(one, now_ms)),
    };
    let so_far = if one.end.is_none() { " so far" } else { "" };
    format!("{what} {}{so_far}", lasted(ms))
}

/// Why it began: `5 calls failed in 10 s (could not connect)`.
pub fn why(one: &Incident) -> String {
    let cause = &one.cause;
    match (one.kind, cause.kind.as_str()) {
        (IncidentKind::Held, _) => {
            let who = one.actor.as_ref().map_or("Somebody".into(), actor);
            format!("{who} forced it open{}", reason_of(one.reason.as_deref()))
        }
        (IncidentKind::Tripped, "tripped") => {
            format!("{}{}", upper(&tripped(cause)), met_where(cause).map_or(String::new(), |met| format!(" ({met})")))
        }
        (IncidentKind::Tripped, _) => "It was found open when its record began".into(),
    }
}

/// How it ended; nothing while it lasts.
pub fn ended(one: &Incident) -> Option<&'static str> {
    let cause = one.ended_by.as_ref()?;
    Some(match cause.kind.as_str() {
        "probes_succeeded" => "A good probe closed it.",
        "reset" => "An operator reset it.",
        "override_cleared" => "An operator released it.",
        "override_expired" => "The override reached its end.",
        "override_set" | "override_changed" => "An operator replaced the override that held it open.",
        "evicted" => "It was dropped to make room on the panel.",
        _ => "It closed.",
    })
}

/// What became of its probes: `3 failed, 1 good`.
pub fn probes(tally: &ProbeTally) -> String {
    let parts = [
        (tally.bad, "failed"),
        (tally.lost, "without an answer"),
        (tally.void, "proved nothing"),
        (tally.good, "good"),
    ];
    let said: Vec<_> = parts.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{} {word}", count(*n))).collect();
    if said.is_empty() { "none".into() } else { said.join(", ") }
}

/// The prose its page goes on with after saying how long it lasted and when, a sentence each.
pub fn lead(one: &Incident, waits: &[Wait], now_ms: i64) -> Vec<String> {
    let mut said = vec![sentence(why(one))];
    let length = length_ms(one, now_ms);
    let up = length - one.down_ms as i64 - one.unknown_ms as i64;
    if up >= 1_000 {
        said.push(format!("For {} of that an operator held it closed and calls went through.", lasted(up)));
    }
    if one.unknown_ms >= 1_000 {
        said.push(format!("For {} of it no process watched.", lasted(one.unknown_ms as i64)));
    }
    let longest = waits.iter().map(|wait| wait.wait_ms).max();
    match (one.opens, longest) {
        (2.., Some(longest)) => said.push(format!(
            "It opened {} times and waited up to {} between probes.",
            count(one.opens),
            format::wait(longest as i64)
        )),
        (_, Some(longest)) => said.push(format!("It waited {}.", format::wait(longest as i64))),
        _ => {}
    }
    if one.probes != ProbeTally::default() {
        said.push(format!("Probes: {}.", probes(&one.probes)));
    }
    said.push(format!(
        "{} failed and {} refused.",
        some(one.calls_failed, "call", "calls"),
        some(one.calls_refused, "was", "were"),
    ));
    said.extend(ended(one).map(str::to_owned));
    said
}

/// What the deciding calls have in common, when that says something.
pub fn in_common(calls: &[Deciding]) -> Option<String> {
    let first = &calls.first()?.request;
    let same = calls.len() > 1 && !first.is_empty() && calls.iter().all(|call| call.request == *first);
    let all = if calls.len() == 2 { "Both".to_owned() } else { format!("All {}", calls.len()) };
    same.then(|| format!("{all} asked for the same: a single path may be at fault, not the host."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{
        prose::evidence,
        wire::{
            event::{Actor, Cause},
            time::Time,
        },
    };

    const NOW: i64 = 1_796_007_600_000;

    fn incident(kind: IncidentKind, end_ms: Option<i64>) -> Incident {
        let at = |ms: i64| Time::from_micros(ms * 1_000);
        let cause = json!({"kind": "tripped", "rule": "failures", "counts": {"have": 5, "calls": 5}, "phase": "connect",
            "threshold": {"need": 5, "within_ms": 10_000}, "wait_ms": 30_000});
        Incident {
            id: 5,
            node: "fuse-1".into(),
            breaker: "https:registry.example".into(),
            upstreams: vec!["npm".into()],
            kind,
            start: at(NOW - 720_000),
            end: end_ms.map(at),
            down_ms: 720_000,
            unknown_ms: 0,
            cause: serde_json::from_value(cause).expect("a cause"),
            actor: None,
            reason: None,
            ended_by: None,
            last_seq: None,
            opens: 1,
            probes: ProbeTally::default(),
            calls_failed: 5,
            calls_refused: 1,
            overrides: 0,
        }
    }

    #[test]
    fn an_outage_is_told_from_its_trip_to_its_end() {
        let mut one = incident(IncidentKind::Tripped, Some(NOW));
        one.probes = ProbeTally { good: 1, bad: 3, ..ProbeTally::default() };
        one.opens = 4;
        one.ended_by = serde_json::from_value(json!({"kind": "probes_succeeded", "good": 1})).ok();
        let wait = |wait_ms| Wait { at: one.start, wait_ms, jitter_ms: 0 };
        let said = lead(&one, &[wait(30_000), wait(240_000)], NOW + 60_000);
        assert_eq!(
            said,
            [
                "5 calls failed in 10 s (could not connect).",
                "It opened 4 times and waited up to 4 min between probes.",
                "Probes: 3 failed, 1 good.",
                "5 calls failed and 1 was refused.",
                "A good probe closed it.",
            ]
        );
    }

    #[test]
    fn what_an_operator_holds_open_names_who_and_why_and_that_it_lasts() {
        let mut one = incident(IncidentKind::Held, None);
        one.actor = Some(Actor { name: "unverified: ana".into(), verified: false, via: "board".into() });
        one.reason = Some("the CDN moves.".into());
        assert_eq!(headline(&one, NOW), "held open for 12 min so far");
        assert_eq!(lead(&one, &[], NOW)[0], "ana (unverified) forced it open: the CDN moves.");
        assert_eq!(ended(&one), None);
        one.reason = Some("is it back?".into());
        assert_eq!(lead(&one, &[], NOW)[0], "ana (unverified) forced it open: is it back?");
    }

    #[test]
    fn time_it_was_held_closed_or_nobody_watched_is_said() {
        let mut one = incident(IncidentKind::Tripped, Some(NOW));
        (one.down_ms, one.unknown_ms) = (420_000, 180_000);
        let said = lead(&one, &[], NOW).join(" ");
        assert!(said.contains("For 2 min of that an operator held it closed"), "{said}");
        assert!(said.contains("For 3 min of it no process watched."), "{said}");
    }

    #[test]
    fn a_deciding_call_says_what_it_asked_for_and_what_it_met() {
        let cause: Cause = serde_json::from_value(json!({"kind": "tripped", "evidence": [
            {"at": "2026-11-30T01:12:07.000000Z", "method": "GET", "path": "/a", "status": 503, "phase": "head",
             "latency_ms": 12.0},
            {"method": "GET", "path": "/a", "status": 200, "phase": "body", "error": "connection reset"},
            {"method": "GET", "path": "/a", "phase": "connect"},
            {"outcome": "failure"},
        ]}))
        .expect("a cause");
        let calls = evidence(&cause);
        let met: Vec<_> = calls.iter().map(|call| call.met.as_str()).collect();
        assert_eq!(met, ["answered 503", "answer not complete, connection reset", "could not connect", "failed"]);
        assert_eq!((calls[0].request.as_str(), calls[0].after.as_str()), ("GET /a", "12 ms"));
        assert_eq!(calls[0].at.map(|at| at.millis()), Some(1_796_001_127_000));
        assert_eq!(in_common(&calls), None, "of one nobody knows");
        let same = in_common(&calls[..3]);
        assert_eq!(same.as_deref(), Some("All 3 asked for the same: a single path may be at fault, not the host."));
        let both = in_common(&calls[..2]);
        assert_eq!(both.as_deref(), Some("Both asked for the same: a single path may be at fault, not the host."));
        assert_eq!(in_common(&calls[..1]), None);
    }
}
