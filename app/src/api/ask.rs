//! What the functions ask of the backend, in the order the answers are needed.

use std::sync::Arc;

use leptos::prelude::use_context;

use crate::{
    backend::{About, Answer, Backend, BreakerFilter, Refusal, Stretch},
    format::{self, query_value},
    panel::{PanelView, trips},
    range::{Range, Window},
    story::{KEPT, StoryView},
    wire::{
        action::{Action, ActionAnswer, BulkAction},
        command::{Said, Undo},
        event::Page,
        settings::Reloaded,
        time::Time,
        timeline::Moment,
    },
};

/// Pixels a lane is asked for on; drawn wider or narrower, no band is lost.
const WIDTH: u32 = 720;

pub(super) fn backend() -> Result<Arc<dyn Backend>, Refusal> {
    use_context::<Arc<dyn Backend>>()
        .ok_or_else(|| refusal(500, None, "The board has no server behind it. Restart Fuseboard and report this."))
}

pub(super) async fn panel(backend: &dyn Backend, window: Option<Window>) -> Result<PanelView, Refusal> {
    // The cursor first: what happens while the rest is read comes again over the feed.
    let about = backend.about().await;
    let list = backend.breakers(BreakerFilter::default()).await?;
    let mut unread = None;
    let timeline = read(backend.timeline(BreakerFilter::default(), stretch(window, &about)).await, &mut unread);
    Ok(PanelView { about, list, timeline, unread, plan: None, refused: None })
}

pub(super) async fn moment(backend: &dyn Backend, id: String, from_ms: i64, to_ms: i64) -> Result<Moment, Refusal> {
    let time = |ms: i64| Time::from_micros(ms.saturating_mul(1_000));
    let moment = backend.moment(id, time(from_ms), time(to_ms)).await;
    if let (Err(refusal), Some(answer)) = (&moment, use_context::<Arc<dyn Answer>>()) {
        answer.status(refusal.status);
    }
    moment
}

pub(super) async fn story(backend: &dyn Backend, id: String, window: Option<Window>) -> Result<StoryView, Refusal> {
    let about = backend.about().await;
    let breaker = backend.breaker(id.clone()).await.inspect_err(|refusal| {
        if let Some(answer) = use_context::<Arc<dyn Answer>>() {
            answer.status(refusal.status);
        }
    })?;
    let mut unread = None;
    let lane = read(backend.lane(id.clone(), stretch(window, &about)).await, &mut unread);
    let kept = KEPT as u32;
    let mut transitions = rows(backend.transitions(id.clone(), kept).await, &mut unread);
    // The newest is known before it is written.
    if let Some(last) = breaker.last_transition.clone().filter(|last| transitions.iter().all(|row| row.seq < last.seq))
    {
        transitions.insert(0, last);
    }
    let trip = match breaker.down_since {
        Some(down) if !transitions.iter().any(|row| trips(row) && row.at >= down) => {
            let moment = backend.moment(id.clone(), down, Time::from_micros(down.micros() + 1_000)).await.ok();
            moment.and_then(|moment| moment.transitions.into_iter().find(trips))
        }
        _ => None,
    };
    let probes = rows(backend.probes(id.clone(), kept).await, &mut unread);
    let audit = rows(backend.audit(Some(id), None, kept).await, &mut unread);
    Ok(StoryView { about, breaker, lane, transitions, trip, probes, audit, unread, refused: None })
}

/// What was read. A page is useful without its history, and says why it has none.
fn read<T>(answer: Result<T, Refusal>, unread: &mut Option<Refusal>) -> Option<T> {
    let why = |refusal: Refusal| {
        let detail = format!("The history could not be read. {}", refusal.detail);
        *unread = Some(Refusal { detail, ..refusal });
    };
    answer.map_err(why).ok()
}

fn rows<Row>(page: Result<Page<Row>, Refusal>, unread: &mut Option<Refusal>) -> Vec<Row> {
    read(page, unread).map(|page| page.rows).unwrap_or_default()
}

fn stretch(window: Option<Window>, about: &About) -> Stretch {
    let window = window.unwrap_or_else(|| Window::Last(Range::usual(about.watched_ms())));
    let ends = window.ends(about.now.millis());
    Stretch { from_ms: ends.from_ms, to_ms: ends.to_ms, width: WIDTH }
}

/// An operator's form as it was sent.
#[derive(Clone, Default)]
pub(super) struct Form {
    pub(super) what: String,
    pub(super) id: String,
    pub(super) by: String,
    pub(super) reason: String,
    pub(super) end: String,
    pub(super) end_override: String,
}

/// The most characters a field keeps when its form comes back; the form takes no more.
const TYPED: usize = 500;

impl Form {
    /// The form's own address, filled in as it was sent: whoever is refused types nothing twice.
    fn again(&self, refusal: &Refusal) -> String {
        let path = format!("{}?act={}", format::breaker_path(&self.id), query_value(&self.what));
        self.filled_in(path, refusal) + "#act"
    }

    /// The same on the panel, where it is for many.
    fn again_on_panel(&self, refusal: &Refusal) -> String {
        let ids: String = self.id.split_whitespace().map(|id| format!("&id={}", query_value(id))).collect();
        self.filled_in(format!("/?act={}{ids}", query_value(&self.what)), refusal)
    }

    fn filled_in(&self, mut path: String, refusal: &Refusal) -> String {
        let Self { by, reason, end, end_override, .. } = self;
        for (name, typed) in [("by", by), ("reason", reason), ("end", end), ("end_override", end_override)] {
            if !typed.is_empty() {
                let kept: String = typed.chars().take(TYPED).collect();
                path.push_str(&format!("&{name}={}", query_value(&kept)));
            }
        }
        if let Ok(refused) = serde_json::to_string(refusal) {
            path.push_str(&format!("&__err={}", query_value(&refused)));
        }
        path
    }
}

pub(super) async fn act(backend: &dyn Backend, form: Form) -> Result<ActionAnswer, Refusal> {
    let answered = carry_out(backend, &form, vec![form.id.clone()]).await.and_then(alone);
    if let Some(answer) = use_context::<Arc<dyn Answer>>() {
        match &answered {
            Ok(done) => answer.land(&landed(&form.what, done, &form.id)),
            Err(refusal) => answer.refuse(refusal.status, &form.again(refusal)),
        }
    }
    answered
}

/// One breaker's part is all of it: that it was not done is the answer.
fn alone(done: ActionAnswer) -> Result<ActionAnswer, Refusal> {
    match &done.results[..] {
        [one] if one.status >= 300 => {
            Err(Refusal { status: one.status, detail: one.detail.clone(), field: None, applied: one.applied })
        }
        _ => Ok(done),
    }
}

fn unknown_action() -> Refusal {
    refusal(422, Some("what"), "Choose probe, force-open, force-closed, reset or release.")
}

fn action(what: &str) -> Result<Action, Refusal> {
    match what {
        "reset" => Ok(Action::Reset),
        "release" => Ok(Action::Release),
        "force-open" => Ok(Action::ForceOpen),
        "force-closed" => Ok(Action::ForceClosed),
        "probe" => Ok(Action::Probe),
        _ => Err(unknown_action()),
    }
}

fn ids(text: &str) -> Vec<String> {
    text.split_whitespace().map(Into::into).collect()
}

fn bulk(what: &str, ids: Vec<String>) -> Result<BulkAction, Refusal> {
    Ok(BulkAction {
        action: action(what)?,
        ids: Some(ids),
        filter: None,
        reason: String::new(),
        for_ms: None,
        until: None,
        end_override: false,
        dry_run: true,
        by: None,
    })
}

pub(super) async fn plan(backend: &dyn Backend, what: &str, on: &str) -> Result<ActionAnswer, Refusal> {
    let mut asked = bulk(what, ids(on))?;
    // Of a plan nobody reads the end or the reason; they only must not stop it.
    if matches!(asked.action, Action::ForceOpen | Action::ForceClosed) {
        asked.until = Some(None);
    }
    // What it would end is told by the plan, not refused.
    asked.end_override = asked.action == Action::Reset;
    asked.reason = "asked before acting".into();
    let plan = backend.act(asked).await;
    if let (Err(refusal), Some(answer)) = (&plan, use_context::<Arc<dyn Answer>>()) {
        answer.status(refusal.status);
    }
    plan
}

pub(super) async fn many(backend: &dyn Backend, form: Form) -> Result<ActionAnswer, Refusal> {
    let answered = carry_out(backend, &form, ids(&form.id)).await;
    if let Some(answer) = use_context::<Arc<dyn Answer>>() {
        match &answered {
            Ok(done) => answer.land(&landed(&form.what, done, "")),
            Err(refusal) => answer.refuse(refusal.status, &form.again_on_panel(refusal)),
        }
    }
    answered
}

async fn carry_out(backend: &dyn Backend, form: &Form, ids: Vec<String>) -> Result<ActionAnswer, Refusal> {
    let (by, reason) = (form.by.trim().to_owned(), form.reason.trim().to_owned());
    said(&by, &reason)?;
    let mut asked = bulk(&form.what, ids)?;
    asked.reason = reason;
    if matches!(asked.action, Action::ForceOpen | Action::ForceClosed) {
        (asked.for_ms, asked.until) = end(&form.end)?;
    }
    asked.end_override = !form.end_override.is_empty();
    (asked.by, asked.dry_run) = (Some(by), false);
    backend.act(asked).await
}

/// `id` is of the breaker whose page it was asked on; none on the panel.
pub(super) async fn undo(backend: &dyn Backend, command: Undo, id: &str) -> Result<ActionAnswer, Refusal> {
    let by = command.by.map(|by| by.trim().to_owned()).filter(|by| !by.is_empty());
    let undone = backend.undo(Undo { by, ..command }).await;
    let undone = if id.is_empty() { undone } else { undone.and_then(alone) };
    if let Some(answer) = use_context::<Arc<dyn Answer>>() {
        match &undone {
            Ok(done) => answer.land(&landed("undo", done, id)),
            Err(refusal) => {
                let again = Form::default().filled_in(page_of(id) + "?undo=0", refusal);
                answer.refuse(refusal.status, &again);
            }
        }
    }
    undone
}

fn page_of(id: &str) -> String {
    if id.is_empty() { "/".into() } else { format::breaker_path(id) }
}

pub(super) async fn reload(backend: &dyn Backend, by: String, reason: String) -> Result<Reloaded, Refusal> {
    let (by, reason) = (by.trim().to_owned(), reason.trim().to_owned());
    let reloaded = match said(&by, &reason) {
        Ok(()) => backend.reload(Said { reason: reason.clone(), by: Some(by.clone()) }).await,
        Err(refusal) => Err(refusal),
    };
    if let Some(answer) = use_context::<Arc<dyn Answer>>() {
        match &reloaded {
            Ok(done) => {
                let Reloaded { added, removed, changed, needs_restart, .. } = done;
                let many = [added, removed, changed, needs_restart].map(|names| names.len().to_string()).join("-");
                answer.land(&format!("/settings?reloaded={many}#reload"));
            }
            Err(refusal) => {
                let form = Form { by, reason, ..Form::default() };
                answer.refuse(refusal.status, &(form.filled_in("/settings?act=reload".into(), refusal) + "#reload"));
            }
        }
    }
    reloaded
}

/// Where a browser without script reads what was done, and finds the way back: on a breaker's page, or on the panel how
/// many it was done to.
fn landed(what: &str, done: &ActionAnswer, id: &str) -> String {
    let undo = done.undo.map_or(String::new(), |seq| format!("&undo={seq}"));
    let refused = done.results.iter().filter(|one| one.status >= 300 && !one.applied).count();
    let many =
        if id.is_empty() { format!("&well={}&refused={refused}", done.results.len() - refused) } else { String::new() };
    format!("{}?done={}{many}{undo}", page_of(id), query_value(what))
}

fn said(by: &str, reason: &str) -> Result<(), Refusal> {
    if by.is_empty() {
        return Err(refusal(422, Some("by"), "Say who you are; the name goes into the record."));
    }
    if reason.is_empty() {
        return Err(refusal(422, Some("reason"), "Say why; whoever looks at this breaker next will read it."));
    }
    Ok(())
}

/// A form's word for an override's end as the wire says it.
fn end(word: &str) -> Result<(Option<u64>, Option<Option<Time>>), Refusal> {
    match word {
        "15m" => Ok((Some(900_000), None)),
        "1h" => Ok((Some(3_600_000), None)),
        "4h" => Ok((Some(14_400_000), None)),
        "never" => Ok((None, Some(None))),
        _ => Err(refusal(422, Some("end"), "Choose when the override ends: 15 min, 1 h, 4 h or no end.")),
    }
}

fn refusal(status: u16, field: Option<&str>, detail: &str) -> Refusal {
    Refusal { status, detail: detail.into(), field: field.map(Into::into), applied: false }
}
