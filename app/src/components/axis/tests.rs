use super::*;
use crate::range::Range;

const HOUR: i64 = 3_600_000;
const END: i64 = 10 * HOUR;

#[derive(Clone, Copy)]
struct Heard {
    zoom: RwSignal<Option<Zoom>>,
    picked: RwSignal<Option<i64>>,
}

fn brush() -> (Brush, Heard) {
    let (zoom, picked) = (RwSignal::new(None), RwSignal::new(None));
    let pick = Pick {
        at: Callback::new(move |at| picked.set(Some(at))),
        shut: Callback::new(move |()| picked.try_update(Option::take).flatten().is_some()),
        stops: Signal::stored(vec![END - HOUR / 2, END - HOUR / 4]),
    };
    let brush = Brush {
        pointed: RwSignal::new(Pointed::default()),
        window: Signal::stored(Window::Last(Range::Hour)),
        end: Signal::stored(END),
        zoom: Callback::new(move |to| zoom.set(Some(to))),
        reset: Callback::new(|()| {}),
        pick: Some(pick),
    };
    (brush, Heard { zoom, picked })
}

fn dropped(from: f64, at: f64, pans: bool) -> (Option<Zoom>, Option<i64>) {
    let owner = Owner::new();
    owner.set();
    let (brush, heard) = brush();
    brush.point(Pointed { at: Some(at), from: Some(from), pans });
    brush.dropped();
    assert_eq!(
        brush.pointed.get_untracked(),
        Pointed { at: Some(at), from: None, pans: false },
        "nothing is held any more"
    );
    (heard.zoom.get_untracked(), heard.picked.get_untracked())
}

#[test]
fn a_drag_zooms_with_shift_it_pans_and_a_click_picks() {
    let zoom = |from_ms, to_ms| (Some(Zoom { from_ms, to_ms }), None);
    assert_eq!(dropped(0.75, 0.25, false), zoom(END - 3 * HOUR / 4, END - HOUR / 4));
    assert_eq!(
        dropped(0.25, 0.75, true),
        zoom(END - 3 * HOUR / 2, END - HOUR / 2),
        "what was there follows the pointer"
    );
    assert_eq!(dropped(0.75, 0.25, true), zoom(END - HOUR, END), "never beyond now");
    assert_eq!(dropped(0.5, 0.505, false), (None, Some(END - HOUR + (HOUR as f64 * 0.505) as i64)));
}

#[test]
fn keys_go_from_change_to_change() {
    let owner = Owner::new();
    owner.set();
    let (brush, _) = brush();
    assert_eq!([0.0, 0.5, 0.75, 1.0].map(|here| brush.stop(here, true)), [0.5, 0.75, 0.75, 1.0]);
    assert_eq!([1.0, 0.75, 0.5, 0.2].map(|here| brush.stop(here, false)), [0.75, 0.5, 0.5, 0.2]);
}
