//! The card that says what is known of a point in time: it comes when the pointer or the keyboard's crosshair rests, stays
//! when it is picked, and goes with Escape. What the page has is there at once; the rest is asked of the record.

use leptos::prelude::*;

use super::page::Page;
use crate::{
    backend::Refusal,
    components::axis::{Brush, Pick},
    evidence::{Card, Known, Spot, stops, with_heard},
    live::Live,
    timeline::Axis,
    wire::timeline::Moment,
};

/// A pointer that only passes asks for nothing.
#[cfg(feature = "browser")]
const RESTED: std::time::Duration = std::time::Duration::from_millis(180);

/// What the card is made from.
#[derive(Clone, Copy)]
pub struct Evidence {
    /// What it shows.
    pub card: RwSignal<Card>,
    /// What was found there.
    found: RwSignal<Option<(Spot, Result<Moment, Refusal>)>>,
    page: Page,
}

impl Evidence {
    /// Of this breaker.
    pub fn of(page: Page) -> Self {
        Self { card: RwSignal::default(), found: RwSignal::new(None), page }
    }

    /// What picking a point on the axis does.
    pub fn pick(self, axis: Signal<Axis>) -> Pick {
        Pick {
            at: Callback::new(move |at_ms| self.card.set(Card::Pinned(Spot::on(axis.get_untracked(), at_ms)))),
            shut: Callback::new(move |()| self.shut()),
            stops: Signal::derive(move || {
                self.page.read(|story| {
                    let strip = story.row().map(|row| row.strip.clone()).unwrap_or_default();
                    let lane = story.lane.as_ref().and_then(|lane| Some((lane.from.millis(), lane.probes.as_ref()?)));
                    let probes =
                        lane.iter().flat_map(|(from, marks)| marks.at.iter().map(move |at| *from + *at as i64));
                    stops(&strip, probes, axis.get())
                })
            }),
        }
    }

    /// Closes it; false where it was closed.
    pub fn shut(self) -> bool {
        let open = self.card.with_untracked(|card| card.spot().is_some());
        if open {
            self.card.set(Card::Shut);
        }
        open
    }

    fn html(self, axis: Axis) -> String {
        let live = Live::here();
        let Some(spot) = self.card.get().spot() else { return String::new() };
        let found = self.found.get().filter(|found| found.0 == spot).map(|found| found.1);
        self.page.read(|story| {
            let strip = story.row().map(|row| row.strip.clone()).unwrap_or_default();
            let calls = story.lane.as_ref().and_then(|lane| Some((lane.from.millis(), lane.calls.as_ref()?)));
            let (moment, failed) = match &found {
                Some(Ok(moment)) => (Some(with_heard(moment, spot, &story.transitions, &story.probes)), None),
                Some(Err(refusal)) => (None, Some(refusal)),
                None => (None, None),
            };
            let known = Known { spot, strip: &strip, axis, calls, moment: moment.as_ref(), zone: live.zone.get() };
            match failed {
                Some(refusal) => known.html_without(&refusal.detail),
                None => known.html(),
            }
        })
    }
}

/// Follows the crosshair.
#[cfg(feature = "browser")]
fn follow(evidence: Evidence, brush: Brush, axis: Signal<Axis>) {
    use leptos::task::spawn_local;

    use crate::{dom, fetch};

    let mut rested = debounce(RESTED, move |at: Option<f64>| {
        // Nobody is asked about what is being selected.
        let at = at.filter(|_| brush.pointed.get_untracked().from.is_none());
        let spot = at.map(|at| Spot::on(axis.get_untracked(), brush.time(at)));
        let card = evidence.card.get_untracked();
        if card.rested(spot) != card {
            evidence.card.set(card.rested(spot));
        }
    });
    Effect::new(move |_| {
        let pointed = brush.pointed.get();
        // Nothing stands in the way of a selection.
        if pointed.from.is_some() && matches!(evidence.card.get_untracked(), Card::Passing(_)) {
            evidence.card.set(Card::Shut);
        }
        rested(pointed.at);
    });
    Effect::new(move |_| {
        let Some(spot) = evidence.card.get().spot() else { return };
        if evidence.found.with_untracked(|found| found.as_ref().is_some_and(|found| found.0 == spot)) {
            return;
        }
        let id = evidence.page.id();
        spawn_local(async move {
            let found = fetch::moment(&id, spot).await;
            // Another one is looked at by now, or the page is gone.
            if evidence.card.try_get_untracked().and_then(Card::spot) == Some(spot) {
                evidence.found.set(Some((spot, found)));
            }
        });
    });
    let Some(document) = dom::document() else { return };
    dom::listen(&document, "keydown", move |event: web_sys::KeyboardEvent| {
        // In a form or a list of keys it closes that.
        let meant = event.key() == "Escape" && dom::closest(&event, "form, dialog").is_none();
        if meant && !event.default_prevented() && evidence.shut() {
            event.prevent_default();
        }
    });
}

/// The card itself, over the lanes beside the crosshair; on a phone at the screen's foot.
#[component]
pub fn EvidenceCard(
    /// What it shows.
    evidence: Evidence,
    /// The axis it stands on.
    axis: Signal<Axis>,
    /// What moves the crosshair.
    brush: Brush,
) -> impl IntoView {
    let live = Live::here();
    let spot = move || evidence.card.get().spot();
    let pinned = move || matches!(evidence.card.get(), Card::Pinned(_));
    let share = move || {
        spot().map_or(0.0, |spot| {
            let axis = axis.get();
            axis.x(spot.at_ms) / axis.width
        })
    };
    let class = move || {
        let side = if share() > 0.5 { "card is-left" } else { "card is-right" };
        if pinned() { format!("{side} is-pinned") } else { side.to_owned() }
    };
    let node = NodeRef::<leptos::html::Div>::new();
    #[cfg(feature = "browser")]
    {
        follow(evidence, brush, axis);
        Effect::new(move |_| {
            // The lanes beside it mark the point too.
            if let Some(plot) = node.get().and_then(|node| node.parent_element()) {
                crate::dom::set_property(&plot, "--spot", &format!("{:.3}%", share() * 100.0));
            }
        });
    }
    #[cfg(not(feature = "browser"))]
    let _ = brush;
    let at = move || {
        spot().map(|spot| {
            let zone = live.zone.get();
            let now = live.now.get_untracked();
            format!("{}{}", crate::format::moment_seconds(spot.at_ms, now, zone), zone.suffix())
        })
    };
    view! {
        <div
            class=class
            node_ref=node
            role="region"
            aria-label="Evidence"
            aria-live="polite"
            hidden=move || spot().is_none()
        >
            <header>
                <h3 title=move || spot().map(|spot| crate::format::full_utc(spot.at_ms))>{at}</h3>
                <span class="detail" hidden=pinned>"click or Enter keeps it"</span>
                <button
                    type="button"
                    class="button is-quiet"
                    hidden=move || !pinned()
                    on:click=move |_| {
                        evidence.shut();
                    }
                >
                    "Close"
                </button>
            </header>
            <div
                class="body"
                role="group"
                aria-label="What is on record"
                tabindex=move || if pinned() { "0" } else { "-1" }
                inner_html=move || evidence.html(axis.get())
            ></div>
        </div>
    }
}
