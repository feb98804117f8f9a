//! One thing to do to one breaker: checked, carried out, and said in a sentence, before as after.

use std::time::SystemTime;

use fuseboard_app::wire::{
    action::{Action, BulkAction},
    breaker::Mode as ShownMode,
    command::SetOverride,
    time::Time,
};
use fuseboard_breaker::{Applied, Breaker, By, Mode, Override, OverrideEnd, Snapshot, State, TripRule};

use super::guard;
use crate::{fault::Fault, stamp};

/// What is asked of a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    Reset { end_override: bool },
    Hold { mode: Mode, end: OverrideEnd },
    Release,
}

/// When it ends: the moment that was named, not one a clock read later.
fn end(for_ms: Option<u64>, until: Option<Option<Time>>, now: SystemTime) -> Result<OverrideEnd, Fault> {
    let length = guard::end(for_ms, until, now)?;
    Ok(match until.flatten() {
        Some(until) => OverrideEnd::At(until.0.into()),
        None => length.map_or(OverrideEnd::Never, OverrideEnd::After),
    })
}

impl Order {
    pub(super) fn hold(command: &SetOverride, now: SystemTime) -> Result<Self, Fault> {
        let mode = match command.mode {
            ShownMode::ForcedOpen => Mode::ForcedOpen,
            ShownMode::ForcedClosed => Mode::ForcedClosed,
        };
        Ok(Self::Hold { mode, end: end(command.for_ms, command.until, now)? })
    }

    /// Of a bulk action; none is a probe, which is no order to the breaker alone.
    pub(super) fn of(asked: &BulkAction, now: SystemTime) -> Result<Option<Self>, Fault> {
        let mode = match asked.action {
            Action::ForceOpen => Mode::ForcedOpen,
            Action::ForceClosed => Mode::ForcedClosed,
            other => {
                for (field, given) in [("for_ms", asked.for_ms.is_some()), ("until", asked.until.is_some())] {
                    if given {
                        return Err(Fault::field(field, "is for force_open and force_closed alone; leave it out"));
                    }
                }
                return Ok(match other {
                    Action::Reset => Some(Self::Reset { end_override: asked.end_override }),
                    Action::Release => Some(Self::Release),
                    _ => None,
                });
            }
        };
        Ok(Some(Self::Hold { mode, end: end(asked.for_ms, asked.until, now)? }))
    }

    /// For "… now, but it could not be stored".
    pub(super) fn did(self) -> &'static str {
        match self {
            Self::Reset { .. } => "reset",
            Self::Hold { mode: Mode::ForcedOpen, .. } => "forced open",
            Self::Hold { mode: Mode::ForcedClosed, .. } => "forced closed",
            Self::Release => "released",
        }
    }

    /// The audit row's word, should the breaker itself have nothing to tell.
    pub(super) fn row(self) -> &'static str {
        match self {
            Self::Reset { .. } => "reset",
            Self::Hold { .. } => "override_set",
            Self::Release => "release",
        }
    }

    /// A reset says what led there is to be forgotten; that cannot be put back.
    pub(super) fn can_be_undone(self) -> bool {
        !matches!(self, Self::Reset { .. })
    }

    pub(super) fn carry_out(self, breaker: &Breaker, by: By, reason: &str) -> Result<Applied, Fault> {
        match self {
            Self::Reset { end_override } => breaker
                .reset(by, reason, end_override)
                .map_err(|would_end| Fault::WouldEndOverride(Box::new(would_end.0))),
            Self::Hold { mode, end } => Ok(breaker.set_override(mode, end, by, reason)),
            Self::Release => breaker.release(by, reason).map_err(|_| Fault::NotOverridden),
        }
    }

    /// What [`Self::carry_out`] would do to a breaker that stands like this.
    pub(super) fn foretell(self, before: &Snapshot) -> Result<Applied, Fault> {
        match (self, &before.held) {
            (Self::Reset { end_override: false }, Some(held)) => Err(Fault::WouldEndOverride(Box::new(held.clone()))),
            (Self::Reset { .. }, _) if quiet(before) => Ok(Applied::Quiet),
            (Self::Release, None) => Err(Fault::NotOverridden),
            _ => Ok(Applied::Changed),
        }
    }

    /// In a sentence, as done or as it would be.
    pub(super) fn said(self, before: &Snapshot, applied: Applied, dry_run: bool, now: SystemTime) -> String {
        let by_itself = match before.state {
            State::Closed => "closed",
            State::Open => "open",
            State::HalfOpen => "half-open",
        };
        let mut said = match (self, applied) {
            (_, Applied::Quiet) => "There is nothing to reset".to_owned(),
            (Self::Reset { .. }, _) => tense(dry_run, "Would be closed", "Closed") + " and starts afresh",
            (Self::Hold { end, .. }, _) => {
                let until = match end {
                    OverrideEnd::Never => None,
                    OverrideEnd::After(length) => now.checked_add(length),
                    OverrideEnd::At(until) => Some(until),
                };
                let until = until.map_or_else(
                    || "until somebody releases it".to_owned(),
                    |until| format!("until {}", stamp::time(until).0.format(SECONDS)),
                );
                format!("{} {until}", capital(&tense(dry_run, &format!("would be {}", self.did()), self.did())))
            }
            (Self::Release, _) => tense(dry_run, "Would be released", "Released") + "; by itself it is " + by_itself,
        };
        if let Some(held) = &before.held {
            said += &self.at_whose_cost(held, dry_run);
        }
        said + "."
    }

    fn at_whose_cost(self, held: &Override, dry_run: bool) -> String {
        let name = held.by.name.strip_prefix("unverified: ").unwrap_or(&held.by.name);
        let what = match held.mode {
            Mode::ForcedOpen => "forced open",
            Mode::ForcedClosed => "forced closed",
        };
        let does = match self {
            Self::Hold { mode, .. } if mode == held.mode => tense(dry_run, "changes the end of", "changed the end of"),
            _ => tense(dry_run, "ends", "ended"),
        };
        format!("; this {does} {name}'s override ({what}, \"{}\")", held.reason)
    }
}

const SECONDS: &str = "%Y-%m-%d %H:%M:%S UTC";

fn tense(dry_run: bool, would: &str, did: &str) -> String {
    if dry_run { would } else { did }.to_owned()
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Whether a reset finds nothing to do: the breaker's own rule, read from its snapshot.
fn quiet(before: &Snapshot) -> bool {
    let empty = |rule: &TripRule, have: Option<f64>| match rule {
        TripRule::Failures { .. } | TripRule::Consecutive { .. } => have.is_none_or(|have| have == 0.0),
        TripRule::FailureRate { .. } | TripRule::SlowRate { .. } => have.is_none(),
    };
    before.state == State::Closed
        && before.held.is_none()
        && before.cooldown_until.is_none()
        && before.attempt == 0
        && before.rules.iter().all(|rule| empty(&rule.rule, rule.have))
}
