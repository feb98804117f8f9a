//! `/settings`: the configuration in force, how store and feed are doing, and a reload.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_location;

use self::configured::{Pairs, Policy, Upstream};
use super::{Sheet, about};
use crate::{
    api,
    backend::{About, Refusal},
    components::when::Stamp,
    format::{Zone, count, duration, number, some},
    prose,
    shown::value,
    wire::settings::{self, Settings},
};

pub mod configured;

/// The page.
#[component]
pub fn SettingsPage() -> impl IntoView {
    let search = use_location().search.get_untracked();
    view! {
        <Title text="Settings · Fuseboard" />
        <Sheet
            again="/settings".into()
            read=move || async move {
                let backend = api::backend()?;
                let about = about(&*backend).await;
                let settings = backend.settings().await?;
                let content = view! { <Told settings=settings about=about.clone() search=search /> };
                Ok::<_, Refusal>((about, content.into_any()))
            }
        />
    }
}

#[component]
fn Told(settings: Settings, about: About, search: String) -> impl IntoView {
    let Settings {
        node,
        file,
        loaded_at,
        gateway,
        admin,
        ops,
        store,
        panel_max,
        policies,
        upstreams,
        warnings,
        feed_streams,
    } = settings;
    let warnings = (!warnings.is_empty()).then(|| {
        view! {
            <ul class="banner is-warning">
                {warnings.into_iter().map(|warning| view! { <li>{warning}</li> }).collect_view()}
            </ul>
        }
    });
    let listener = |name: &'static str, one: settings::Listener| {
        let public = one.public_url.map_or(String::new(), |url| format!(", links say {url}"));
        (name, format!("{}{public}", one.listen))
    };
    let server = vec![
        ("Node", node),
        ("Version", about.version.clone()),
        listener("Gateway", gateway),
        listener("Board and API", admin),
        ("Operations alone", ops.unwrap_or_else(|| "off".into())),
        ("Breakers at most", count(panel_max)),
        ("File", file.unwrap_or_else(|| "none: defaults, environment and flags".into())),
    ];
    let health = view! { <Health about=about store=store.clone() streams=feed_streams /> };
    let kept = vec![
        ("Store", store.url),
        ("Probes kept", keep(store.keep_probes_ms)),
        ("Transitions kept", keep(store.keep_transitions_ms)),
        ("Call totals kept", keep(store.keep_calls_ms)),
        ("Audit kept", keep(store.keep_audit_ms)),
        ("Store at most", bytes(store.max_size_bytes)),
        ("Waiting facts at most", bytes(store.journal_max_bytes)),
    ];
    view! {
        <div class="reading-head">
            <h1>"Settings"</h1>
            <p>"The configuration in force, defaults filled in. Secrets are never shown. In force since " <Stamp at=loaded_at seconds=true /> "."</p>
        </div>
        {warnings}
        <div class="columns">
            <section>
                <h2>"Health"</h2>
                {health}
            </section>
            <section>
                <h2 id="reload">"Reload"</h2>
                <Reload search=search />
            </section>
            <section>
                <h2>"Server"</h2>
                <Pairs pairs=server />
            </section>
            <section>
                <h2>"Record"</h2>
                <Pairs pairs=kept />
            </section>
        </div>
        <section class="configured">
            <h2>"Upstreams"</h2>
            {upstreams
                .is_empty()
                .then(|| view! { <p class="nothing">"None configured. Add an [[upstream]] to fuseboard.toml and reload."</p> })}
            {upstreams.into_iter().map(|one| view! { <Upstream one=one /> }).collect_view()}
        </section>
        <section class="configured">
            <h2>"Policies"</h2>
            {policies.into_iter().map(|one| view! { <Policy one=one /> }).collect_view()}
        </section>
    }
}

/// What is wrong with store, feed or server, or that nothing is.
#[component]
fn Health(about: About, store: settings::Store, streams: u64) -> impl IntoView {
    let now_ms = about.now.millis();
    let health = &about.store;
    let written = prose::store(health, now_ms, Zone::Utc).unwrap_or_else(|| "The store takes what it is given.".into());
    let findings = prose::findings(&about.findings).unwrap_or_else(|| "The watchdog has found nothing.".into());
    let waiting = match (health.waiting, health.dropped) {
        (0, 0) => "none waiting, none given up".into(),
        (waiting, dropped) => format!("{} waiting, {} given up", count(waiting), count(dropped)),
    };
    let pairs = vec![
        ("Store", written),
        ("Size", format!("{} of {}", bytes(store.size_bytes), bytes(store.max_size_bytes))),
        ("Facts", waiting),
        ("Feed", format!("{}, at number {}", some(streams, "open stream", "open streams"), place(&about.cursor))),
        ("Watchdog", findings),
        ("Running for", duration(about.watched_ms())),
    ];
    view! { <Pairs pairs=pairs /> }
}

/// Where the feed stands, without the run.
fn place(cursor: &str) -> String {
    let seq = cursor.rsplit('-').next().and_then(|seq| seq.parse().ok());
    seq.map_or_else(|| cursor.to_owned(), count)
}

/// A plain form: what it changed is in the answer's address.
#[component]
fn Reload(search: String) -> impl IntoView {
    let done = value(&search, "reloaded").map(|many| reloaded(&many));
    let refused = api::refused(&search);
    let typed = |name| value(&search, name).unwrap_or_default();
    view! {
        {done.map(|done| view! { <p class="banner is-done" role="status">{done}</p> })}
        {refused.map(|refusal| view! { <p class="banner is-warning" role="alert">{refusal.detail}</p> })}
        <p>"Reads the file again. Counts, states and overrides stay; a mistake in the file changes nothing."</p>
        <form method="post" action="/ui/reload">
            <div class="fields">
                <p class="field">
                    <label for="by">"Your name"</label>
                    <input type="text" id="by" name="by" required maxlength="80" autocomplete="name" value=typed("by") />
                </p>
                <p class="field">
                    <label for="reason">"Reason"</label>
                    <input type="text" id="reason" name="reason" required maxlength="500" value=typed("reason") />
                </p>
            </div>
            <p class="buttons">
                <button class="button is-primary">"Reload"</button>
            </p>
        </form>
    }
}

/// From the four numbers in the address after a reload.
fn reloaded(many: &str) -> String {
    let many: Vec<u64> = many.split('-').filter_map(|number| number.parse().ok()).collect();
    let [added, removed, changed, restart] = many[..] else { return "Reloaded.".into() };
    let mut said: Vec<String> = [(added, "added"), (removed, "removed"), (changed, "changed")]
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| format!("{} {what}", some(*number, "upstream", "upstreams")))
        .collect();
    if said.is_empty() {
        said.push("no upstream changed".into());
    }
    let restart = match restart {
        0 => String::new(),
        some_left => format!(" {} until a restart.", some(some_left, "setting waits", "settings wait")),
    };
    format!("Reloaded: {}.{restart}", said.join(", "))
}

/// How long something is kept: `3 years` as it was configured, and not `1095 d 18 h`.
fn keep(ms: u64) -> String {
    // A year as the configuration's `3y` has it: 365.25 days.
    const YEAR_MS: u64 = 31_557_600_000;
    match (ms / YEAR_MS, ms % YEAR_MS) {
        (years @ 1.., 0) => some(years, "year", "years"),
        _ => duration(i64::try_from(ms).unwrap_or(i64::MAX)),
    }
}

/// `64 MB`, in the decimal units the configuration takes.
fn bytes(bytes: u64) -> String {
    let (unit, name) = match bytes {
        1_000_000_000.. => (1_000_000_000, "GB"),
        1_000_000.. => (1_000_000, "MB"),
        1_000.. => (1_000, "kB"),
        _ => (1, "B"),
    };
    format!("{} {name}", number(bytes as f64 / f64::from(unit)))
}

#[cfg(test)]
mod tests {
    use super::{bytes, keep, place};

    #[test]
    fn what_is_kept_for_years_is_said_in_years() {
        assert_eq!([94_672_800_000, 31_557_600_000, 2_592_000_000].map(keep), ["3 years", "1 year", "30 d"]);
    }

    #[test]
    fn the_feeds_place_is_a_number() {
        assert_eq!(["3-1204", "odd"].map(place), ["1,204", "odd"]);
    }

    #[test]
    fn a_reload_says_what_it_did() {
        assert_eq!(
            super::reloaded("1-0-2-1"),
            "Reloaded: 1 upstream added, 2 upstreams changed. 1 setting waits until a restart."
        );
        assert_eq!(super::reloaded("0-0-0-0"), "Reloaded: no upstream changed.");
        assert_eq!(super::reloaded("<b>"), "Reloaded.");
    }

    #[test]
    fn sizes_are_read_as_they_are_configured() {
        assert_eq!([500, 64_000_000, 10_000_000_000, 1_500_000].map(bytes), ["500 B", "64 MB", "10 GB", "1.5 MB"]);
    }
}
