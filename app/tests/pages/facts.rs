//! A backend made of fixed facts: one breaker for each word of state, at 03:00 UTC.

use std::sync::atomic::{AtomicBool, Ordering};

use fuseboard_app::{
    backend::{About, Backend, BreakerFilter, IncidentFilter, Refusal, Stretch},
    wire::{
        action::{Action, ActionAnswer, ActionResult, BulkAction},
        breaker::{Breaker, BreakerList, Counts, Mode, Override, Recovery, Round, Rule, State},
        command::{Said, Undo},
        event::{Audit, Page, Probe, StoreHealth, Transition},
        incident::{Incident, IncidentDetail, IncidentKind, ProbeTally, Refusals, Wait},
        settings::{Reloaded, Settings},
        time::Time,
        timeline::{Availability, Calls, Lane, Moment, ProbeMarks, Timeline},
    },
};
use serde_json::json;

pub(crate) const NOW: i64 = 1_796_007_600_000;
const MINUTE: i64 = 60_000;

fn at(ms: i64) -> Time {
    Time::from_micros(ms * 1_000)
}

#[derive(Default)]
pub(crate) struct Facts {
    pub(crate) empty: bool,
    /// The browser may take the page over.
    pub(crate) script: bool,
    /// Started a minute ago.
    pub(crate) young: bool,
    pub(crate) failing: AtomicBool,
    pub(crate) acts: std::sync::Mutex<Vec<String>>,
}

fn breaker(id: &str, names: &[&str]) -> Breaker {
    Breaker {
        id: id.into(),
        upstreams: names.iter().map(|name| (*name).into()).collect(),
        protocol: "http".into(),
        services: Vec::new(),
        policy: "registry".into(),
        state: State::Closed,
        held: None,
        since: at(NOW - 400 * MINUTE),
        generation: 1,
        attempt: 0,
        next_probe_at: None,
        probe_due: false,
        cooldown_until: None,
        in_flight: 2,
        down_since: None,
        refused_since_down: 0,
        opens: 1,
        wait_ms: None,
        half_open: Round { permits: 1, in_flight: 0, good: 0, needed: 1 },
        calls_per_min: 118,
        refused_per_min: 0,
        counts: Counts { success: 12_041, ..Counts::default() },
        rules: vec![Rule {
            rule: "failures".into(),
            have: Some(1.0),
            need: 5.0,
            within_ms: Some(10_000),
            min_calls: None,
            slow_after_ms: None,
        }],
        recovery: Recovery { first_ms: 30_000, factor: 2.0, max_ms: 300_000, jitter: 0.1, lease_ms: 40_000 },
        failure_rate: Some(0.004),
        p50_ms: Some(11.2),
        p95_ms: Some(84.0),
        opened: None,
        last_transition: None,
        called: true,
    }
}

fn open(id: &str, names: &[&str], for_min: i64, probe_in_ms: i64, refused: u64) -> Breaker {
    Breaker {
        state: State::Open,
        since: at(NOW - MINUTE),
        attempt: 6,
        next_probe_at: Some(at(NOW + probe_in_ms)),
        probe_due: probe_in_ms <= 0,
        down_since: Some(at(NOW - for_min * MINUTE)),
        refused_since_down: 212,
        refused_per_min: refused,
        calls_per_min: refused,
        wait_ms: Some(300_000),
        failure_rate: None,
        p50_ms: None,
        p95_ms: None,
        last_transition: Some(trip(id, NOW - for_min * MINUTE)),
        ..breaker(id, names)
    }
}

fn held(id: &str, names: &[&str], mode: Mode, until: Option<i64>, state: State) -> Breaker {
    let held = Override {
        mode,
        reason: "the CDN moves <b>tonight</b>".into(),
        by: "unverified: ana".into(),
        since: at(NOW - 22 * MINUTE),
        until: until.map(at),
    };
    Breaker { state, held: Some(held), ..breaker(id, names) }
}

pub(crate) fn trip(id: &str, at_ms: i64) -> Transition {
    let call = json!({"at": at(at_ms), "outcome": "failure", "phase": "connect", "latency_ms": 5_000.0,
        "error": "connect timed out <script>alert(1)</script>", "method": "GET", "path": "/lodash"});
    let cause = json!({"kind": "tripped", "rule": "failures", "counts": {"have": 5, "calls": 5},
        "threshold": {"need": 5, "within_ms": 10_000}, "wait_ms": 30_000, "phase": "connect", "evidence": vec![call; 5]});
    row(5, id, at_ms, State::Closed, State::Open, cause)
}

fn incident(id: u64, end_ms: Option<i64>) -> Incident {
    let breaker = "https:registry.example".to_owned();
    let start = NOW - 90 * MINUTE;
    Incident {
        id,
        node: "fuse-1".into(),
        upstreams: vec!["npm".into()],
        kind: IncidentKind::Tripped,
        start: at(start),
        end: end_ms.map(at),
        down_ms: 30 * 60_000,
        unknown_ms: 0,
        cause: trip(&breaker, start).cause,
        actor: None,
        reason: None,
        ended_by: end_ms.map(|_| serde_json::from_value(json!({"kind": "reset"})).expect("a cause")),
        last_seq: end_ms.map(|_| id + 3),
        opens: 1,
        probes: ProbeTally { bad: 3, good: 1, ..ProbeTally::default() },
        calls_failed: 5,
        calls_refused: 212,
        overrides: 0,
        breaker,
    }
}

fn settings() -> Settings {
    let listener = json!({"listen": "127.0.0.1:8080", "public_url": null});
    let upstream = json!({"name": "npm", "url": "https://registry.example/?key=***", "protocol": "http", "services": [],
        "policy": "registry", "key": "origin", "breaker": "https:registry.example", "connect_ms": 5_000,
        "first_byte_ms": 30_000, "between_bytes_ms": 30_000, "client_idle_ms": 30_000, "total_ms": 600_000,
        "concurrent": 256, "waiting": 1_024, "allow_private": false, "follow": true, "redirect_hosts": [],
        "count_429": false, "cooldown": false, "abandoned_after_ms": 5_000, "min_budget_ms": 100, "failures": "408, 5xx",
        "alive": "501, 505", "active_probe": null, "preset": "npm", "rewrite": [], "retry_attempts": 1,
        "retry_base_ms": 500, "retry_max_ms": 5_000, "coalesce": false,
        "headers": [{"name": "authorization", "value": "***"}]});
    let policy = json!({"name": "registry", "trip": [{"rule": "failures", "need": 5.0, "within_ms": 10_000,
        "min_calls": null, "slow_after_ms": null}], "wait_first_ms": 30_000, "wait_factor": 2.0, "wait_max_ms": 300_000,
        "wait_jitter": 0.1, "probes": 1, "successes": 1, "lease_ms": 40_000, "alive_breaks_run": false});
    let all = json!({"node": "fuse-1", "file": "fuseboard.toml", "loaded_at": at(NOW), "gateway": listener,
        "admin": listener, "ops": null, "store": {"url": "sqlite:fuseboard.db", "keep_probes_ms": 2_592_000_000_u64,
        "keep_transitions_ms": 94_608_000_000_u64, "keep_calls_ms": 31_536_000_000_u64,
        "keep_audit_ms": 94_608_000_000_u64, "journal_max_bytes": 64_000_000, "max_size_bytes": 10_000_000_000_u64,
        "size_bytes": 12_300_000},
        "panel_max": 10_000, "policies": [policy], "upstreams": [upstream], "warnings": ["look at <this>"],
        "feed_streams": 3});
    serde_json::from_value(all).expect("settings")
}

fn row(seq: u64, id: &str, at_ms: i64, from: State, to: State, cause: serde_json::Value) -> Transition {
    Transition {
        seq,
        node: "fuse-1".into(),
        breaker: id.into(),
        at: at(at_ms),
        from,
        to,
        held: None,
        generation: seq,
        cause: serde_json::from_value(cause).expect("a cause"),
        actor: None,
        reason: None,
    }
}

pub(crate) fn all() -> Vec<Breaker> {
    let mut half = open("https:crates.example", &["cargo"], 4, 0, 3);
    (half.state, half.next_probe_at, half.probe_due) = (State::HalfOpen, None, false);
    half.half_open.in_flight = 1;
    let mut cooling = breaker("https:api.limits.example", &["limits"]);
    cooling.cooldown_until = Some(at(NOW + 42_000));
    cooling.last_transition =
        Some(row(4, "x", NOW, State::Closed, State::Closed, json!({"kind": "cooldown_started", "wait_ms": 60_000})));
    let mut waiting = breaker("https:pypi.example", &["pip"]);
    (waiting.called, waiting.calls_per_min, waiting.p95_ms) = (false, 0, None);
    vec![
        held("http:127.0.0.1:9007", &["shadow"], Mode::ForcedClosed, Some(NOW + 38 * MINUTE), State::Open),
        open("https:registry.example", &["npm"], 108, 134_000, 38),
        open("http:files.eu-central.packages.registry-mirror.example:8443", &["files", "assets"], 3, 21_000, 3),
        open("https:late.example", &["late"], 2, -2_000, 0),
        open("https:legacy-artifacts.example", &["legacy"], 2_000, -90 * MINUTE, 0),
        held("https:old.example", &["old"], Mode::ForcedOpen, None, State::Closed),
        half,
        cooling,
        held("https:moved.example", &["moved"], Mode::ForcedOpen, Some(NOW + 12 * MINUTE), State::Closed),
        breaker("https:good.example", &["good"]),
        breaker("https:maven.example", &["maven"]),
        breaker("http:10.0.4.17:5000", &["containers"]),
        waiting,
    ]
}

fn lane(breaker: &Breaker, stretch: Stretch) -> Lane {
    let length = stretch.to_ms - stretch.from_ms;
    let spot = |share: f64| (length as f64 * share) as u64;
    let down = breaker.down_since.map(|since| (since.millis() - stretch.from_ms).max(0) as u64);
    let mut spans = vec![(0, 'u', '-'), (spot(0.04), 'c', '-')];
    if breaker.id.contains("good") || breaker.id.contains("crates") {
        spans.extend([(spot(0.3), 'o', '-'), (spot(0.42), 'h', '-'), (spot(0.44), 'c', '-')]);
    }
    if let Some(down) = down {
        spans.retain(|span| span.0 < down);
        spans.push((down, 'o', '-'));
        for nth in 1..6 {
            let probe = down + (length as u64 - down.min(length as u64)) * nth / 6;
            spans.extend([(probe, 'h', '-'), (probe + length as u64 / 120, 'o', '-')]);
        }
        if breaker.state == State::HalfOpen {
            spans.push((length as u64 - length as u64 / 60, 'h', '-'));
        }
    }
    if let Some(held) = &breaker.held {
        let since = (held.since.millis() - stretch.from_ms).max(0) as u64;
        spans.retain(|span| span.0 < since);
        spans.push((since, 'c', if held.mode == Mode::ForcedOpen { 'o' } else { 'c' }));
    }
    Lane {
        breaker: breaker.id.clone(),
        from: at(stretch.from_ms),
        to: at(stretch.to_ms),
        at: spans.iter().map(|span| span.0).collect(),
        state: spans.iter().map(|span| span.1).collect(),
        held: spans.iter().map(|span| span.2).collect(),
        down: spans.iter().map(|span| if matches!(span.1, 'o' | 'h') { 1.0 } else { 0.0 }).collect(),
        cooldowns: Vec::new(),
        availability: None,
        calls: None,
        probes: None,
    }
}

fn refused(status: u16, detail: &str) -> Refusal {
    Refusal { status, detail: detail.into(), field: None, applied: false }
}

#[async_trait::async_trait]
impl Backend for Facts {
    async fn about(&self) -> About {
        About {
            node: "fuse-1".into(),
            version: "0.1.0".into(),
            demo: true,
            gateway_url: "http://127.0.0.1:8080".into(),
            store: StoreHealth {
                waiting: 1_204,
                failing_since: self.failing.load(Ordering::Relaxed).then(|| at(NOW - 10 * MINUTE)),
                error: Some("disk full".into()),
                dropped: 0,
            },
            findings: Vec::new(),
            now: at(NOW),
            started: at(if self.young { NOW - MINUTE } else { NOW - 6_000 * MINUTE }),
            cursor: "3-9".into(),
        }
    }

    async fn breakers(&self, _: BreakerFilter) -> Result<BreakerList, Refusal> {
        let breakers = if self.empty { vec![] } else { all() };
        Ok(BreakerList { breakers, as_of: at(NOW), cursor: "3-9".into(), next: None })
    }

    async fn breaker(&self, id: String) -> Result<Breaker, Refusal> {
        all().into_iter().find(|one| one.id == id).ok_or_else(|| refused(404, "There is no breaker 'x'."))
    }

    async fn timeline(&self, _: BreakerFilter, stretch: Stretch) -> Result<Timeline, Refusal> {
        if self.failing.load(Ordering::Relaxed) {
            return Err(refused(503, "The store does not answer."));
        }
        let lanes = all().iter().map(|one| lane(one, stretch)).collect();
        Ok(Timeline { from: at(stretch.from_ms), to: at(stretch.to_ms), step_ms: 1, lanes, next: None })
    }

    async fn lane(&self, id: String, stretch: Stretch) -> Result<Lane, Refusal> {
        let breaker = self.breaker(id).await?;
        let mut lane = lane(&breaker, stretch);
        let steps = ((stretch.to_ms - stretch.from_ms) / MINUTE).min(60) as u64;
        let (quiet, loud) = (|nth: u64| 40 + (nth * 7) % 23, |nth: u64| 30 + (nth * 5) % 17);
        let down =
            |nth: u64| breaker.down_since.is_some_and(|since| stretch.from_ms + nth as i64 * MINUTE > since.millis());
        lane.calls = Some(Calls {
            step_ms: MINUTE as u64,
            at: (0..steps).map(|nth| nth as i64 * MINUTE).collect(),
            ok: (0..steps).map(|nth| if down(nth) { 0 } else { quiet(nth) }).collect(),
            failed: (0..steps).map(|nth| if down(nth) { 1 } else { u64::from(nth % 9 == 0) }).collect(),
            refused: (0..steps).map(|nth| if down(nth) { loud(nth) } else { 0 }).collect(),
            p50_ms: (0..steps).map(|nth| (!down(nth)).then_some(11.0)).collect(),
            p95_ms: (0..steps).map(|nth| (!down(nth)).then_some(84.0)).collect(),
        });
        lane.availability = Some(Availability { share: Some(0.98765), down_ms: 120_000, ..Availability::default() });
        lane.probes =
            Some(ProbeMarks { at: vec![600_000, 1_500_000, 3_000_000], good: vec![0, 1, 0], bad: vec![1, 0, 1] });
        Ok(lane)
    }

    async fn transitions(&self, id: String, _: u32) -> Result<Page<Transition>, Refusal> {
        let failed = json!({"kind": "probe_failed", "status": 503, "wait_ms": 300_000});
        let rows = vec![
            row(8, &id, NOW - MINUTE, State::HalfOpen, State::Open, failed),
            row(7, &id, NOW - MINUTE - 90, State::Open, State::HalfOpen, json!({"kind": "wait_elapsed"})),
            trip(&id, NOW - 108 * MINUTE),
        ];
        Ok(Page { rows, next: None })
    }

    async fn probes(&self, id: String, _: u32) -> Result<Page<Probe>, Refusal> {
        let probe = Probe {
            seq: 6,
            node: "fuse-1".into(),
            breaker: id,
            at: at(NOW - MINUTE),
            duration_ms: 90.0,
            generation: 3,
            outcome: "failure".into(),
            phase: Some("head".into()),
            why: None,
            status: Some(503),
            code: None,
            sent: None,
            received: None,
            error: None,
            method: Some("GET".into()),
            path: Some("/lodash?token=…".into()),
            synthetic: false,
        };
        Ok(Page { rows: vec![probe], next: None })
    }

    async fn audit(&self, id: Option<String>, _: Option<u64>, _: u32) -> Result<Page<Audit>, Refusal> {
        let row = json!({"seq": 3, "node": "fuse-1", "at": at(NOW - 300 * MINUTE), "action": "reset", "breaker": id,
            "actor": {"name": "unverified: ana", "verified": false, "via": "board"}, "reason": "mirror was replaced"});
        Ok(Page { rows: vec![serde_json::from_value(row).expect("a row")], next: None })
    }

    async fn incidents(&self, filter: IncidentFilter) -> Result<Page<Incident>, Refusal> {
        self.acts.lock().expect("acts").push(format!("incidents {:?} {:?} {:?}", filter.q, filter.open, filter.before));
        let rows = if self.empty { vec![] } else { vec![incident(9, None), incident(5, Some(NOW - 60 * MINUTE))] };
        Ok(Page { next: rows.last().map(|last| last.id), rows })
    }

    async fn incident(&self, id: u64) -> Result<IncidentDetail, Refusal> {
        if id != 5 {
            return Err(refused(404, "There is no incident 6."));
        }
        let one = incident(5, Some(NOW - 60 * MINUTE));
        let refused = |value: &str, count| Refusals { value: value.into(), count };
        Ok(IncidentDetail {
            transitions: vec![trip(&one.breaker, one.start.millis())],
            more_transitions: 3,
            waits: vec![Wait { at: one.start, wait_ms: 30_000, jitter_ms: 1_200 }],
            refused_paths: vec![refused("/lodash?key=***", 200)],
            refused_agents: vec![refused("npm/<b>10</b>", 212)],
            incident: one,
        })
    }

    async fn moment(&self, id: String, from: Time, to: Time) -> Result<Moment, Refusal> {
        self.acts.lock().expect("acts").push(format!("moment {id} {} {}", from.millis(), to.millis()));
        Ok(Moment { transitions: vec![trip(&id, from.millis() - MINUTE)], probes: Vec::new(), more: false })
    }

    async fn act(&self, action: BulkAction) -> Result<ActionAnswer, Refusal> {
        let BulkAction { action: what, ids, reason, for_ms, until, dry_run, by, .. } = action;
        let ids = ids.unwrap_or_default();
        if !dry_run {
            let who = by.unwrap_or_default();
            self.acts.lock().expect("acts").push(format!("{what:?} {ids:?} {reason} {who} {for_ms:?}/{until:?}"));
        }
        let result = |id: &String| {
            let known = all().iter().any(|one| one.id == *id);
            let (status, detail) = match (reason.as_str(), known) {
                ("disk", _) => (503, "It was not written (disk full)."),
                (_, true) => (200, "Done."),
                (_, false) => (404, "There is no breaker 'x'."),
            };
            let undo = (status == 200 && what != Action::Reset).then_some(7);
            let one = json!({"breaker": id, "status": status, "changed": true, "detail": detail, "applied": status == 503,
                "calls_per_min": 3, "replaces": null, "override": null, "undo": undo});
            serde_json::from_value::<ActionResult>(one).expect("a result")
        };
        let results: Vec<_> = ids.iter().map(result).collect();
        let undo = results.iter().find_map(|one| one.undo);
        Ok(ActionAnswer { dry_run, breakers: results.len() as u64, calls_per_min: 0, undo, results })
    }

    async fn undo(&self, command: Undo) -> Result<ActionAnswer, Refusal> {
        self.acts.lock().expect("acts").push(format!("undo {}", command.seq));
        Ok(ActionAnswer { dry_run: false, breakers: 1, calls_per_min: 0, undo: None, results: Vec::new() })
    }

    async fn settings(&self) -> Result<Settings, Refusal> {
        Ok(settings())
    }

    async fn reload(&self, _: Said) -> Result<Reloaded, Refusal> {
        Ok(Reloaded::default())
    }
}
