//! Times and lengths as the record keeps them: whole microseconds.

use std::time::{Duration, SystemTime};

use fuseboard_app::wire::time::Time;

/// Microseconds since 1970, as the store keeps times.
pub fn micros(at: SystemTime) -> i64 {
    match at.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros),
    }
}

/// The time that many microseconds after 1970.
pub fn from_micros(at: i64) -> SystemTime {
    let length = Duration::from_micros(at.unsigned_abs());
    let time =
        if at < 0 { SystemTime::UNIX_EPOCH.checked_sub(length) } else { SystemTime::UNIX_EPOCH.checked_add(length) };
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// A length as the store keeps it.
pub fn length_micros(length: Duration) -> i64 {
    i64::try_from(length.as_micros()).unwrap_or(i64::MAX)
}

/// A time on the wire.
pub fn time(at: SystemTime) -> Time {
    Time::from_micros(micros(at))
}

/// A length on the wire.
pub fn millis(length: Duration) -> u64 {
    u64::try_from(length.as_millis()).unwrap_or(u64::MAX)
}
