//! An operator's form. A browser without script gets it back as it was sent when it is refused.

use leptos::{html::Input, prelude::*};

use super::{Action, Place};
use crate::{
    address::Address,
    backend::Refusal,
    components::sending::Sending,
    format::breaker_path,
    prose, remember,
    shown::value,
    wire::{
        action::ActionAnswer,
        breaker::{Breaker, Mode, Override, State},
    },
};

/// The ends on offer.
const ENDS: [(&str, &str); 4] = [("15m", "15 min"), ("1h", "1 h"), ("4h", "4 h"), ("never", "no end")];

/// The open form.
#[component]
pub fn Form(
    /// What it does.
    what: Action,
    /// To which breaker.
    id: String,
    /// Where closing it leads.
    place: Memo<Place>,
    /// As it stands.
    breaker: Memo<Option<Breaker>>,
    /// What sends it.
    action: Sending<ActionAnswer>,
) -> impl IntoView {
    let refusal = Memo::new(move |_| action.refusal());
    let field_error = move |field: &'static str| {
        refusal.get().filter(|refusal| at_field(refusal) == Some(field)).map(|refusal| refusal.detail)
    };
    let holder = Memo::new(move |_| {
        breaker.with(|one| one.as_ref().and_then(|one| one.held.as_ref().map(|held| prose::by(&held.by))))
    });
    let path = breaker_path(&id);
    let close = move || Place { act: None, ..place.get() }.href(&path) + "#act";
    view! {
        <div class="sheet">
            <form method="post" action=action.path on:submit=move |event| action.submit(&event)>
                <h2>{what.label()}</h2>
                <p class="does">{what.sentence()}</p>
                <p class="does">{move || breaker.with(|one| one.as_ref().map(|one| touches(what, one)))}</p>
                {move || {
                    breaker
                        .with(|one| one.as_ref().and_then(|one| at_whose_cost(what, one.held.as_ref()?)))
                        .map(|cost| view! { <p class="cost">{cost}</p> })
                }}
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
                                        <input type="checkbox" name="end_override" value="yes" checked=typed("end_override").is_some() required />
                                        {format!("Also end the override by {holder}")}
                                    </label>
                                }
                            })
                    }}
                </div>
                <div class="buttons">
                    <button class="button is-primary" type="submit" disabled=move || action.pending.get()>
                        {move || if action.pending.get() { "Waiting for the record" } else { what.label() }}
                    </button>
                    <a class="button is-quiet" href=close>
                        "Cancel"
                    </a>
                </div>
            </form>
        </div>
    }
}

/// What was typed into a field before the form was refused; the address brings it back.
fn typed(name: &str) -> Option<String> {
    value(&Address::here().query_now(), name).filter(|typed| !typed.is_empty())
}

/// The form's field a refusal is about; the wire's names for an end are one field here.
pub fn at_field(refusal: &Refusal) -> Option<&'static str> {
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
        Action::Probe => "One request, recorded as a probe by hand.".into(),
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

/// What becomes of the override that stands.
fn at_whose_cost(what: Action, held: &Override) -> Option<String> {
    let name = held.by.strip_prefix("unverified: ").unwrap_or(&held.by);
    let stands = match held.mode {
        Mode::ForcedOpen => "forced open",
        Mode::ForcedClosed => "forced closed",
    };
    let which = format!("{name}'s override ({stands}: {})", held.reason.trim().trim_end_matches('.'));
    Some(match (what, held.mode) {
        (Action::Probe, Mode::ForcedOpen) => {
            format!("Refused while {which} stands: then nothing is sent, probes included. Release it first.")
        }
        (Action::Probe, Mode::ForcedClosed) => return None,
        (Action::ForceOpen, Mode::ForcedOpen) | (Action::ForceClosed, Mode::ForcedClosed) => {
            format!("This gives {which} another end and reason.")
        }
        _ => format!("This ends {which}."),
    })
}

/// A text field of a form.
#[component]
pub fn Field(
    name: &'static str,
    label: &'static str,
    hint: &'static str,
    error: Signal<Option<String>>,
) -> impl IntoView {
    let (described, typed) = (format!("{name}-hint"), typed(name));
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
                value=typed
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

/// When an override ends; no end is said aloud.
#[component]
pub fn Ends(error: Signal<Option<String>>) -> impl IntoView {
    let typed = typed("end").and_then(|typed| ENDS.into_iter().find(|(word, _)| *word == typed));
    let first = typed.map_or("1h", |(word, _)| word);
    let chosen = RwSignal::new(first);
    let options = ENDS.map(|(word, label)| {
        view! {
            <label class="option">
                <input type="radio" name="end" value=word checked=word == first required on:change=move |_| chosen.set(word) />
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_form_says_whose_override_it_ends_and_what_is_refused_while_it_stands() {
        let cost = |what, mode| at_whose_cost(what, &sample::held(mode, None).held.expect("an override"));
        let ends = |stands| Some(format!("This ends ana's override ({stands}: CDN move)."));
        assert_eq!(cost(Action::ForceClosed, Mode::ForcedOpen), ends("forced open"));
        assert_eq!(cost(Action::Reset, Mode::ForcedClosed), ends("forced closed"));
        assert_eq!(cost(Action::Release, Mode::ForcedOpen), ends("forced open"));
        let again = cost(Action::ForceOpen, Mode::ForcedOpen).expect("a warning");
        assert!(again.starts_with("This gives ana's override"), "{again}");
        let probe = cost(Action::Probe, Mode::ForcedOpen).expect("a warning");
        assert!(probe.starts_with("Refused while") && probe.ends_with("Release it first."), "{probe}");
        assert_eq!(cost(Action::Probe, Mode::ForcedClosed), None);
    }
}
