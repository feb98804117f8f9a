//! What an operator can do to a breaker: each a form with a name and a reason, the overrides with an end. Which form is
//! open stands in the address, so that a link leads to it and everything works without script.

use leptos::prelude::*;
use leptos_router::{
    NavigateOptions,
    hooks::{use_location, use_navigate},
};

use self::form::Form;
use crate::{api::Act, format::breaker_path, range::Range, wire::breaker::Breaker};

pub mod form;

/// Something an operator can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Hold it open.
    ForceOpen,
    /// Hold it closed.
    ForceClosed,
    /// Close and forget.
    Reset,
    /// End an override.
    Release,
}

impl Action {
    const ALL: [Self; 4] = [Self::ForceOpen, Self::ForceClosed, Self::Reset, Self::Release];

    /// The word in the address and the form.
    pub fn word(self) -> &'static str {
        match self {
            Self::ForceOpen => "force-open",
            Self::ForceClosed => "force-closed",
            Self::Reset => "reset",
            Self::Release => "release",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.word() == word)
    }

    fn label(self) -> &'static str {
        match self {
            Self::ForceOpen => "Force open",
            Self::ForceClosed => "Force closed",
            Self::Reset => "Reset",
            Self::Release => "Release",
        }
    }

    /// One sentence on what it does.
    fn sentence(self) -> &'static str {
        match self {
            Self::ForceOpen => {
                "Every call is refused and the host receives nothing, probes included, until the end you choose."
            }
            Self::ForceClosed => "Every call is let through, however the host fares, until the end you choose.",
            Self::Reset => "Closes the breaker and forgets its failures and waits: the next call reaches the host.",
            Self::Release => "Ends the override: the breaker takes over again as it stands.",
        }
    }

    fn done(self) -> &'static str {
        match self {
            Self::ForceOpen => "Forced open. Nothing reaches the host now.",
            Self::ForceClosed => "Forced closed. Every call is let through now.",
            Self::Reset => "Reset. The next call reaches the host.",
            Self::Release => "Released. The breaker decides again.",
        }
    }

    fn applied(self) -> &'static str {
        match self {
            Self::ForceOpen => "Forced open now, but would be lost at a restart.",
            Self::ForceClosed => "Forced closed now, but would be lost at a restart.",
            Self::Reset => "Reset now, but a restart would bring the old state back.",
            Self::Release => "Released now, but a restart would bring the override back.",
        }
    }

    fn has_end(self) -> bool {
        matches!(self, Self::ForceOpen | Self::ForceClosed)
    }

    /// Whether it makes sense as the breaker stands.
    fn offered(self, breaker: &Breaker) -> bool {
        self != Self::Release || breaker.held.is_some()
    }
}

/// What a breaker's address says beside its id: the form that is open, and the range that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The open form's action.
    pub act: Option<Action>,
    /// How far back the timeline reaches.
    pub range: Option<Range>,
}

impl Place {
    /// Reads the address. The query is the location's, not the route's: the router keeps a route's query as it was when
    /// the path is spelt another way, `%3A` for `:` say.
    pub fn here() -> Memo<Self> {
        let query = use_location().query;
        Memo::new(move |_| {
            query.with(|query| Self {
                act: query.get_str("act").and_then(Action::parse),
                range: query.get_str("range").and_then(Range::parse),
            })
        })
    }

    /// Its address on a breaker's page.
    pub fn href(self, path: &str) -> String {
        let act = self.act.map(|act| format!("act={}", act.word()));
        let range = self.range.map(|range| format!("range={}", range.word()));
        let said: Vec<_> = act.into_iter().chain(range).collect();
        if said.is_empty() { path.to_owned() } else { format!("{path}?{}", said.join("&")) }
    }
}

/// The buttons, the open form, and what became of the last one.
#[component]
pub fn Actions(
    /// The breaker's id.
    id: String,
    /// As it stands.
    breaker: Memo<Option<Breaker>>,
    /// What the newest audit row did, while it is fresh.
    just_did: Memo<Option<String>>,
    /// Takes the breaker as the answer gave it.
    answered: Callback<Breaker>,
) -> impl IntoView {
    let (query, place) = (use_location().query, Place::here());
    let action = ServerAction::<Act>::new();
    let path = breaker_path(&id);
    let open = Memo::new(move |_| place.get().act);
    let navigate = use_navigate();
    Effect::new({
        let path = path.clone();
        move |_| {
            let Some(Ok(breaker)) = action.value().get() else { return };
            answered.run(breaker);
            let Some(did) = open.get_untracked() else { return };
            let options = NavigateOptions { replace: true, scroll: false, ..NavigateOptions::default() };
            let path = Place { act: None, ..place.get_untracked() }.href(&path);
            let and = if path.contains('?') { '&' } else { '?' };
            navigate(&format!("{path}{and}done={}", did.word()), options);
        }
    });
    let done = move || {
        let did = query.with(|query| query.get_str("done").and_then(Action::parse))?;
        // The address alone proves nothing: the record must say so too, or the answer in hand.
        let known = just_did.get().is_some_and(|word| word == did.word())
            || action.value().with(|value| matches!(value, Some(Ok(_))));
        (known && open.get().is_none()).then(|| view! { <p class="banner is-done" role="status">{did.done()}</p> })
    };
    let buttons = {
        let path = path.clone();
        move || {
            let current = open.get();
            let buttons = Action::ALL.into_iter().filter(|action| {
                breaker.with(|breaker| breaker.as_ref().is_some_and(|breaker| action.offered(breaker)))
            });
            let buttons = buttons.map(|action| {
                let is_current = current == Some(action);
                let href = Place { act: (!is_current).then_some(action), ..place.get() }.href(&path) + "#act";
                let class = if action == Action::Release { "button is-held" } else { "button" };
                view! {
                    <a class=class href=href aria-current=is_current.then_some("true")>
                        {action.label()}
                    </a>
                }
            });
            buttons.collect_view()
        }
    };
    let form = move || {
        open.get().map(|what| view! { <Form what=what id=id.clone() place=place breaker=breaker action=action /> })
    };
    view! {
        <section class="actions" id="act" aria-label="Actions">
            <div class="buttons">{buttons}</div>
            {done}
            {form}
        </section>
    }
}
