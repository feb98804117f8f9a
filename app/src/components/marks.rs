//! The shapes and patterns every sign and lane refers to, once a page.

use leptos::prelude::*;

/// Invisible itself.
#[component]
pub fn Marks() -> impl IntoView {
    view! {
        <svg class="marks" width="0" height="0" aria-hidden="true" focusable="false">
            <defs>
                <pattern id="stripes" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                    <rect class="stripe-ground" width="6" height="6" />
                    <rect class="stripe" width="3" height="6" />
                </pattern>
                <pattern id="ticks" width="4" height="4" patternUnits="userSpaceOnUse">
                    <rect class="tick-ground" width="4" height="4" />
                    <rect class="tick" width="1.5" height="4" />
                </pattern>
                <pattern id="specks" width="6" height="6" patternUnits="userSpaceOnUse">
                    <circle class="speck" cx="1.5" cy="1.5" r="0.75" />
                    <circle class="speck" cx="4.5" cy="4.5" r="0.75" />
                </pattern>
                <pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)">
                    <rect class="hatch-ground" width="5" height="5" />
                    <rect class="hatch" width="1.25" height="5" />
                </pattern>
                <symbol id="sign-outline" viewBox="0 0 20 20">
                    <circle cx="10" cy="10" r="6.5" fill="none" stroke="currentColor" stroke-width="1.5" />
                </symbol>
                <symbol id="sign-cross" viewBox="0 0 20 20">
                    <circle cx="10" cy="10" r="9" fill="currentColor" />
                    <path class="on-sign" d="M6.5 6.5l7 7m0-7l-7 7" />
                </symbol>
                <symbol id="sign-latch" viewBox="0 0 20 20">
                    <path fill="currentColor" d="M6.3 1h7.4L19 6.3v7.4L13.7 19H6.3L1 13.7V6.3z" />
                    <path class="on-sign" d="M6.5 6.5l7 7m0-7l-7 7" />
                </symbol>
                <symbol id="sign-half" viewBox="0 0 20 20">
                    <circle cx="10" cy="10" r="8" fill="none" stroke="currentColor" stroke-width="2" />
                    <path fill="currentColor" d="M2 10a8 8 0 0 0 16 0z" />
                </symbol>
                <symbol id="sign-pinned" viewBox="0 0 20 20">
                    <circle cx="9" cy="11" r="8" fill="url(#stripes)" stroke="currentColor" stroke-width="1.5" />
                    <path class="pin" d="M15.5 0.8a3.4 3.4 0 0 1 1.1 6.6v3.4l-1.1 1.6-1.1-1.6V7.4a3.4 3.4 0 0 1 1.1-6.6z" />
                </symbol>
                <symbol id="sign-pinned-latch" viewBox="0 0 20 20">
                    <rect
                        x="1.5"
                        y="3.5"
                        width="15"
                        height="15"
                        fill="url(#stripes)"
                        stroke="currentColor"
                        stroke-width="3"
                    />
                    <path class="pin" d="M15.5 0.8a3.4 3.4 0 0 1 1.1 6.6v3.4l-1.1 1.6-1.1-1.6V7.4a3.4 3.4 0 0 1 1.1-6.6z" />
                </symbol>
                <symbol id="sign-clock" viewBox="0 0 20 20">
                    <circle cx="10" cy="10" r="8" fill="none" stroke="currentColor" stroke-width="1.75" />
                    <path
                        d="M10 5v5.2l3.4 2.2"
                        fill="none"
                        stroke="currentColor"
                        stroke-width="1.75"
                        stroke-linecap="round"
                    />
                </symbol>
                <symbol id="sign-dots" viewBox="0 0 20 20">
                    <g fill="currentColor">
                        <circle cx="4" cy="10" r="1.7" />
                        <circle cx="10" cy="10" r="1.7" />
                        <circle cx="16" cy="10" r="1.7" />
                    </g>
                </symbol>
            </defs>
        </svg>
    }
}
