//! One breaker on the panel: how it stands, since when, why, its lane, the next probe and one action.

use leptos::prelude::*;

use super::{
    host::{HostName, names},
    lane::Lane,
    sign::SignAndWords,
};
use crate::{
    board::Board,
    format::{self, breaker_path},
    live::Live,
    order, prose,
    standing::Standing,
    wire::{breaker::Breaker, time::Time},
};

/// What the row's one action is.
fn action(standing: Standing) -> (&'static str, &'static str) {
    match standing {
        standing if standing.held() => ("release", "Release"),
        Standing::Closed | Standing::Waiting => ("force-open", "Force open"),
        _ => ("reset", "Reset"),
    }
}

/// How long it has been so, or nothing where that is no trouble.
fn down_for(breaker: &Breaker, standing: Standing, now_ms: i64) -> Option<String> {
    let since = match &breaker.held {
        Some(held) => held.since,
        None if standing == Standing::CoolingDown => return None,
        None => breaker.down_since?,
    };
    Some(format::lasted(now_ms - since.millis()))
}

/// Until when it stands so: the probe, the override's or the cool-down's end.
fn next(breaker: &Breaker, standing: Standing, now_ms: i64) -> (&'static str, String) {
    let left = |at: Option<Time>| at.map_or(String::new(), |at| format::countdown(at.millis() - now_ms));
    match standing {
        Standing::Open => ("next probe in", left(breaker.next_probe_at)),
        Standing::ProbeDue | Standing::Overdue => ("next probe", "due now".into()),
        Standing::HalfOpen => ("next probe", "running".into()),
        Standing::CoolingDown => ("over in", left(breaker.cooldown_until)),
        Standing::ForcedOpen | Standing::ForcedClosed => {
            ("ends in", left(breaker.held.as_ref().and_then(|held| held.until)))
        }
        Standing::ForcedOpenForGood | Standing::ForcedClosedForGood => ("ends", "never".into()),
        Standing::Closed | Standing::Waiting => ("next probe in", String::new()),
    }
}

/// The numbers of a row: what is turned away, or how much flows and how fast.
fn traffic(breaker: &Breaker, standing: Standing) -> String {
    if standing == Standing::Waiting {
        return String::new();
    }
    if standing.refuses() {
        return match breaker.refused_per_min {
            0 => "nobody calls".into(),
            refused => format!("{} refused a minute", format::count(refused)),
        };
    }
    let calls = format!("{} a minute", format::some(breaker.calls_per_min, "call", "calls"));
    match breaker.p95_ms {
        Some(p95) => format!("{calls}, p95 {}", format::latency(p95)),
        None => calls,
    }
}

/// One row.
#[component]
pub fn PanelRow(
    /// Where it is read from.
    board: Board,
    /// The breaker's id.
    id: String,
    /// Where the lanes' axis ends.
    end: Memo<i64>,
) -> impl IntoView {
    let live = Live::here();
    let path = breaker_path(&id);
    let breaker = {
        let id = id.clone();
        Memo::new(move |_| board.row(&id, |row| row.breaker.clone()))
    };
    let strip = {
        let id = id.clone();
        Memo::new(move |_| board.row(&id, |row| row.strip.clone()).unwrap_or_default())
    };
    let standing = Memo::new(move |_| {
        breaker.with(|one| one.as_ref().map_or(Standing::Closed, |one| Standing::of(one, live.now.get())))
    });
    let read = move |read: fn(&Breaker, Standing, i64) -> String| {
        Memo::new(move |_| {
            breaker.with(|one| one.as_ref().map_or(String::new(), |one| read(one, standing.get(), live.now.get())))
        })
    };
    let down = read(|breaker, standing, now| down_for(breaker, standing, now).unwrap_or_default());
    let next_label = read(|breaker, standing, now| next(breaker, standing, now).0.into());
    let next_value = read(|breaker, standing, now| next(breaker, standing, now).1);
    let why = read(|breaker, _, now| match prose::why(breaker) {
        why if why.is_empty() && order::flapping(breaker, Time::from_micros(now * 1_000)) => {
            format!("keeps opening, {} so far", format::some(breaker.opens, "time", "times"))
        }
        why => why,
    });
    let traffic = read(|breaker, standing, _| traffic(breaker, standing));
    let named = move || breaker.with(|one| one.as_ref().map(names).unwrap_or_default());
    let act_href = {
        let path = path.clone();
        move || format!("{path}?act={}#act", action(standing.get()).0)
    };
    let act_label = {
        let id = id.clone();
        move || format!("{} {id}", action(standing.get()).1)
    };
    view! {
        <li class=move || format!("row {}", standing.get().class())>
            <div class="cell c-state">
                <SignAndWords standing=standing />
            </div>
            <div class="cell c-host">
                <a href=path>
                    <HostName id=id />
                </a>
                <span class="names">{named}</span>
            </div>
            <div class="cell c-down">
                <span class="label">{move || if standing.get().held() { "held for" } else { "down for" }}</span>
                <span class="value">{down}</span>
            </div>
            <div class="cell c-why">
                <span class="why" title=why>
                    {why}
                </span>
                <span class="traffic">{traffic}</span>
            </div>
            <div class="cell c-lane">
                <Lane strip=strip range=board.range end=end />
            </div>
            <div class="cell c-next">
                <span class="label">{next_label}</span>
                <span class="value">{next_value}</span>
            </div>
            <div class="cell c-act">
                <a class="button" href=act_href aria-label=act_label>
                    {move || action(standing.get()).1}
                </a>
            </div>
        </li>
    }
}
