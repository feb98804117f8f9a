//! The panel's rows in the browser: two lists that are drawn again when something they show changes, and what clicks and
//! keys on them do.

use std::collections::HashSet;

use leptos::{
    html::{Dialog, Section, Ul},
    prelude::*,
};
use wasm_bindgen::JsCast;
use web_sys::{Element, Event, HtmlElement, HtmlInputElement, KeyboardEvent};

use super::Lists;
use crate::{
    address::Address,
    components::{
        axis::{self, Brush},
        keys::{self, Asked},
        list::List,
    },
    dom,
    rows::{Item, troubled},
    shown::Shown,
};

pub(super) fn attend(
    lists: Lists,
    root: NodeRef<Section>,
    trouble: NodeRef<Ul>,
    quiet: NodeRef<Ul>,
    keys: NodeRef<Dialog>,
    brush: Brush,
) {
    let address = Address::here();
    let (upper, lower) = (StoredValue::new_local(None::<List>), StoredValue::new_local(None::<List>));
    let over = |list: StoredValue<Option<List>, LocalStorage>, node: NodeRef<Ul>| {
        if let (Some(node), true) = (node.get(), list.with_value(Option::is_none)) {
            list.set_value(Some(List::over(node.unchecked_into())));
        }
    };
    // What the lists are of: worked out when it changes, not while they are scrolled through.
    let set = move |expanded: &HashSet<String>| {
        let (above, below): (Vec<Item>, Vec<Item>) = lists.arranged.with_untracked(|arranged| {
            let below = arranged.quiet.iter().cloned().map(Item::Row).collect();
            (troubled(&arranged.groups, expanded), below)
        });
        untrack(|| {
            lists.board.all(|panel| {
                for (list, mut items) in [(upper, above), (lower, below)] {
                    // A breaker that was dropped from the panel has no row.
                    items.retain(|item| matches!(item, Item::Head(_)) || panel.row(item.key()).is_some());
                    list.update_value(|list| list.iter_mut().for_each(|list| list.set(std::mem::take(&mut items))));
                }
            });
        });
    };
    let due = StoredValue::new(false);
    let show = move |anew: bool| {
        let look = untrack(|| lists.look());
        if anew {
            set(&look.expanded);
        }
        let sights = [upper, lower].map(|list| list.try_update_value(|list| list.as_mut().map(List::sight)).flatten());
        untrack(|| {
            lists.board.all(|panel| {
                for (list, sight) in [upper, lower].into_iter().zip(sights) {
                    list.update_value(|list| {
                        if let (Some(list), Some(sight)) = (list, sight) {
                            list.show(sight, panel, &look, anew);
                        }
                    });
                }
            });
        });
        [upper, lower].into_iter().any(|list| list.with_value(|list| list.as_ref().is_some_and(List::grows)))
    };
    // At the next frame: what has come into sight, and some of what has room out of it.
    let scrolled = move || {
        if !due.get_value() {
            due.set_value(true);
            frames(move || {
                let grows = show(false);
                due.set_value(grows);
                grows
            });
        }
    };
    let show = move |anew: bool| {
        if show(anew) {
            scrolled();
        }
    };
    Effect::new(move |_| {
        over(upper, trouble);
        over(lower, quiet);
        lists.arranged.track();
        lists.board.all(|_| ());
        // Everything a row shows.
        let _ = lists.look();
        show(true);
    });
    let Some(window) = web_sys::window() else { return };
    dom::listen(&window, "scroll", move |_: Event| scrolled());
    dom::listen(&window, "resize", move |_: Event| {
        for list in [upper, lower] {
            list.update_value(|list| list.iter_mut().for_each(List::measure_again));
        }
        scrolled();
    });
    Effect::new(move |before: Option<()>| {
        let Some(section) = root.get() else { return };
        if before.is_some() {
            return;
        }
        let section: Element = section.unchecked_into();
        axis::attend(&section, brush);
        // The rest is opened: now its rows are in sight.
        if let Some(rest) = section.query_selector("details.rest").ok().flatten() {
            dom::listen(&rest, "toggle", move |_: Event| show(true));
        }
        dom::listen(&section, "click", move |event: Event| clicked(lists, &event));
        dom::listen(&section, "change", move |event: Event| picked(lists, &event));
    });
    keys::attend(move |asked, event| pressed(lists, address, keys, asked, event));
    // Whoever has found what they looked for goes on among the rows.
    if let Some(document) = dom::document() {
        dom::listen(&document, "submit", move |event: Event| {
            if dom::closest(&event, ".search").is_some() {
                step(None, 0);
            }
        });
    }
}

/// Once a frame for as long as it says so.
fn frames(again: impl Fn() -> bool + Copy + 'static) {
    request_animation_frame(move || {
        if again() {
            frames(again);
        }
    });
}

fn row_of(element: &Element) -> Option<Element> {
    element.closest("[data-id]").ok()?
}

fn clicked(lists: Lists, event: &Event) {
    if let Some(text) = dom::said(event, "data-copy") {
        dom::copy(&text);
        if let Some(button) = dom::closest(event, "[data-copy]") {
            button.set_text_content(Some("copied"));
        }
    } else if let Some(button) = dom::closest(event, "[data-expand]") {
        let row = button.closest("[data-id], [data-group]").ok().flatten();
        let key = row.and_then(|row| row.get_attribute("data-id").or_else(|| row.get_attribute("data-group")));
        if let Some(key) = key {
            toggle(lists.expanded, &key);
        }
    }
}

fn toggle(set: RwSignal<HashSet<String>>, key: &str) {
    set.update(|set| {
        if !set.remove(key) {
            set.insert(key.to_owned());
        }
    });
}

fn picked(lists: Lists, event: &Event) {
    let Some(target) = event.target() else { return };
    let Ok(input) = target.dyn_into::<HtmlInputElement>() else { return };
    if input.name() == "id" {
        let id = input.value();
        lists.picked.update(|picked| {
            if input.checked() {
                picked.insert(id);
            } else {
                picked.remove(&id);
            }
        });
    }
}

fn pressed(lists: Lists, address: Address, keys: NodeRef<Dialog>, asked: Asked, event: &KeyboardEvent) {
    let here = dom::focused().as_ref().and_then(row_of);
    let here_id = here.as_ref().and_then(|row| row.get_attribute("data-id"));
    match asked {
        Asked::List => {
            if let Some(dialog) = keys.get_untracked() {
                // Open already: then it is shown.
                let _ = dialog.show_modal();
            }
        }
        Asked::Search => {
            if let Some(field) = dom::document().and_then(|document| document.get_element_by_id("q")) {
                dom::focus(&field);
            }
        }
        Asked::Move(by) => step(here, by),
        Asked::Pick => {
            if let Some(id) = here_id {
                toggle(lists.picked, &id);
            }
        }
        Asked::Form(act) => {
            let picked: Vec<String> = lists.picked.get_untracked().into_iter().collect();
            let ids = if picked.is_empty() { here_id.into_iter().collect() } else { picked };
            if ids.is_empty() {
                return;
            }
            address.go(&Shown { act: act.into(), ids, ..lists.shown.get_untracked() }.href(), true);
        }
        Asked::Close if dom::closest(event, "#q").is_some() => {
            // The browser empties the field; once it is empty, it is left.
            let typed = event.target().and_then(|field| field.dyn_into::<HtmlInputElement>().ok());
            if typed.is_some_and(|field| !field.value().is_empty()) {
                return;
            }
            step(None, 0);
        }
        Asked::Close => {
            let shown = lists.shown.get_untracked();
            if shown.act.is_empty() {
                return;
            }
            address.go(&Shown { act: String::new(), ids: Vec::new(), ..shown }.href(), false);
        }
    }
    event.prevent_default();
}

/// Gives the focus back to a row whose form is closed.
pub(in crate::components) fn back_to(id: String) {
    dom::give_back(move || {
        let row = rows().into_iter().find(|row| row.get_attribute("data-id").as_ref() == Some(&id))?;
        row.query_selector(".c-host a").ok()?
    });
}

/// The rows that are there and not folded away.
fn rows() -> Vec<Element> {
    let rows = dom::document().and_then(|document| document.query_selector_all(".panel [data-id]").ok());
    let rows =
        rows.iter().flat_map(|rows| (0..rows.length()).filter_map(|nth| rows.item(nth)?.dyn_into::<Element>().ok()));
    rows.filter(|row| row.dyn_ref::<HtmlElement>().is_some_and(|row| row.offset_height() > 0)).collect()
}

/// The focus goes to the next row, over the end of one list into the other.
fn step(here: Option<Element>, by: isize) {
    let rows = rows();
    let at = here.and_then(|here| rows.iter().position(|row| *row == here));
    let next = match at {
        Some(at) => at.saturating_add_signed(by).min(rows.len().saturating_sub(1)),
        None => 0,
    };
    if let Some(link) = rows.get(next).and_then(|row| row.query_selector(".c-host a").ok().flatten()) {
        dom::focus(&link);
    }
}
