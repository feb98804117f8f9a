//! What a form that was sent without script did, and the way back. It stands in the address, which the server lets claim
//! nothing but what it wrote there itself.

use leptos::prelude::*;

use super::actions::Action;
use crate::{backend::Refusal, format, shown::value};

/// Said above the page's content.
#[component]
pub fn Done(
    /// The part of the address behind the question mark.
    search: String,
    /// The breaker the page is about; none on the panel.
    id: Option<String>,
    /// Why it was not done, where no form is open that says so.
    refused: Option<Refusal>,
) -> impl IntoView {
    let said = |name: &str| value(&search, name);
    let number = |name: &str| said(name).and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
    let what = said("done").unwrap_or_default();
    let text = match (what.as_str(), Action::parse(&what), &id) {
        ("undo", ..) => Some(match id {
            Some(_) => "Undone: it stands as it stood.".to_owned(),
            None => many("Undone", number("well"), number("refused")),
        }),
        (_, Some(action), Some(_)) => Some(action.done().to_owned()),
        (_, Some(action), None) => Some(many(action.past(), number("well"), number("refused"))),
        (_, None, _) => None,
    };
    let undo = number("undo");
    let refused = refused
        .filter(|_| said("act").is_none())
        .map(|refusal| view! { <p class="banner is-warning" role="alert">{refusal.detail}</p> });
    let done = text.map(|text| {
        view! {
            <div class="banner is-done" role="status">
                <span>{text}</span>
                {(undo > 0)
                    .then(|| {
                        view! {
                            <form method="post" action="/ui/undo">
                                <input type="hidden" name="seq" value=undo />
                                <input type="hidden" name="id" value=id.unwrap_or_default() />
                                <button class="button" type="submit">
                                    "Undo, within 10 s"
                                </button>
                            </form>
                        }
                    })}
            </div>
        }
    });
    view! {
        {refused}
        {done}
    }
}

fn many(past: &str, well: u64, refused: u64) -> String {
    let refused = if refused > 0 { format!(" {} refused.", format::count(refused)) } else { String::new() };
    format!("{past}: {}.{refused}", format::some(well, "breaker", "breakers"))
}
