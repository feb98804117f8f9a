//! What this browser remembers between two actions: the operator's name, so that it is typed once. Where the browser
//! keeps nothing, it is typed again.

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
