//! What this browser remembers: the operator's name, so that it is typed once, and the clock times are read on. Where the
//! browser keeps nothing, it is typed again.

/// The name given last.
#[cfg(feature = "browser")]
pub fn name() -> Option<String> {
    storage()?.get_item(NAME).ok().flatten().filter(|name| !name.is_empty())
}

/// Keeps a name for the next action.
#[cfg(feature = "browser")]
pub fn keep_name(name: &str) {
    if let Some(storage) = storage() {
        // A full or forbidden storage costs typing, nothing else.
        let _ = storage.set_item(NAME, name.trim());
    }
}

#[cfg(feature = "browser")]
const NAME: &str = "fuseboard.name";
#[cfg(feature = "browser")]
const UTC: &str = "fuseboard.utc";

/// Whether times are read in UTC here.
#[cfg(feature = "browser")]
pub fn utc() -> bool {
    storage().and_then(|storage| storage.get_item(UTC).ok().flatten()).is_some()
}

/// Keeps the choice of the clock.
#[cfg(feature = "browser")]
pub fn keep_utc(utc: bool) {
    if let Some(storage) = storage() {
        // As with the name.
        let _ = if utc { storage.set_item(UTC, "yes") } else { storage.remove_item(UTC) };
    }
}

#[cfg(feature = "browser")]
fn storage() -> Option<web_sys::Storage> {
    web_sys::window()?.local_storage().ok().flatten()
}

/// The server remembers nobody.
#[cfg(not(feature = "browser"))]
pub fn name() -> Option<String> {
    None
}

/// The server remembers nobody.
#[cfg(not(feature = "browser"))]
pub fn keep_name(_name: &str) {}

/// The server remembers nobody.
#[cfg(not(feature = "browser"))]
pub fn keep_utc(_utc: bool) {}
