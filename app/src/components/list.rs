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

/// A list no longer than this is there as a whole, so that a browser's own search finds all of it. What is out of sight of
/// it comes some rows a frame: who typed is not kept waiting for what nobody sees yet.
const WHOLE: usize = 100;
/// Rows kept ready above and below what is in sight.
const SPARE: usize = 12;
/// Rows come and go so many at a time, so that most frames of a scroll change nothing.
const AT_ONCE: usize = 6;
/// A row's height in pixels before one can be measured.
const USUAL: f64 = 45.0;

/// One list and what was last written to it.
pub struct List {
    element: Element,
    items: Vec<Item>,
    rows: HashMap<String, Written>,
    /// What was last shown.
    shown: (usize, usize),
    /// A row's height, as measured; rows of a long list are all as high.
    high: f64,
    padding: (usize, usize, f64),
}

struct Written {
    element: Element,
    drawn: Drawn,
    /// Its place and how many there are, as whoever hears the list is told.
    place: (usize, usize),
}

/// What of a list is in sight, as a stretch of its items.
#[derive(Clone, Copy)]
pub struct Sight {
    first: usize,
    last: usize,
    /// It is folded away: what is written there already may be old until it is opened.
    folded: bool,
}

impl List {
    /// Over the rows that are there already.
    pub fn over(element: Element) -> Self {
        let mut rows = HashMap::new();
        for item in children(&element) {
            if let Some(key) = item.get_attribute("data-id").or_else(|| item.get_attribute("data-group")) {
                let cells = children(&item);
                // What the server wrote is compared by its text; where a browser spells it another way it is written anew.
                let drawn =
                    Drawn { class: item.class_name(), cells: cells.map(|cell| ("", cell.inner_html())).collect() };
                rows.insert(key, Written { element: item, drawn, place: (0, 0) });
            }
        }
        Self { element, items: Vec::new(), rows, shown: (0, 0), high: 0.0, padding: (0, 0, 0.0) }
    }

    /// What it is a list of, from now on.
    pub fn set(&mut self, items: Vec<Item>) {
        self.items = items;
    }

    /// What is in sight. It measures, so all lists are asked before any is written to.
    pub fn sight(&mut self) -> Sight {
        let all = self.items.len();
        let folded = self.element.closest("details:not([open])").is_ok_and(|folded| folded.is_some());
        if self.high == 0.0 && !folded {
            let row = self.element.query_selector(".row:not(.is-expanded)").ok().flatten();
            let row = row.and_then(|row| row.dyn_into::<HtmlElement>().ok());
            self.high = row.map_or(0.0, |row| f64::from(row.offset_height()));
        }
        let high = if self.high > 0.0 { self.high } else { USUAL };
        let screen = web_sys::window().and_then(|window| window.inner_height().ok()?.as_f64()).unwrap_or(1_000.0);
        let above = if folded { 0.0 } else { -self.element.get_bounding_client_rect().top() };
        let first = ((above / high).floor().max(0.0) as usize).saturating_sub(SPARE) / AT_ONCE * AT_ONCE;
        let last = (((above + screen) / high).ceil().max(0.0) as usize + SPARE).next_multiple_of(AT_ONCE).min(all);
        let (first, last) = if all <= WHOLE { self.grown(first.min(last), last) } else { (first.min(last), last) };
        Sight { first, last, folded }
    }

    /// A stretch with what is there already around it, and a few rows more.
    fn grown(&self, mut first: usize, mut last: usize) -> (usize, usize) {
        let mut fresh = AT_ONCE;
        let mut ready = |nth: usize| {
            self.rows.contains_key(self.items[nth].key())
                || fresh.checked_sub(1).is_some_and(|less| {
                    fresh = less;
                    true
                })
        };
        while last < self.items.len() && ready(last) {
            last += 1;
        }
        while first > 0 && ready(first - 1) {
            first -= 1;
        }
        (first, last)
    }

    /// Whether rows are still to come though nobody scrolls.
    pub fn grows(&self) -> bool {
        self.items.len() <= WHOLE && self.shown.1 - self.shown.0 < self.items.len()
    }

    /// Forgets what was measured, for a window of another size.
    pub fn measure_again(&mut self) {
        self.high = 0.0;
    }

    /// Shows what is in sight. With `anew` all of it is compared with what is written; without, only come and gone ones.
    pub fn show(&mut self, sight: Sight, panel: &Panel, look: &Look, anew: bool) {
        let Sight { first, last, folded } = sight;
        if !anew && self.shown == (first, last) {
            return;
        }
        self.shown = (first, last);
        let anew = anew && !folded;
        let Self { element: list, items, rows, .. } = self;
        let shown = &items[first..last];
        let keys: HashSet<&str> = shown.iter().map(Item::key).collect();
        rows.retain(|key, row| {
            let stays = keys.contains(key.as_str());
            if !stays {
                row.element.remove();
            }
            stays
        });
        // Those that come are made of one text: a browser reads it faster than as many small ones.
        let (mut html, mut come) = (String::new(), Vec::new());
        for item in shown.iter().filter(|item| !rows.contains_key(item.key())) {
            let drawn = item.draw(panel, look);
            item.write(&drawn, &mut html);
            come.push((item.key(), drawn));
        }
        if let Some(made) = made(&html) {
            for (element, (key, drawn)) in made.into_iter().zip(come) {
                rows.insert(key.to_owned(), Written { element, drawn, place: (0, 0) });
            }
        }
        let long = items.len() > WHOLE;
        let mut at = list.first_element_child();
        for (nth, item) in shown.iter().enumerate() {
            let Some(row) = rows.get_mut(item.key()) else { continue };
            if anew {
                row.write(item.draw(panel, look));
            }
            let place = if long { (first + nth + 1, items.len()) } else { (0, 0) };
            row.place_at(place);
            if at.as_ref() == Some(&row.element) {
                at = row.element.next_element_sibling();
            } else {
                // The list is where it was: the browser takes it.
                let _ = list.insert_before(&row.element, at.as_deref());
            }
        }
        let beyond = items.len() - last;
        self.pad(first, beyond);
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

    /// Whoever hears a long list is told where in all of it they are.
    fn place_at(&mut self, place: (usize, usize)) {
        if self.place != place {
            self.place = place;
            let (nth, all) = place;
            for (name, value) in [("aria-posinset", nth), ("aria-setsize", all)] {
                // Both are names a browser takes.
                let _ = match value {
                    0 => self.element.remove_attribute(name),
                    value => self.element.set_attribute(name, &value.to_string()),
                };
            }
        }
    }
}

fn children(element: &Element) -> impl Iterator<Item = Element> + use<> {
    let all = element.children();
    (0..all.length()).filter_map(move |nth| all.item(nth))
}

/// The elements of a piece of HTML.
fn made(html: &str) -> Option<Vec<Element>> {
    if html.is_empty() {
        return None;
    }
    let template: HtmlTemplateElement = dom::document()?.create_element("template").ok()?.dyn_into().ok()?;
    template.set_inner_html(html);
    let all = template.content().children();
    Some((0..all.length()).filter_map(|nth| all.item(nth)).collect())
}
