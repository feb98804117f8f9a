//! One breaker in the browser: what it does and why, in prose; what can be done; how it came to this.

use leptos::{html::Dialog, prelude::*};

use self::{
    facts::{Facts, Policy},
    page::Page,
    timeline::Timeline,
};
use super::{
    actions::{Actions, Place},
    banner::{FaultBanner, FindingsBanner, StoreBanner},
    host::HostName,
    keys::{self, Keys},
    record::{AuditRows, Probes, Transitions},
    sign::SignAndWords,
    toast::{Toast, ToastView},
};
use crate::{
    data,
    format::{Zone, breaker_path},
    live::Live,
    prose,
    range::{Range, Window},
    rows::names,
    standing::Standing,
    story::StoryView,
};

pub mod evidence;
pub mod facts;
pub mod page;
pub mod timeline;

/// One breaker.
#[island]
pub fn BreakerBoard() -> impl IntoView {
    data::take::<StoryView>().map(|view| view! { <Loaded view=view place=Place::here() /> })
}

#[component]
fn Loaded(view: StoryView, place: Memo<Place>) -> impl IntoView {
    let live = Live::here();
    let about = view.about.clone();
    let usual = Range::usual(about.watched_ms());
    let window = Memo::new(move |_| place.get().window().unwrap_or(Window::Last(usual)));
    live.now.set(about.now.millis());
    let page = Page::new(&view, window);
    live.follow(about.now.millis(), about.cursor.clone(), move |event| page.hear(event));
    Effect::new(move |_| page.tick(live.now.get()));
    Effect::new(move |before: Option<Window>| {
        let window = window.get();
        if before.is_some_and(|before| before != window) {
            page.reload();
        }
        window
    });
    let toast = Toast::provide();
    let id = view.breaker.id.clone();
    let path = breaker_path(&id);
    let breaker = Memo::new(move |_| page.read(|story| story.row().map(|row| row.breaker.clone())));
    let standing = Memo::new(move |_| {
        breaker.with(|one| one.as_ref().map_or(Standing::Closed, |one| Standing::of(one, live.now.get())))
    });
    let say = move |zone: Zone| {
        let now = live.now.get();
        page.read(|story| {
            story.row().map(|row| prose::lead(&row.breaker, story.trip(), now, zone).join(" ")).unwrap_or_default()
        })
    };
    let lead = Memo::new(move |_| say(live.zone.get()));
    let in_utc = Memo::new(move |_| (live.zone.get() != Zone::Utc).then(|| say(Zone::Utc)));
    Effect::new({
        let id = id.clone();
        move |_| say_title(&prose::breaker_title(&id, standing.get()))
    });
    let unread = Signal::derive(move || page.fault.get().is_some());
    let dialog = NodeRef::<Dialog>::new();
    #[cfg(feature = "browser")]
    Effect::new({
        let (address, path) = (crate::address::Address::here(), path.clone());
        move |before: Option<()>| {
            if before.is_none() {
                let path = path.clone();
                keys::attend(move |asked, event| pressed(address, place, &path, dialog, asked, event));
            }
        }
    });
    let names = names(&view.breaker);
    view! {
        <StoreBanner store=Signal::derive(move || page.read(|story| story.store().clone())) />
        <FindingsBanner findings=Signal::derive(move || page.read(|story| story.findings().to_vec())) />
        <FaultBanner
            fault=page.fault
            as_of_ms=page.loaded_ms
            retry=move |()| page.reload()
        />
        <article class=move || format!("breaker {}", standing.get().class())>
            <header class="who">
                <h1>
                    <HostName id=id.clone() />
                </h1>
                <SignAndWords standing=standing />
                <span class="names">{names}</span>
            </header>
            <p class="lead" title=in_utc>
                {lead}
            </p>
            <Actions
                id=id
                breaker=breaker
                answered=Callback::new(move |()| page.reload())
                refused=view.refused.clone()
            />
            <Timeline page=page place=place path=path />
            <Facts breaker=breaker standing=standing />
            <div class="columns">
                <section aria-labelledby="changes">
                    <h2 id="changes">"Changes"</h2>
                    <Transitions rows=Signal::derive(move || page.read(|story| story.transitions.clone())) unread=unread />
                </section>
                <section aria-labelledby="probes">
                    <h2 id="probes">"Probes"</h2>
                    <Probes rows=Signal::derive(move || page.read(|story| story.probes.clone())) unread=unread />
                </section>
                <section aria-labelledby="audit">
                    <h2 id="audit">"What operators did"</h2>
                    <AuditRows rows=Signal::derive(move || page.read(|story| story.audit.clone())) unread=unread />
                </section>
                <section aria-labelledby="policy">
                    <h2 id="policy">"The rules: " {view.breaker.policy.clone()}</h2>
                    <Policy breaker=breaker />
                </section>
            </div>
            <ToastView toast=toast />
            <Keys dialog=dialog list=keys::BREAKER />
        </article>
    }
}

fn say_title(title: &str) {
    #[cfg(feature = "browser")]
    if let Some(document) = crate::dom::document() {
        document.set_title(title);
    }
    #[cfg(not(feature = "browser"))]
    let _ = title;
}

/// What a key does here; one that means nothing here is left to the browser.
#[cfg(feature = "browser")]
fn pressed(
    address: crate::address::Address,
    place: Memo<Place>,
    path: &str,
    dialog: NodeRef<Dialog>,
    asked: keys::Asked,
    event: &web_sys::KeyboardEvent,
) {
    use self::keys::Asked;
    use super::actions::Action;

    let here = place.get_untracked();
    let go = |act, keep| address.go(&Place { act, ..here }.href(path), keep);
    match asked {
        Asked::List => {
            if let Some(dialog) = dialog.get_untracked() {
                // Open already: then it is shown.
                let _ = dialog.show_modal();
            }
        }
        Asked::Form(word) => go(Action::parse(word), true),
        Asked::Close if here.act.is_some() => go(None, false),
        _ => return,
    }
    event.prevent_default();
}
