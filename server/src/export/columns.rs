//! The columns of a sheet, by kind of row: the API's fields, the nested ones spread out or as JSON in one cell.

use std::fmt::Display;

use fuseboard_app::wire::{
    event::{Actor, Audit, Cause, Probe, Transition},
    incident::{IncidentDetail, IncidentKind},
};
use serde_json::{Map, Value};

use super::csv::guard;
use crate::history::{mode_word, state_word};

/// A kind of row as a line of cells.
pub(super) trait Columns {
    /// The columns' names.
    const HEAD: &'static [&'static str];

    /// Of a line about numbers that are missing: the column that says so, and the one that says what is.
    const GAP: Option<(&'static str, &'static str)> = None;

    /// As many cells.
    fn cells(&self) -> Cells;
}

/// A line of cells.
#[derive(Default)]
pub(super) struct Cells(Vec<String>);

impl Cells {
    /// Our own words and numbers.
    fn own(mut self, value: impl Display) -> Self {
        self.0.push(value.to_string());
        self
    }

    fn own_or_none(self, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.own(value),
            None => self.own(""),
        }
    }

    /// Text from outside.
    fn text(mut self, text: &str) -> Self {
        self.0.push(guard(text).into_owned());
        self
    }

    fn text_or_none(self, text: Option<&str>) -> Self {
        self.text(text.unwrap_or_default())
    }

    fn actor(self, actor: Option<&Actor>) -> Self {
        self.text_or_none(actor.map(|actor| &*actor.name))
            .own_or_none(actor.map(|actor| actor.verified))
            .text_or_none(actor.map(|actor| &*actor.via))
    }

    /// Everything else there is, as one JSON object.
    fn detail(self, detail: &Map<String, Value>) -> Self {
        match detail.is_empty() {
            true => self.own(""),
            false => self.text(&Value::Object(detail.clone()).to_string()),
        }
    }

    fn cause(self, cause: &Cause) -> Self {
        self.text(&cause.kind).detail(&cause.detail)
    }

    /// The cells.
    pub(super) fn done(self) -> Vec<String> {
        self.0
    }
}

impl Columns for Transition {
    const GAP: Option<(&'static str, &'static str)> = Some(("cause", "cause_detail"));
    const HEAD: &'static [&'static str] = &[
        "seq",
        "node",
        "breaker",
        "at_utc",
        "from",
        "to",
        "override",
        "generation",
        "cause",
        "cause_detail",
        "actor",
        "actor_verified",
        "actor_via",
        "reason",
    ];

    fn cells(&self) -> Cells {
        Cells::default()
            .own(self.seq)
            .text(&self.node)
            .text(&self.breaker)
            .own(self.at)
            .own(state_word(self.from))
            .own(state_word(self.to))
            .own_or_none(self.held.map(mode_word))
            .own(self.generation)
            .cause(&self.cause)
            .actor(self.actor.as_ref())
            .text_or_none(self.reason.as_deref())
    }
}

impl Columns for Probe {
    const GAP: Option<(&'static str, &'static str)> = Some(("outcome", "error"));
    const HEAD: &'static [&'static str] = &[
        "seq",
        "node",
        "breaker",
        "at_utc",
        "duration_ms",
        "generation",
        "outcome",
        "phase",
        "why",
        "status",
        "error",
        "method",
        "path",
        "synthetic",
        "code",
        "sent",
        "received",
    ];

    fn cells(&self) -> Cells {
        Cells::default()
            .own(self.seq)
            .text(&self.node)
            .text(&self.breaker)
            .own(self.at)
            .own(self.duration_ms)
            .own(self.generation)
            .text(&self.outcome)
            .text_or_none(self.phase.as_deref())
            .text_or_none(self.why.as_deref())
            .own_or_none(self.status)
            .text_or_none(self.error.as_deref())
            .text_or_none(self.method.as_deref())
            .text_or_none(self.path.as_deref())
            .own(self.synthetic)
            .text_or_none(self.code.as_deref())
            .own_or_none(self.sent)
            .own_or_none(self.received)
    }
}

impl Columns for Audit {
    const GAP: Option<(&'static str, &'static str)> = Some(("action", "detail"));
    const HEAD: &'static [&'static str] =
        &["seq", "node", "at_utc", "actor", "actor_verified", "actor_via", "action", "breaker", "reason", "detail"];

    fn cells(&self) -> Cells {
        Cells::default()
            .own(self.seq)
            .text(&self.node)
            .own(self.at)
            .actor(Some(&self.actor))
            .text(&self.action)
            .text_or_none(self.breaker.as_deref())
            .text_or_none(self.reason.as_deref())
            .detail(&self.detail)
    }
}

impl Columns for IncidentDetail {
    const HEAD: &'static [&'static str] = &[
        "id",
        "node",
        "breaker",
        "upstreams",
        "kind",
        "start_utc",
        "end_utc",
        "down_ms",
        "unknown_ms",
        "cause",
        "cause_detail",
        "actor",
        "actor_verified",
        "actor_via",
        "reason",
        "ended_by",
        "last_seq",
        "opens",
        "probes_good",
        "probes_bad",
        "probes_lost",
        "probes_void",
        "calls_failed",
        "calls_refused",
        "overrides",
    ];

    fn cells(&self) -> Cells {
        let one = &self.incident;
        let kind = match one.kind {
            IncidentKind::Tripped => "tripped",
            IncidentKind::Held => "held",
        };
        Cells::default()
            .own(one.id)
            .text(&one.node)
            .text(&one.breaker)
            .text(&one.upstreams.join(" "))
            .own(kind)
            .own(one.start)
            .own_or_none(one.end)
            .own(one.down_ms)
            .own(one.unknown_ms)
            .cause(&one.cause)
            .actor(one.actor.as_ref())
            .text_or_none(one.reason.as_deref())
            .text_or_none(one.ended_by.as_ref().map(|cause| &*cause.kind))
            .own_or_none(one.last_seq)
            .own(one.opens)
            .own(one.probes.good)
            .own(one.probes.bad)
            .own(one.probes.lost)
            .own(one.probes.void)
            .own(one.calls_failed)
            .own(one.calls_refused)
            .own(one.overrides)
    }
}
