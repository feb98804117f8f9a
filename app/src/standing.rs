//! What a breaker is called on the board: one standing from its two fields, the override first, and its words and sign.
//! Pure, and the only place that knows the words.

use crate::wire::breaker::{Breaker, Mode, State};

/// A host that calls reach is probed the moment its wait is over; one nobody probed for this long is latched.
const LATCHED_AFTER_MS: i64 = 10_000;

/// How a breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Traffic flows.
    Closed,
    /// Traffic would flow, but nobody has called yet.
    Waiting,
    /// Calls are refused, the wait runs.
    Open,
    /// Open, the wait just ended, the next call is the probe.
    ProbeDue,
    /// Open, the wait ended a while ago and nobody calls.
    Overdue,
    /// Calls probe the host.
    HalfOpen,
    /// The host asked for quiet.
    CoolingDown,
    /// Nothing is sent until the override ends.
    ForcedOpen,
    /// Nothing is sent and nothing ends that by itself.
    ForcedOpenForGood,
    /// Everything is sent until the override ends.
    ForcedClosed,
    /// Everything is sent and nothing ends that by itself.
    ForcedClosedForGood,
}

/// The shape that says a standing without colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sign {
    /// A thin outline.
    Outline,
    /// Solid with a cross.
    Cross,
    /// Solid, square, with a cross: somebody has to act.
    Latch,
    /// Half filled.
    Half,
    /// Diagonal stripes with a pin.
    Pinned,
    /// The same, square: somebody has to end it.
    PinnedLatch,
    /// A clock.
    Clock,
    /// Dots.
    Dots,
}

impl Standing {
    /// How this breaker stands at a time of the server's clock.
    pub fn of(breaker: &Breaker, now_ms: i64) -> Self {
        if let Some(held) = &breaker.held {
            return match (held.mode, held.until.is_some()) {
                (Mode::ForcedOpen, true) => Self::ForcedOpen,
                (Mode::ForcedOpen, false) => Self::ForcedOpenForGood,
                (Mode::ForcedClosed, true) => Self::ForcedClosed,
                (Mode::ForcedClosed, false) => Self::ForcedClosedForGood,
            };
        }
        match breaker.state {
            State::HalfOpen => Self::HalfOpen,
            State::Open => match breaker.next_probe_at.map(|at| now_ms - at.millis()) {
                Some(over) if over >= LATCHED_AFTER_MS => Self::Overdue,
                Some(over) if over >= 0 => Self::ProbeDue,
                None if breaker.probe_due => Self::Overdue,
                _ => Self::Open,
            },
            State::Closed if breaker.cooldown_until.is_some_and(|until| until.millis() > now_ms) => Self::CoolingDown,
            State::Closed if !breaker.called => Self::Waiting,
            State::Closed => Self::Closed,
        }
    }

    /// The word, and what it means for traffic.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Closed => ("closed", "flowing"),
            Self::Waiting => ("waiting", "for the first call"),
            Self::Open => ("open", "refusing"),
            Self::ProbeDue => ("open", "probe due"),
            Self::Overdue => ("latched", "probe due"),
            Self::HalfOpen => ("half-open", "probing"),
            Self::CoolingDown => ("cooling down", "waiting"),
            Self::ForcedOpen => ("forced open", "refusing"),
            Self::ForcedOpenForGood => ("latched", "forced open"),
            Self::ForcedClosed => ("forced closed", "flowing"),
            Self::ForcedClosedForGood => ("latched", "forced closed"),
        }
    }

    /// Both words as one text: `open · refusing`, `waiting for the first call`.
    pub fn said(self) -> String {
        let (word, meaning) = self.words();
        format!("{word}{}{meaning}", self.between())
    }

    /// What stands between the two words.
    pub fn between(self) -> &'static str {
        if self == Self::Waiting { " " } else { " · " }
    }

    /// Its shape.
    pub fn sign(self) -> Sign {
        match self {
            Self::Closed => Sign::Outline,
            Self::Waiting => Sign::Dots,
            Self::Open | Self::ProbeDue => Sign::Cross,
            Self::Overdue => Sign::Latch,
            Self::HalfOpen => Sign::Half,
            Self::CoolingDown => Sign::Clock,
            Self::ForcedOpen | Self::ForcedClosed => Sign::Pinned,
            Self::ForcedOpenForGood | Self::ForcedClosedForGood => Sign::PinnedLatch,
        }
    }

    /// The style class that carries its colour.
    pub fn class(self) -> &'static str {
        match self {
            Self::Closed => "is-closed",
            Self::Waiting => "is-waiting",
            Self::Open | Self::ProbeDue => "is-open",
            Self::Overdue => "is-latched",
            Self::HalfOpen => "is-half",
            Self::CoolingDown => "is-cooling",
            Self::ForcedOpen | Self::ForcedClosed => "is-held",
            Self::ForcedOpenForGood | Self::ForcedClosedForGood => "is-held is-latched",
        }
    }

    /// Whether nothing ends it by itself.
    pub fn latched(self) -> bool {
        matches!(self, Self::Overdue | Self::ForcedOpenForGood | Self::ForcedClosedForGood)
    }

    /// Whether it stands above the fold.
    pub fn trouble(self) -> bool {
        !matches!(self, Self::Closed | Self::Waiting)
    }

    /// Whether calls are turned away.
    pub fn refuses(self) -> bool {
        matches!(
            self,
            Self::Open | Self::ProbeDue | Self::Overdue | Self::HalfOpen | Self::ForcedOpen | Self::ForcedOpenForGood
        )
    }

    /// Whether an operator holds it.
    pub fn held(self) -> bool {
        matches!(self.sign(), Sign::Pinned | Sign::PinnedLatch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        sample::{breaker, held, open},
        wire::time::Time,
    };

    const NOW: i64 = 1_000_000;

    #[test]
    fn each_standing_has_its_own_words() {
        let mut waiting = breaker("a", State::Closed);
        waiting.called = false;
        let mut cooling = breaker("a", State::Closed);
        cooling.cooldown_until = Some(Time::from_micros((NOW + 1) * 1_000));
        let said = |breaker: &Breaker| Standing::of(breaker, NOW).said();
        assert_eq!(said(&breaker("a", State::Closed)), "closed · flowing");
        assert_eq!(said(&waiting), "waiting for the first call");
        assert_eq!(said(&breaker("a", State::HalfOpen)), "half-open · probing");
        assert_eq!(said(&cooling), "cooling down · waiting");
        assert_eq!(said(&held(Mode::ForcedOpen, Some(NOW + 1))), "forced open · refusing");
        assert_eq!(said(&held(Mode::ForcedClosed, Some(NOW + 1))), "forced closed · flowing");
        assert_eq!(said(&held(Mode::ForcedOpen, None)), "latched · forced open");
        assert_eq!(said(&held(Mode::ForcedClosed, None)), "latched · forced closed");
    }

    #[test]
    fn open_is_refusing_then_probe_due_then_latched() {
        let at = |over: i64| Standing::of(&open("a", NOW - over), NOW);
        assert_eq!(at(-1), Standing::Open);
        assert_eq!(at(0), Standing::ProbeDue);
        assert_eq!(at(LATCHED_AFTER_MS - 1), Standing::ProbeDue);
        assert_eq!(at(LATCHED_AFTER_MS), Standing::Overdue);
        assert_eq!(at(LATCHED_AFTER_MS).said(), "latched · probe due");
    }

    #[test]
    fn a_cool_down_that_is_over_says_so_without_being_told() {
        let mut cooled = breaker("a", State::Closed);
        cooled.cooldown_until = Some(Time::from_micros(NOW * 1_000));
        assert_eq!(Standing::of(&cooled, NOW), Standing::Closed);
    }

    #[test]
    fn an_override_hides_the_shadow_from_the_word_but_latched_stays_apart() {
        let mut shadow = held(Mode::ForcedClosed, Some(NOW + 1));
        shadow.state = State::Open;
        assert!(!Standing::of(&shadow, NOW).refuses() && !Standing::of(&shadow, NOW).latched());
        assert!(Standing::of(&held(Mode::ForcedOpen, None), NOW).latched());
    }
}
