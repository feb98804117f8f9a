//! What the panel's rows say, and their HTML. A row is a list of cells: the browser writes anew only the cells that
//! differ. Pure.

use std::{collections::HashSet, fmt::Write};

use crate::{
    format::{self, Zone, breaker_path, id_parts, port_at, unicode_host},
    markup::escaped,
    order,
    panel::{Panel, Row, arrange::Group},
    prose,
    range::Window,
    shown::Shown,
    standing::{Sign, Standing},
    wire::{
        breaker::{Breaker, Mode, Override, State},
        time::Time,
    },
};

pub mod lane;
pub mod more;
pub mod tile;

/// Of the rest the server writes this many rows; a browser brings in the others as they are scrolled to.
pub const FIRST: usize = 100;

/// What all rows of a drawing share.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// The server's time.
    pub now_ms: i64,
    /// The clock times are read on.
    pub zone: Zone,
    /// What the lanes show.
    pub window: Window,
    /// Where the lanes end.
    pub end_ms: i64,
    /// What the address says, for links that keep it.
    pub shown: Shown,
    /// Rows and groups that are expanded.
    pub expanded: HashSet<String>,
    /// Rows that are selected.
    pub picked: HashSet<String>,
}

/// One thing in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// The head of an upstream with several breakers.
    Head(Group),
    /// A breaker.
    Row(String),
}

impl Item {
    /// What it is known by among the others.
    pub fn key(&self) -> &str {
        match self {
            Self::Head(group) => &group.name,
            Self::Row(id) => id,
        }
    }
}

/// An item drawn: its element's class and its cells.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drawn {
    /// Of the list item.
    pub class: String,
    /// Each cell's class and what is in it, as HTML.
    pub cells: Vec<(&'static str, String)>,
}

/// The rows of the groups in trouble from top to bottom; what flows stays folded under its upstream until it is opened.
pub fn troubled(groups: &[Group], expanded: &HashSet<String>) -> Vec<Item> {
    let mut items = Vec::new();
    for group in groups {
        if group.len() > 1 {
            items.push(Item::Head(group.clone()));
        }
        items.extend(group.trouble.iter().cloned().map(Item::Row));
        if group.len() > 1 && expanded.contains(&group.name) {
            items.extend(group.quiet.iter().cloned().map(Item::Row));
        }
    }
    items
}

impl Item {
    /// As it stands now.
    pub fn draw(&self, panel: &Panel, look: &Look) -> Drawn {
        match self {
            Self::Head(group) => head(group, panel, look),
            Self::Row(id) => panel.row(id).map_or_else(Drawn::default, |row| drawn(row, look)),
        }
    }

    /// The whole list item, as it was drawn.
    pub fn write(&self, Drawn { class, cells }: &Drawn, out: &mut String) {
        let (kind, key) = match self {
            Self::Head(group) => ("data-group", &group.name),
            Self::Row(id) => ("data-id", id),
        };
        let _ = write!(out, "<li class=\"{class}\" {kind}=\"{}\">", escaped(key));
        for (class, html) in cells {
            let _ = write!(out, "<div class=\"{class}\">{html}</div>");
        }
        out.push_str("</li>");
    }
}

/// "npm: metadata flows, files refused".
fn head(group: &Group, panel: &Panel, look: &Look) -> Drawn {
    let said = format!("<b>{}</b>: {}", escaped(&group.name), escaped(&panel.parts(group, look.now_ms)));
    let fold = if group.quiet.is_empty() {
        String::new()
    } else {
        let open = look.expanded.contains(&group.name);
        let what = if open { "hide".to_owned() } else { format!("show {} more", group.quiet.len()) };
        format!("<button type=\"button\" class=\"link\" data-expand aria-expanded=\"{open}\">{what}</button>")
    };
    Drawn { class: "group".into(), cells: vec![("cell c-group", said), ("cell c-fold", fold)] }
}

fn drawn(row: &Row, look: &Look) -> Drawn {
    let breaker = &row.breaker;
    let standing = Standing::of(breaker, look.now_ms);
    let id = escaped(&breaker.id);
    let picked = look.picked.contains(&breaker.id);
    let expanded = look.expanded.contains(&breaker.id);
    let checked = if picked { " checked" } else { "" };
    let pick = format!(
        "<label class=\"pick\"><input type=\"checkbox\" name=\"id\" form=\"bulk\" value=\"{id}\" \
         aria-label=\"Select {id}\"{checked}></label>"
    );
    let host = format!(
        "<a href=\"{}\">{}</a><span class=\"names\">{}</span>",
        escaped(&breaker_path(&breaker.id)),
        host_name(&breaker.id),
        escaped(&names(breaker))
    );
    let down = format!(
        "<span class=\"label\">{}</span><span class=\"value\">{}</span>",
        if is_held_up(breaker, standing) { "held for" } else { "down for" },
        down_for(breaker, standing, look.now_ms).unwrap_or_default()
    );
    let why = why(breaker, look.now_ms);
    let why = format!(
        "<span class=\"why\" title=\"{0}\">{0}</span><span class=\"traffic\">{1}</span>",
        escaped(&why),
        traffic(breaker, standing)
    );
    let (label, left) = next(breaker, standing, look.now_ms);
    let next = format!("<span class=\"label\">{label}</span><span class=\"value\">{left}</span>");
    let (act, word) = action(standing);
    let href = Shown { act: act.into(), ids: vec![breaker.id.clone()], ..look.shown.clone() }.href();
    let act = format!(
        "<a class=\"button\" href=\"{}\" aria-label=\"{word} {id}\">{word}</a>\
         <button type=\"button\" class=\"expand\" data-expand aria-expanded=\"{expanded}\" \
         aria-label=\"More about {id}\"></button>",
        escaped(&href)
    );
    let more = if expanded { more::html(breaker, standing, look) } else { String::new() };
    let class = format!(
        "row {}{}{}",
        standing.class(),
        if picked { " is-picked" } else { "" },
        if expanded { " is-expanded" } else { "" }
    );
    let cells = vec![
        ("cell c-pick", pick),
        ("cell c-state", sign_and_words(standing)),
        ("cell c-host", host),
        ("cell c-down", down),
        ("cell c-why", why),
        ("cell c-lane", lane::html(&row.strip, look.axis(), &look.window.spoken(look.zone))),
        ("cell c-next", next),
        ("cell c-act", act),
        ("cell c-more", more),
    ];
    Drawn { class, cells }
}

/// The shape, then `open · refusing`.
pub fn sign_and_words(standing: Standing) -> String {
    let (word, meaning) = standing.words();
    format!(
        "<span class=\"standing {}\"><svg class=\"sign\" viewBox=\"0 0 20 20\" aria-hidden=\"true\"><use href=\"{}\">\
         </use></svg><span class=\"words\"><strong>{word}</strong><span class=\"meaning\">{}{meaning}</span></span></span>",
        standing.class(),
        symbol(standing.sign()),
        standing.between(),
    )
}

/// The page's symbol of a sign.
pub fn symbol(sign: Sign) -> &'static str {
    match sign {
        Sign::Outline => "#sign-outline",
        Sign::Cross => "#sign-cross",
        Sign::Latch => "#sign-latch",
        Sign::Half => "#sign-half",
        Sign::Pinned => "#sign-pinned",
        Sign::PinnedLatch => "#sign-pinned-latch",
        Sign::Clock => "#sign-clock",
        Sign::Dots => "#sign-dots",
    }
}

/// An id in one line: the middle gives way, domain and port stay, and the whole is there for who asks.
pub fn host_name(id: &str) -> String {
    let (scheme, middle, tail) = id_parts(id);
    let (domain, port) = tail.split_at(port_at(tail));
    let part = |class: &str, text: &str| {
        if text.is_empty() { String::new() } else { format!("<span class=\"{class}\">{}</span>", escaped(text)) }
    };
    if middle.is_empty() {
        return format!(
            "<bdi class=\"host-name\" title=\"{}\">{}{}</bdi>",
            escaped(id),
            part("scheme", scheme),
            part("tail", tail)
        );
    }
    format!(
        "<bdi class=\"host-name is-long\" title=\"{}\">{}<span class=\"name\">{}<span class=\"tail\">{}{}</span></span></bdi>",
        escaped(id),
        part("scheme", scheme),
        part("middle", middle),
        part("domain", domain),
        part("port", port)
    )
}

/// The upstreams a breaker guards, unless that only says its id again.
pub fn names(breaker: &Breaker) -> String {
    let names = match breaker.upstreams.as_slice() {
        [one] if *one == breaker.id => String::new(),
        names => names.join(", "),
    };
    match unicode_host(&breaker.id) {
        Some(host) if names.is_empty() => host,
        Some(host) => format!("{names} · {host}"),
        None => names,
    }
}

/// What a row's one action is.
fn action(standing: Standing) -> (&'static str, &'static str) {
    match standing {
        standing if standing.held() => ("release", "Release"),
        Standing::Closed | Standing::Waiting => ("force-open", "Force open"),
        _ => ("reset", "Reset"),
    }
}

/// Why it stands so, in a few words.
pub fn why(breaker: &Breaker, now_ms: i64) -> String {
    let why = prose::why(breaker);
    if let Some(shadow) = shadow(breaker) {
        return format!("{shadow} · {why}");
    }
    if why.is_empty() && order::flapping(breaker, Time::from_micros(now_ms * 1_000)) {
        return format!("keeps opening, {} so far", format::some(breaker.opens, "time", "times"));
    }
    why
}

/// What it would be without the override that lets its calls through.
fn shadow(breaker: &Breaker) -> Option<&'static str> {
    let held = breaker.held.as_ref().filter(|held| held.mode == Mode::ForcedClosed);
    match held.map(|_| breaker.state)? {
        State::Closed => None,
        State::Open => Some("would be open"),
        State::HalfOpen => Some("would be half-open"),
    }
}

/// Whether an operator began it: over an outage that was there before, the outage counts.
fn is_held_up(breaker: &Breaker, standing: Standing) -> bool {
    let before = |held: &Override| standing.refuses() && breaker.down_since.is_some_and(|down| down < held.since);
    breaker.held.as_ref().is_some_and(|held| !before(held))
}

/// How long it has been so, or nothing where that is no trouble.
pub fn down_for(breaker: &Breaker, standing: Standing, now_ms: i64) -> Option<String> {
    let since = match &breaker.held {
        Some(_) if standing.refuses() => breaker.refused_since(),
        Some(held) => held.since,
        None if standing == Standing::CoolingDown => return None,
        None => breaker.down_since?,
    };
    Some(format::lasted(now_ms - since.millis()))
}

/// Until when it stands so: the probe, the override's or the cool-down's end.
pub fn next(breaker: &Breaker, standing: Standing, now_ms: i64) -> (&'static str, String) {
    let left = |at: Option<Time>| at.map_or(String::new(), |at| format::countdown(at.millis() - now_ms));
    match standing {
        Standing::Open => ("next probe in", left(breaker.next_probe_at)),
        Standing::ProbeDue | Standing::Overdue => ("next probe", "due now".into()),
        Standing::HalfOpen => ("next probe", "running".into()),
        Standing::CoolingDown => ("over in", left(breaker.cooldown_until)),
        Standing::ForcedOpen | Standing::ForcedClosed => {
            ("ends in", left(breaker.held.as_ref().and_then(|held| held.until)))
        }
        Standing::ForcedOpenForGood | Standing::ForcedClosedForGood => ("ends", "never".into()),
        Standing::Closed | Standing::Waiting => ("next probe in", String::new()),
    }
}

/// The numbers of a row: what is turned away, or how much flows and how fast.
fn traffic(breaker: &Breaker, standing: Standing) -> String {
    if standing == Standing::Waiting {
        return String::new();
    }
    if standing.refuses() {
        return match breaker.refused_per_min {
            0 => "nobody calls".into(),
            refused => format!("{} refused a minute", format::count(refused)),
        };
    }
    let calls = format!("{} a minute", format::some(breaker.calls_per_min, "call", "calls"));
    match breaker.p95_ms {
        Some(p95) => format!("{calls}, p95 {}", format::latency(p95)),
        None => calls,
    }
}

/// Whether a probe by hand makes sense: under forced open nothing is sent, and what flows is probed by its calls.
pub fn can_probe(breaker: &Breaker, standing: Standing) -> bool {
    !standing.held() && breaker.state != State::Closed
}

/// "942 closed, 3 waiting for the first call".
pub fn folded(panel: &Panel, quiet: &[String]) -> String {
    let waiting = quiet.iter().filter(|id| panel.row(id).is_some_and(|row| !row.breaker.called)).count() as u64;
    let closed = quiet.len() as u64 - waiting;
    match (closed, waiting) {
        (closed, 0) => format!("{} closed", format::count(closed)),
        (0, waiting) => format!("{} waiting for the first call", format::count(waiting)),
        (closed, waiting) => {
            format!("{} closed, {} waiting for the first call", format::count(closed), format::count(waiting))
        }
    }
}

#[cfg(test)]
mod tests;
