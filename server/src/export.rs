//! What happened, as files to carry away: rows of the record for a spreadsheet or a script, incidents for a post-mortem
//! or a calendar.
//!
//! - A file is written while it is read, a batch at a time: no query outlives its batch, and what one export holds in
//!   memory does not grow with the record.
//! - It holds what the API shows for the same range, up to the newest number there was when it began; and, marked as such,
//!   what began earlier: incidents that overlap, and the transition each breaker stood in at `from`.
//! - It says whose record it is and in which zone its times are. Text that came from outside is data in every format.
//! - An error in the middle ends it visibly broken: the transfer is aborted, never ended in order.

mod columns;
mod csv;
mod html;
mod ics;
mod incidents;
mod json;
mod markdown;
mod ndjson;
mod out;
mod report;
mod rows;

use std::sync::Arc;

use axum::body::Bytes;
use chrono::SecondsFormat;
use fuseboard_app::wire::{
    event::{Audit, Probe, Transition},
    incident::IncidentDetail,
    time::Time,
};
use futures_util::Stream;
use serde::Serialize;

use self::out::Out;
use crate::{
    app::App,
    fault::Fault,
    history::{
        breakers,
        gaps::{self, Missing},
    },
    stamp,
};

/// Which part of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// From leaving closed to closed again, each with its evidence.
    Incidents,
    /// Changes of state, override and cool-down.
    Transitions,
    /// What became of each probe.
    Probes,
    /// What operators did.
    Audit,
}

impl What {
    /// The words for it.
    pub const WORDS: [&'static str; 4] = ["incidents", "transitions", "probes", "audit"];
    const ALL: [Self; 4] = [Self::Incidents, Self::Transitions, Self::Probes, Self::Audit];

    /// By its word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|what| what.word() == word)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }
}

/// How it is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// For a spreadsheet.
    Csv,
    /// One object.
    Json,
    /// One object a line.
    Ndjson,
    /// A report in Markdown.
    Md,
    /// A calendar.
    Ics,
    /// A report as one page that needs nothing else.
    Html,
}

impl Format {
    /// The words for it, the endings of the files too.
    pub const WORDS: [&'static str; 6] = ["csv", "json", "ndjson", "md", "ics", "html"];
    const ALL: [Self; 6] = [Self::Csv, Self::Json, Self::Ndjson, Self::Md, Self::Ics, Self::Html];

    /// By its word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.word() == word)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        Self::WORDS[self as usize]
    }

    /// What the file is.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
            Self::Md => "text/markdown; charset=utf-8",
            Self::Ics => "text/calendar; charset=utf-8",
            Self::Html => "text/html; charset=utf-8",
        }
    }

    fn tells_of_incidents_alone(self) -> bool {
        matches!(self, Self::Md | Self::Ics | Self::Html)
    }
}

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Which part of the record.
    pub what: What,
    /// How it is written down.
    pub format: Format,
    /// Not older than this; everything when absent.
    pub from: Option<Time>,
    /// Older than this; up to now when absent.
    pub to: Option<Time>,
    /// Of this breaker alone.
    pub breaker: Option<String>,
    /// Which incidents; for them alone.
    pub only: Only,
}

/// Which incidents, beyond a range and a breaker: the list's filters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Only {
    /// Of this upstream.
    pub upstream: Option<String>,
    /// Text that the breaker's id or an upstream's name contains.
    pub q: Option<String>,
    /// Those that last, or those that are over.
    pub open: Option<bool>,
}

impl Only {
    /// The first of them that is asked for, by its name.
    fn asked(&self) -> Option<&'static str> {
        let asked = [("upstream", self.upstream.is_some()), ("q", self.q.is_some()), ("open", self.open.is_some())];
        asked.into_iter().find(|(_, asked)| *asked).map(|(name, _)| name)
    }
}

/// What a file says of itself.
#[derive(Debug, Clone, Serialize)]
struct About {
    what: What,
    format: Format,
    node: String,
    /// Of every time in the file.
    zone: &'static str,
    from: Option<Time>,
    to: Option<Time>,
    breaker: Option<String>,
    /// What else its incidents were chosen by.
    #[serde(flatten)]
    only: Only,
    /// When it was made.
    made_at: Time,
    made_by: &'static str,
    /// The newest number there was; what came later is not in it.
    up_to_seq: u64,
    /// Facts the store had not taken by then; they are not in it either.
    waiting: u64,
    /// Facts of that time, of whatever kind and breaker, that could not be kept.
    lost: u64,
    /// Which numbers those are among.
    gaps: Vec<Missing>,
    /// What stands in it from before `from`.
    from_before: &'static str,
    #[serde(skip)]
    board: String,
}

/// How much a file holds.
#[derive(Debug, Clone, Copy, Default, Serialize)]
struct Tally {
    /// As many as the API has for the range.
    rows: u64,
    /// Rows from before `from` beside them.
    in_force_at_from: u64,
    /// The newest number among the rows.
    last_seq: Option<u64>,
}

/// A file that is about to be written.
pub struct Export {
    app: Arc<App>,
    about: About,
}

impl Export {
    /// Checks what is asked for, and waits a moment for what is on its way to the store.
    ///
    /// # Errors
    /// It cannot be, by field; or the store refuses.
    pub async fn begin(app: Arc<App>, ask: Ask) -> Result<Self, Fault> {
        if ask.format.tells_of_incidents_alone() && ask.what != What::Incidents {
            let what = ask.what.word();
            return Err(Fault::field("format", format!("must be one of csv, json, ndjson for {what}")));
        }
        if let Some(name) = ask.only.asked().filter(|_| ask.what != What::Incidents) {
            return Err(Fault::field(name, "chooses among incidents; it takes what=incidents"));
        }
        let made_at = stamp::time(app.clock.wall());
        if ask.to.is_none() && ask.from.is_some_and(|from| from > made_at) {
            return Err(Fault::field("from", "lies in the future; nothing is recorded there yet"));
        }
        if let Some(id) = &ask.breaker {
            let known = app.panel.get(id).is_some() || breakers::known(app.db.read(), id).await.map_err(Fault::from)?;
            if !known {
                return Err(Fault::field(
                    "breaker",
                    format!("is not in the record: {id:?}; ids look like https:registry.example"),
                ));
            }
        }
        let up_to_seq = app.journal.last_seq();
        let waiting = match app.journal.durable(up_to_seq).await {
            Ok(()) => 0,
            Err(_) => app.journal.health().waiting,
        };
        let gaps = gaps::within(app.db.read(), ask.from, ask.to).await.map_err(Fault::from)?;
        let from_before = match ask.what {
            What::Incidents => "incidents that began before `from` and had not ended by then are rows like any other",
            What::Transitions => {
                "the transition each breaker stood in at `from` comes first and is marked in_force_at_from"
            }
            What::Probes | What::Audit => "nothing",
        };
        let about = About {
            what: ask.what,
            format: ask.format,
            node: app.config.node.clone(),
            zone: "UTC",
            from: ask.from,
            to: ask.to,
            breaker: ask.breaker,
            only: ask.only,
            made_at,
            made_by: concat!("fuseboard ", env!("CARGO_PKG_VERSION")),
            up_to_seq,
            waiting,
            lost: gaps.iter().map(Missing::count).sum(),
            gaps,
            from_before,
            board: app.admin_url.as_str().trim_end_matches('/').to_owned(),
        };
        Ok(Self { app, about })
    }

    /// What the file is.
    pub fn content_type(&self) -> &'static str {
        self.about.format.content_type()
    }

    /// A name that says whose record it is, what part, and from when to when; of letters every system takes.
    pub fn file_name(&self) -> String {
        let about = &self.about;
        let time = |at: Time| at.0.to_rfc3339_opts(SecondsFormat::Secs, true).replace(['-', ':'], "");
        let mut parts = vec!["fuseboard".to_owned(), plain(&about.node), about.what.word().to_owned()];
        parts.extend(about.breaker.as_deref().map(plain));
        parts.extend(about.from.map(time));
        parts.push(time(about.to.unwrap_or(about.made_at)));
        format!("{}.{}", parts.join("-"), about.format.word())
    }

    /// The file. Dropping it ends the reading, wherever that is.
    pub fn bytes(self) -> impl Stream<Item = Result<Bytes, Fault>> + Send + 'static {
        out::written(move |mut out| async move {
            let Self { app, about } = self;
            match about.format {
                Format::Csv => rows_of(&app, &about, &mut csv::Sheet, &mut out).await?,
                Format::Json => rows_of(&app, &about, &mut json::Object::default(), &mut out).await?,
                Format::Ndjson => rows_of(&app, &about, &mut ndjson::Lines, &mut out).await?,
                Format::Md => markdown::write(&app, &about, &mut out).await?,
                Format::Html => html::write(&app, &about, &mut out).await?,
                Format::Ics => ics::write(&app, &about, &mut out).await?,
            }
            out.end().await;
            Ok(())
        })
    }
}

async fn rows_of(app: &App, about: &About, shape: &mut impl rows::Shape, out: &mut Out) -> Result<(), Fault> {
    match about.what {
        What::Incidents => rows::write::<IncidentDetail>(app, about, shape, out).await,
        What::Transitions => rows::write::<Transition>(app, about, shape, out).await,
        What::Probes => rows::write::<Probe>(app, about, shape, out).await,
        What::Audit => rows::write::<Audit>(app, about, shape, out).await,
    }
}

/// For a file's name.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_read_back() {
        for word in What::WORDS {
            assert_eq!(What::of(word).map(What::word), Some(word));
        }
        for word in Format::WORDS {
            assert_eq!(Format::of(word).map(Format::word), Some(word));
        }
        assert_eq!(Format::of("xml"), None);
    }

    #[test]
    fn a_name_holds_nothing_a_file_system_minds() {
        assert_eq!(plain("https:registry.example:8443"), "https_registry.example_8443");
        assert_eq!(plain("../a\"\r\nb"), ".._a___b");
    }
}
