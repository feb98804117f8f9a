//! The operator: reset, override, release, a changed policy. And the panel, which may send it away.

use std::{
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use super::{At, Automatic, Machine, Moment, Standstill};
use crate::{
    command::{Applied, NotOverridden, OverrideEnd, WouldEndOverride},
    event::{By, Cause, Mode, Override},
    policy::Policy,
};

/// No override is longer: enough for anybody, and far from where an addition to a clock could overflow.
const LONGEST_OVERRIDE: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

impl Machine {
    /// Closes and forgets: rule memory, attempt, cool-down and, if it says so, an override. The lifetime counts go on.
    pub(crate) fn reset(
        &mut self,
        moment: Moment,
        by: By,
        reason: &str,
        end_override: bool,
    ) -> Result<Applied, WouldEndOverride> {
        let at = self.enter(moment);
        if let Some(held) = self.held.as_ref().filter(|_| !end_override) {
            return Err(WouldEndOverride(held.shown.clone()));
        }
        if self.is_quiet(at) {
            return Ok(Applied::Quiet);
        }
        let from = self.state();
        self.held = None;
        self.cooldown = None;
        self.close(at);
        self.emit(at.wall, from, Cause::Reset, Some(by), said(reason));
        Ok(Applied::Changed)
    }

    /// Sets an override; of the same one only its end and reason change.
    pub(crate) fn set_override(
        &mut self,
        moment: Moment,
        mode: Mode,
        end: OverrideEnd,
        by: By,
        reason: &str,
    ) -> Applied {
        let at = self.enter(moment);
        let Lasting { ends, length, until } = Lasting::from(at, end);
        let reason_given: Arc<str> = reason.into();
        let shown = match self.held.as_ref().filter(|held| held.shown.mode == mode) {
            Some(held) => Override { reason: reason_given, length, until, ..held.shown.clone() },
            None => Override { mode, reason: reason_given, by: by.clone(), since: at.wall, length, until },
        };
        self.hold(at, Standstill { shown, ends }, by, reason)
    }

    /// Puts an override back as it stood, with whose it was and since when, for what is left of it.
    pub(crate) fn put_back(
        &mut self,
        moment: Moment,
        held: Override,
        end: OverrideEnd,
        by: By,
        reason: &str,
    ) -> Applied {
        let at = self.enter(moment);
        let Lasting { ends, until, .. } = Lasting::from(at, end);
        self.hold(at, Standstill { shown: Override { until, ..held }, ends }, by, reason)
    }

    fn hold(&mut self, at: At, next: Standstill, by: By, reason: &str) -> Applied {
        let (state, mode) = (self.state(), next.shown.mode);
        let cause = if self.mode() == Some(mode) { Cause::OverrideChanged } else { Cause::OverrideSet };
        self.held = Some(Box::new(next));
        if cause == Cause::OverrideSet {
            self.went_down |= mode == Mode::ForcedOpen && matches!(self.state, Automatic::Closed);
            self.begin_generation();
        }
        self.emit(at.wall, state, cause, Some(by), said(reason));
        Applied::Changed
    }

    /// Ends an override; the automatic state takes over as it stands.
    pub(crate) fn release(&mut self, moment: Moment, by: By, reason: &str) -> Result<Applied, NotOverridden> {
        let at = self.enter(moment);
        if self.held.is_none() {
            return Err(NotOverridden);
        }
        self.end_override(at, Cause::OverrideCleared, Some(by), said(reason));
        Ok(Applied::Changed)
    }

    pub(super) fn end_override(&mut self, at: At, cause: Cause, by: Option<By>, reason: Option<Arc<str>>) {
        self.held = None;
        self.begin_generation();
        self.emit(at.wall, self.state(), cause, by, reason);
    }

    /// Takes over the new policy. Unchanged rules keep their memory, a drawn wait is cut to the new `max`.
    pub(crate) fn set_policy(&mut self, moment: Moment, policy: Policy) {
        let at = self.enter(moment);
        if self.policy == policy {
            return;
        }
        self.memory.change_policy(&self.policy, &policy);
        let max = policy.settings().wait.max;
        self.policy = policy;
        match &mut self.state {
            Automatic::Closed => {}
            Automatic::Open(waiting) => {
                let cut = waiting.wait.saturating_sub(max);
                waiting.wait -= cut;
                waiting.until = waiting.until.checked_sub(cut).unwrap_or(at.now);
                waiting.next_probe_at = waiting.next_probe_at.checked_sub(cut).unwrap_or(at.wall);
            }
            Automatic::HalfOpen(round) => round.wait = round.wait.min(max),
        }
        self.emit(at.wall, self.state(), Cause::PolicyChanged, None, None);
    }

    /// Sends it away for good: an open one says so in a row, and nothing is heard of it afterwards.
    pub(crate) fn retire(&mut self, moment: Moment) {
        let at = self.enter(moment);
        if !matches!(self.state, Automatic::Closed) {
            let from = self.state();
            self.close(at);
            self.emit(at.wall, from, Cause::Evicted, None, None);
        }
        self.retired = true;
    }

    /// A change of override begins afresh: a closed state with cleared memory, a half-open one with all permits free and
    /// those that are out late.
    fn begin_generation(&mut self) {
        self.generation += 1;
        match &mut self.state {
            Automatic::Closed => self.memory.clear(&self.policy),
            Automatic::Open(waiting) => waiting.outside = None,
            Automatic::HalfOpen(round) => {
                round.good = 0;
                round.out.clear();
            }
        }
    }

    fn is_quiet(&mut self, at: At) -> bool {
        matches!(self.state, Automatic::Closed)
            && self.held.is_none()
            && self.cooldown.is_none()
            && self.attempt == 0
            && self.memory.prune(&self.policy, at.now)
    }
}

/// An override's end on both clocks.
struct Lasting {
    ends: Option<Instant>,
    length: Option<Duration>,
    until: Option<SystemTime>,
}

impl Lasting {
    fn from(at: At, end: OverrideEnd) -> Self {
        let length = match end {
            OverrideEnd::Never => None,
            OverrideEnd::After(length) => Some(length.min(LONGEST_OVERRIDE)),
            OverrideEnd::At(until) => Some(until.duration_since(at.wall).unwrap_or_default().min(LONGEST_OVERRIDE)),
        };
        Self {
            ends: length.and_then(|length| at.now.checked_add(length)),
            length,
            until: length.and_then(|length| at.wall.checked_add(length)),
        }
    }
}

fn said(reason: &str) -> Option<Arc<str>> {
    (!reason.is_empty()).then(|| reason.into())
}
