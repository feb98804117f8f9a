//! What the functions ask of the backend, in the order the answers are needed.

use std::sync::Arc;

use leptos::prelude::use_context;

use crate::{
    backend::{About, Answer, Backend, BreakerFilter, Refusal, Stretch},
    format::{self, query_value},
    panel::PanelView,
    range::{Range, Window},
    story::{KEPT, StoryView},
    wire::{
        action::{Action, ActionAnswer, BulkAction},
        breaker::{Breaker, Mode},
        command::{Release, Reset, Said, SetOverride, Undo},
        event::Page,
        settings::Reloaded,
        time::Time,
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
    let timeline = backend.timeline(BreakerFilter::default(), stretch(window, &about)).await.ok();
    Ok(PanelView { about, list, timeline, plan: None, refused: None })
}

pub(super) async fn story(backend: &dyn Backend, id: String, range: &str) -> Result<StoryView, Refusal> {
    let about = backend.about().await;
    let breaker = backend.breaker(id.clone()).await.inspect_err(|refusal| {
        if let Some(answer) = use_context::<Arc<dyn Answer>>() {
            answer.status(refusal.status);
        }
    })?;
    let lane = backend.lane(id.clone(), stretch(Window::parse(range), &about)).await.ok();
    let kept = KEPT as u32;
    let transitions = rows(backend.transitions(id.clone(), kept).await);
    let probes = rows(backend.probes(id.clone(), kept).await);
    let audit = rows(backend.audit(Some(id), None, kept).await);
    Ok(StoryView { about, breaker, lane, transitions, probes, audit, refused: None })
}

/// The page is useful without its history; that the store is in trouble is said by [`crate::wire::event::StoreHealth`].
fn rows<Row>(page: Result<Page<Row>, Refusal>) -> Vec<Row> {
    page.map(|page| page.rows).unwrap_or_default()
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

pub(super) async fn act(backend: &dyn Backend, form: Form) -> Result<Breaker, Refusal> {
    let done = done(backend, form.clone()).await;
    if let Some(answer) = use_context::<Arc<dyn Answer>>() {
        match &done {
            Ok((_, path)) => answer.land(path),
            Err(refusal) => answer.refuse(refusal.status, &form.again(refusal)),
        }
    }
    done.map(|(breaker, _)| breaker)
}

/// The breaker afterwards, and the page that says what was done.
async fn done(backend: &dyn Backend, form: Form) -> Result<(Breaker, String), Refusal> {
    let Form { what, id, by, reason, end, end_override } = form;
    let (by, reason) = (by.trim().to_owned(), reason.trim().to_owned());
    said(&by, &reason)?;
    let path = format!("{}?done={what}#act", format::breaker_path(&id));
    let by = Some(by);
    let breaker = match what.as_str() {
        "reset" => backend.reset(id, Reset { reason, end_override: !end_override.is_empty(), by }).await?,
        "release" => backend.release(id, Release { reason, by }).await?,
        "force-open" => backend.set_override(id, held(Mode::ForcedOpen, reason, &end, by)?).await?,
        "force-closed" => backend.set_override(id, held(Mode::ForcedClosed, reason, &end, by)?).await?,
        "probe" => backend.probe(id, Said { reason, by }).await?.breaker,
        _ => return Err(unknown_action()),
    };
    Ok((breaker, path))
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

fn bulk(what: &str, ids: &str) -> Result<BulkAction, Refusal> {
    Ok(BulkAction {
        action: action(what)?,
        ids: Some(ids.split_whitespace().map(Into::into).collect()),
        filter: None,
        reason: String::new(),
        for_ms: None,
        until: None,
        end_override: false,
        dry_run: true,
        by: None,
    })
}

pub(super) async fn plan(backend: &dyn Backend, what: &str, ids: &str) -> Result<ActionAnswer, Refusal> {
    let mut asked = bulk(what, ids)?;
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
    let answered = many_done(backend, &form).await;
    if let Some(answer) = use_context::<Arc<dyn Answer>>() {
        match &answered {
            Ok(done) => answer.land(&landed(&form.what, done)),
            Err(refusal) => answer.refuse(refusal.status, &form.again_on_panel(refusal)),
        }
    }
    answered
}

async fn many_done(backend: &dyn Backend, form: &Form) -> Result<ActionAnswer, Refusal> {
    let by = form.by.trim().to_owned();
    let mut asked = bulk(&form.what, &form.id)?;
    asked.reason = form.reason.trim().to_owned();
    said(&by, &asked.reason)?;
    if matches!(asked.action, Action::ForceOpen | Action::ForceClosed) {
        (asked.for_ms, asked.until) = end(&form.end)?;
    }
    asked.end_override = !form.end_override.is_empty();
    (asked.by, asked.dry_run) = (Some(by), false);
    backend.act(asked).await
}

pub(super) async fn undo(backend: &dyn Backend, seq: u64, by: String, reason: String) -> Result<ActionAnswer, Refusal> {
    let by = Some(by.trim().to_owned()).filter(|by| !by.is_empty());
    let undone = backend.undo(Undo { seq, reason, by }).await;
    if let Some(answer) = use_context::<Arc<dyn Answer>>() {
        match &undone {
            Ok(done) => answer.land(&landed("undo", done)),
            Err(refusal) => answer.refuse(refusal.status, "/"),
        }
    }
    undone
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

/// Where a browser without script reads what was done, and finds the way back.
fn landed(what: &str, done: &ActionAnswer) -> String {
    let refused = done.results.iter().filter(|one| one.status >= 300 && !one.applied).count();
    let undo = done.undo.map_or(String::new(), |seq| format!("&undo={seq}"));
    format!("/?done={}&well={}&refused={refused}{undo}", query_value(what), done.results.len() - refused)
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

fn held(mode: Mode, reason: String, word: &str, by: Option<String>) -> Result<SetOverride, Refusal> {
    let (for_ms, until) = end(word)?;
    Ok(SetOverride { mode, reason, for_ms, until, by })
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
