//! What the islands need of the browser's page beyond what Leptos gives them.

use wasm_bindgen::{JsCast, closure::Closure, convert::FromWasmAbi};
use web_sys::{Document, Element, Event, EventTarget, HtmlElement};

/// The page.
pub fn document() -> Option<Document> {
    web_sys::window()?.document()
}

/// Hears an event for as long as the page lives: the islands are never taken off it.
pub fn listen<E: FromWasmAbi + 'static>(target: &EventTarget, name: &str, hear: impl Fn(E) + 'static) {
    let hear = Closure::<dyn Fn(E)>::new(hear);
    // The browser refuses no listener of ours.
    let _ = target.add_event_listener_with_callback(name, hear.as_ref().unchecked_ref());
    hear.forget();
}

/// The nearest element around an event's target that a selector names.
pub fn closest(event: &Event, selector: &str) -> Option<Element> {
    event.target()?.dyn_into::<Element>().ok()?.closest(selector).ok()?
}

/// What an element around an event's target says in an attribute.
pub fn said(event: &Event, attribute: &str) -> Option<String> {
    closest(event, &format!("[{attribute}]"))?.get_attribute(attribute)
}

/// The element that has the focus.
pub fn focused() -> Option<Element> {
    document()?.active_element()
}

/// Gives an element the focus; one that takes none leaves it where it is.
pub fn focus(element: &Element) {
    if let Some(element) = element.dyn_ref::<HtmlElement>() {
        let _ = element.focus();
    }
}

/// Gives the focus back to where a form was opened, unless somebody has taken it elsewhere.
pub fn give_back(find: impl FnOnce() -> Option<Element> + 'static) {
    leptos::prelude::request_animation_frame(move || {
        let lost = focused().is_none_or(|element| {
            element.tag_name() == "BODY" || element.closest(".sheet").is_ok_and(|sheet| sheet.is_some())
        });
        if let (true, Some(element)) = (lost, find()) {
            focus(&element);
        }
    });
}

/// Sets a custom property that the page's style reads. The page's policy forbids `style` in the markup, not this.
pub fn set_property(element: &Element, name: &str, value: &str) {
    if let Some(element) = element.dyn_ref::<HtmlElement>() {
        let _ = element.style().set_property(name, value);
    }
}

/// Puts a text on the clipboard; a browser that forbids it leaves the text to be copied by hand.
pub fn copy(text: &str) {
    if let Some(window) = web_sys::window() {
        let clipboard = js_sys::Reflect::get(&window.navigator(), &"clipboard".into()).ok();
        if clipboard.is_some_and(|clipboard| clipboard.is_object()) {
            let _ = window.navigator().clipboard().write_text(text);
        }
    }
}

/// A form's fields as they are sent.
pub fn fields(event: &Event) -> Option<String> {
    let form: web_sys::HtmlFormElement = event.target()?.dyn_into().ok()?;
    let fields = web_sys::FormData::new_with_form(&form).ok()?;
    let fields = web_sys::UrlSearchParams::new_with_str_sequence_sequence(&fields).ok()?;
    Some(String::from(fields.to_string()))
}
