//! The one axis all lanes share: its labels, the crosshair through all lanes, and zooming by drag. The style draws line and
//! selection in each lane from properties set here, so a pointer that moves writes two numbers and no markup.

use leptos::{ev::KeyboardEvent, prelude::*};

use crate::{
    format,
    live::Live,
    range::{Window, Zoom},
    rows::lane::WIDTH,
    timeline::Axis,
};

/// Where the axis ends: the server's time, in steps of a pixel, or the end of what was zoomed into.
pub fn axis_end(live: Live, window: Signal<Window>) -> Memo<i64> {
    Memo::new(move |_| match window.get() {
        Window::Fixed(zoom) => zoom.to_ms,
        Window::Last(range) => {
            let step = (range.ms() / WIDTH as i64).max(1_000);
            (live.now.get() + step - 1).div_euclid(step) * step
        }
    })
}

/// The axis of a window that ends there.
pub fn axis(window: Window, end_ms: i64) -> Axis {
    Axis { from_ms: end_ms - window.ms(), to_ms: end_ms, width: WIDTH }
}

/// A length on the axis as a share of it.
pub fn percent(x: f64) -> String {
    let mut out = String::new();
    crate::markup::percent(&mut out, x / WIDTH);
    out
}

/// Round times over or under lanes.
#[component]
pub fn AxisLabels(
    /// What is shown.
    #[prop(into)]
    window: Signal<Window>,
    /// Where it ends.
    #[prop(into)]
    end: Signal<i64>,
) -> impl IntoView {
    let live = Live::here();
    let labels = move || {
        let mut out = String::new();
        for tick in axis(window.get(), end.get()).ticks(live.zone.get()) {
            // A label at the very edge would be cut off.
            if tick.x > WIDTH * 0.08 && tick.x < WIDTH * 0.92 {
                let utc = format::full_utc(tick.at_ms);
                out.push_str(&format!(
                    "<text x=\"{}\" y=\"11\"><title>{utc}</title>{}</text>",
                    percent(tick.x),
                    tick.label
                ));
            }
        }
        out
    };
    view! { <svg class="axis" aria-hidden="true" width="100%" height="14" inner_html=labels></svg> }
}

/// The point in time that is looked at, and the stretch that is being selected, as shares of the axis.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pointed {
    /// Where the crosshair is.
    pub at: Option<f64>,
    /// Where a selection began.
    pub from: Option<f64>,
    /// The drag moves the axis instead of selecting from it.
    pub pans: bool,
}

/// What pointer and keyboard do on an axis.
#[derive(Clone, Copy)]
pub struct Brush {
    /// What is pointed at.
    pub pointed: RwSignal<Pointed>,
    /// What is shown.
    pub window: Signal<Window>,
    /// Where it ends.
    pub end: Signal<i64>,
    /// Shows a stretch.
    pub zoom: Callback<Zoom>,
    /// Shows what was shown before any zoom.
    pub reset: Callback<()>,
    /// What a point in time answers, where it does.
    pub pick: Option<Pick>,
}

/// What a point in time that is picked does.
#[derive(Clone, Copy)]
pub struct Pick {
    /// Picks it, ms since 1970.
    pub at: Callback<i64>,
    /// Lets go of it; false where there was nothing to let go.
    pub shut: Callback<(), bool>,
    /// The times worth going to, in order.
    pub stops: Signal<Vec<i64>>,
}

impl Brush {
    /// The time a share of the axis stands for.
    pub fn time(self, share: f64) -> i64 {
        at_share(self.window.get_untracked(), self.end.get_untracked(), share)
    }

    fn axis(self) -> Axis {
        axis(self.window.get_untracked(), self.end.get_untracked())
    }

    #[cfg(any(feature = "browser", test))]
    fn point(self, pointed: Pointed) {
        if self.pointed.get_untracked() != pointed {
            self.pointed.set(pointed);
        }
    }

    /// A drag is over: it zooms, pans, or was a click.
    #[cfg(any(feature = "browser", test))]
    fn dropped(self) {
        /// Shorter than this on the axis it is a click.
        const DRAG: f64 = 0.01;
        let Pointed { at: Some(at), from: Some(from), pans } = self.pointed.get_untracked() else { return };
        self.point(Pointed { at: Some(at), from: None, pans: false });
        if (at - from).abs() <= DRAG {
            if let Some(pick) = self.pick {
                pick.at.run(self.time(at));
            }
        } else if pans {
            let (window, end) = (self.window.get_untracked(), self.end.get_untracked());
            self.zoom.run(window.moved(from - at, end));
        } else {
            self.zoom.run(Zoom::between(self.time(from), self.time(at)));
        }
    }

    fn press(self, event: &KeyboardEvent) {
        let Pointed { at, from, .. } = self.pointed.get_untracked();
        let here = at.unwrap_or(1.0);
        let step = if event.shift_key() { 0.1 } else { 0.01 };
        let moved = match event.key().as_str() {
            "ArrowLeft" | "ArrowDown" => here - step,
            "ArrowRight" | "ArrowUp" => here + step,
            "Home" => 0.0,
            "End" => 1.0,
            "PageUp" => self.stop(here, false),
            "PageDown" => self.stop(here, true),
            " " => {
                self.pointed.set(Pointed { at: Some(here), from: from.is_none().then_some(here), pans: false });
                return event.prevent_default();
            }
            "Enter" => {
                match (from, self.pick) {
                    (Some(from), _) => {
                        self.pointed.set(Pointed::default());
                        self.zoom.run(Zoom::between(self.time(from), self.time(here)));
                    }
                    (None, Some(pick)) => pick.at.run(self.time(here)),
                    (None, None) => {}
                }
                return event.prevent_default();
            }
            "Escape" if from.is_some() => return self.pointed.set(Pointed { at, ..Pointed::default() }),
            "Escape" => {
                self.pointed.set(Pointed::default());
                if !self.pick.is_some_and(|pick| pick.shut.run(())) {
                    self.reset.run(());
                }
                return event.prevent_default();
            }
            _ => return,
        };
        event.prevent_default();
        self.pointed.set(Pointed { at: Some(moved.clamp(0.0, 1.0)), from, pans: false });
    }

    /// The share of the next time worth going to, or of the one before; of this one where there is none.
    fn stop(self, here: f64, later: bool) -> f64 {
        let Some(pick) = self.pick else { return here };
        let axis = self.axis();
        let shares = pick.stops.get_untracked().into_iter().map(|at| axis.x(at) / axis.width);
        // What was reached by this very key is not reached again.
        let beyond = |share: &f64| if later { *share > here + 1e-4 } else { *share < here - 1e-4 };
        let mut shares = shares.filter(beyond);
        if later { shares.next() } else { shares.next_back() }.unwrap_or(here)
    }
}

/// The axis as a control: the crosshair by keyboard, and what it points at in words.
#[component]
pub fn Crosshair(
    /// What it does.
    brush: Brush,
) -> impl IntoView {
    let live = Live::here();
    let said = move || {
        let Pointed { at, from, .. } = brush.pointed.get();
        let (window, end, zone) = (brush.window.get(), brush.end.get(), live.zone.get());
        let say = |share: f64| moment(at_share(window, end, share), window, zone);
        // One point in time is said in UTC too, unless that is what the viewer's clock shows.
        let also = |share: f64| {
            let at = at_share(window, end, share);
            if zone.ahead_at(at) == 0 {
                String::new()
            } else {
                format!(" · {}", moment(at, window, format::Zone::Utc))
            }
        };
        match (at, from) {
            (Some(at), Some(from)) if from != at => {
                format!("{} to {}", say(from.min(at)), say(from.max(at)))
            }
            (Some(at), _) => say(at) + &also(at),
            (None, _) => String::new(),
        }
    };
    let value = move || brush.pointed.get().at.map_or(100, |at| (at * 100.0).round() as i64).to_string();
    let label = if brush.pick.is_some() {
        "Point in time: arrows move, Page Up and Page Down go from change to change, space starts a selection, \
         Enter zooms into it or keeps the evidence, Escape goes back"
    } else {
        "Point in time: arrows move, space starts a selection, Enter zooms, Escape goes back"
    };
    view! {
        <div
            class="scrub"
            role="slider"
            tabindex="0"
            aria-label=label
            aria-valuemin="0"
            aria-valuemax="100"
            aria-valuenow=value
            aria-valuetext=said
            on:keydown=move |event| brush.press(&event)
        >
            <output class="at" hidden=move || brush.pointed.get().at.is_none()>{said}</output>
        </div>
    }
}

/// The time a share of the axis stands for.
fn at_share(window: Window, end_ms: i64, share: f64) -> i64 {
    end_ms - window.ms() + (window.ms() as f64 * share) as i64
}

/// A time on the axis, as exact as a pixel is.
fn moment(at_ms: i64, window: Window, zone: format::Zone) -> String {
    let clock = if window.ms() <= 7_200_000 { format::clock_seconds(at_ms, zone) } else { format::clock(at_ms, zone) };
    let day = if window.ms() > 43_200_000 { format!("{}, ", format::day(at_ms, zone)) } else { String::new() };
    format!("{day}{clock}{}", zone.suffix())
}

/// The pointer on the lanes of `root`: it moves the crosshair, a drag selects, with shift it moves the axis, and a click picks.
/// A finger that goes up or down scrolls the page, and the browser takes its drag back.
#[cfg(feature = "browser")]
pub fn attend(root: &web_sys::Element, brush: Brush) {
    use web_sys::{MouseEvent, PointerEvent};

    use crate::dom;

    /// Left edge and width in pixels.
    type Place = (f64, f64);
    let lane = |event: &MouseEvent| -> Option<Place> {
        let lane = dom::closest(event, ".c-lane")?.get_bounding_client_rect();
        (lane.width() > 0.0).then(|| (lane.left(), lane.width()))
    };
    let share =
        |(left, width): Place, event: &MouseEvent| ((f64::from(event.client_x()) - left) / width).clamp(0.0, 1.0);
    // While it is held the pointer may leave the lane.
    let held = StoredValue::new(None::<Place>);
    let let_go = move || {
        held.set_value(None);
        brush.point(Pointed::default());
    };
    let capturing = root.clone();
    dom::listen(root, "pointerdown", move |event: PointerEvent| {
        if let (0, true, Some(place)) = (event.button(), event.is_primary(), lane(&event)) {
            held.set_value(Some(place));
            let at = Some(share(place, &event));
            brush.point(Pointed { at, from: at, pans: event.shift_key() });
            // A pointer that is gone already is not held.
            let _ = capturing.set_pointer_capture(event.pointer_id());
            event.prevent_default();
        }
    });
    dom::listen(root, "pointermove", move |event: PointerEvent| {
        let before = brush.pointed.get_untracked();
        match held.get_value().or_else(|| lane(&event)) {
            Some(place) => brush.point(Pointed { at: Some(share(place, &event)), ..before }),
            None => brush.point(Pointed::default()),
        }
    });
    dom::listen(root, "pointerup", move |_: PointerEvent| {
        if held.get_value().is_some() {
            held.set_value(None);
            brush.dropped();
        }
    });
    dom::listen(root, "pointerleave", move |_: PointerEvent| {
        if held.get_value().is_none() {
            brush.point(Pointed::default());
        }
    });
    dom::listen(root, "pointercancel", move |_: PointerEvent| let_go());
    dom::listen(root, "dblclick", move |event: MouseEvent| {
        if lane(&event).is_some() || dom::closest(&event, ".is-pointed").is_some() {
            brush.reset.run(());
        }
    });
    let root = root.clone();
    Effect::new(move |_| {
        let Pointed { at, from, pans } = brush.pointed.get();
        let class = root.class_list();
        // Each word is a class as a browser takes it.
        let _ = class.toggle_with_force("is-pointed", at.is_some());
        let _ = class.toggle_with_force("is-selecting", at.is_some() && from.is_some() && !pans);
        let _ = class.toggle_with_force("is-panning", from.is_some() && pans);
        if let Some(at) = at {
            let from = from.unwrap_or(at);
            for (name, share) in
                [("--at", at), ("--from", from.min(at)), ("--length", (from - at).abs()), ("--moved", at - from)]
            {
                dom::set_property(&root, name, &format!("{:.3}%", share * 100.0));
            }
        }
    });
}

#[cfg(test)]
mod tests;
