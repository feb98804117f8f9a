//! What is wrong with the server itself.

use crate::{
    format::{self, Zone},
    wire::event::{Finding, StoreHealth},
};

/// What is wrong with the store, and that breakers go on.
pub fn store(store: &StoreHealth, now_ms: i64, zone: Zone) -> Option<String> {
    if let Some(since) = store.failing_since {
        let error = store.error.as_deref().map_or(String::new(), |error| format!(" ({error})"));
        return Some(format!(
            "History not written since {}{}{error}. Breakers still work. {}.",
            format::moment(since.millis(), now_ms, zone),
            zone.suffix(),
            format::some(store.waiting, "fact waits", "facts wait"),
        ));
    }
    (store.dropped > 0).then(|| {
        format!("{} of the record could not be kept; the gap is marked.", format::some(store.dropped, "fact", "facts"))
    })
}

/// What the server's watchdog found, the oldest first.
pub fn findings(found: &[Finding]) -> Option<String> {
    let first = found.first()?;
    let more = match found.len() - 1 {
        0 => String::new(),
        more => format!(" And {more} more on /health."),
    };
    Some(format!(
        "Fuseboard found a fault in itself: {}. Please report it; a restart resumes every breaker.{more}",
        first.detail
    ))
}
