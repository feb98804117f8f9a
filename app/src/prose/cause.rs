//! Why something changed, from the row's cause.

use serde_json::Value;

use super::{outcome, phase};
use crate::{
    format::{self, duration},
    wire::{event::Cause, time::Time},
};

pub(super) fn text<'a>(cause: &'a Cause, field: &str) -> Option<&'a str> {
    cause.detail.get(field).and_then(Value::as_str)
}

pub(super) fn ms(cause: &Cause, field: &str) -> Option<i64> {
    cause.detail.get(field).and_then(Value::as_i64)
}

/// What the deciding calls ran into: `could not connect`, `answered 503`. From the summary, or from the evidence. A
/// status says it all only where nothing went wrong after it.
pub fn met(cause: &Cause) -> Option<String> {
    let last = cause.detail.get("evidence").and_then(Value::as_array).and_then(|calls| calls.last());
    let field = |name: &str| cause.detail.get(name).or_else(|| last.and_then(|call| call.get(name)));
    let word = field("phase").and_then(Value::as_str);
    let code = field("code").and_then(Value::as_str);
    let status = field("status").and_then(Value::as_u64).filter(|_| matches!(word, None | Some("head")));
    answered(status, code, word).or_else(|| word.map(|word| phase(word).to_owned()))
}

/// The host's answer: a status, or a gRPC code by its name. The code of a call that ended on its way is not the host's.
pub fn answered(status: Option<u64>, code: Option<&str>, word: Option<&str>) -> Option<String> {
    match code {
        Some(code) => matches!(word, None | Some("head" | "trailers")).then(|| format!("answered {code}")),
        None => status.map(|status| format!("answered {status}")),
    }
}

/// What the deciding calls asked for, where that is one path: `all 5 on one path`. From the summary, or from the evidence.
fn on_path(cause: &Cause) -> Option<String> {
    let calls = cause.detail.get("evidence").and_then(Value::as_array);
    let deciding = cause.detail.get("deciding").and_then(Value::as_u64).or(calls.map(|calls| calls.len() as u64))?;
    let path = match (cause.detail.get("path"), calls) {
        (Some(path), _) => path.as_str()?,
        (None, Some(calls)) => {
            let path = |call: &Value| call.get("path").and_then(Value::as_str).map(str::to_owned);
            let first = calls.first().and_then(path)?;
            return calls
                .iter()
                .all(|call| path(call).as_deref() == Some(&first))
                .then(|| one_path(cause, deciding, &first));
        }
        (None, None) => return None,
    };
    Some(one_path(cause, deciding, path))
}

fn one_path(cause: &Cause, deciding: u64, path: &str) -> String {
    let have = cause.detail.get("counts").and_then(|counts| counts.get("have")).and_then(Value::as_u64);
    match (deciding, have) {
        (1, _) => format!("on {path}"),
        // No more than twenty calls are kept.
        (_, Some(have)) if have > deciding => format!("the last {deciding} on one path"),
        (2, _) => "both on one path".into(),
        _ => format!("all {deciding} on one path"),
    }
}

/// What the deciding calls ran into and where: `could not connect, all 5 on one path`.
pub fn met_where(cause: &Cause) -> Option<String> {
    let said: Vec<String> = met(cause).into_iter().chain(on_path(cause)).collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// How many messages went both ways, where they were counted: `1 message sent, 2 back`.
pub fn messages(sent: Option<u64>, received: Option<u64>) -> Option<String> {
    let (sent, received) = (sent?, received?);
    Some(format!("{} sent, {} back", format::some(sent, "message", "messages"), format::count(received)))
}

/// What tripped it: `5 calls failed in 10 s`.
pub(super) fn tripped(cause: &Cause) -> String {
    let number = |object: &str, field: &str| cause.detail.get(object).and_then(|value| value.get(field));
    let have = number("counts", "have").and_then(Value::as_u64);
    let calls = number("counts", "calls").and_then(Value::as_u64);
    let within = number("threshold", "within_ms").and_then(Value::as_i64);
    let within = within.map_or(String::new(), |within| format!(" in {}", duration(within)));
    match (text(cause, "rule"), have, calls) {
        (Some("failures"), Some(have), _) => format!("{} failed{within}", format::some(have, "call", "calls")),
        (Some("consecutive"), Some(have), _) => {
            format!("{} failed in a row{within}", format::some(have, "call", "calls"))
        }
        (Some("failure_rate"), Some(have), Some(calls)) => format!("{have} of {calls} calls failed{within}"),
        (Some("slow_rate"), Some(have), Some(calls)) => format!("{have} of {calls} calls were slow{within}"),
        _ => "Too many calls failed".into(),
    }
}

/// The host's own wish as it was sent, and what of it was granted: the policy's longest wait caps it.
pub(super) fn wish(cause: &Cause) -> String {
    let wish = |field: &str| cause.detail.get("retry_after")?.get(field);
    let (Some(raw), Some(applied)) = (wish("raw").and_then(Value::as_str), wish("applied_ms").and_then(Value::as_i64))
    else {
        return String::new();
    };
    format!(" The host said Retry-After: {raw}, and got {}.", duration(applied))
}

/// One of the calls that decided.
#[derive(Debug, Clone, PartialEq)]
pub struct Deciding {
    /// When it ended.
    pub at: Option<Time>,
    /// How it counted.
    pub outcome: String,
    /// Method and path; empty where nobody knows.
    pub request: String,
    /// What came of it.
    pub met: String,
    /// How long it took; empty where nobody measured.
    pub after: String,
}

impl Deciding {
    /// In a line: `GET /lodash · answered 503 · after 12 ms`.
    pub fn said(&self) -> String {
        let after = if self.after.is_empty() { String::new() } else { format!("after {}", self.after) };
        let parts = [self.request.as_str(), &self.met, &after];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
    }
}

/// The calls that decided, in order.
pub fn evidence(cause: &Cause) -> Vec<Deciding> {
    let calls = cause.detail.get("evidence").and_then(Value::as_array);
    calls.into_iter().flatten().map(deciding).collect()
}

fn deciding(call: &Value) -> Deciding {
    let text = |name: &str| call.get(name).and_then(Value::as_str);
    let number = |name: &str| call.get(name).and_then(Value::as_u64);
    let word = text("phase");
    // A status says it all only where nothing went wrong after it.
    let status = number("status").filter(|_| matches!(word, None | Some("head")));
    let answer = answered(status, text("code"), word).or_else(|| word.map(|word| phase(word).to_owned()));
    let mut met: Vec<String> = answer.into_iter().collect();
    met.extend(messages(number("sent"), number("received")));
    met.extend(text("error").map(str::to_owned));
    let outcome = outcome(text("outcome").unwrap_or("failure")).to_owned();
    if met.is_empty() {
        met.push(outcome.clone());
    }
    Deciding {
        outcome,
        at: call.get("at").and_then(|at| serde_json::from_value(at.clone()).ok()),
        request: [text("method"), text("path")].into_iter().flatten().collect::<Vec<_>>().join(" "),
        met: met.join(", "),
        after: call.get("latency_ms").and_then(Value::as_f64).map(format::latency).unwrap_or_default(),
    }
}
