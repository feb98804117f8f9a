//! Who may call. In this order: forced open, forced closed, open or half-open, cool-down, closed.

use std::{sync::Arc, time::Duration};

use super::{At, Automatic, Machine, Moment, ProbeMark};
use crate::{
    event::{Cause, Mode, State},
    refusal::RefusedReason,
};

/// When it is worth asking again while every probe permit is out: they come back at any moment.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// A call.
    Call,
    /// An operator: before the wait is over one request outside it.
    ProbeNow,
}

/// What an admitted call is to the machine.
#[derive(Debug)]
pub(crate) enum Grant {
    /// Its verdict counts while the generation stands.
    Counted,
    /// Let through by forced closed alone; the machine takes no notice of what it proves.
    Unseen,
    /// Its verdict decides the round.
    Probe(Arc<ProbeMark>),
}

/// Why a call is not admitted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Refusal {
    pub(crate) reason: RefusedReason,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) state: State,
    pub(crate) mode: Option<Mode>,
}

/// How a call goes in, before anything is reserved for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Counted,
    Unseen,
    /// One of the round's permits; while open it begins the round.
    Probe,
    /// An operator's probe while open: one at a time, and the wait stays as it is.
    Outside,
}

type NoWay = (RefusedReason, Option<Duration>);

impl Machine {
    /// Decides and reserves in one step. The generation goes into the permit.
    pub(crate) fn admit(&mut self, moment: Moment, ask: Ask) -> Result<(u64, Grant), Refusal> {
        let at = self.enter(moment);
        match self.way(at, ask) {
            Ok(way) => {
                let grant = self.reserve(at, way);
                Ok((self.generation, grant))
            }
            Err(no_way) => Err(self.refusal(no_way)),
        }
    }

    /// Why a call would be refused now; reserves nothing. Does what is due, as every input.
    #[cfg(feature = "tower")]
    pub(crate) fn refuses(&mut self, moment: Moment) -> Option<Refusal> {
        let at = self.enter(moment);
        self.way(at, Ask::Call).err().map(|no_way| self.refusal(no_way))
    }

    /// Whether a call would have been refused at the last input.
    #[cfg(feature = "tower")]
    pub(crate) fn refuses_now(&self) -> bool {
        self.way(At { now: self.last, wall: self.anchor.1 }, Ask::Call).is_err()
    }

    fn refusal(&self, (reason, retry_after): NoWay) -> Refusal {
        Refusal { reason, retry_after, state: self.state(), mode: self.mode() }
    }

    fn way(&self, at: At, ask: Ask) -> Result<Way, NoWay> {
        match self.mode() {
            Some(Mode::ForcedOpen) => Err((RefusedReason::ForcedOpen, self.held_for(at))),
            Some(Mode::ForcedClosed) => Ok(self.way_by_state(at, ask).unwrap_or(Way::Unseen)),
            None => self.way_by_state(at, ask),
        }
    }

    fn way_by_state(&self, at: At, ask: Ask) -> Result<Way, NoWay> {
        let taken = Err((RefusedReason::ProbesTaken, Some(ASK_AGAIN)));
        match &self.state {
            Automatic::Closed => match &self.cooldown {
                Some(cooldown) => {
                    Err((RefusedReason::CoolingDown, Some(cooldown.ends.saturating_duration_since(at.now))))
                }
                None => Ok(Way::Counted),
            },
            Automatic::Open(waiting) if at.now < waiting.until => match ask {
                Ask::ProbeNow if waiting.outside.is_none() => Ok(Way::Outside),
                Ask::ProbeNow => taken,
                Ask::Call => Err((RefusedReason::Open, Some(waiting.until.saturating_duration_since(at.now)))),
            },
            Automatic::Open(_) => Ok(Way::Probe),
            // In half-open exactly as many permits exist as the policy says.
            Automatic::HalfOpen(round) if round.out.len() < self.policy.settings().half_open.probes as usize => {
                Ok(Way::Probe)
            }
            Automatic::HalfOpen(_) => taken,
        }
    }

    fn reserve(&mut self, at: At, way: Way) -> Grant {
        match way {
            Way::Counted => return Grant::Counted,
            Way::Unseen => return Grant::Unseen,
            Way::Probe if matches!(self.state, Automatic::Open(_)) => self.half_open(at, 0, Cause::WaitElapsed),
            Way::Probe | Way::Outside => {}
        }
        let mark = self.mark(at);
        match &mut self.state {
            Automatic::Closed => {}
            Automatic::Open(waiting) => waiting.outside = Some(mark.clone()),
            Automatic::HalfOpen(round) => round.out.push(mark.clone()),
        }
        Grant::Probe(mark)
    }

    fn mark(&self, at: At) -> Arc<ProbeMark> {
        let lease = self.policy.settings().half_open.lease;
        Arc::new(ProbeMark::new(at.now, at.wall, self.generation, lease))
    }

    /// How long an override still refuses: to its end, or to the end of the wait behind it if that is later.
    fn held_for(&self, at: At) -> Option<Duration> {
        let ends = self.held.as_ref()?.ends?;
        let until = match &self.state {
            Automatic::Open(waiting) => ends.max(waiting.until),
            Automatic::Closed | Automatic::HalfOpen(_) => ends,
        };
        Some(until.saturating_duration_since(at.now))
    }
}
