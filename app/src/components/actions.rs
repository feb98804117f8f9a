//! What an operator can do to a breaker: each a form with a name and a reason, the overrides with an end. Which form is
//! open stands in the address, so that a link leads to it and everything works without script.

use leptos::{form::ActionForm, html::Input, prelude::*};
use leptos_router::{
    NavigateOptions,
    hooks::{use_navigate, use_query_map},
};

use crate::{
    api::Act,
    backend::Refusal,
    format::breaker_path,
    prose, remember,
    wire::breaker::{Breaker, Mode, State},
};

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

/// The ends on offer.
const ENDS: [(&str, &str); 4] = [("15m", "15 min"), ("1h", "1 h"), ("4h", "4 h"), ("never", "no end")];

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
    let query = use_query_map();
    let action = ServerAction::<Act>::new();
    let path = breaker_path(&id);
    let open = Memo::new(move |_| query.with(|query| query.get_str("act").and_then(Action::parse)));
    let navigate = use_navigate();
    Effect::new({
        let path = path.clone();
        move |_| {
            let Some(Ok(breaker)) = action.value().get() else { return };
            answered.run(breaker);
            let Some(did) = open.get_untracked() else { return };
            let options = NavigateOptions { replace: true, scroll: false, ..NavigateOptions::default() };
            navigate(&format!("{path}?done={}", did.word()), options);
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
                let href = if is_current { format!("{path}#act") } else { format!("{path}?act={}#act", action.word()) };
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
    let form = move || open.get().map(|what| view! { <Form what=what id=id.clone() breaker=breaker action=action /> });
    view! {
        <section class="actions" id="act" aria-label="Actions">
            <div class="buttons">{buttons}</div>
            {done}
            {form}
        </section>
    }
}

#[component]
fn Form(what: Action, id: String, breaker: Memo<Option<Breaker>>, action: ServerAction<Act>) -> impl IntoView {
    let refusal = Memo::new(move |_| match action.value().get() {
        Some(Err(refusal)) => Some(refusal),
        _ => None,
    });
    let field_error = move |field: &'static str| {
        refusal.get().filter(|refusal| at_field(refusal) == Some(field)).map(|refusal| refusal.detail)
    };
    let holder = Memo::new(move |_| {
        breaker.with(|one| one.as_ref().and_then(|one| one.held.as_ref().map(|held| prose::by(&held.by))))
    });
    let pending = action.pending();
    let close = format!("{}#act", breaker_path(&id));
    view! {
        <div class="sheet">
            <ActionForm action=action>
                <h2>{what.label()}</h2>
                <p class="does">{what.sentence()}</p>
                <p class="does">{move || breaker.with(|one| one.as_ref().map(|one| touches(what, one)))}</p>
                <input type="hidden" name="what" value=what.word() />
                <input type="hidden" name="id" value=id />
                {move || {
                    refusal
                        .get()
                        .filter(|refusal| at_field(refusal).is_none())
                        .map(|refusal| {
                            let said = if refusal.applied { format!("{} {}", what.applied(), refusal.detail) } else { refusal.detail };
                            view! { <p class="banner is-warning" role="alert">{said}</p> }
                        })
                }}
                <div class="fields">
                    <Field name="by" label="Your name" hint="Kept as unverified." error=Signal::derive(move || field_error("by")) />
                    <Field name="reason" label="Reason" hint="Whoever looks next will read it." error=Signal::derive(move || field_error("reason")) />
                    {what.has_end().then(|| view! { <Ends error=Signal::derive(move || field_error("end")) /> })}
                    {move || {
                        (what == Action::Reset)
                            .then(|| holder.get())
                            .flatten()
                            .map(|holder| {
                                view! {
                                    <label class="check">
                                        <input type="checkbox" name="end_override" value="yes" required />
                                        {format!("Also end the override by {holder}")}
                                    </label>
                                }
                            })
                    }}
                </div>
                <div class="buttons">
                    <button class="button is-primary" type="submit" disabled=move || pending.get()>
                        {move || if pending.get() { "Waiting for the record" } else { what.label() }}
                    </button>
                    <a class="button is-quiet" href=close>
                        "Cancel"
                    </a>
                </div>
            </ActionForm>
        </div>
    }
}

/// The form's field a refusal is about; the wire's names for an end are one field here.
fn at_field(refusal: &Refusal) -> Option<&'static str> {
    match refusal.field.as_deref()? {
        "by" => Some("by"),
        "reason" => Some("reason"),
        "end" | "for_ms" | "until" => Some("end"),
        _ => None,
    }
}

/// What it will touch, with today's numbers.
fn touches(what: Action, breaker: &Breaker) -> String {
    let calls = crate::format::some(breaker.calls_per_min, "call", "calls");
    match what {
        Action::ForceOpen => format!("It touches {calls} a minute."),
        Action::ForceClosed => match breaker.refused_per_min {
            0 => format!("It touches {calls} a minute."),
            refused => format!(
                "{} a minute that are refused now will reach the host.",
                crate::format::some(refused, "call", "calls")
            ),
        },
        Action::Reset => match breaker.refused_per_min {
            0 => "No call is refused at the moment.".into(),
            refused => format!("{} a minute are refused now.", crate::format::some(refused, "call", "calls")),
        },
        Action::Release => match (breaker.state, breaker.held.as_ref().map(|held| held.mode)) {
            (State::Closed, _) => "Traffic will flow.".into(),
            (State::Open, Some(Mode::ForcedClosed)) => {
                "The breaker itself is open: calls will be refused until a probe is good.".into()
            }
            (State::Open, _) => "The breaker itself is open: the next step is its probe.".into(),
            (State::HalfOpen, _) => "The breaker itself is half-open: the next call is a probe.".into(),
        },
    }
}

#[component]
fn Field(name: &'static str, label: &'static str, hint: &'static str, error: Signal<Option<String>>) -> impl IntoView {
    let described = format!("{name}-hint");
    let input = NodeRef::<Input>::new();
    Effect::new(move |_| {
        let Some(input) = input.get() else { return };
        let known = remember::name();
        // Whoever types before the page is taken over keeps what they typed.
        if !input.value().is_empty() {
            return;
        }
        // The first field that is still to be filled in.
        if (name == "by") == known.is_none() {
            // Nothing depends on where the caret is.
            let _ = input.focus();
        }
        if let (true, Some(known)) = (name == "by", known) {
            input.set_value(&known);
        }
    });
    view! {
        <div class="field" class:is-wrong=move || error.get().is_some()>
            <label for=name>{label}</label>
            <input
                id=name
                name=name
                node_ref=input
                type="text"
                required
                maxlength="500"
                autocomplete=if name == "by" { "name" } else { "off" }
                aria-describedby=described.clone()
                aria-invalid=move || error.get().map(|_| "true")
                on:change=move |event| {
                    if name == "by" {
                        remember::keep_name(&event_target_value(&event));
                    }
                }
            />
            <p class="hint" id=described>
                {move || error.get().unwrap_or_else(|| hint.to_owned())}
            </p>
        </div>
    }
}

#[component]
fn Ends(error: Signal<Option<String>>) -> impl IntoView {
    let chosen = RwSignal::new("1h");
    let options = ENDS.map(|(word, label)| {
        view! {
            <label class="option">
                <input type="radio" name="end" value=word checked=word == "1h" required on:change=move |_| chosen.set(word) />
                <span>{label}</span>
            </label>
        }
    });
    let said = move || {
        error.get().unwrap_or_else(|| match chosen.get() {
            "never" => "It stays until somebody releases it, restarts included.".into(),
            _ => "Then it ends by itself, restarts included. No end means: until somebody releases it.".to_owned(),
        })
    };
    view! {
        <fieldset class="field" class:is-wrong=move || error.get().is_some()>
            <legend>"Ends after"</legend>
            <div class="options">{options}</div>
            <p class="hint" aria-live="polite">
                {said}
            </p>
        </fieldset>
    }
}
