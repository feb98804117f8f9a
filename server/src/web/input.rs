//! What a request says, read strictly: a value that cannot be is refused by its field's name, an unknown one too, since
//! a mistyped filter that is silently ignored shows the wrong breakers.

mod body;

use std::ops::RangeInclusive;

use axum::{
    extract::{FromRequestParts, Path},
    http::{StatusCode, request::Parts},
};
use chrono::{DateTime, Utc};
use fuseboard_app::wire::time::Time;

pub use self::body::{Command, Json, MaybeJson};
use super::problem::{Answer, Problem};

/// A breaker's id from the path, percent-decoded.
pub struct Id(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Answer<Self> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        let not_text = |_| {
            let why = "The id in the path is no text once its percent signs are decoded. Escape it as UTF-8.";
            Problem::new(StatusCode::BAD_REQUEST, why)
        };
        path.map(|Path(id)| Self(id)).map_err(not_text)
    }
}

/// The query's values.
#[derive(Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for Query {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Answer<Self> {
        let query = parts.uri.query().unwrap_or_default();
        Ok(Self(url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()))
    }
}

impl Query {
    /// Refuses what this address does not take, what is said twice, and what is said without a value: an end that was
    /// meant and got lost must not read as no end.
    ///
    /// # Errors
    /// Names the parameter.
    pub fn only(&self, known: &[&str]) -> Answer<()> {
        for (at, (name, value)) in self.0.iter().enumerate() {
            if known.is_empty() {
                return Err(Problem::field(name, "is not known here; this address takes no parameters"));
            }
            if !known.contains(&name.as_str()) {
                return Err(Problem::field(name, format_args!("is not known here; known: {}", known.join(", "))));
            }
            if self.0[..at].iter().any(|(earlier, _)| earlier == name) {
                return Err(Problem::field(name, "is given twice"));
            }
            if value.is_empty() {
                return Err(Problem::field(name, "is empty; give it a value, or leave it out"));
            }
        }
        Ok(())
    }

    /// A text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// One of a few words.
    ///
    /// # Errors
    /// Another word.
    pub fn word<'a>(&'a self, name: &str, words: &[&str]) -> Answer<Option<&'a str>> {
        self.text(name)
            .map(|word| {
                let known = words.contains(&word);
                known
                    .then_some(word)
                    .ok_or_else(|| Problem::field(name, format_args!("must be one of {}", words.join(", "))))
            })
            .transpose()
    }

    /// A whole number in a range.
    ///
    /// # Errors
    /// No number, or outside.
    pub fn number(&self, name: &str, range: RangeInclusive<u64>) -> Answer<Option<u64>> {
        self.text(name)
            .map(|text| {
                let number = text.parse().ok().filter(|number| range.contains(number));
                number.ok_or_else(|| match (range.start(), range.end()) {
                    (0, &u64::MAX) => Problem::field(name, "must be a whole number"),
                    (start, end) => Problem::field(name, format_args!("must be a whole number from {start} to {end}")),
                })
            })
            .transpose()
    }

    /// A point in time.
    ///
    /// # Errors
    /// Not RFC 3339.
    pub fn time(&self, name: &str) -> Answer<Option<Time>> {
        self.text(name)
            .map(|text| {
                // A plus sign that was not escaped arrives as a blank.
                let time = DateTime::parse_from_rfc3339(&text.replace(' ', "+"));
                time.map(|time| Time(time.with_timezone(&Utc)))
                    .map_err(|_| Problem::field(name, "must be a time like 2026-01-31T12:00:00Z"))
            })
            .transpose()
    }

    /// A stretch of time that ends after it begins.
    ///
    /// # Errors
    /// Names the end at fault.
    pub fn ends(&self) -> Answer<(Option<Time>, Option<Time>)> {
        let (from, to) = (self.time("from")?, self.time("to")?);
        match (from, to) {
            (Some(from), Some(to)) if from >= to => Err(Problem::field("to", "must be later than from")),
            ends => Ok(ends),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(text: &str) -> Query {
        Query(url::form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    fn fault<T>(answer: Answer<T>) -> Option<(u16, Option<String>)> {
        answer.err().map(|problem| (problem.wire().status, problem.wire().field.clone()))
    }

    fn at(field: &str) -> Option<(u16, Option<String>)> {
        Some((422, Some(field.into())))
    }

    #[test]
    fn a_bad_value_is_refused_by_its_name() {
        assert_eq!(fault(query("limit=5&limt=6").only(&["limit"])), at("limt"));
        assert_eq!(fault(query("limit=5&limit=6").only(&["limit"])), at("limit"));
        assert_eq!(fault(query("limit=5").only(&["limit"])), None);
        let none = query("limit=5").only(&[]).expect_err("it takes nothing");
        assert_eq!(none.wire().detail.as_deref(), Some("limit: is not known here; this address takes no parameters."));
        for (text, refused) in [("0", true), ("1", false), ("1000", false), ("1001", true), ("-1", true), ("x", true)] {
            assert_eq!(fault(query(&format!("limit={text}")).number("limit", 1..=1000)).is_some(), refused, "{text}");
        }
        assert_eq!(fault(query("state=ajar").word("state", &["open"])), at("state"));
        for empty in ["from=1&to=", "from=1&to"] {
            assert_eq!(fault(query(empty).only(&["from", "to"])), at("to"));
        }
        assert_eq!(fault(query("from=yesterday").time("from")), at("from"));
        let same = query("from=2026-01-01T00:00:00Z&to=2026-01-01T01:00:00%2B01:00");
        assert_eq!(fault(same.ends()), at("to"));
        let plus = query("from=2026-01-01T01:00:00+01:00").time("from").ok().flatten();
        assert_eq!(plus.map(|time| time.to_string()), Some("2026-01-01T00:00:00.000000Z".into()));
    }
}
