//! How a call ended and what that proves, its deadline taken into account.

use std::time::Duration;

use http::{HeaderMap, StatusCode};

use super::{Code, Codes};
use crate::outcome::{Evidence, Outcome, Phase, Verdict, Why};

#[cfg(test)]
mod tests;

/// The `grpc-timeout` of a request: at most eight digits and a unit. Anything else is as good as none.
pub fn timeout(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if !(1..=8).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let amount: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(amount * 3600)),
        "M" => Some(Duration::from_secs(amount * 60)),
        "S" => Some(Duration::from_secs(amount)),
        "m" => Some(Duration::from_millis(amount)),
        "u" => Some(Duration::from_micros(amount)),
        "n" => Some(Duration::from_nanos(amount)),
        _ => None,
    }
}

/// What a call's caller gave the server, and how much of it was used when the call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// The `grpc-timeout`, if the caller brought one.
    pub given: Option<Duration>,
    /// How long the call lasted.
    pub elapsed: Duration,
}

impl Budget {
    /// Used up but for a tenth: timers on both sides are coarse, and a deadline shrinks on its way to the server.
    fn used(self) -> Option<Duration> {
        self.given.filter(|given| self.elapsed >= *given * 9 / 10)
    }
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With this status, in the trailers or in a response that is nothing but trailers.
    Status(Code),
    /// With an HTTP error, from a proxy in between.
    Http(StatusCode),
    /// The server ended the stream and sent no status.
    NoStatus,
    /// The server says it never looked at the call (REFUSED_STREAM, or GOAWAY below its stream), or the connection was gone
    /// before the call was sent.
    NotProcessed,
    /// The connection failed: it could not be made, or it or the stream was reset.
    Broken(Phase),
    /// A timer on our side ran out: the caller's deadline or, before it, our own limit for this server.
    TimedOut,
    /// The caller let go of the call, or we reset it.
    Cancelled,
}

/// What the end of a call proves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judged {
    /// What it proves.
    pub outcome: Outcome,
    /// The code the caller sees or would see.
    pub code: Code,
    /// Where it ended, if it did not end well.
    pub phase: Option<Phase>,
    /// Why it is no evidence, if it is none.
    pub why: Option<Why>,
}

impl Judged {
    /// What it proves, with what is known of the call.
    pub fn verdict(self, known: Evidence) -> Verdict {
        let Self { outcome, code, phase, why } = self;
        Verdict::new(outcome).with_evidence(Evidence {
            status: Some(code.number()),
            code: Some(code.as_str()),
            phase,
            why,
            ..known
        })
    }
}

impl Codes {
    /// What the end of a call proves.
    ///
    /// ```
    /// use std::time::Duration;
    /// use fuseboard_breaker::{Outcome, grpc::{Budget, Code, Codes, End}};
    ///
    /// // The caller gave the server a second and let go after it: that is a server that did not answer.
    /// let budget = Budget { given: Some(Duration::from_secs(1)), elapsed: Duration::from_secs(1) };
    /// assert_eq!(Codes::default().judge(End::Cancelled, budget).outcome, Outcome::Failure);
    /// // It let go at once: that proves nothing.
    /// let budget = Budget { elapsed: Duration::from_millis(3), ..budget };
    /// assert_eq!(Codes::default().judge(End::Cancelled, budget).outcome, Outcome::Ignored);
    /// ```
    pub fn judge(&self, end: End, budget: Budget) -> Judged {
        // A server that gives up at the deadline may do so by a reset without a word.
        let by_deadline = matches!(
            end,
            End::TimedOut | End::Cancelled | End::NoStatus | End::Status(Code::Cancelled | Code::DeadlineExceeded)
        );
        if by_deadline && let Some(given) = budget.used() {
            let (outcome, why) = if given >= self.least_budget() {
                (Outcome::Failure, None)
            } else {
                (Outcome::Ignored, Some(Why::ShortDeadline))
            };
            return Judged { outcome, code: Code::DeadlineExceeded, phase: Some(Phase::Deadline), why };
        }
        let failed = |code, phase| Judged { outcome: Outcome::Failure, code, phase: Some(phase), why: None };
        let ignored = |code, why| Judged { outcome: Outcome::Ignored, code, phase: None, why: Some(why) };
        match end {
            End::Status(code) => self.by_code(code, Phase::Trailers),
            End::Http(status) => self.by_code(Code::from_http(status), Phase::Head),
            End::NoStatus => failed(Code::Unknown, Phase::Trailers),
            End::Broken(phase) => failed(Code::Unavailable, phase),
            End::TimedOut => failed(Code::DeadlineExceeded, Phase::Deadline),
            End::NotProcessed => ignored(Code::Unavailable, Why::StaleConnection),
            End::Cancelled => ignored(Code::Cancelled, Why::ClientGone),
        }
    }

    fn by_code(&self, code: Code, phase: Phase) -> Judged {
        let outcome = self.outcome(code);
        Judged { outcome, code, phase: (code != Code::Ok).then_some(phase), why: None }
    }
}
