//! RFC 3339 UTC with microseconds and `Z`, always the same width, so that text order is time order.

#[cfg(not(feature = "browser"))]
use chrono::SecondsFormat;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub DateTime<Utc>);

impl Time {
    /// From microseconds since 1970, as the store keeps them. Out of range becomes the epoch.
    pub fn from_micros(micros: i64) -> Self {
        Self(DateTime::from_timestamp_micros(micros).unwrap_or(DateTime::UNIX_EPOCH))
    }

    /// Microseconds since 1970.
    pub fn micros(self) -> i64 {
        self.0.timestamp_micros()
    }

    /// Milliseconds since 1970.
    pub fn millis(self) -> i64 {
        self.0.timestamp_millis()
    }
}

impl std::fmt::Display for Time {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        #[cfg(not(feature = "browser"))]
        return out.write_str(&self.0.to_rfc3339_opts(SecondsFormat::Micros, true));
        #[cfg(feature = "browser")]
        out.write_str(&crate::format::iso_utc(self.millis()))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[cfg(not(feature = "browser"))]
        return DateTime::<Utc>::deserialize(from).map(Self);
        #[cfg(feature = "browser")]
        read(&String::deserialize(from)?).ok_or_else(|| serde::de::Error::custom("not a time in UTC"))
    }
}

/// What the server writes, read to the millisecond: the browser shows no less, and the whole reader is 20 kB of wasm.
#[cfg(any(feature = "browser", test))]
fn read(text: &str) -> Option<Time> {
    crate::format::parse_utc(text).map(|ms| Time::from_micros(ms * 1_000))
}

#[cfg(feature = "ssr")]
impl utoipa::PartialSchema for Time {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type};
        ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
            .description(Some("RFC 3339 in UTC with microseconds and Z"))
            .examples(["2026-01-31T12:00:00.000000Z"])
            .into()
    }
}

#[cfg(feature = "ssr")]
impl utoipa::ToSchema for Time {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_browser_reads_what_the_server_writes() {
        for micros in [0, 1_796_001_127_000_250, 951_782_400_123_999] {
            let written = Time::from_micros(micros);
            assert_eq!(read(&written.to_string()).map(Time::millis), Some(written.millis()), "{written}");
        }
        assert_eq!(read("yesterday"), None);
    }
}
