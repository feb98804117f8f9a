//! What the watchdog found and what still holds: an invariant broken in the running process. Shown on `/health`, in
//! metrics and on the board until it is no longer so.

use std::{collections::BTreeMap, fmt};

use fuseboard_app::wire::{event::Finding, time::Time};
use parking_lot::Mutex;

/// Which invariant is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Open past its wait, with callers or a configured probe, and no probe was sent.
    Unprobed,
    /// A probe holds its permit past its lease.
    Lease,
    /// Its newest row says something else than the breaker does.
    Disagreement,
}

impl Kind {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Unprobed, Self::Lease, Self::Disagreement];

    /// The fixed word used in API and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unprobed => "unprobed",
            Self::Lease => "lease",
            Self::Disagreement => "disagreement",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// What was seen in one round: which invariant, of which breaker, in words.
pub type Seen = BTreeMap<(Kind, String), String>;

/// What stands. The first of each is logged, and its end.
#[derive(Debug, Default)]
pub struct Findings(Mutex<BTreeMap<(Kind, String), Finding>>);

impl Findings {
    /// Takes over what one round saw.
    pub fn set(&self, seen: Seen, now: Time) {
        let mut standing = self.0.lock();
        standing.retain(|key @ (kind, breaker), _| {
            let stays = seen.contains_key(key);
            if !stays {
                tracing::info!(%kind, breaker, "the watchdog's finding is gone");
            }
            stays
        });
        for ((kind, breaker), detail) in seen {
            let finding = standing.entry((kind, breaker.clone())).or_insert_with(|| {
                tracing::error!(%kind, breaker, "the watchdog found: {detail}");
                Finding { kind: kind.as_str().into(), breaker: breaker.clone(), since: now, detail: String::new() }
            });
            finding.detail = detail;
        }
    }

    /// What stands now, the oldest first.
    pub fn standing(&self) -> Vec<Finding> {
        let mut all: Vec<_> = self.0.lock().values().cloned().collect();
        all.sort_by(|a, b| a.since.cmp(&b.since).then_with(|| a.breaker.cmp(&b.breaker)));
        all
    }

    /// How many stand of each kind.
    pub fn counts(&self) -> [(&'static str, u64); 3] {
        let standing = self.0.lock();
        Kind::ALL.map(|kind| (kind.as_str(), standing.keys().filter(|(one, _)| *one == kind).count() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_stands_from_when_it_was_first_seen_until_it_is_no_longer() {
        let findings = Findings::default();
        let seen = |detail: &str| Seen::from([((Kind::Lease, "a".to_owned()), detail.to_owned())]);
        let at = Time::from_micros;
        findings.set(seen("by 3 s"), at(10));
        findings.set(seen("by 13 s"), at(20));
        let standing = findings.standing();
        assert_eq!((standing.len(), standing[0].since, standing[0].detail.as_str()), (1, at(10), "by 13 s"));
        assert_eq!(findings.counts(), [("unprobed", 0), ("lease", 1), ("disagreement", 0)]);
        findings.set(Seen::new(), at(30));
        assert!(findings.standing().is_empty());
    }
}
