//! How far back the lanes reach, as the address says it.

/// A range the board offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub enum Range {
    /// A quarter of an hour.
    Quarter,
    /// An hour.
    #[default]
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

    /// The word in the address; anything else is an hour.
    pub fn parse(word: &str) -> Self {
        Self::ALL.into_iter().find(|range| range.word() == word).unwrap_or_default()
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
    fn every_word_is_read_back_and_nonsense_is_an_hour() {
        assert_eq!(Range::ALL.map(|range| Range::parse(range.word())), Range::ALL);
        assert_eq!(Range::parse("a fortnight"), Range::Hour);
    }
}
