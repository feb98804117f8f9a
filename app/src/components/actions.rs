//! What an operator can do to a breaker: each a form with a name and a reason, the overrides with an end. Which form is
//! open stands in the address, so that a link leads to it and everything works without script.

use leptos::prelude::*;

use self::form::Form;
use super::{sending::Sending, toast::Toast};
use crate::{
    address::Address,
    backend::Refusal,
    format::{self, breaker_path},
    range::{Range, Window, Zoom},
    shown::value,
    wire::{action::ActionAnswer, breaker::Breaker},
};

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
    /// Ask the host now.
    Probe,
}

impl Action {
    /// In the order they are offered.
    pub const ALL: [Self; 5] = [Self::Probe, Self::ForceOpen, Self::ForceClosed, Self::Reset, Self::Release];

    /// The word in the address and the form.
    pub fn word(self) -> &'static str {
        match self {
            Self::ForceOpen => "force-open",
            Self::ForceClosed => "force-closed",
            Self::Reset => "reset",
            Self::Release => "release",
            Self::Probe => "probe",
        }
    }

    /// By its word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.word() == word)
    }

    /// What its button says.
    pub fn label(self) -> &'static str {
        match self {
            Self::ForceOpen => "Force open",
            Self::ForceClosed => "Force closed",
            Self::Reset => "Reset",
            Self::Release => "Release",
            Self::Probe => "Probe now",
        }
    }

    /// One sentence on what it does.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::ForceOpen => {
                "Every call is refused and the host receives nothing, probes included, until the end you choose."
            }
            Self::ForceClosed => "Every call is let through, however the host fares, until the end you choose.",
            Self::Reset => "Closes the breaker and forgets its failures and waits: the next call reaches the host.",
            Self::Release => "Ends the override: the breaker takes over again as it stands.",
            Self::Probe => "Sends the host one request now. A bad answer changes nothing and uses up no wait.",
        }
    }

    /// What it did, before what it was done to.
    pub fn past(self) -> &'static str {
        match self {
            Self::ForceOpen => "Forced open",
            Self::ForceClosed => "Forced closed",
            Self::Reset => "Reset",
            Self::Release => "Released",
            Self::Probe => "Probed",
        }
    }

    /// What it did to the one breaker a page is about.
    pub fn done(self) -> &'static str {
        match self {
            Self::ForceOpen => "Forced open. Nothing reaches the host now.",
            Self::ForceClosed => "Forced closed. Every call is let through now.",
            Self::Reset => "Reset. The next call reaches the host.",
            Self::Release => "Released. The breaker decides again.",
            Self::Probe => "Probed. What it found stands among the probes.",
        }
    }

    fn applied(self) -> &'static str {
        match self {
            Self::ForceOpen => "Forced open now, but would be lost at a restart.",
            Self::ForceClosed => "Forced closed now, but would be lost at a restart.",
            Self::Reset => "Reset now, but a restart would bring the old state back.",
            Self::Release => "Released now, but a restart would bring the override back.",
            Self::Probe => "Probed now, but what it found would be lost at a restart.",
        }
    }

    /// Whether it holds a breaker, until an end.
    pub fn has_end(self) -> bool {
        matches!(self, Self::ForceOpen | Self::ForceClosed)
    }

    /// Whether it makes sense as the breaker stands.
    fn offered(self, breaker: &Breaker) -> bool {
        match self {
            Self::Release => breaker.held.is_some(),
            _ => true,
        }
    }
}

/// What a breaker's address says beside its id: the form that is open, and the stretch of time that was chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// The open form's action.
    pub act: Option<Action>,
    /// How far back the timeline reaches.
    pub range: Option<Range>,
    /// What was zoomed into.
    pub zoom: Option<Zoom>,
}

impl Place {
    /// Reads the part behind the question mark.
    pub fn parse(query: &str) -> Self {
        let said = |name: &str| value(query, name).unwrap_or_default();
        Self {
            act: Action::parse(&said("act")),
            range: Range::parse(&said("range")),
            zoom: Zoom::parse(&said("from"), &said("to")),
        }
    }

    /// Reads the address.
    pub fn here() -> Memo<Self> {
        let address = Address::here();
        Memo::new(move |_| Self::parse(&address.query()))
    }

    /// Its address on a breaker's page.
    pub fn href(self, path: &str) -> String {
        let act = self.act.map(|act| format!("act={}", act.word()));
        let range = self.range.map(|range| format!("range={}", range.word()));
        let zoom =
            self.zoom.map(|zoom| format!("from={}&to={}", format::iso_utc(zoom.from_ms), format::iso_utc(zoom.to_ms)));
        let said: Vec<_> = act.into_iter().chain(range).chain(zoom).collect();
        if said.is_empty() { path.to_owned() } else { format!("{path}?{}", said.join("&")) }
    }

    /// What the timeline shows; nothing where the address chooses nothing.
    pub fn window(self) -> Option<Window> {
        self.zoom.map(Window::Fixed).or(self.range.map(Window::Last))
    }
}

/// The buttons and the open form.
#[component]
pub fn Actions(
    /// The breaker's id.
    id: String,
    /// As it stands.
    breaker: Memo<Option<Breaker>>,
    /// Hears that something was done.
    answered: Callback<()>,
    /// Why the form was sent back, where it was sent without script.
    refused: Option<Refusal>,
) -> impl IntoView {
    let (address, place, toast) = (Address::here(), Place::here(), Toast::here());
    let action = Sending::<ActionAnswer>::new("/ui/act", refused);
    let path = breaker_path(&id);
    let open = Memo::new(move |_| place.get().act);
    Effect::new({
        let path = path.clone();
        move |_| {
            let Some(Ok(answer)) = action.answer.get() else { return };
            answered.run(());
            let Some(did) = open.get_untracked() else { return };
            toast.say(said(did, &answer), answer.undo);
            address.go(&Place { act: None, ..place.get_untracked() }.href(&path), false);
        }
    });
    #[cfg(feature = "browser")]
    Effect::new(move |before: Option<Option<Action>>| {
        let now = open.get();
        // However it was closed, the focus goes back to what opened it.
        if let (Some(Some(was)), None) = (before, now) {
            crate::dom::give_back(move || {
                let document = crate::dom::document()?;
                let find = |selector: &str| document.query_selector(selector).ok()?;
                // What was done may not be offered any more.
                find(&format!("#act .buttons a[href*='act={}']", was.word())).or_else(|| find("#act .buttons a"))
            });
        }
        now
    });
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
        <section class="actions" id="act" aria-label="Actions" on:click=move |event| address.intercept(&event)>
            <div class="buttons">{buttons}</div>
            {form}
        </section>
    }
}

/// What was done: of a probe what it found, of a reset that found nothing to do just that.
fn said(did: Action, answer: &ActionAnswer) -> String {
    match answer.results.as_slice() {
        [one] if did == Action::Probe || !one.changed => one.detail.clone(),
        _ => did.done().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_form_range_and_zoom() {
        let zoom = Zoom { from_ms: 1_796_001_127_000, to_ms: 1_796_001_187_000 };
        let place = Place { act: Some(Action::Reset), range: Some(Range::Day), zoom: Some(zoom) };
        let href = place.href("/breakers/a");
        assert_eq!(href, "/breakers/a?act=reset&range=24h&from=2026-11-30T01:12:07Z&to=2026-11-30T01:13:07Z");
        assert_eq!(Place::parse(href.split_once('?').expect("a query").1), place);
        assert_eq!(place.window(), Some(Window::Fixed(zoom)), "the zoom is within the range");
        assert_eq!(Place { zoom: None, ..place }.window(), Some(Window::Last(Range::Day)));
        assert_eq!(
            (Place::default().href("/breakers/a").as_str(), Place::parse("act=x&from=y").window()),
            ("/breakers/a", None)
        );
    }
}
