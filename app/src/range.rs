//! How far back the lanes reach: as the address says it, or else as far as there is something to see.

/// A range the board offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Range {
    /// A quarter of an hour.
    Quarter,
    /// An hour.
    Hour,
    /// Six hours.
    SixHours,
    /// A day.
    Day,
    /// A week.
    Week,
}

impl Range {
    /// All of them, shortest first.
    pub const ALL: [Self; 5] = [Self::Quarter, Self::Hour, Self::SixHours, Self::Day, Self::Week];

    /// The word in the address; anything else names no range.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|range| range.word() == word)
    }

    /// What is shown where the address names none: an hour, and before the process has watched for that long, a quarter.
    pub fn usual(watched_ms: i64) -> Self {
        if watched_ms < Self::Hour.ms() { Self::Quarter } else { Self::Hour }
    }

    /// The word in the address.
    pub fn word(self) -> &'static str {
        match self {
            Self::Quarter => "15m",
            Self::Hour => "1h",
            Self::SixHours => "6h",
            Self::Day => "24h",
            Self::Week => "7d",
        }
    }

    /// How it is spoken.
    pub fn spoken(self) -> &'static str {
        match self {
            Self::Quarter => "last 15 minutes",
            Self::Hour => "last hour",
            Self::SixHours => "last 6 hours",
            Self::Day => "last 24 hours",
            Self::Week => "last 7 days",
        }
    }

    /// Its length.
    pub fn ms(self) -> i64 {
        match self {
            Self::Quarter => 900_000,
            Self::Hour => 3_600_000,
            Self::SixHours => 21_600_000,
            Self::Day => 86_400_000,
            Self::Week => 604_800_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back_and_nonsense_names_none() {
        assert_eq!(Range::ALL.map(|range| Range::parse(range.word())), Range::ALL.map(Some));
        assert_eq!(Range::parse("a fortnight"), None);
    }

    #[test]
    fn a_young_process_opens_on_a_quarter_of_an_hour() {
        assert_eq!([0, 3_599_999].map(Range::usual), [Range::Quarter; 2]);
        assert_eq!(Range::usual(3_600_000), Range::Hour);
    }
}
