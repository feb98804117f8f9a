//! What the signs in lanes mean, folded away until somebody asks.

use leptos::prelude::*;

use crate::timeline::{Band, Kind};

/// Every kind of band with its words.
const KINDS: [(Kind, f64, &str); 8] = [
    (Kind::Closed, 1.0, "closed, traffic flows"),
    (Kind::Open, 1.0, "open, calls refused"),
    (Kind::Open, 0.3, "open for a share of that time"),
    (Kind::HalfOpen, 1.0, "half-open, probing"),
    (Kind::ForcedOpen, 1.0, "forced open by an operator"),
    (Kind::ForcedClosed, 1.0, "forced closed by an operator"),
    (Kind::CoolingDown, 1.0, "cooling down, answered 429 as the host asked"),
    (Kind::Unknown, 1.0, "not watched: nothing is known"),
];

/// A sample of each band as lanes draw it, with the probes' marks.
#[component]
pub fn Legend() -> impl IntoView {
    let bands = KINDS.map(|(kind, share, words)| {
        let drawn = Band { x: 0.0, width: 1.0, kind, share, from_ms: 0, to_ms: 0 }.drawn();
        let (y, height) = (format!("{}%", drawn.y), format!("{}%", drawn.height));
        view! {
            <li>
                <svg class="lane" aria-hidden="true">
                    <rect class=drawn.class fill=drawn.fill width="100%" y=y height=height />
                </svg>
                {words}
            </li>
        }
    });
    view! {
        <details class="signs">
            <summary>"What the lanes show"</summary>
            <ul>
                {bands}
                <li>
                    <svg class="probes" aria-hidden="true">
                        <svg class="probe is-good" x="50%" overflow="visible">
                            <circle cx="0" cy="8" r="3.5" />
                        </svg>
                    </svg>
                    "a good probe"
                </li>
                <li>
                    <svg class="probes" aria-hidden="true">
                        <svg class="probe is-bad" x="50%" overflow="visible">
                            <path d="M-3.5 4.5l7 7m0-7l-7 7" />
                        </svg>
                    </svg>
                    "a failed probe"
                </li>
            </ul>
        </details>
    }
}
