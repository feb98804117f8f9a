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
    end: Memo<i64>,
) -> impl IntoView {
    let live = Live::here();
    let labels = move || {
        let mut out = String::new();
        for (x, label) in axis(window.get(), end.get()).ticks(live.zone.get()) {
            // A label at the very edge would be cut off.
            if x > WIDTH * 0.08 && x < WIDTH * 0.92 {
                out.push_str(&format!("<text x=\"{}\" y=\"11\">{label}</text>", percent(x)));
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
}

/// The axis as a control: the crosshair by keyboard, and what it points at in words.
#[component]
pub fn Crosshair(
    /// What is pointed at.
    pointed: RwSignal<Pointed>,
    /// What is shown.
    #[prop(into)]
    window: Signal<Window>,
    /// Where it ends.
    end: Memo<i64>,
    /// Shows a stretch.
    zoom: Callback<Zoom>,
    /// Shows what was shown before any zoom.
    reset: Callback<()>,
) -> impl IntoView {
    let live = Live::here();
    let time = move |share: f64| at_share(window.get(), end.get(), share);
    let said = move || {
        let Pointed { at, from } = pointed.get();
        let zone = live.zone.get();
        let say = |share: f64| moment(time(share), window.get(), zone);
        match (at, from) {
            (Some(at), Some(from)) if from != at => {
                format!("{} to {}", say(from.min(at)), say(from.max(at)))
            }
            (Some(at), _) => say(at),
            (None, _) => String::new(),
        }
    };
    let value = move || pointed.get().at.map_or(100, |at| (at * 100.0).round() as i64).to_string();
    let press = move |event: KeyboardEvent| {
        let Pointed { at, from } = pointed.get_untracked();
        let here = at.unwrap_or(1.0);
        let step = if event.shift_key() { 0.1 } else { 0.01 };
        let moved = match event.key().as_str() {
            "ArrowLeft" | "ArrowDown" => here - step,
            "ArrowRight" | "ArrowUp" => here + step,
            "Home" => 0.0,
            "End" => 1.0,
            " " => {
                pointed.set(Pointed { at: Some(here), from: from.is_none().then_some(here) });
                return event.prevent_default();
            }
            "Enter" => {
                if let Some(from) = from {
                    pointed.set(Pointed::default());
                    zoom.run(Zoom::between(time(from), time(here)));
                }
                return event.prevent_default();
            }
            "Escape" if from.is_some() => return pointed.set(Pointed { at, from: None }),
            "Escape" => {
                pointed.set(Pointed::default());
                return reset.run(());
            }
            _ => return,
        };
        event.prevent_default();
        pointed.set(Pointed { at: Some(moved.clamp(0.0, 1.0)), from });
    };
    view! {
        <div
            class="scrub"
            role="slider"
            tabindex="0"
            aria-label="Point in time: arrows move, space starts a selection, Enter zooms, Escape goes back"
            aria-valuemin="0"
            aria-valuemax="100"
            aria-valuenow=value
            aria-valuetext=said
            on:keydown=press
        >
            <output class="at" hidden=move || pointed.get().at.is_none()>{said}</output>
        </div>
    }
}

/// The time a share of the axis stands for.
pub fn at_share(window: Window, end_ms: i64, share: f64) -> i64 {
    end_ms - window.ms() + (window.ms() as f64 * share) as i64
}

/// A time on the axis, as exact as a pixel is.
fn moment(at_ms: i64, window: Window, zone: format::Zone) -> String {
    let clock = if window.ms() <= 7_200_000 { format::clock_seconds(at_ms, zone) } else { format::clock(at_ms, zone) };
    let day = if window.ms() > 43_200_000 { format!("{}, ", format::day(at_ms, zone)) } else { String::new() };
    format!("{day}{clock}{}", zone.suffix())
}

/// The pointer on the lanes of `root`: it moves the crosshair, and a drag selects.
#[cfg(feature = "browser")]
pub fn attend(
    root: &web_sys::Element,
    pointed: RwSignal<Pointed>,
    window: Signal<Window>,
    end: Memo<i64>,
    zoom: Callback<Zoom>,
    reset: Callback<()>,
) {
    use web_sys::{MouseEvent, PointerEvent};

    use crate::dom;

    /// Shorter than this on the axis it is a click.
    const DRAG: f64 = 0.01;
    let share = |event: &MouseEvent| {
        let lane = dom::closest(event, ".c-lane")?.get_bounding_client_rect();
        (lane.width() > 0.0).then(|| ((f64::from(event.client_x()) - lane.left()) / lane.width()).clamp(0.0, 1.0))
    };
    let point = move |at, from| {
        if pointed.get_untracked() != (Pointed { at, from }) {
            pointed.set(Pointed { at, from });
        }
    };
    dom::listen(root, "pointerdown", move |event: PointerEvent| {
        // A finger scrolls the page; it zooms with the buttons.
        if event.button() == 0
            && event.pointer_type() == "mouse"
            && let Some(at) = share(&event)
        {
            point(Some(at), Some(at));
            event.prevent_default();
        }
    });
    dom::listen(root, "pointermove", move |event: PointerEvent| {
        let from = pointed.get_untracked().from;
        match share(&event) {
            Some(at) => point(Some(at), from),
            None if from.is_none() => point(None, None),
            None => {}
        }
    });
    dom::listen(root, "pointerup", move |_: PointerEvent| {
        if let Pointed { at: Some(at), from: Some(from) } = pointed.get_untracked() {
            point(Some(at), None);
            if (at - from).abs() > DRAG {
                let (window, end) = (window.get_untracked(), end.get_untracked());
                zoom.run(Zoom::between(at_share(window, end, from), at_share(window, end, at)));
            }
        }
    });
    dom::listen(root, "pointerleave", move |_: PointerEvent| point(None, None));
    dom::listen(root, "pointercancel", move |_: PointerEvent| point(None, None));
    dom::listen(root, "dblclick", move |event: MouseEvent| {
        if share(&event).is_some() {
            reset.run(());
        }
    });
    let root = root.clone();
    Effect::new(move |_| {
        let Pointed { at, from } = pointed.get();
        let class = root.class_list();
        // Both words are classes as a browser takes them.
        let _ = class.toggle_with_force("is-pointed", at.is_some());
        let _ = class.toggle_with_force("is-selecting", at.is_some() && from.is_some());
        if let Some(at) = at {
            let from = from.unwrap_or(at);
            for (name, share) in [("--at", at), ("--from", from.min(at)), ("--length", (from - at).abs())] {
                dom::set_property(&root, name, &percent(share * WIDTH));
            }
        }
    });
}
