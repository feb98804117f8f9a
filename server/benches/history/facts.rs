//! Transitions, probes, overrides and audit rows under one sequence, and the incidents they make.

use fuseboard::history::incidents::course::{Course, lasts};
use fuseboard_app::wire::{
    breaker::{Mode, State},
    event::{Actor, Cause, Transition},
    time::Time,
};
use sqlx::SqliteConnection;

use super::{
    BREAKERS, CHUNK, SECOND,
    calls::{self, Down},
    life::{COOLING, HELD, Happening, Step},
    rows::{self, Probe, REASON, Row},
};

/// How hosts fail: phase, status and error of a call, as JSON.
const FAILURES: [(&str, &str, &str); 3] =
    [("connect", "null", "\"connection refused\""), ("head", "null", "\"no answer in 30 s\""), ("head", "503", "null")];
const PATHS: [&str; 3] = ["/lodash", "/simple/requests/", "/se/rd/serde"];

/// One breaker on its way through the year.
struct Stand {
    state: State,
    held: Option<Mode>,
    held_since: i64,
    generation: i64,
    since: i64,
    down_since: Option<i64>,
    attempt: i64,
    opens: i64,
    seq: u64,
    incident: Option<Course>,
    refused: i64,
    refusing_since: Option<i64>,
}

/// Writes all of it; answers what it says about each breaker's calls.
pub(super) async fn write(store: &mut SqliteConnection, all: &[Happening], runs: &[(i64, i64)]) -> Vec<Down> {
    let now = runs[runs.len() - 1].1;
    let stand = |_| Stand {
        state: State::Closed,
        held: None,
        held_since: 0,
        generation: 0,
        since: runs[0].0,
        down_since: None,
        attempt: 0,
        opens: 0,
        seq: 0,
        incident: None,
        refused: 0,
        refusing_since: None,
    };
    let mut stands: Vec<Stand> = (0..BREAKERS).map(stand).collect();
    let mut down: Vec<Down> = (0..BREAKERS).map(|_| Down::default()).collect();
    let mut template = Transition {
        seq: 0,
        node: "seed".into(),
        breaker: String::new(),
        at: Time::from_micros(0),
        from: State::Closed,
        to: State::Closed,
        held: None,
        generation: 0,
        cause: Cause { kind: String::new(), detail: serde_json::Map::new() },
        actor: None,
        reason: None,
    };
    let (mut rows, mut probes, mut courses) = (Vec::new(), Vec::new(), Vec::new());
    let (mut seq, mut boot) = (0, 0);
    for &Happening { at, breaker, step } in all {
        let (stand, down, key) = (&mut stands[breaker], &mut down[breaker], breaker as i64 + 1);
        while at > runs[boot].1 {
            boot += 1;
        }
        let run = boot as i64 + 1;
        if matches!(step, Step::Failed | Step::Closed) {
            seq += 1;
            let good = step == Step::Closed;
            probes.push(Probe { seq, boot: run, key, at: at - 5_000, generation: stand.generation, good });
            if !good {
                down.failed.push((at - 5_000, 1));
            }
            if let Some(incident) = &mut stand.incident {
                incident.probe(if good { "success" } else { "failure" });
            }
        }
        seq += 1;
        let (from, before) = (stand.state, stand.held);
        stand.take(step, at, seq);
        let action = match step {
            Step::Reset => Some("reset"),
            Step::ForcedOpen | Step::ForcedClosed => Some("override_set"),
            Step::Released => Some("release"),
            _ => None,
        };
        let short = cause(step, breaker, at);
        if step == Step::Tripped {
            down.failed.push((at, 5));
        }
        // Only what an incident keeps of a cause has to be read.
        if stand.incident.is_none() || matches!(step, Step::Closed | Step::Reset | Step::Expired | Step::Released) {
            template.cause = serde_json::from_str(&short).expect("a cause");
        } else {
            template.cause.kind.clear();
            template.cause.kind.push_str(if step == Step::ForcedClosed { "override_set" } else { "" });
        }
        (template.seq, template.at, template.from, template.to) = (seq, Time::from_micros(at), from, stand.state);
        (template.held, template.actor, template.reason) = (stand.held, None, None);
        if action.is_some() {
            template.actor = Some(Actor { name: "ana".into(), verified: false, via: "board".into() });
            template.reason = Some(REASON.into());
        }
        stand.refuse(down, breaker, at);
        stand.incident = match stand.incident.take() {
            Some(mut incident) => {
                incident.follow(&template);
                Some(incident)
            }
            None => lasts(stand.state, stand.held).then(|| Course::open(run.unsigned_abs(), &template, Vec::new())),
        };
        if stand.incident.as_ref().is_some_and(|incident| incident.ending.is_some()) {
            courses
                .extend(stand.incident.take().map(|incident| (breaker, incident, std::mem::take(&mut stand.refused))));
        }
        let cause = if step == Step::Tripped { with_evidence(&short, breaker, at) } else { short };
        let (to, held, generation) = (stand.state, stand.held, stand.generation);
        rows.push(Row { seq, boot: run, key, at, from, to, before, held, generation, cause, action });
        // The audit row comes right after.
        seq += u64::from(action.is_some());
        if rows.len() >= CHUNK {
            rows::flush(store, &mut rows, &mut probes, &mut courses).await;
        }
    }
    for (breaker, (stand, down)) in stands.iter_mut().zip(&mut down).enumerate() {
        if let Some(since) = stand.refusing_since {
            down.refusing.push((since, now));
            stand.refused += calls::refused(breaker, now - since);
        }
        courses.extend(stand.incident.take().map(|incident| (breaker, incident, stand.refused)));
    }
    rows::flush(store, &mut rows, &mut probes, &mut courses).await;
    for (breaker, stand) in stands.iter().enumerate() {
        stand.save(store, breaker).await;
    }
    down
}

impl Stand {
    /// What a step makes of it.
    fn take(&mut self, step: Step, at: i64, seq: u64) {
        let state = match step {
            Step::Tripped | Step::Failed => State::Open,
            Step::Probing => State::HalfOpen,
            Step::Closed | Step::Reset => State::Closed,
            _ => self.state,
        };
        match step {
            Step::ForcedOpen => self.held = Some(Mode::ForcedOpen),
            Step::ForcedClosed => self.held = Some(Mode::ForcedClosed),
            Step::Released | Step::Expired => self.held = None,
            _ => {}
        }
        if matches!(step, Step::ForcedOpen | Step::ForcedClosed) {
            self.held_since = at;
        }
        if state != self.state {
            self.since = at;
            self.opens += i64::from(state == State::Open && self.state == State::Closed);
        }
        self.attempt = match step {
            Step::Tripped => 1,
            Step::Failed => self.attempt + 1,
            _ if state == State::Closed => 0,
            _ => self.attempt,
        };
        self.down_since = if state == State::Closed { None } else { self.down_since.or(Some(at)) };
        self.state = state;
        self.generation += 1;
        self.seq = seq;
    }

    /// Calls are refused from now on, or no longer.
    fn refuse(&mut self, down: &mut Down, breaker: usize, at: i64) {
        let refuses = match self.held {
            Some(mode) => mode == Mode::ForcedOpen,
            None => self.state != State::Closed,
        };
        match self.refusing_since {
            None if refuses => self.refusing_since = Some(at),
            Some(since) if !refuses => {
                down.refusing.push((since, at));
                self.refused += calls::refused(breaker, at - since);
                self.refusing_since = None;
            }
            _ => {}
        }
    }

    /// What a restart needs of it.
    async fn save(&self, store: &mut SqliteConnection, breaker: usize) {
        let wait = ((30 * SECOND) << (self.attempt - 1).clamp(0, 4)).min(300 * SECOND);
        let open = self.state == State::Open;
        let held = self.held.map(rows::mode_word);
        sqlx::query(
            "UPDATE breakers SET changed_seq = ?, state = ?, since = ?, attempt = ?, wait = ?, next_probe_at = ?,
             down_since = ?, opens = ?, held_mode = ?, held_reason = ?, held_by = ?, held_verified = ?, held_via = ?,
             held_since = ?, held_length = ?, held_until = ? WHERE key = ?",
        )
        .bind(self.seq.cast_signed())
        .bind(rows::state_word(self.state))
        .bind(self.since)
        .bind(self.attempt)
        .bind(if open { wait } else { 0 })
        .bind(open.then_some(self.since + wait))
        .bind(self.down_since)
        .bind(self.opens)
        .bind(held)
        .bind(held.map(|_| REASON))
        .bind(held.map(|_| "ana"))
        .bind(held.map(|_| false))
        .bind(held.map(|_| "board"))
        .bind(held.map(|_| self.held_since))
        .bind(held.map(|_| HELD))
        .bind(held.map(|_| self.held_since + HELD))
        .bind(breaker as i64 + 1)
        .execute(store)
        .await
        .expect("it is written");
    }
}

/// Why a step happened, as JSON, without the calls that decided it.
fn cause(step: Step, breaker: usize, at: i64) -> String {
    let (phase, status, error) = FAILURES[breaker % 3];
    let path = PATHS[breaker / 3 % 3];
    let seen =
        |count| format!(r#""phase":"{phase}","status":{status},"error":{error},"deciding":{count},"path":"{path}""#);
    match step {
        Step::Tripped => format!(
            r#"{{"kind":"tripped","rule":"failures","counts":{{"have":5,"calls":5}},"threshold":{{"need":5,"within_ms":10000}},{},"wait_ms":30000,"jitter_ms":1200}}"#,
            seen(5)
        ),
        Step::Failed => format!(r#"{{"kind":"probe_failed",{},"wait_ms":60000,"jitter_ms":2200}}"#, seen(1)),
        Step::Probing => r#"{"kind":"wait_elapsed"}"#.into(),
        Step::Closed => r#"{"kind":"probes_succeeded","good":1}"#.into(),
        Step::Reset => r#"{"kind":"reset"}"#.into(),
        Step::ForcedOpen | Step::ForcedClosed => {
            format!(r#"{{"kind":"override_set","until":"{}"}}"#, Time::from_micros(at + HELD))
        }
        Step::Released => r#"{"kind":"override_cleared"}"#.into(),
        Step::Expired => r#"{"kind":"override_expired"}"#.into(),
        Step::Cooling => format!(
            r#"{{"kind":"cooldown_started","retry_after":{{"raw":"60","applied_ms":60000}},"wait_ms":{}}}"#,
            COOLING / 1_000
        ),
        Step::Cooled => r#"{"kind":"cooldown_ended"}"#.into(),
    }
}

/// The same with them.
fn with_evidence(cause: &str, breaker: usize, at: i64) -> String {
    let (phase, status, error) = FAILURES[breaker % 3];
    let path = PATHS[breaker / 3 % 3];
    let mut text = cause[..cause.len() - 1].to_owned();
    for call in 0..5 {
        let when = Time::from_micros(at - (4 - call) * 1_700_000);
        let before = if call == 0 { r#","evidence":["# } else { "," };
        text.push_str(before);
        text.push_str(&format!(
            r#"{{"at":"{when}","outcome":"failure","status":{status},"latency_ms":1.2,"phase":"{phase}","error":{error},"method":"GET","path":"{path}","synthetic":false}}"#
        ));
    }
    text.push_str("]}");
    text
}
