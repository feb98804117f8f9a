//! What the panel's address says is shown. Pure: the address is the only place where filters, range, an open form and the
//! selection stand, so that a link hands over all of it and everything works without script.

use crate::{
    format::{self, query_value},
    order,
    range::{Range, Window, Zoom},
};

/// The address of the panel, read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    /// Text looked for.
    pub q: String,
    /// A filter's word, empty for all.
    pub state: String,
    /// `http` or `grpc`, empty for both.
    pub protocol: String,
    /// A filter's word that is none: everything is shown and that is said.
    pub unknown: String,
    /// How far back lanes reach, where that was chosen.
    pub range: Option<Range>,
    /// What was zoomed into.
    pub zoom: Option<Zoom>,
    /// Tiles for a screen on a wall.
    pub wall: bool,
    /// Every row of the rest, for whoever has no script to scroll them in.
    pub all: bool,
    /// The open form's action, empty for none.
    pub act: String,
    /// The breakers selected for it.
    pub ids: Vec<String>,
}

impl Shown {
    /// Reads the part behind the question mark.
    pub fn parse(query: &str) -> Self {
        let mut shown = Self::default();
        let (mut from, mut to) = (String::new(), String::new());
        for (name, value) in pairs(query) {
            match name.as_str() {
                "q" => shown.q = value,
                "state" if value.is_empty() || order::WORDS.contains(&value.as_str()) => shown.state = value,
                "state" => shown.unknown = value,
                "protocol" if matches!(value.as_str(), "" | "http" | "grpc") => shown.protocol = value,
                "range" => shown.range = Range::parse(&value),
                "from" => from = value,
                "to" => to = value,
                "wall" => shown.wall = true,
                "all" => shown.all = true,
                "act" => shown.act = value,
                "id" => shown.ids.push(value),
                _ => {}
            }
        }
        shown.zoom = Zoom::parse(&from, &to);
        shown
    }

    /// Its address.
    pub fn href(&self) -> String {
        let ends = self.zoom.map(|zoom| [zoom.from_ms, zoom.to_ms].map(format::iso_utc));
        let [from, to] = ends.unwrap_or_default();
        let query = Query::new("/")
            .say("q", &self.q)
            .say("state", &self.state)
            .say("protocol", &self.protocol)
            .say("range", self.range.map_or("", Range::word))
            .say("from", &from)
            .say("to", &to)
            .say("act", &self.act);
        let query = self.ids.iter().fold(query, |query, id| query.say("id", id));
        query.flag("all", self.all).flag("wall", self.wall).href()
    }

    /// What the lanes show.
    pub fn window(&self, usual: Range) -> Window {
        self.zoom.map_or(Window::Last(self.range.unwrap_or(usual)), Window::Fixed)
    }

    /// Whether only some are looked for.
    pub fn asked(&self) -> bool {
        !self.q.is_empty() || !self.state.is_empty() || !self.protocol.is_empty()
    }
}

/// An address with a query, put together.
#[derive(Debug)]
pub struct Query {
    path: &'static str,
    parts: Vec<String>,
}

impl Query {
    /// Of this page.
    pub fn new(path: &'static str) -> Self {
        Self { path, parts: Vec::new() }
    }

    /// A value; an empty one is left out.
    pub fn say(mut self, name: &str, value: &str) -> Self {
        if !value.is_empty() {
            self.parts.push(format!("{name}={}", query_value(value)));
        }
        self
    }

    /// A word without a value.
    pub fn flag(mut self, name: &str, set: bool) -> Self {
        if set {
            self.parts.push(name.to_owned());
        }
        self
    }

    /// The address.
    pub fn href(&self) -> String {
        if self.parts.is_empty() { self.path.to_owned() } else { format!("{}?{}", self.path, self.parts.join("&")) }
    }
}

/// Names and values of a query, decoded.
pub fn pairs(query: &str) -> impl Iterator<Item = (String, String)> {
    query.trim_start_matches('?').split('&').filter(|part| !part.is_empty()).map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (decoded(name), decoded(value))
    })
}

/// One value of a query.
pub fn value(query: &str, name: &str) -> Option<String> {
    pairs(query).find(|pair| pair.0 == name).map(|pair| pair.1)
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |byte: u8| char::from(byte).to_digit(16);
        match (bytes[at], bytes.get(at + 1).copied().and_then(hex), bytes.get(at + 2).copied().and_then(hex)) {
            (b'%', Some(high), Some(low)) => {
                out.push((high * 16 + low) as u8);
                at += 2;
            }
            (b'+', ..) => out.push(b' '),
            (byte, ..) => out.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_hands_over_all_of_it() {
        let shown = Shown {
            q: "a b&c".into(),
            state: "latched".into(),
            protocol: "grpc".into(),
            range: Some(Range::Day),
            zoom: Some(Zoom { from_ms: 1_796_001_127_000, to_ms: 1_796_001_187_000 }),
            act: "force-open".into(),
            ids: vec!["https:registry.example".into(), "grpc:[::1]:50051".into()],
            ..Shown::default()
        };
        let href = shown.href();
        assert_eq!(Shown::parse(href.split_once('?').expect("a query").1), shown, "{href}");
        assert_eq!(Shown::default().href(), "/");
        assert!(Shown::parse("?wall").wall && Shown { wall: true, ..Shown::default() }.href() == "/?wall");
    }

    #[test]
    fn a_word_that_is_no_state_filters_nothing() {
        let shown = Shown::parse("state=nope&q=%C3%A4+%zz%4");
        assert_eq!((shown.state.as_str(), shown.unknown.as_str(), shown.q.as_str()), ("", "nope", "ä %zz%4"));
        assert_eq!(value("a=1&b=2", "b").as_deref(), Some("2"));
    }
}
