//! One breaker in the browser: what it does and why, in prose; what can be done; how it came to this.

use leptos::{prelude::*, task::spawn_local};

use super::{
    actions::{Actions, Place},
    axis::{AxisLabels, axis_end},
    banner::{FaultBanner, FindingsBanner, StoreBanner},
    bars::CallBars,
    host::HostName,
    lane::Lane,
    record::{AuditRows, Probes, Transitions},
    sign::SignAndWords,
};
use crate::{
    backend::Refusal,
    data, fetch,
    format::{self, breaker_path},
    live::Live,
    panel::Touched,
    prose,
    range::{Range, Window},
    rows::names,
    standing::Standing,
    story::{Story, StoryView},
    wire::{breaker::Breaker, event::FeedEvent},
};

/// Calls are counted a minute at a time; how often the page asks for new ones.
const CALLS_EVERY_MS: i64 = 15_000;
/// How long an action's own row in the record vouches for what the address says was done.
const JUST_MS: i64 = 60_000;

/// One breaker.
#[island]
pub fn BreakerBoard() -> impl IntoView {
    data::take::<StoryView>().map(|view| view! { <Loaded view=view place=Place::here() /> })
}

/// The page's state: a [`Story`] with one signal that says it changed.
#[derive(Clone, Copy)]
struct Page {
    story: StoredValue<Story>,
    changed: RwSignal<()>,
    range: Memo<Range>,
    loaded_ms: RwSignal<i64>,
    loading: RwSignal<bool>,
    fault: RwSignal<Option<Refusal>>,
}

impl Page {
    fn new(view: &StoryView, range: Memo<Range>) -> Self {
        Self {
            story: StoredValue::new(Story::load(view)),
            changed: RwSignal::new(()),
            range,
            loaded_ms: RwSignal::new(view.about.now.millis()),
            loading: RwSignal::new(false),
            fault: RwSignal::new(None),
        }
    }

    fn read<T>(self, read: impl FnOnce(&Story) -> T) -> T {
        self.changed.track();
        self.story.with_value(read)
    }

    fn hear(self, event: &FeedEvent) {
        match self.story.try_update_value(|story| story.apply(event)) {
            Some(Touched::Rows(_)) => self.changed.notify(),
            Some(Touched::Reload) => self.reload(),
            Some(Touched::Nothing) | None => {}
        }
    }

    fn tick(self, now_ms: i64) {
        if self.story.try_update_value(|story| story.tick(now_ms)) == Some(true) {
            self.changed.notify();
        }
        if now_ms - self.loaded_ms.get_untracked() >= CALLS_EVERY_MS {
            self.reload();
        }
    }

    fn reload(self) {
        if self.loading.get_untracked() {
            return;
        }
        self.loading.set(true);
        let (live, id) = (Live::here(), self.story.with_value(|story| story.id.clone()));
        spawn_local(async move {
            let range = self.range.get_untracked();
            let answer = fetch::story(&id, range.word()).await;
            // The page may be gone by now.
            if self.loading.try_set(false).is_some() {
                return;
            }
            match answer {
                Ok(view) => {
                    let mut story = Story::load(&view);
                    live.again(|event| {
                        story.apply(event);
                    });
                    self.story.set_value(story);
                    self.loaded_ms.set(view.about.now.millis());
                    self.fault.set(None);
                }
                Err(refusal) => {
                    self.loaded_ms.set(live.now.get_untracked());
                    self.fault.set(Some(refusal));
                }
            }
            self.changed.notify();
        });
    }
}

#[component]
fn Loaded(view: StoryView, place: Memo<Place>) -> impl IntoView {
    let live = Live::here();
    let about = view.about.clone();
    let usual = Range::usual(about.watched_ms());
    let range = Memo::new(move |_| place.get().range.unwrap_or(usual));
    live.now.set(about.now.millis());
    let page = Page::new(&view, range);
    live.follow(about.now.millis(), about.cursor.clone(), move |event| page.hear(event));
    Effect::new(move |_| page.tick(live.now.get()));
    Effect::new(move |before: Option<Range>| {
        let range = range.get();
        if before.is_some_and(|before| before != range) {
            page.reload();
        }
        range
    });
    let id = view.breaker.id.clone();
    let path = breaker_path(&id);
    let breaker = Memo::new(move |_| page.read(|story| story.row().map(|row| row.breaker.clone())));
    let standing = Memo::new(move |_| {
        breaker.with(|one| one.as_ref().map_or(Standing::Closed, |one| Standing::of(one, live.now.get())))
    });
    let lead = Memo::new(move |_| {
        let (now, zone) = (live.now.get(), live.zone.get());
        page.read(|story| {
            story.row().map(|row| prose::lead(&row.breaker, story.trip(), now, zone).join(" ")).unwrap_or_default()
        })
    });
    let just_did = Memo::new(move |_| {
        page.read(|story| {
            let newest = story.audit.first()?;
            (live.now.get() - newest.at.millis() < JUST_MS).then(|| did(&newest.action, newest.detail.get("mode")))
        })
    });
    let answered = Callback::new(move |breaker: Breaker| {
        page.story.update_value(|story| story.replace(breaker));
        page.changed.notify();
    });
    Effect::new({
        let id = id.clone();
        move |_| say_title(&prose::breaker_title(&id, standing.get()))
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
            <p class="lead">{lead}</p>
            <Actions id=id breaker=breaker just_did=just_did answered=answered refused=view.refused.clone() />
            <TimelineSection page=page place=place path=path />
            <Facts breaker=breaker standing=standing />
            <div class="columns">
                <section aria-labelledby="changes">
                    <h2 id="changes">"Changes"</h2>
                    <Transitions rows=Signal::derive(move || page.read(|story| story.transitions.clone())) />
                </section>
                <section aria-labelledby="probes">
                    <h2 id="probes">"Probes"</h2>
                    <Probes rows=Signal::derive(move || page.read(|story| story.probes.clone())) />
                </section>
                <section aria-labelledby="audit">
                    <h2 id="audit">"What operators did"</h2>
                    <AuditRows rows=Signal::derive(move || page.read(|story| story.audit.clone())) />
                </section>
                <section aria-labelledby="policy">
                    <h2 id="policy">"The rules: " {view.breaker.policy.clone()}</h2>
                    <Policy breaker=breaker />
                </section>
            </div>
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

/// The address's word for what an audit row says was done.
fn did(action: &str, mode: Option<&serde_json::Value>) -> String {
    match (action, mode.and_then(serde_json::Value::as_str)) {
        ("override_set" | "override_changed", Some("forced_closed")) => "force-closed".into(),
        ("override_set" | "override_changed", _) => "force-open".into(),
        (other, _) => other.into(),
    }
}

#[component]
fn TimelineSection(page: Page, place: Memo<Place>, path: String) -> impl IntoView {
    let live = Live::here();
    let range = page.range;
    let window = Signal::derive(move || Window::Last(range.get()));
    let end = axis_end(live, window);
    let strip = Memo::new(move |_| page.read(|story| story.row().map(|row| row.strip.clone()).unwrap_or_default()));
    let lane = Memo::new(move |_| page.read(|story| story.lane.clone()));
    let probes = Memo::new(move |_| {
        lane.with(|lane| lane.as_ref().and_then(|lane| Some((lane.from.millis(), lane.probes.clone()?))))
    });
    let ranges = move || {
        let ranges = Range::ALL.into_iter().map(|one| {
            let current = (range.get() == one).then_some("true");
            let href = Place { range: Some(one), ..place.get() }.href(&path);
            view! {
                <a class="chip" href=href aria-current=current aria-label=one.spoken()>
                    {one.word()}
                </a>
            }
        });
        ranges.collect_view()
    };
    view! {
        <section class="timeline" aria-labelledby="timeline">
            <div class="heading">
                <h2 id="timeline">"Timeline"</h2>
                <nav class="ranges" aria-label="How far back">
                    {ranges}
                </nav>
            </div>
            <div class="tall">
                <Lane strip=strip window=window end=end probes=probes />
            </div>
            <AxisLabels window=window end=end />
            <CallBars lane=lane window=window end=end />
        </section>
    }
}

#[component]
fn Facts(breaker: Memo<Option<Breaker>>, standing: Memo<Standing>) -> impl IntoView {
    const NONE: &str = "—";
    let number = move |read: fn(&Breaker) -> String| {
        move || breaker.with(|one| one.as_ref().map_or_else(|| NONE.to_owned(), read))
    };
    // Of a host that nothing reaches there is no rate and no latency.
    let reached = move |read: fn(&Breaker) -> Option<String>| {
        move || {
            let refuses = standing.get().refuses();
            breaker.with(|one| one.as_ref().filter(|_| !refuses).and_then(read).unwrap_or_else(|| NONE.to_owned()))
        }
    };
    view! {
        <dl class="facts">
            <div>
                <dt>"calls a minute"</dt>
                <dd>{number(|one| format::count(one.calls_per_min))}</dd>
            </div>
            <div>
                <dt>"refused a minute"</dt>
                <dd>{number(|one| format::count(one.refused_per_min))}</dd>
            </div>
            <div>
                <dt>"failed"</dt>
                <dd>{reached(|one| one.failure_rate.map(format::share))}</dd>
            </div>
            <div>
                <dt>"median"</dt>
                <dd>{reached(|one| one.p50_ms.map(format::latency))}</dd>
            </div>
            <div>
                <dt>"p95"</dt>
                <dd>{reached(|one| one.p95_ms.map(format::latency))}</dd>
            </div>
            <div>
                <dt>"in flight"</dt>
                <dd>{number(|one| format::count(one.in_flight))}</dd>
            </div>
            <div>
                <dt>"times opened"</dt>
                <dd>{number(|one| format::count(one.opens))}</dd>
            </div>
            <div>
                <dt>"failed rounds"</dt>
                <dd>{number(|one| format::count(one.attempt.into()))}</dd>
            </div>
        </dl>
    }
}

#[component]
fn Policy(breaker: Memo<Option<Breaker>>) -> impl IntoView {
    let sentences = Memo::new(move |_| breaker.with(|one| one.as_ref().map(prose::policy).unwrap_or_default()));
    let rules = Memo::new(move |_| {
        breaker.with(|one| {
            let rules = one.as_ref().map(|one| one.rules.as_slice()).unwrap_or_default();
            rules.iter().map(|rule| (prose::rule(rule), prose::rule_stands(rule))).collect::<Vec<_>>()
        })
    });
    let stands = move || {
        let rules = rules.get().into_iter();
        let rules = rules.map(|(rule, stands)| view! { <li><span>{rule}</span> <b>{stands}</b></li> });
        rules.collect_view()
    };
    view! {
        {move || sentences.get().into_iter().map(|said| view! { <p>{said}</p> }).collect_view()}
        <h3>"Where it stands"</h3>
        <ul class="rules">{stands}</ul>
    }
}
