//! Which statuses: single ones, classes and ranges.

use std::fmt;

use super::UpstreamError;

/// A set of HTTP statuses, written as `"408"`, `"5xx"` or `"500-504"`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statuses(Box<[(u16, u16)]>);

impl Statuses {
    /// These ranges, ends included.
    pub(super) fn of<const N: usize>(ranges: [(u16, u16); N]) -> Self {
        Self(Box::new(ranges))
    }

    /// Reads a list such as `["408", "5xx"]`.
    ///
    /// # Errors
    /// The first entry that is no status, class or range.
    pub fn parse<S: AsRef<str>>(list: impl IntoIterator<Item = S>) -> Result<Self, UpstreamError> {
        let read = |entry: &str| -> Option<(u16, u16)> {
            let status = |text: &str| text.parse::<u16>().ok().filter(|status| (100..=599).contains(status));
            if let Some(class) = entry.strip_suffix("xx") {
                let first = class.parse::<u16>().ok().filter(|class| (1..=5).contains(class))? * 100;
                return Some((first, first + 99));
            }
            match entry.split_once('-') {
                Some((first, last)) => Some((status(first)?, status(last)?)).filter(|(first, last)| first <= last),
                None => status(entry).map(|one| (one, one)),
            }
        };
        list.into_iter()
            .map(|entry| {
                let entry = entry.as_ref().trim();
                read(entry).ok_or_else(|| UpstreamError {
                    field: "classify",
                    message: format!(
                        "{entry:?} is no status; write one as \"503\", a class \"5xx\" or a range \"500-504\""
                    ),
                })
            })
            .collect::<Result<Box<[_]>, _>>()
            .map(Self)
    }

    /// The classes, ranges and single statuses it was written as.
    pub fn entries(&self) -> impl Iterator<Item = std::ops::RangeInclusive<u16>> + '_ {
        self.0.iter().map(|&(first, last)| first..=last)
    }

    /// Whether it was written with this very status, not with a class or range around it.
    pub fn names(&self, status: u16) -> bool {
        self.0.contains(&(status, status))
    }

    /// Whether a status is in it.
    pub fn contains(&self, status: u16) -> bool {
        self.0.iter().any(|&(first, last)| (first..=last).contains(&status))
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, &(first, last)) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            match last - first {
                0 => write!(out, "{separator}{first}")?,
                99 if first % 100 == 0 => write!(out, "{separator}{}xx", first / 100)?,
                _ => write!(out, "{separator}{first}-{last}")?,
            }
        }
        Ok(())
    }
}
