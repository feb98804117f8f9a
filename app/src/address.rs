//! The page's address as the islands see it. On the server it is the request's; in the browser it changes without a page
//! being loaded, and the links that only change what is shown need no handler of their own.

use leptos::prelude::*;

/// The part of the address behind the question mark.
#[derive(Clone, Copy)]
pub struct Address {
    query: RwSignal<String>,
    /// Where somebody who is typing goes; the browser is told when they pause.
    #[cfg(feature = "browser")]
    typed: StoredValue<Option<(TimeoutHandle, String)>>,
}

/// How long a pause is. A browser forgets addresses that change more than some seven times a second for long.
#[cfg(feature = "browser")]
const PAUSE: std::time::Duration = std::time::Duration::from_millis(200);

impl Address {
    fn new(query: String) -> Self {
        Self {
            query: RwSignal::new(query),
            #[cfg(feature = "browser")]
            typed: StoredValue::new(None),
        }
    }

    /// Of this request.
    #[cfg(feature = "ssr")]
    pub fn of(query: &str) -> Self {
        Self::new(query.trim_start_matches('?').to_owned())
    }

    /// Of this page.
    #[cfg(feature = "browser")]
    pub fn of_page() -> Self {
        let address = Self::new(browser::query());
        let popped = window_event_listener(leptos::ev::popstate, move |_| address.query.set(browser::query()));
        // It lives as long as the page does.
        std::mem::forget(popped);
        address
    }

    /// The page's own, from its context.
    pub fn here() -> Self {
        use_context().unwrap_or_else(|| Self::new(String::new()))
    }

    /// The query, and again when it changes.
    pub fn query(self) -> String {
        self.query.get()
    }

    /// The query as it is.
    pub fn query_now(self) -> String {
        self.query.get_untracked()
    }

    /// Goes to another address of the same page; with `keep` the way back leads to this one.
    #[cfg(feature = "browser")]
    pub fn go(self, href: &str, keep: bool) {
        if let Some((due, typed)) = self.typed.try_update_value(Option::take).flatten() {
            due.clear();
            browser::go(&typed, false);
        }
        browser::go(href, keep);
        self.query.set(query_of(href));
    }

    /// Goes along with somebody who types: what is shown follows each letter, the browser's address when they pause.
    #[cfg(feature = "browser")]
    pub fn go_along(self, href: String) {
        self.query.set(query_of(&href));
        if let Some((due, _)) = self.typed.try_update_value(Option::take).flatten() {
            due.clear();
        }
        let told = move || {
            if let Some((_, typed)) = self.typed.try_update_value(Option::take).flatten() {
                browser::go(&typed, false);
            }
        };
        match set_timeout_with_handle(told, PAUSE) {
            Ok(due) => self.typed.set_value(Some((due, href))),
            Err(_) => browser::go(&href, false),
        }
    }

    /// The server goes nowhere.
    #[cfg(not(feature = "browser"))]
    pub fn go(self, _href: &str, _keep: bool) {}

    /// The server goes nowhere.
    #[cfg(not(feature = "browser"))]
    pub fn go_along(self, _href: String) {}

    /// Follows a link to the page it is on without loading the page again. Everything else is left to the browser.
    #[cfg(feature = "browser")]
    pub fn intercept(self, event: &leptos::ev::MouseEvent) {
        if let Some(href) = browser::own_link(event) {
            event.prevent_default();
            self.go(&href, true);
        }
    }

    /// The server hears no click.
    #[cfg(not(feature = "browser"))]
    pub fn intercept(self, _event: &leptos::ev::MouseEvent) {}
}

/// What is between an address's question mark and its fragment.
#[cfg(any(feature = "browser", test))]
fn query_of(href: &str) -> String {
    let href = href.split('#').next().unwrap_or_default();
    href.split_once('?').map_or(String::new(), |(_, query)| query.to_owned())
}

#[cfg(feature = "browser")]
mod browser {
    use leptos::ev::MouseEvent;
    use wasm_bindgen::{JsCast, JsValue};
    use web_sys::{Element, HtmlAnchorElement};

    fn window() -> Option<web_sys::Window> {
        web_sys::window()
    }

    pub(super) fn query() -> String {
        let search = window().and_then(|window| window.location().search().ok()).unwrap_or_default();
        search.trim_start_matches('?').to_owned()
    }

    pub(super) fn go(href: &str, keep: bool) {
        let Some(history) = window().and_then(|window| window.history().ok()) else { return };
        // A browser that refuses leaves the address as it was; what is shown changes all the same.
        let _ = if keep {
            history.push_state_with_url(&JsValue::NULL, "", Some(href))
        } else {
            history.replace_state_with_url(&JsValue::NULL, "", Some(href))
        };
    }

    /// The address of a plain click on a link to this very page.
    pub(super) fn own_link(event: &MouseEvent) -> Option<String> {
        let plain = event.button() == 0
            && !(event.meta_key() || event.ctrl_key() || event.shift_key() || event.alt_key())
            && !event.default_prevented();
        let target: Element = event.target()?.dyn_into().ok()?;
        let link: HtmlAnchorElement = target.closest("a[href]").ok()??.dyn_into().ok()?;
        let here = window()?.location();
        let same = link.pathname() == here.pathname().ok()? && link.host() == here.host().ok()?;
        let other_use = link.has_attribute("download") || link.rel().contains("external") || !link.target().is_empty();
        (plain && same && !other_use).then(|| format!("{}{}{}", link.pathname(), link.search(), link.hash()))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_query_ends_where_the_fragment_begins() {
        let queries = ["/", "/?q=a&state=open", "/breakers/a?act=reset#act", "/?q=a%3Fb", "/#x?y"].map(super::query_of);
        assert_eq!(queries, ["", "q=a&state=open", "act=reset", "q=a%3Fb", ""]);
    }
}
