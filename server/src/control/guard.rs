//! Who asks, and whether what they ask can be granted: everything an action needs is checked here before a breaker is
//! touched, each refusal naming its field.

use std::time::{Duration, SystemTime};

use fuseboard_app::wire::{event::Actor as Shown, time::Time};
use fuseboard_breaker::By;

use crate::fault::Fault;

/// The longest reason, in characters.
pub const REASON_MAX: usize = 500;
/// The longest name somebody may give, in characters.
pub const NAME_MAX: usize = 80;
/// The longest override with an end; what should last longer says so with no end at all.
pub const OVERRIDE_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

/// Somebody a request came from. Only `web/caller` makes one (a test reads the sources for it), so that whoever holds
/// one has been through the door.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    by: By,
}

impl Actor {
    /// For `web/caller` alone: a name nobody vouches for.
    ///
    /// # Errors
    /// The name is too long or holds control characters.
    pub(crate) fn unverified(name: Option<&str>, via: &'static str) -> Result<Self, Fault> {
        let name = match name.map(str::trim).filter(|name| !name.is_empty()) {
            Some(name) => line("by", name, NAME_MAX)?,
            None => "anonymous",
        };
        Ok(Self { by: By { name: format!("unverified: {name}").into(), verified: false, via: via.into() } })
    }

    /// Whoever may send this process a signal.
    #[cfg(unix)]
    pub(super) fn signal(name: &'static str) -> Self {
        Self { by: By { name: name.into(), verified: true, via: "signal".into() } }
    }

    /// As the breaker and its rows keep it.
    pub fn by(&self) -> By {
        self.by.clone()
    }

    /// As the record shows it.
    pub fn shown(&self) -> Shown {
        Shown { name: self.by.name.to_string(), verified: self.by.verified, via: self.by.via.to_string() }
    }
}

/// The reason, trimmed: required, bounded, one line.
pub(super) fn reason(given: &str) -> Result<&str, Fault> {
    match given.trim() {
        "" => Err(Fault::field("reason", "say why in a few words; it stands in the record")),
        reason => line("reason", reason, REASON_MAX),
    }
}

/// The reason of what needs none: trimmed, bounded, one line, or empty.
pub(super) fn optional_reason(given: &str) -> Result<&str, Fault> {
    line("reason", given.trim(), REASON_MAX)
}

/// How long an override stands, none for no end: exactly one of `for_ms` and `until`, and an end that lies ahead.
pub(super) fn end(
    for_ms: Option<u64>,
    until: Option<Option<Time>>,
    now: SystemTime,
) -> Result<Option<Duration>, Fault> {
    Ok(match (for_ms, until) {
        (None, None) => {
            return Err(Fault::field(
                "for_ms",
                "say how long: \"for_ms\" in milliseconds, \"until\" as a time, or \"until\": null for no end",
            ));
        }
        (Some(_), Some(_)) => {
            return Err(Fault::field("until", "give either \"for_ms\" or \"until\", not both"));
        }
        (None, Some(None)) => None,
        (Some(0), None) => return Err(Fault::field("for_ms", "must be at least 1 ms")),
        (Some(ms), None) => Some(bounded("for_ms", Duration::from_millis(ms))?),
        (None, Some(Some(until))) => {
            let left = SystemTime::from(until.0)
                .duration_since(now)
                .ok()
                .filter(|left| !left.is_zero())
                .ok_or_else(|| Fault::field("until", "must lie in the future"))?;
            Some(bounded("until", left)?)
        }
    })
}

fn bounded(field: &str, length: Duration) -> Result<Duration, Fault> {
    if length > OVERRIDE_MAX {
        return Err(Fault::field(field, "must end within 365 days; \"until\": null stands until somebody releases it"));
    }
    Ok(length)
}

fn line<'a>(field: &str, text: &'a str, max: usize) -> Result<&'a str, Fault> {
    if text.chars().count() > max {
        return Err(Fault::field(field, format!("must be at most {max} characters long")));
    }
    if text.chars().any(char::is_control) {
        return Err(Fault::field(field, "must be one line without control characters"));
    }
    if text.chars().any(misleads) {
        return Err(Fault::field(field, "must be text as it reads: without marks that hide or turn it"));
    }
    Ok(text)
}

/// What cannot be seen, and what has a line read in another order than it was written in: a reason stands on the board beside
/// other people's words. Joiners and direction marks that scripts need are none of these.
fn misleads(c: char) -> bool {
    matches!(c, '\u{200b}' | '\u{2060}'..='\u{2064}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000_000_000;

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_micros(NOW as u64)
    }

    fn asked(for_ms: Option<u64>, until: Option<Option<i64>>) -> Result<Option<Duration>, String> {
        let until = until.map(|until| until.map(Time::from_micros));
        end(for_ms, until, now()).map_err(|error| error.field_name().unwrap_or_default().to_owned())
    }

    #[test]
    fn an_override_says_its_end_once_and_ahead() {
        let year = OVERRIDE_MAX.as_millis() as u64;
        assert_eq!(asked(None, None), Err("for_ms".into()));
        assert_eq!(asked(Some(1), Some(None)), Err("until".into()));
        assert_eq!(asked(None, Some(None)), Ok(None));
        assert_eq!(asked(Some(0), None), Err("for_ms".into()));
        assert_eq!(asked(Some(1), None), Ok(Some(Duration::from_millis(1))));
        assert_eq!(asked(Some(year), None), Ok(Some(OVERRIDE_MAX)));
        assert_eq!(asked(Some(year + 1), None), Err("for_ms".into()));
        assert_eq!(asked(Some(u64::MAX), None), Err("for_ms".into()));
        assert_eq!(asked(None, Some(Some(NOW - 1))), Err("until".into()));
        assert_eq!(asked(None, Some(Some(NOW))), Err("until".into()));
        assert_eq!(asked(None, Some(Some(NOW + 1))), Ok(Some(Duration::from_micros(1))));
        assert_eq!(asked(None, Some(Some(i64::MAX / 16))), Err("until".into()));
    }

    #[test]
    fn a_reason_is_required_bounded_and_one_line() {
        assert_eq!(reason("  CDN move ").ok(), Some("CDN move"));
        assert!(reason(&"ä".repeat(REASON_MAX)).is_ok());
        // Joiners and direction marks are part of how people write.
        assert!(reason("\u{645}\u{631}\u{62d}\u{628}\u{627}\u{200f} \u{1f469}\u{200d}\u{1f692}").is_ok());
        for bad in
            ["", " \t ", "a\nb", "a\u{0}b", "a\u{202e}b", "a\u{2067}b", "a\u{200b}b", &"a".repeat(REASON_MAX + 1)]
        {
            assert_eq!(
                reason(bad).err().and_then(|error| error.field_name().map(str::to_owned)),
                Some("reason".into())
            );
        }
    }

    #[test]
    fn an_unsigned_name_says_so() {
        let name =
            |name| Actor::unverified(name, "api").map(|actor| actor.shown().name).map_err(|error| error.to_string());
        assert_eq!(name(Some(" ana ")), Ok("unverified: ana".into()));
        assert_eq!(name(None), Ok("unverified: anonymous".into()));
        assert!(name(Some(&"a".repeat(NAME_MAX + 1))).is_err_and(|text| text.starts_with("by: ")));
    }
}
