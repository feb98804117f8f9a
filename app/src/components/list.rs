//! A list of rows in the browser: only what differs is written, and of a long list only what is in sight is there. The
//! rows are the ones of [`crate::rows`], as the server wrote them first.

use std::collections::{HashMap, HashSet};

use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, HtmlTemplateElement};

use crate::{
    dom,
    panel::Panel,
    rows::{Drawn, Item, Look},
};

/// A list no longer than this is there as a whole.
const WHOLE: usize = 100;
/// Rows kept ready above and below what is in sight.
const SPARE: usize = 12;
/// A row's height in pixels before one can be measured.
const USUAL: f64 = 45.0;

/// One list and what was last written to it.
pub struct List {
    element: Element,
    rows: HashMap<String, Written>,
    /// A row's height, as measured; rows of a long list are all as high.
    high: f64,
    padding: (usize, usize, f64),
}

struct Written {
    element: Element,
    drawn: Drawn,
}

impl List {
    /// Over the rows that are there already.
    pub fn over(element: Element) -> Self {
        let mut rows = HashMap::new();
        let items = element.children();
        for item in (0..items.length()).filter_map(|nth| items.item(nth)) {
            if let Some(key) = item.get_attribute("data-id").or_else(|| item.get_attribute("data-group")) {
                let cells = item.children();
                let cells = (0..cells.length()).filter_map(|nth| cells.item(nth));
                // What the server wrote is compared by its text; where a browser spells it another way it is written anew.
                let drawn =
                    Drawn { class: item.class_name(), cells: cells.map(|cell| ("", cell.inner_html())).collect() };
                rows.insert(key, Written { element: item, drawn });
            }
        }
        Self { element, rows, high: 0.0, padding: (0, 0, 0.0) }
    }

    /// The items in sight, as a stretch of all.
    fn in_sight(&mut self, all: usize) -> (usize, usize) {
        if all <= WHOLE {
            return (0, all);
        }
        if self.high == 0.0 {
            let first = self.element.first_element_child().and_then(|row| row.dyn_into::<HtmlElement>().ok());
            self.high = first.map_or(0.0, |row| f64::from(row.offset_height()));
        }
        let high = if self.high > 0.0 { self.high } else { USUAL };
        let screen = web_sys::window().and_then(|window| window.inner_height().ok()?.as_f64()).unwrap_or(1_000.0);
        let above = -self.element.get_bounding_client_rect().top();
        let first = ((above / high).floor().max(0.0) as usize).saturating_sub(SPARE);
        let last = (((above + screen) / high).ceil().max(0.0) as usize + SPARE).min(all);
        (first.min(last), last)
    }

    /// Forgets what was measured, for a window of another size.
    pub fn measure_again(&mut self) {
        self.high = 0.0;
    }

    /// Shows these items. With `anew` all in sight are compared with what is written; without, only come and gone ones.
    pub fn show(&mut self, items: &[Item], panel: &Panel, look: &Look, anew: bool) {
        let (first, last) = self.in_sight(items.len());
        let sight = &items[first..last];
        let keys: HashSet<&str> = sight.iter().map(Item::key).collect();
        self.rows.retain(|key, row| {
            let stays = keys.contains(key.as_str());
            if !stays {
                row.element.remove();
            }
            stays
        });
        let long = items.len() > WHOLE;
        let mut at = self.element.first_element_child();
        for (nth, item) in sight.iter().enumerate() {
            let row = match self.rows.get_mut(item.key()) {
                Some(row) => {
                    if anew {
                        row.write(item.draw(panel, look));
                    }
                    row.element.clone()
                }
                None => {
                    let Some(element) = made(&item.html(panel, look)) else { continue };
                    let row = Written { element: element.clone(), drawn: item.draw(panel, look) };
                    self.rows.insert(item.key().to_owned(), row);
                    element
                }
            };
            if long {
                // Whoever hears the list is told where in all of it they are.
                let _ = row.set_attribute("aria-setsize", &items.len().to_string());
                let _ = row.set_attribute("aria-posinset", &(first + nth + 1).to_string());
            }
            if at.as_ref() == Some(&row) {
                at = row.next_element_sibling();
            } else {
                let _ = self.element.insert_before(&row, at.as_deref());
            }
        }
        self.pad(first, items.len() - last);
    }

    /// Keeps the place of what is not there.
    fn pad(&mut self, above: usize, below: usize) {
        let high = if self.high > 0.0 { self.high } else { USUAL };
        if self.padding != (above, below, high) {
            self.padding = (above, below, high);
            let pixels = |rows: usize| format!("{}px", rows as f64 * high);
            dom::set_property(&self.element, "padding-top", &pixels(above));
            dom::set_property(&self.element, "padding-bottom", &pixels(below));
        }
    }
}

impl Written {
    fn write(&mut self, drawn: Drawn) {
        if self.drawn.class != drawn.class {
            self.element.set_class_name(&drawn.class);
        }
        let cells = self.element.children();
        for (nth, (_, html)) in drawn.cells.iter().enumerate() {
            if self.drawn.cells.get(nth).is_none_or(|cell| cell.1 != *html)
                && let Some(cell) = cells.item(nth as u32)
            {
                cell.set_inner_html(html);
            }
        }
        self.drawn = drawn;
    }
}

/// An element from its HTML.
fn made(html: &str) -> Option<Element> {
    let template: HtmlTemplateElement = dom::document()?.create_element("template").ok()?.dyn_into().ok()?;
    template.set_inner_html(html);
    template.content().first_element_child()
}
