//! Incidents as a calendar (RFC 5545): one event each, in UTC, none of which makes anybody busy.

use chrono::{DateTime, Utc};
use fuseboard_app::wire::{
    incident::{Incident, IncidentKind},
    time::Time,
};
use icalendar::{Calendar, Component, Event, EventLike, Property};

use super::{About, incidents, out::Out, report};
use crate::{app::App, fault::Fault};

/// Writes the calendar, a batch of events at a time.
pub(super) async fn write(app: &App, about: &About, out: &mut Out) -> Result<(), Fault> {
    let frame = calendar(about).to_string();
    let (head, end) = frame.split_at(frame.rfind("END:VCALENDAR").unwrap_or(frame.len()));
    out.text(head);
    let mut failed = None;
    incidents::each(app, about, out, |one, out| match event(about, one).try_into_string() {
        Ok(event) => out.text(&event),
        Err(error) => failed = Some(error),
    })
    .await?;
    out.text(end);
    failed.map_or(Ok(()), |error| Err(Fault::unexpected(error)))
}

fn calendar(about: &About) -> Calendar {
    let mut calendar = Calendar::new();
    calendar.properties.retain(|property| property.key() != "PRODID");
    for (key, value) in [
        ("PRODID", format!("-//Fuseboard//{}//EN", about.made_by)),
        ("METHOD", "PUBLISH".into()),
        ("X-WR-CALNAME", line(&format!("{} on {}", report::title(about), about.node))),
        ("X-WR-CALDESC", line(&format!("{}. {}", report::range(about), report::colophon(about)))),
        ("X-WR-TIMEZONE", about.zone.into()),
    ] {
        calendar.append_property(Property::new(key, value));
    }
    calendar
}

fn event(about: &About, one: &Incident) -> Event {
    let mut lines = vec![report::why(one)];
    lines.extend(report::figures(one, about).into_iter().map(|(label, value)| format!("{label}: {value}")));
    let kind = match one.kind {
        IncidentKind::Tripped => "tripped",
        IncidentKind::Held => "held",
    };
    let mut event = Event::new();
    event
        .uid(&line(&format!("incident-{}@{}", one.id, about.node)))
        .timestamp(utc(about.made_at))
        .starts(utc(one.start))
        .ends(end(one.start, one.end.unwrap_or(about.made_at)))
        .summary(&line(&report::headline(one, about)))
        .description(&lines.iter().map(|text| line(text)).collect::<Vec<_>>().join("\n"))
        .location(&line(&one.breaker))
        .url(&format!("{}/incidents/{}", about.board, one.id))
        .add_property("TRANSP", "TRANSPARENT")
        .add_property("CATEGORIES", kind)
        .add_property("X-FUSEBOARD-DOWN-MS", one.down_ms.to_string())
        .add_property("X-FUSEBOARD-OPEN", if one.end.is_some() { "FALSE" } else { "TRUE" });
    event.done()
}

fn utc(time: Time) -> DateTime<Utc> {
    time.0
}

/// A calendar knows whole seconds, and an end that is not later than its start is an error there (RFC 5545, 3.8.2.2).
fn end(start: Time, end: Time) -> DateTime<Utc> {
    let next = DateTime::from_timestamp(start.0.timestamp() + 1, 0).unwrap_or(start.0);
    end.0.max(next)
}

/// Text from outside as one line: a control character could end the line it stands in.
fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
