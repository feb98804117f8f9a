//! Why something asked for was not done, in words, with the HTTP status those words have everywhere.

use std::{
    borrow::Cow,
    fmt,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use fuseboard_app::{backend::Refusal, format::full_utc, prose};
use fuseboard_breaker::{Mode, Override};

use crate::{db::trouble, stamp::time};

/// Why something was not done, or not stored.
#[derive(Debug, thiserror::Error)]
pub enum Fault {
    /// No such breaker; asking never makes one.
    #[error("there is no breaker {id:?}")]
    Unknown {
        /// What was asked for.
        id: String,
    },
    /// No such incident.
    #[error("there is no incident {id:?}; an incident's id is the number of the row that opened it")]
    UnknownIncident {
        /// What was asked for.
        id: String,
    },
    /// A field that cannot be.
    #[error("{field}: {message}")]
    Field {
        /// Which.
        field: String,
        /// What it takes.
        message: Cow<'static, str>,
    },
    /// The reset would end somebody's override.
    #[error("{}; a reset would end that: say \"end_override\": true, or release it first", standing(.0))]
    WouldEndOverride(Box<Override>),
    /// It cannot be done as things stand.
    #[error("{0}")]
    Conflict(String),
    /// There is nothing to release.
    #[error("no override stands here, so there is nothing to release")]
    NotOverridden,
    /// It took effect but is not in the store.
    #[error("{did} now, but it could not be stored and would be lost at a restart: {error}")]
    NotStored {
        /// What was done.
        did: &'static str,
        /// What the store said.
        error: String,
    },
    /// The store refuses to be read.
    #[error("the record cannot be read: {error}; breakers still work, ask again once that is mended")]
    Unreadable {
        /// What is wrong with it.
        error: Cow<'static, str>,
    },
    /// What nobody expected.
    #[error("something went wrong inside Fuseboard; the log has the detail under {id}")]
    Unexpected {
        /// Stands in the answer and in the log.
        id: String,
    },
}

impl Fault {
    pub(crate) fn field(field: impl Into<String>, message: impl Into<Cow<'static, str>>) -> Self {
        Self::Field { field: field.into(), message: message.into() }
    }

    pub(crate) fn unknown(id: &str) -> Self {
        Self::Unknown { id: id.to_owned() }
    }

    /// A fixed text and an id outside; the detail goes to the log, here and once.
    pub(crate) fn unexpected(error: impl fmt::Display) -> Self {
        let id = error_id();
        tracing::error!(id, "unexpected: {error:#}");
        Self::Unexpected { id }
    }

    /// The HTTP status it has.
    pub fn status(&self) -> u16 {
        match self {
            Self::Unknown { .. } | Self::UnknownIncident { .. } => 404,
            Self::WouldEndOverride(_) | Self::NotOverridden | Self::Conflict(_) => 409,
            Self::Field { .. } => 422,
            Self::Unexpected { .. } => 500,
            Self::NotStored { .. } | Self::Unreadable { .. } => 503,
        }
    }

    /// The field at fault, if one is.
    pub fn field_name(&self) -> Option<&str> {
        match self {
            Self::Field { field, .. } => Some(field),
            _ => None,
        }
    }

    /// Whether it took effect all the same.
    pub fn applied(&self) -> bool {
        matches!(self, Self::NotStored { .. })
    }

    /// As a sentence.
    pub fn sentence(&self) -> String {
        let text = self.to_string();
        // A field is spelled as it was sent.
        if self.field_name().is_some() {
            return format!("{text}.");
        }
        let mut chars = text.chars();
        chars.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), chars.as_str()))
    }
}

impl From<sqlx::Error> for Fault {
    /// What is wrong with the file is said; what is wrong with a query of ours nobody expected.
    fn from(error: sqlx::Error) -> Self {
        let Some(words) = trouble::of(&error) else { return Self::unexpected(error) };
        tracing::warn!(%error, "the record cannot be read");
        Self::Unreadable { error: words }
    }
}

impl From<Fault> for Refusal {
    fn from(error: Fault) -> Self {
        Self {
            status: error.status(),
            detail: error.sentence(),
            field: error.field_name().map(str::to_owned),
            applied: error.applied(),
        }
    }
}

/// Unique within the log of one node: start-up randomness and a counter.
fn error_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    static RUN: OnceLock<u32> = OnceLock::new();
    format!("{:08x}-{}", RUN.get_or_init(rand::random::<u32>), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn standing(held: &Override) -> String {
    let mode = match held.mode {
        Mode::ForcedOpen => "open",
        Mode::ForcedClosed => "closed",
    };
    let since = full_utc(time(held.since).millis());
    format!("it is held {mode} by {} since {since} (\"{}\")", prose::by(&held.by.name), held.reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unexpected_error_tells_its_id_and_nothing_else() {
        let error = Fault::unexpected("secret path");
        let Fault::Unexpected { id } = &error else { panic!("{error:?}") };
        assert!(error.sentence().contains(id.as_str()) && !error.sentence().contains("secret"));
        assert_ne!(error_id(), error_id());
    }

    #[test]
    fn what_was_done_but_not_stored_says_both() {
        let refusal = Refusal::from(Fault::NotStored { did: "forced open", error: "disk full".into() });
        assert_eq!((refusal.status, refusal.applied, refusal.field), (503, true, None));
        assert!(refusal.detail.starts_with("Forced open now") && refusal.detail.contains("disk full"));
        let refusal = Refusal::from(Fault::field("reason", "must be said"));
        assert_eq!((refusal.status, refusal.applied), (422, false));
        assert_eq!(refusal.field.as_deref(), Some("reason"));
        assert_eq!(refusal.detail, "reason: must be said.");
    }
}
