//! What operators did in the last 10 s, and which override stood before: all that an undo needs. In memory alone; after a
//! restart it is too late.

use std::{
    collections::VecDeque,
    sync::Arc,
    time::{Duration, Instant},
};

use fuseboard_breaker::Override;

/// How long an action can be undone.
pub const UNDO_FOR: Duration = Duration::from_secs(10);

/// The override that stood on a breaker before an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stood {
    /// As it stood.
    pub held: Override,
    /// When it ends by itself.
    pub ends: Option<Instant>,
}

/// One breaker of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Which.
    pub breaker: Arc<str>,
    /// The audit row; the transition's number is the one before it.
    pub seq: u64,
    /// What stood before; none when nothing did.
    pub before: Option<Stood>,
}

/// The actions that can still be undone, oldest first.
#[derive(Debug, Default)]
pub struct Recent(VecDeque<(Instant, Vec<Part>)>);

impl Recent {
    /// Takes an action down.
    pub fn note(&mut self, now: Instant, parts: Vec<Part>) {
        self.forget(now);
        if !parts.is_empty() {
            self.0.push_back((now, parts));
        }
    }

    /// Takes the action out that one of these rows belongs to: it can be undone once.
    pub fn take(&mut self, seq: u64, now: Instant) -> Option<Vec<Part>> {
        self.forget(now);
        let has = |part: &Part| part.seq == seq || part.seq == seq.saturating_add(1);
        let at = self.0.iter().position(|(_, parts)| parts.iter().any(has))?;
        self.0.remove(at).map(|(_, parts)| parts)
    }

    fn forget(&mut self, now: Instant) {
        while self.0.front().is_some_and(|(at, _)| now.saturating_duration_since(*at) >= UNDO_FOR) {
            self.0.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use fuseboard_breaker::{Clock, ManualClock};

    use super::*;

    fn part(breaker: &str, seq: u64) -> Part {
        Part { breaker: breaker.into(), seq, before: None }
    }

    #[test]
    fn an_action_is_found_by_any_of_its_rows_once_and_for_ten_seconds() {
        let clock = ManualClock::default();
        let mut recent = Recent::default();
        recent.note(clock.now(), vec![part("a", 2), part("b", 4)]);
        clock.advance(Duration::from_secs(1));
        recent.note(clock.now(), vec![part("a", 6)]);
        recent.note(clock.now(), Vec::new());
        assert_eq!(recent.take(7, clock.now()), None);
        assert_eq!(recent.take(3, clock.now()).map(|parts| parts.len()), Some(2), "by a transition of a bulk action");
        assert_eq!(recent.take(4, clock.now()), None, "once");
        clock.advance(UNDO_FOR - Duration::from_nanos(1));
        assert_eq!(recent.take(6, clock.now()), Some(vec![part("a", 6)]));
        recent.note(clock.now(), vec![part("a", 8)]);
        clock.advance(UNDO_FOR);
        assert_eq!(recent.take(8, clock.now()), None, "too late");
        assert!(recent.0.is_empty());
    }
}
