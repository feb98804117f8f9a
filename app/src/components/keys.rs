//! Keys: `?` lists them, `/` searches, `j` and `k` move, `r`, `o` and `c` open a form. No key acts by itself.

use leptos::{html::Dialog, prelude::*};

/// What each key does, as the list says it.
pub type Listed = &'static [(&'static str, &'static str)];

/// On the panel.
pub const PANEL: Listed = &[
    ("?", "this list"),
    ("/", "search; Enter goes on to the hosts found"),
    ("j k", "next and previous host"),
    ("Enter", "all about the host"),
    ("x", "select the host"),
    ("r", "open the form: reset"),
    ("o c", "open the form: force open, force closed"),
    ("Esc", "close a form or this list, clear a selection on the time axis"),
];

/// On a breaker's page.
pub const BREAKER: Listed = &[
    ("?", "this list"),
    ("r", "open the form: reset"),
    ("o c", "open the form: force open, force closed"),
    ("← →", "move along the time axis, when it has the focus; with Shift further"),
    ("PgUp PgDn", "go from change to change there"),
    ("Space", "start a selection there; Enter zooms into it"),
    ("Enter", "keep the evidence there"),
    ("Esc", "close the evidence, a form or this list, leave a zoom"),
];

/// The list, hidden until it is asked for.
#[component]
pub fn Keys(
    /// The dialog.
    dialog: NodeRef<Dialog>,
    /// What it lists.
    #[prop(default = PANEL)]
    list: Listed,
) -> impl IntoView {
    let mut rows = String::new();
    for (key, does) in list {
        rows.push_str(&format!("<div><dt><kbd>{key}</kbd></dt><dd>{does}</dd></div>"));
    }
    view! {
        <dialog class="keys" node_ref=dialog aria-labelledby="keys-title">
            <h2 id="keys-title">"Keys"</h2>
            <dl inner_html=rows></dl>
            <form method="dialog">
                <button class="button">"Close"</button>
            </form>
        </dialog>
    }
}

/// What a key asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// The list of keys.
    List,
    /// The search field.
    Search,
    /// The next host, or the one before.
    Move(isize),
    /// Select or deselect the host.
    Pick,
    /// Open the form of this action.
    Form(&'static str),
    /// Close what is open.
    Close,
}

impl Asked {
    /// By the key's name; anything else asks for nothing.
    pub fn of(key: &str) -> Option<Self> {
        Some(match key {
            "?" => Self::List,
            "/" => Self::Search,
            "j" => Self::Move(1),
            "k" => Self::Move(-1),
            "x" => Self::Pick,
            "r" => Self::Form("reset"),
            "o" => Self::Form("force-open"),
            "c" => Self::Form("force-closed"),
            "Escape" => Self::Close,
            _ => return None,
        })
    }
}

/// Hears the keys that nobody is typing into a field.
#[cfg(feature = "browser")]
pub fn attend(hear: impl Fn(Asked, &web_sys::KeyboardEvent) + 'static) {
    use web_sys::KeyboardEvent;

    use crate::dom;

    let Some(document) = dom::document() else { return };
    dom::listen(&document, "keydown", move |event: KeyboardEvent| {
        let Some(asked) = Asked::of(&event.key()) else { return };
        let typing = dom::closest(&event, "input:not([type=checkbox]), textarea, select").is_some();
        let meant_otherwise = event.ctrl_key() || event.meta_key() || event.alt_key() || event.is_composing();
        if !event.default_prevented() && !meant_otherwise && (!typing || asked == Asked::Close) {
            hear(asked, &event);
        }
    });
}
