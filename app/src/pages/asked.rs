//! What the address of a list asks for. Filters, range and page stand there alone, so that a link hands over all of it.

use crate::{
    backend::IncidentFilter,
    format::iso_utc,
    range::{Range, Zoom},
    shown::{Query, pairs},
    wire::time::Time,
};

/// The address of a list, read. What a list does not know stays empty in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Of this page.
    pub path: &'static str,
    /// Text looked for.
    pub q: String,
    /// Of this breaker alone.
    pub breaker: String,
    /// Of this upstream alone.
    pub upstream: String,
    /// Only what lasts.
    pub open: bool,
    /// How far back.
    pub range: Option<Range>,
    /// Between two times; wins over `range`.
    pub between: Option<Zoom>,
    /// Where the page begins: numbers below this.
    pub before: Option<u64>,
}

impl Asked {
    /// Reads the part behind the question mark; nonsense asks for nothing.
    pub fn parse(path: &'static str, search: &str) -> Self {
        let mut asked = Self {
            path,
            q: String::new(),
            breaker: String::new(),
            upstream: String::new(),
            open: false,
            range: None,
            between: None,
            before: None,
        };
        let (mut from, mut to) = (String::new(), String::new());
        for (name, value) in pairs(search) {
            match name.as_str() {
                "q" => asked.q = value,
                "breaker" => asked.breaker = value,
                "upstream" => asked.upstream = value,
                "open" => asked.open = value == "true",
                "range" => asked.range = Range::parse(&value),
                "from" => from = value,
                "to" => to = value,
                "before" => asked.before = value.parse().ok(),
                _ => {}
            }
        }
        asked.between = Zoom::parse(&from, &to);
        if asked.between.is_some() {
            asked.range = None;
        }
        asked
    }

    /// Its address.
    pub fn href(&self) -> String {
        let query = Query::new(self.path);
        self.values().into_iter().fold(query, |query, (name, value)| query.say(name, &value)).href()
    }

    /// Names and values, the empty ones too.
    fn values(&self) -> [(&'static str, String); 8] {
        let [from, to] = self.between.map(|between| [between.from_ms, between.to_ms].map(iso_utc)).unwrap_or_default();
        [
            ("q", self.q.clone()),
            ("breaker", self.breaker.clone()),
            ("upstream", self.upstream.clone()),
            ("open", if self.open { "true".into() } else { String::new() }),
            ("range", self.range.map_or("", Range::word).into()),
            ("from", from),
            ("to", to),
            ("before", self.before.map_or(String::new(), |before| before.to_string())),
        ]
    }

    /// What a form keeps beside its own fields; a new search begins at the newest.
    pub fn kept(&self, own: &[&str]) -> Vec<(&'static str, String)> {
        let mut values = Vec::from(self.first().values());
        values.retain(|(name, value)| !value.is_empty() && !own.contains(name));
        values
    }

    /// The first page of the same.
    pub fn first(&self) -> Self {
        Self { before: None, ..self.clone() }
    }

    /// The page behind this number.
    pub fn behind(&self, before: u64) -> Self {
        Self { before: Some(before), ..self.clone() }
    }

    /// Whether only some are asked for.
    pub fn some(&self) -> bool {
        Self { before: None, path: self.path, ..Self::parse(self.path, "") } != self.first()
    }

    /// Both ends of its time at a time of the server's clock; none where all of it is asked for.
    pub fn ends(&self, now_ms: i64) -> (Option<Time>, Option<Time>) {
        let ends = match (self.between, self.range) {
            (Some(between), _) => Some(between),
            (None, Some(range)) => Some(Zoom { from_ms: now_ms - range.ms(), to_ms: now_ms + 1 }),
            (None, None) => None,
        };
        let time = |ms: i64| Time::from_micros(ms * 1_000);
        ends.map_or((None, None), |Zoom { from_ms, to_ms }| (Some(time(from_ms)), Some(time(to_ms))))
    }

    /// As the backend is asked for incidents.
    pub fn incidents(&self, now_ms: i64, rows: u32) -> IncidentFilter {
        let (from, to) = self.ends(now_ms);
        let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        IncidentFilter {
            breaker: text(&self.breaker),
            q: text(&self.q),
            upstream: text(&self.upstream),
            from,
            to,
            open: self.open.then_some(true),
            before: self.before,
            after: None,
            limit: Some(rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_796_007_600_000;

    #[test]
    fn an_address_hands_over_all_of_it() {
        for href in [
            "/incidents",
            "/incidents?q=a+b&upstream=npm&open=true&range=24h&before=90",
            "/incidents?breaker=https:registry.example&from=2026-11-30T01:12:07Z&to=2026-11-30T01:13:07Z",
        ] {
            let search = href.split_once('?').map_or("", |(_, search)| search);
            assert_eq!(Asked::parse("/incidents", search).href(), href);
        }
        assert_eq!(Asked::parse("/audit", "?before=soon&range=fortnight&open=false&from=now&to=then").href(), "/audit");
    }

    #[test]
    fn it_is_what_the_backend_is_asked() {
        let filter = Asked::parse("/incidents", "q=a+b&range=24h&open=true&before=90").incidents(NOW, 50);
        assert_eq!((filter.q.as_deref(), filter.open, filter.before), (Some("a b"), Some(true), Some(90)));
        assert_eq!(filter.from.map(|from| from.millis()), Some(NOW - Range::Day.ms()));
        let exact = "range=1h&from=2026-11-30T01:12:07Z&to=2026-11-30T01:13:07Z&upstream=npm&breaker=a";
        let filter = Asked::parse("/incidents", exact).incidents(NOW, 50);
        let ends = (filter.from.map(|at| at.millis()), filter.to.map(|at| at.millis()));
        assert_eq!(ends, (Some(1_796_001_127_000), Some(1_796_001_187_000)), "exact ends win");
        assert_eq!(
            (filter.upstream.as_deref(), filter.breaker.as_deref(), filter.open),
            (Some("npm"), Some("a"), None)
        );
        let all = Asked::parse("/incidents", "").incidents(NOW, 50);
        assert_eq!((all.from, all.to, all.limit), (None, None, Some(50)));
    }

    #[test]
    fn a_form_keeps_the_rest_and_begins_at_the_newest() {
        let asked = Asked::parse("/incidents", "q=a&open=true&range=7d&before=9");
        assert_eq!(asked.kept(&["q"]), [("open", "true".to_owned()), ("range", "7d".to_owned())]);
        assert!(asked.some() && !Asked::parse("/incidents", "before=9").some());
        assert_eq!(asked.first().behind(4).href(), "/incidents?q=a&open=true&range=7d&before=4");
    }
}
