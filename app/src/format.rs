//! Numbers and times as people read them. Pure: the zone is an argument, so that server and browser agree on a page's
//! first text and the browser switches to the viewer's zone after it took over.

mod host;

pub use host::{breaker_path, id_parts, port_at, unicode_host};

/// Which clock a time is read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Zone {
    /// As the server writes it.
    #[default]
    Utc,
    /// As the viewer's clock shows it.
    Viewer,
}

impl Zone {
    /// Minutes this zone is ahead of UTC at a point in time.
    pub fn ahead_at(self, at_ms: i64) -> i64 {
        match self {
            Self::Utc => 0,
            Self::Viewer => viewer_ahead(at_ms),
        }
    }

    /// What is said after a time: nothing where it is the viewer's own.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Utc => " UTC",
            Self::Viewer => "",
        }
    }
}

#[cfg(all(feature = "browser", target_arch = "wasm32"))]
fn viewer_ahead(at_ms: i64) -> i64 {
    -(js_sys::Date::new(&wasm_bindgen::JsValue::from_f64(at_ms as f64)).get_timezone_offset() as i64)
}

#[cfg(not(all(feature = "browser", target_arch = "wasm32")))]
fn viewer_ahead(_at_ms: i64) -> i64 {
    0
}

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// A length of time in its two largest units: `1 h 48 min`. Negative is zero.
pub fn duration(ms: i64) -> String {
    let two = |large: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 { format!("{large} {unit}") } else { format!("{large} {unit} {small} {small_unit}") }
    };
    match ms.max(0) {
        ms if ms < SECOND => format!("{ms} ms"),
        ms if ms < MINUTE => format!("{} s", ms / SECOND),
        ms if ms < HOUR => two(ms / MINUTE, "min", ms % MINUTE / SECOND, "s"),
        ms if ms < DAY => two(ms / HOUR, "h", ms % HOUR / MINUTE, "min"),
        ms => two(ms / DAY, "d", ms % DAY / HOUR, "h"),
    }
}

/// A wait as it was drawn, to the nearest second: 3,995 ms are `4 s`.
pub fn wait(ms: i64) -> String {
    duration(if ms < SECOND { ms } else { (ms + SECOND / 2) / SECOND * SECOND })
}

/// How long something has lasted, to the second: `under 1 s` instead of a number that flickers.
pub fn lasted(ms: i64) -> String {
    if ms < SECOND { "under 1 s".into() } else { duration(ms) }
}

/// Time left as on a clock, rounded up: `2:14`, `1:02:14`. Never below zero.
pub fn countdown(ms: i64) -> String {
    let seconds = (ms.max(0) + SECOND - 1) / SECOND;
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

/// A count with its thousands set apart: `1,204`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A count with its noun: `1 host`, `2 hosts`.
pub fn some(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A latency: `0.4 ms`, `12 ms`, `1.2 s`.
pub fn latency(ms: f64) -> String {
    match ms {
        ms if ms < 10.0 => format!("{ms:.1} ms"),
        ms if ms < 1_000.0 => format!("{ms:.0} ms"),
        ms => format!("{:.1} s", ms / 1_000.0),
    }
}

/// A share in [0, 1] as a percentage that never rounds something to nothing or to all.
pub fn share(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        p if p > 0.0 && p < 1.0 => "<1 %".into(),
        p if p > 99.0 && p < 100.0 => ">99 %".into(),
        p => format!("{p:.0} %"),
    }
}

/// A number that is whole or has a fraction, without a tail of zeros.
pub fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The time of day: `01:12`.
pub fn clock(at_ms: i64, zone: Zone) -> String {
    clock_ahead(at_ms, zone.ahead_at(at_ms))
}

/// The time of day to the second: `01:12:07`.
pub fn clock_seconds(at_ms: i64, zone: Zone) -> String {
    let local = at_ms + zone.ahead_at(at_ms) * MINUTE;
    format!("{}:{:02}", clock_ahead(local, 0), local.rem_euclid(MINUTE) / SECOND)
}

/// The day: `30 Nov`.
pub fn day(at_ms: i64, zone: Zone) -> String {
    let (_, month, day) = civil((at_ms + zone.ahead_at(at_ms) * MINUTE).div_euclid(DAY));
    format!("{day} {}", MONTHS[month as usize - 1])
}

/// The time of day, with the day where that is not today: `01:12`, `29 Nov, 01:12`.
pub fn moment(at_ms: i64, now_ms: i64, zone: Zone) -> String {
    let day_of = |ms: i64| (ms + zone.ahead_at(ms) * MINUTE).div_euclid(DAY);
    if day_of(at_ms) == day_of(now_ms) {
        clock(at_ms, zone)
    } else {
        format!("{}, {}", day(at_ms, zone), clock(at_ms, zone))
    }
}

/// The same to the second: `29 Nov, 01:12:07`.
pub fn moment_seconds(at_ms: i64, now_ms: i64, zone: Zone) -> String {
    format!("{}:{:02}", moment(at_ms, now_ms, zone), at_ms.rem_euclid(MINUTE) / SECOND)
}

/// In full, UTC: `2026-11-30 01:12:07 UTC`.
pub fn full_utc(at_ms: i64) -> String {
    let (year, month, day) = civil(at_ms.div_euclid(DAY));
    format!("{year}-{month:02}-{day:02} {} UTC", clock_seconds(at_ms, Zone::Utc))
}

/// A time in an address: `2026-11-30T01:12:07Z`.
pub fn iso_utc(at_ms: i64) -> String {
    let (year, month, day) = civil(at_ms.div_euclid(DAY));
    format!("{year:04}-{month:02}-{day:02}T{}Z", clock_seconds(at_ms, Zone::Utc))
}

/// Reads a time in UTC as people and links write it: `2026-11-30T01:12:07Z`, the seconds, their fraction and the `Z` may
/// be missing, and a space may stand for the `T`.
pub fn parse_utc(text: &str) -> Option<i64> {
    let text = text.trim().trim_end_matches(['Z', 'z']);
    let (date, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, "00:00"));
    let numbers = |text: &str, by: char| -> Option<Vec<i64>> {
        text.split(by).map(|part| part.parse::<u32>().ok().map(i64::from)).collect()
    };
    let (clock, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let thousandths = format!("{:0<3}", fraction.get(..3).unwrap_or(fraction)).parse::<i64>().ok()?;
    let (date, clock) = (numbers(date, '-')?, numbers(clock, ':')?);
    let (&[year, month, day], &[hour, minute, ref second @ ..]) = (date.as_slice(), clock.as_slice()) else {
        return None;
    };
    let second = match second {
        [] => 0,
        &[second] => second,
        _ => return None,
    };
    let known = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !known || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let days = days_of(year, month, day);
    // The 31st of a short month is none.
    (civil(days) == (year, month, day))
        .then(|| days * DAY + hour * HOUR + minute * MINUTE + second * SECOND + thousandths)
}

fn clock_ahead(at_ms: i64, ahead: i64) -> String {
    let of_day = (at_ms + ahead * MINUTE).rem_euclid(DAY);
    format!("{:02}:{:02}", of_day / HOUR, of_day % HOUR / MINUTE)
}

/// Year, month and day of a day counted from 1970, in the Gregorian calendar: eras of 400 years, each year from March
/// on, so that the leap day is the last.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The other way: the day counted from 1970.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * shifted + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A text as a value in an address's query.
pub fn query_value(text: &str) -> String {
    let mut value = String::new();
    for byte in text.bytes() {
        match byte {
            b' ' => value.push('+'),
            byte if byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte) => value.push(byte as char),
            byte => value.push_str(&format!("%{byte:02X}")),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-30 01:12:07 UTC.
    const AT: i64 = 1_796_001_127_000;

    #[test]
    fn durations_say_their_two_largest_units() {
        let said: Vec<_> = [-5, 320, 45_000, 134_000, 120_000, 6_480_000, 3_600_000, 273_600_000, 172_800_000]
            .into_iter()
            .map(duration)
            .collect();
        let want = ["0 ms", "320 ms", "45 s", "2 min 14 s", "2 min", "1 h 48 min", "1 h", "3 d 4 h", "2 d"];
        assert_eq!(said, want);
    }

    #[test]
    fn a_wait_is_rounded_and_not_cut() {
        let said: Vec<_> = [320, 1_499, 3_995, 59_600, 119_499].into_iter().map(wait).collect();
        assert_eq!(said, ["320 ms", "1 s", "4 s", "1 min", "1 min 59 s"]);
    }

    #[test]
    fn a_countdown_rounds_up_and_never_runs_below_zero() {
        let said: Vec<_> = [-1, 0, 1, 1_000, 134_000, 3_734_000].into_iter().map(countdown).collect();
        assert_eq!(said, ["0:00", "0:00", "0:01", "0:01", "2:14", "1:02:14"]);
    }

    #[test]
    fn counts_shares_and_latencies_are_short() {
        assert_eq!([0, 999, 1_204, 1_000_000].map(count), ["0", "999", "1,204", "1,000,000"]);
        assert_eq!(some(1, "host", "hosts") + ", " + &some(2, "host", "hosts"), "1 host, 2 hosts");
        assert_eq!([0.0, 0.001, 0.5, 0.999, 1.0].map(share), ["0 %", "<1 %", "50 %", ">99 %", "100 %"]);
        assert_eq!([0.42, 12.4, 1_240.0].map(latency), ["0.4 ms", "12 ms", "1.2 s"]);
        assert_eq!([5.0, 0.5, 0.25].map(number), ["5", "0.5", "0.25"]);
    }

    #[test]
    fn times_of_day_and_days() {
        assert_eq!(clock(AT, Zone::Utc), "01:12");
        assert_eq!(clock_ahead(AT, 330), "06:42");
        assert_eq!(clock_ahead(AT, -120), "23:12");
        assert_eq!(clock_seconds(AT, Zone::Utc), "01:12:07");
        assert_eq!(full_utc(AT), "2026-11-30 01:12:07 UTC");
        assert_eq!(full_utc(951_782_400_000), "2000-02-29 00:00:00 UTC");
        assert_eq!(full_utc(-1_000), "1969-12-31 23:59:59 UTC");
        assert_eq!(moment(AT, AT + 3_600_000, Zone::Utc), "01:12");
        assert_eq!(moment(AT - 7_200_000, AT, Zone::Utc), "29 Nov, 23:12");
        assert_eq!(moment_seconds(AT - 7_200_000, AT, Zone::Utc), "29 Nov, 23:12:07");
    }

    #[test]
    fn a_time_in_an_address_is_read_as_it_is_written() {
        assert_eq!(iso_utc(AT), "2026-11-30T01:12:07Z");
        assert_eq!(parse_utc("2026-11-30T01:12:07Z"), Some(AT));
        assert_eq!(parse_utc("2026-11-30 01:12:07.250"), Some(AT + 250));
        assert_eq!(parse_utc("2026-11-30T01:12"), Some(AT - 7_000));
        assert_eq!(parse_utc("2000-02-29"), Some(951_782_400_000));
        for nonsense in ["", "now", "2026-02-30", "2026-13-01", "2026-11-30T24:00", "2026-11-30T01", "-1-1-1"] {
            assert_eq!(parse_utc(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_text_stands_in_an_address() {
        assert_eq!(query_value("a b&c"), "a+b%26c");
    }
}
