//! One form for one or many breakers, over the panel: what it will touch is asked of the server before anything is done,
//! and what became of each is said. It stands in the address, so it opens without script too.

use leptos::{prelude::*, task::spawn_local};

use super::{
    actions::{
        Action,
        form::{Ends, Field, at_field},
    },
    sending::Sending,
    toast::Toast,
};
use crate::{
    address::Address,
    backend::Refusal,
    board::Board,
    fetch,
    format::query_value,
    markup::escaped,
    prose,
    shown::Shown,
    wire::action::{ActionAnswer, ActionResult},
};

/// The form, and what became of the last one.
#[component]
pub fn Sheet(
    /// For what it is done to.
    board: Board,
    /// What the address says.
    shown: Memo<Shown>,
    /// What it would do, where the server rendered it.
    plan: Option<ActionAnswer>,
    /// Why it was sent back, where it was sent without script.
    refused: Option<Refusal>,
    /// Hears that all of it was done.
    done: Callback<()>,
) -> impl IntoView {
    let address = Address::here();
    let sending = Sending::<ActionAnswer>::new("/ui/actions", refused);
    let plan = RwSignal::new(plan.map(Ok));
    let open = Memo::new(move |_| {
        shown.with(|shown| {
            Action::parse(&shown.act).filter(|_| !shown.ids.is_empty()).map(|act| (act, shown.ids.clone()))
        })
    });
    let toast = Toast::here();
    // What it would touch changes with what is selected, and with what somebody else does to it meanwhile.
    let held = Memo::new(move |_| {
        let held = |id: &String| board.all(|panel| panel.row(id).map(|row| row.breaker.held.clone()));
        open.with(|open| open.iter().flat_map(|open| &open.1).map(held).collect::<Vec<_>>())
    });
    Effect::new(move |before: Option<Option<(Action, Vec<String>)>>| {
        let now = open.get();
        // Read, not only followed: what nobody reads is not worked out, and so never changes.
        held.with(|_| ());
        #[cfg(feature = "panel")]
        if let (Some(Some((_, ids))), None) = (&before, &now) {
            ids.first().cloned().into_iter().for_each(super::panel::browser::back_to);
        }
        if before.as_ref().is_some_and(|before| *before != now) {
            plan.set(None);
            sending.answer.set(None);
        }
        if let (Some((act, ids)), true) = (now.clone(), before.is_some() || plan.with_untracked(Option::is_none)) {
            spawn_local(async move {
                let fields = format!("what={}&ids={}", act.word(), query_value(&ids.join(" ")));
                let answer = fetch::post::<ActionAnswer>("/ui/plan", &fields).await;
                // Another form may be open by now.
                if open.try_get_untracked().flatten() == Some((act, ids)) {
                    plan.set(Some(answer));
                }
            });
        }
        now
    });
    Effect::new(move |_| {
        let Some(Ok(answer)) = sending.answer.get() else { return };
        let Some((act, _)) = open.get_untracked() else { return };
        toast.say(prose::done(act.past(), &answer), answer.undo);
        if answer.results.iter().all(|one| one.status < 300) {
            done.run(());
            address.go(&closed(&shown.get_untracked()).href(), false);
        }
        board.reload();
    });
    move || open.get().map(|(act, ids)| view! { <Open act=act ids=ids shown=shown plan=plan sending=sending /> })
}

fn closed(shown: &Shown) -> Shown {
    Shown { act: String::new(), ids: Vec::new(), ..shown.clone() }
}

#[component]
fn Open(
    act: Action,
    ids: Vec<String>,
    shown: Memo<Shown>,
    plan: RwSignal<Option<Result<ActionAnswer, Refusal>>>,
    sending: Sending<ActionAnswer>,
) -> impl IntoView {
    let whom = match ids.as_slice() {
        [one] => one.clone(),
        many => format!("{} breakers", many.len()),
    };
    let touches = move || match plan.get() {
        Some(Ok(plan)) => prose::plan(&plan, act == Action::Reset),
        Some(Err(refusal)) => refusal.detail,
        None => "Asking what it touches.".into(),
    };
    let ends_override = move || {
        let replaces = plan.with(|plan| {
            plan.as_ref().is_some_and(|plan| {
                plan.as_ref().is_ok_and(|plan| plan.results.iter().any(|one| one.replaces.is_some()))
            })
        });
        act == Action::Reset && replaces
    };
    let error = move |field: &'static str| {
        Signal::derive(move || {
            sending.refusal().filter(|refusal| at_field(refusal) == Some(field)).map(|refusal| refusal.detail)
        })
    };
    let refused = move || sending.refusal().filter(|refusal| at_field(refusal).is_none()).map(|refusal| refusal.detail);
    // What becomes of each: before it is sent what would, and what stands in its way; after it what did.
    let results = move || match (sending.answer.get(), plan.get()) {
        (Some(Ok(answer)), _) => listed(&answer, true),
        (_, Some(Ok(plan))) => listed(&plan, false),
        _ => String::new(),
    };
    let none = move || results().is_empty();
    view! {
        <div class="sheet is-over" role="dialog" aria-labelledby="sheet-title">
            <form method="post" action=sending.path on:submit=move |event| sending.submit(&event)>
                <h2 id="sheet-title">{act.label()} ": " {whom}</h2>
                <p class="does">{act.sentence()}</p>
                <p class="does touches" aria-live="polite">{touches}</p>
                <ul class="results" tabindex="0" aria-label="Each of them" inner_html=results hidden=none></ul>
                <p class="banner is-warning" role="alert" hidden=move || refused().is_none()>{refused}</p>
                <input type="hidden" name="what" value=act.word() />
                <input type="hidden" name="ids" value=ids.join(" ") />
                <div class="fields">
                    <Field name="by" label="Your name" hint="Kept as unverified." error=error("by") />
                    <Field name="reason" label="Reason" hint="Whoever looks next will read it." error=error("reason") />
                    {act.has_end().then(|| view! { <Ends error=error("end") /> })}
                    <label class="check" hidden=move || !ends_override()>
                        <input type="checkbox" name="end_override" value="yes" />
                        "Also end the overrides that stand"
                    </label>
                </div>
                <div class="buttons">
                    <button class="button is-primary" type="submit" disabled=move || sending.pending.get()>
                        {move || if sending.pending.get() { "Waiting for the record" } else { act.label() }}
                    </button>
                    <a class="button is-quiet" href=move || closed(&shown.get()).href()>
                        "Cancel"
                    </a>
                </div>
            </form>
        </div>
    }
}

/// Each breaker of an answer, those that are refused first. Before it is done, one alone is said by the form.
fn listed(answer: &ActionAnswer, done: bool) -> String {
    let refused = |one: &&ActionResult| one.status >= 300;
    let all = &answer.results;
    let mut out = String::new();
    for one in all.iter().filter(refused).chain(all.iter().filter(|one| !refused(one))) {
        let note = match &one.replaces {
            _ if done || one.status >= 300 || !one.changed => one.detail.clone(),
            Some(held) => format!("held by {}: {}", prose::by(&held.by), held.reason),
            None if all.len() > 1 => String::new(),
            None => continue,
        };
        let class = if one.status >= 300 { " class=\"is-refused\"" } else { "" };
        out.push_str(&format!("<li{class}><code>{}</code> {}</li>", escaped(&one.breaker), escaped(&note)));
    }
    out
}

/// The bar that says how many rows are selected and what can be done to them. Without script it is a form like any other.
#[component]
pub fn Selection(
    /// How many.
    many: Signal<usize>,
    /// What the address says.
    shown: Memo<Shown>,
    /// Selects none.
    clear: Callback<()>,
    /// Selects all that are shown.
    all: Callback<()>,
    /// Opens a form for those that are selected.
    open: Callback<&'static str>,
) -> impl IntoView {
    let mut buttons = String::new();
    for act in Action::ALL {
        buttons.push_str(&format!(
            "<button class=\"button\" name=\"act\" value=\"{}\">{}</button>",
            act.word(),
            act.label()
        ));
    }
    let submit = move |event: leptos::ev::SubmitEvent| {
        #[cfg(feature = "browser")]
        {
            event.prevent_default();
            let word = event.submitter().and_then(|button| button.get_attribute("value"));
            if let Some(act) = word.as_deref().and_then(Action::parse) {
                open.run(act.word());
            }
        }
        #[cfg(not(feature = "browser"))]
        let _ = (event, open);
    };
    view! {
        <form id="bulk" class="bulk" class:is-open=move || many.get() != 0 method="get" action="/" aria-label="Selected breakers" on:submit=submit>
            <b class="many">{move || format!("{} selected", many.get())}</b>
            <input type="hidden" name="range" value=move || shown.get().range.map(crate::range::Range::word) />
            <span class="buttons" inner_html=buttons></span>
            <button type="button" class="button is-quiet" on:click=move |_| all.run(())>
                "All shown"
            </button>
            <button type="button" class="button is-quiet" on:click=move |_| clear.run(())>
                "Clear"
            </button>
        </form>
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn each_of_many_is_listed_and_what_is_refused_stands_first() {
        let one = |id: &str, status, detail: &str| ActionResult {
            breaker: id.into(),
            status,
            changed: status < 300,
            detail: detail.into(),
            applied: false,
            calls_per_min: 0,
            replaces: None,
            held: None,
            undo: None,
        };
        let results = vec![one("a<b", 200, "Forced open."), one("c", 404, "There is no breaker 'c'.")];
        let mut answer = ActionAnswer { dry_run: false, breakers: 1, calls_per_min: 0, undo: None, results };
        assert_eq!(
            listed(&answer, true),
            "<li class=\"is-refused\"><code>c</code> There is no breaker &#39;c&#39;.</li>\
             <li><code>a&lt;b</code> Forced open.</li>"
        );
        answer.results[1] = one("c", 200, "Would be forced open.");
        answer.results[1].replaces = sample::held(crate::wire::breaker::Mode::ForcedClosed, None).held;
        assert_eq!(
            listed(&answer, false),
            "<li><code>a&lt;b</code> </li><li><code>c</code> held by ana (unverified): CDN move</li>"
        );
        answer.results.truncate(1);
        assert_eq!(listed(&answer, false), "", "one alone is said by the form");
    }
}
