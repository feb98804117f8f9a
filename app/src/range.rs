//! Which stretch of time the lanes show: the last so long, or what somebody zoomed into. As the address says it, or else
//! as far back as there is something to see. Pure.

use crate::format::{self, Zone};

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
    /// Thirty days.
    Month,
    /// A year.
    Year,
}

impl Range {
    /// All of them, shortest first.
    pub const ALL: [Self; 7] =
        [Self::Quarter, Self::Hour, Self::SixHours, Self::Day, Self::Week, Self::Month, Self::Year];

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
            Self::Month => "30d",
            Self::Year => "1y",
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
            Self::Month => "last 30 days",
            Self::Year => "last year",
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
            Self::Month => 2_592_000_000,
            Self::Year => 31_536_000_000,
        }
    }
}

/// Two fixed ends, ms since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Zoom {
    /// Where it starts.
    pub from_ms: i64,
    /// Where it ends, later than it starts.
    pub to_ms: i64,
}

/// Nothing shorter can be zoomed into: states are recorded to the microsecond, but people read seconds.
const SHORTEST_MS: i64 = 10_000;
/// Nothing longer is kept.
const LONGEST_MS: i64 = 4 * 31_536_000_000;

impl Zoom {
    /// From the address, its ends in either order; what is no time or is too short or long names none.
    pub fn parse(from: &str, to: &str) -> Option<Self> {
        let (a_ms, b_ms) = (format::parse_utc(from)?, format::parse_utc(to)?);
        let zoom = Self { from_ms: a_ms.min(b_ms), to_ms: a_ms.max(b_ms) };
        (SHORTEST_MS..=LONGEST_MS).contains(&zoom.ms()).then_some(zoom)
    }

    /// Between two times in either order, at least as long as the shortest.
    pub fn between(a_ms: i64, b_ms: i64) -> Self {
        let (from_ms, to_ms) = (a_ms.min(b_ms), a_ms.max(b_ms));
        let short = (SHORTEST_MS - (to_ms - from_ms)).max(0);
        // To whole seconds: the address stays readable.
        let round = |ms: i64| ms.div_euclid(1_000) * 1_000;
        Self { from_ms: round(from_ms - short / 2), to_ms: round(to_ms + short - short / 2 + 999) }
    }

    /// Its length.
    pub fn ms(self) -> i64 {
        self.to_ms - self.from_ms
    }
}

/// What the lanes show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Window {
    /// Up to now, and going on with it.
    Last(Range),
    /// What was zoomed into.
    Fixed(Zoom),
}

impl Window {
    /// As one word: `6h`, or both ends with a slash between them.
    pub fn word(self) -> String {
        match self {
            Self::Last(range) => range.word().into(),
            Self::Fixed(zoom) => format!("{}/{}", format::iso_utc(zoom.from_ms), format::iso_utc(zoom.to_ms)),
        }
    }

    /// Reads [`Window::word`].
    pub fn parse(word: &str) -> Option<Self> {
        match word.split_once('/') {
            Some((from, to)) => Zoom::parse(from, to).map(Self::Fixed),
            None => Range::parse(word).map(Self::Last),
        }
    }

    /// Its length.
    pub fn ms(self) -> i64 {
        match self {
            Self::Last(range) => range.ms(),
            Self::Fixed(zoom) => zoom.ms(),
        }
    }

    /// Both ends at a time of the server's clock.
    pub fn ends(self, now_ms: i64) -> Zoom {
        match self {
            Self::Last(range) => Zoom { from_ms: now_ms - range.ms(), to_ms: now_ms },
            Self::Fixed(zoom) => zoom,
        }
    }

    /// How it is spoken.
    pub fn spoken(self, zone: Zone) -> String {
        match self {
            Self::Last(range) => range.spoken().into(),
            Self::Fixed(Zoom { from_ms, to_ms }) => {
                let same_day = format::day(from_ms, zone) == format::day(to_ms, zone);
                let clock = if to_ms - from_ms < 600_000 { format::clock_seconds } else { format::clock };
                let end = if same_day {
                    clock(to_ms, zone)
                } else {
                    format!("{}, {}", format::day(to_ms, zone), clock(to_ms, zone))
                };
                format!("{}, {} to {end}{}", format::day(from_ms, zone), clock(from_ms, zone), zone.suffix())
            }
        }
    }

    /// Half as long about its middle, or twice as long; never reaching beyond now.
    pub fn scaled(self, factor: f64, now_ms: i64) -> Zoom {
        let Zoom { from_ms, to_ms } = self.ends(now_ms);
        let length = (((to_ms - from_ms) as f64 * factor) as i64).clamp(SHORTEST_MS, LONGEST_MS);
        let middle = from_ms + (to_ms - from_ms) / 2;
        let to = (middle + length / 2).min(now_ms.max(to_ms));
        Zoom::between(to - length, to)
    }

    /// As long, earlier or later by a share of its length; never beyond now.
    pub fn moved(self, share: f64, now_ms: i64) -> Zoom {
        let Zoom { from_ms, to_ms } = self.ends(now_ms);
        let length = to_ms - from_ms;
        let to = (to_ms + (length as f64 * share) as i64).min(now_ms.max(to_ms));
        Zoom::between(to - length, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back_and_nonsense_names_none() {
        assert_eq!(Range::ALL.map(|range| Range::parse(range.word())), Range::ALL.map(Some));
        assert_eq!(Range::parse("a fortnight"), None);
        let zoomed = Window::Fixed(Zoom { from_ms: 1_796_001_127_000, to_ms: 1_796_001_187_000 });
        assert_eq!(zoomed.word(), "2026-11-30T01:12:07Z/2026-11-30T01:13:07Z");
        assert_eq!(Window::parse(&zoomed.word()), Some(zoomed));
        assert_eq!(Window::parse("6h"), Some(Window::Last(Range::SixHours)));
        let ends = ["2026-11-30T01:00:00Z", "2026-11-30T02:00:00Z"];
        let forwards = Zoom::parse(ends[0], ends[1]);
        assert!(forwards.is_some_and(|zoom| zoom.ms() == 3_600_000) && Zoom::parse(ends[1], ends[0]) == forwards);
        assert_eq!((Zoom::parse("now", ends[0]), Zoom::parse(ends[0], ends[0])), (None, None));
    }

    #[test]
    fn a_young_process_opens_on_a_quarter_of_an_hour() {
        assert_eq!([0, 3_599_999].map(Range::usual), [Range::Quarter; 2]);
        assert_eq!(Range::usual(3_600_000), Range::Hour);
    }

    #[test]
    fn a_drag_is_a_stretch_in_whole_seconds_and_never_too_short() {
        assert_eq!(Zoom::between(90_500, 30_500), Zoom { from_ms: 30_000, to_ms: 91_000 });
        let click = Zoom::between(60_000, 60_001);
        assert!(click.ms() >= SHORTEST_MS && click.from_ms < 60_000 && click.to_ms > 60_001, "{click:?}");
    }

    #[test]
    fn zooming_and_moving_never_look_beyond_now() {
        let now = 10_000_000_000;
        let hour = Window::Last(Range::Hour);
        assert_eq!(hour.scaled(0.5, now).ms(), 1_800_000);
        let wider = hour.scaled(2.0, now);
        assert_eq!((wider.ms(), wider.to_ms), (7_200_000, now));
        let back = hour.moved(-0.5, now);
        assert_eq!((back.ms(), back.to_ms), (3_600_000, now - 1_800_000));
        assert_eq!(Window::Fixed(back).moved(0.5, now).to_ms, now);
        assert_eq!(Window::Fixed(back).moved(5.0, now).to_ms, now);
    }
}
